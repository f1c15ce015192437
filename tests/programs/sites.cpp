/* Calls collectives from places that a test looks for: each has its name behind it, as a comment. */
#include <mpi.h>

#include <stdexcept>
#include <vector>

namespace solver {

template <typename T>
struct Field {
    std::vector<T> values{1};

    T total() const
    {
        T sum = 0;
        MPI_Allreduce(values.data(), &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* in a template */
        return sum;
    }
};

__attribute__((noinline)) void checked(int i)
{
    MPI_Barrier(MPI_COMM_WORLD); /* before an exception */
    if (i % 2)
        throw std::runtime_error("odd");
}

} // namespace solver

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int caught = 0;
    for (int i = 0; i < 20; i++) {
        try {
            solver::checked(i);
        } catch (const std::exception &) {
            caught++;
            MPI_Bcast(&caught, 1, MPI_INT, 0, MPI_COMM_WORLD); /* in a handler */
        }
        auto nested = [] { return solver::Field<int>().total(); };
        if (nested() != 2)
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return caught != 10;
}

/* Exceptions of C++ that leave functions which MPI calls.

       throws handler     an error handler, as MPI::ERRORS_THROW_EXCEPTIONS was one
       throws operation   an operation in an allreduce */
#include <mpi.h>
#include <cstdio>
#include <cstring>
#include <stdexcept>

static void throw_error(MPI_Comm *, int *code, ...)
{
    int kind = 0;
    MPI_Error_class(*code, &kind);
    throw std::runtime_error(kind == MPI_ERR_TRUNCATE ? "truncated" : "another error");
}

static void throw_always(void *, void *, int *, MPI_Datatype *)
{
    throw std::runtime_error("no sum");
}

static void check(bool is_right, const char *what)
{
    if (!is_right) {
        std::fprintf(stderr, "%s\n", what);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
}

static void handler(int rank, int size)
{
    int values[4] = {1, 2, 3, 4}, sums[4], n_caught = 0;
    MPI_Comm comm;
    MPI_Errhandler thrower;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(throw_error, &thrower);
    MPI_Comm_set_errhandler(comm, thrower);
    for (int round = 0; round < 20; round++) {
        /* What comes is longer than the buffer for it. */
        try {
            MPI_Bcast(values, rank == 0 ? 4 : 2, MPI_INT, 0, comm);
        } catch (const std::runtime_error &error) {
            check(std::strcmp(error.what(), "truncated") == 0, error.what());
            n_caught++;
        }
        MPI_Allreduce(values, sums, 1, MPI_INT, MPI_SUM, comm);
        check(sums[0] == size, "a sum after an exception");
    }
    check(n_caught == (rank == 0 ? 0 : 20), "number of exceptions");
    MPI_Errhandler_free(&thrower);
    MPI_Comm_free(&comm);
}

static void operation()
{
    int value = 1, sum = 0;
    bool was_caught = false;
    MPI_Op op;
    MPI_Op_create(throw_always, 1, &op);
    try {
        MPI_Allreduce(&value, &sum, 1, MPI_INT, op, MPI_COMM_WORLD);
    } catch (const std::runtime_error &error) {
        was_caught = std::strcmp(error.what(), "no sum") == 0;
    }
    check(was_caught, "an exception of an operation");
    MPI_Op_free(&op);
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1 && std::strcmp(argv[1], "handler") == 0)
        handler(rank, size);
    else
        operation();
    std::printf("%d done\n", rank);
    std::fflush(stdout);
    MPI_Finalize();
}

/* Calls MPI_Barrier on MPI_COMM_SELF as often as its first argument says; with a second argument
 * MPI_Ibarrier and at once MPI_Wait. Two runs that differ in that number tell what one call costs:
 * what happens once, at the begin and the end, cancels. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 0;
    MPI_Init(&argc, &argv);
    for (long i = 0; i < n; i++) {
        if (argc > 2) {
            MPI_Request request;
            MPI_Ibarrier(MPI_COMM_SELF, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            MPI_Barrier(MPI_COMM_SELF);
        }
    }
    MPI_Finalize();
    return 0;
}

/* Calls MPI_Barrier on MPI_COMM_SELF as often as its first argument says; with a second argument
 * MPI_Ibarrier and at once MPI_Wait, or, if that is "turns", MPI_Barrier from two places, or, if that is "messages", MPI_Allreduce of one number on
 * MPI_COMM_WORLD, or, if that is "replaced", MPI_Bcast of one number from
 * rank 0, or, if that is "p2p", MPI_Sendrecv of one number with itself. Two runs that differ in that number tell what one call costs:
 * what happens once, at the begin and the end, cancels. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 0;
    MPI_Init(&argc, &argv);
    if (argc > 2 && !strcmp(argv[2], "replaced")) {
        /* Until the other process has its tree, this one looks for it, as often as it may be. Only
         * what is called MPI_Bcast counts. */
        double number = 1;
        PMPI_Bcast(&number, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    }
    for (long i = 0; i < n; i++) {
        if (argc > 2 && !strcmp(argv[2], "messages")) {
            double own = 1, sum;
            MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        } else if (argc > 2 && !strcmp(argv[2], "replaced")) {
            /* Rank 0, whose calls count, waits for nobody in them. */
            double number = 1;
            int rank;
            MPI_Comm_rank(MPI_COMM_WORLD, &rank);
            MPI_Bcast(&number, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
            if (rank == 0)
                MPI_Recv(&number, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            else
                MPI_Send(&number, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
        } else if (argc > 2 && !strcmp(argv[2], "turns")) {
            if (i % 2) {
                MPI_Barrier(MPI_COMM_SELF);
                __asm__ volatile(""); /* so that the two are not made one */
            } else {
                MPI_Barrier(MPI_COMM_SELF);
            }
        } else if (argc > 2 && !strcmp(argv[2], "p2p")) {
            double own = 1, other;
            MPI_Sendrecv(&own, 1, MPI_DOUBLE, 0, 0, &other, 1, MPI_DOUBLE, 0, 0, MPI_COMM_SELF,
                         MPI_STATUS_IGNORE);
        } else if (argc > 2) {
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

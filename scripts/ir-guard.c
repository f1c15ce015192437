/* Calls MPI_Barrier on MPI_COMM_SELF as often as its argument says. Two runs that differ in that
 * number tell what one call costs: what happens once, at the begin and the end, cancels. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 0;
    MPI_Init(&argc, &argv);
    for (long i = 0; i < n; i++)
        MPI_Barrier(MPI_COMM_SELF);
    MPI_Finalize();
    return 0;
}

/* Calls MPI_Allreduce of one double so many times: loop N. Rank 0 prints how long that took. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    long n = argc > 1 ? atol(argv[1]) : 1000;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double one = 1, sum, begin = MPI_Wtime();
    for (long i = 0; i < n; i++)
        MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%ld calls in %.3f s\n", n, MPI_Wtime() - begin);
    MPI_Finalize();
    return 0;
}

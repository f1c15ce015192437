/* steady MILLISECONDS [PAUSE_US]: allreduces one after the other, with a pause between them, until
 * the time is over on rank 0. Now and then a barrier, a broadcast, and an allreduce of nothing. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    double seconds = (argc > 1 ? atol(argv[1]) : 1000) / 1000.0;
    long pause_us = argc > 2 ? atol(argv[2]) : 1000;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double begin = MPI_Wtime();
    long n = 0;
    for (int goes_on = 1; goes_on; n++) {
        int own = rank != 0 || MPI_Wtime() - begin < seconds;
        MPI_Allreduce(&own, &goes_on, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        if (n % 10 == 3)
            MPI_Barrier(MPI_COMM_WORLD);
        if (n % 10 == 5)
            MPI_Bcast(&own, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (n % 10 == 7)
            MPI_Allreduce(&own, &own, 0, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        if (pause_us > 0)
            usleep(pause_us);
    }
    if (rank == 0)
        printf("allreduces %ld\n", n);
    MPI_Finalize();
    return 0;
}

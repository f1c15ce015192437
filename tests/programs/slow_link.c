/* Broadcasts and allreduces, each behind a barrier and a pause in which all messages come to rest:
   what a hop takes is then not hidden in a process that is still busy with the one before. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int n = argc > 1 ? atoi(argv[1]) : 100;
    long pause_us = argc > 2 ? atol(argv[2]) : 0;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    struct timespec pause = {0, pause_us * 1000};
    long sum = 0;
    for (int i = 0; i < n; i++) {
        long value = rank == 0 ? i : -1, all = 0;
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0)
            nanosleep(&pause, NULL);
        MPI_Bcast(&value, 1, MPI_LONG, 0, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Allreduce(&value, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        sum += all;
    }
    if (rank == 0)
        printf("sum %ld\n", sum);
    MPI_Finalize();
    return 0;
}

/* Collectives whose times are predicted: all processes come at random within a time, without work before.
 *
 *     predicted ROUNDS SPREAD_US BYTES...
 *
 * In each round, for each length, an allreduce, a bcast, a reduce, an allgather and an alltoall, each
 * after a barrier and a sleep of at most SPREAD_US. BYTES: multiples of 4. */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int rounds = argc > 1 ? atoi(argv[1]) : 50;
    int spread_us = argc > 2 ? atoi(argv[2]) : 0;
    int largest = 1;
    for (int i = 3; i < argc; i++)
        if (atoi(argv[i]) / 4 > largest)
            largest = atoi(argv[i]) / 4;
    int *from = calloc((size_t)largest * size, sizeof *from);
    int *to = calloc((size_t)largest * size, sizeof *to);
    /* Other runs have other arrivals. */
    srand(rank + 64 * (unsigned)time(NULL));
    for (int round = 0; round < rounds; round++)
        for (int i = 3; i < argc; i++)
            for (int operation = 0; operation < 5; operation++) {
                int n = atoi(argv[i]) / 4;
                MPI_Barrier(MPI_COMM_WORLD);
                if (spread_us > 0)
                    usleep(rand() % spread_us);
                switch (operation) {
                case 0: MPI_Allreduce(from, to, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD); break;
                case 1: MPI_Bcast(from, n, MPI_INT, 0, MPI_COMM_WORLD); break;
                case 2: MPI_Reduce(from, to, n, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD); break;
                case 3: MPI_Allgather(from, n, MPI_INT, to, n, MPI_INT, MPI_COMM_WORLD); break;
                default: MPI_Alltoall(from, n, MPI_INT, to, n, MPI_INT, MPI_COMM_WORLD); break;
                }
            }
    MPI_Finalize();
    return 0;
}

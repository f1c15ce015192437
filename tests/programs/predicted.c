/* Collectives whose times are predicted: all processes come at random within a time, without work before.
 *
 *     predicted ROUNDS SPREAD_US WINDOW_US BYTES...
 *
 * In each round, for each length, an allreduce, a bcast, a reduce, an allgather and an alltoall, each
 * after a barrier. Some processes leave that earlier than others, depending on what was before: so rank 0
 * says when it begins, WINDOW_US later on the wall clock, which simulated hosts share, and each process comes at
 * most SPREAD_US after that. BYTES: multiples of 4. */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

static void sleep_until(long long at_ns)
{
    struct timespec at = {at_ns / 1000000000, at_ns % 1000000000};
    while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &at, NULL))
        ;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int rounds = argc > 1 ? atoi(argv[1]) : 50;
    int spread_us = argc > 2 ? atoi(argv[2]) : 0;
    long long window_us = argc > 3 ? atoi(argv[3]) : 0;
    int largest = 1;
    for (int i = 4; i < argc; i++)
        if (atoi(argv[i]) / 4 > largest)
            largest = atoi(argv[i]) / 4;
    int *from = calloc((size_t)largest * size, sizeof *from);
    int *to = calloc((size_t)largest * size, sizeof *to);
    /* Other runs have other arrivals. */
    srand(rank + 64 * (unsigned)time(NULL));
    for (int round = 0; round < rounds; round++)
        for (int i = 4; i < argc; i++)
            for (int operation = 0; operation < 5; operation++) {
                int n = atoi(argv[i]) / 4;
                MPI_Barrier(MPI_COMM_WORLD);
                struct timespec now;
                clock_gettime(CLOCK_REALTIME, &now);
                long long begin_ns = now.tv_sec * 1000000000LL + now.tv_nsec + window_us * 1000;
                for (int other = 1; rank == 0 && other < size; other++)
                    MPI_Send(&begin_ns, 1, MPI_LONG_LONG, other, 0, MPI_COMM_WORLD);
                if (rank > 0)
                    MPI_Recv(&begin_ns, 1, MPI_LONG_LONG, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                sleep_until(begin_ns + (spread_us > 0 ? rand() % spread_us * 1000LL : 0));
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

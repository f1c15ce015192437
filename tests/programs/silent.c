/* Nonblocking collectives that send nothing when they are begun, and go on in blocking ones.
 *
 *     silent TIMES
 *
 * A reduction whose first step each process does for itself, a broadcast of nothing beside it, and
 * a blocking collective on the same communicator before they are waited for. Rank 0 prints a
 * checksum. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 64 };

int main(int argc, char **argv)
{
    int times = atoi(argv[argc - 1]), rank, size;
    long own[N], sum[N] = { 0 }, few[2] = { 1, 2 }, more[64] = { 0 }, checksum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int time = 0; time < times; time++) {
        MPI_Request requests[2];
        for (int i = 0; i < N; i++)
            own[i] = rank + i + time;
        MPI_Ibcast(NULL, 0, MPI_LONG, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Ireduce(own, sum, N, MPI_LONG, MPI_SUM, time % size, MPI_COMM_WORLD, &requests[1]);
        switch (time % 3) {
        case 0:
            MPI_Barrier(MPI_COMM_WORLD);
            break;
        case 1:
            MPI_Reduce(few, more, 2, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
            break;
        case 2:
            MPI_Allgather(few, 2, MPI_LONG, more, 2, MPI_LONG, MPI_COMM_WORLD);
            break;
        }
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < N; i++)
            checksum += sum[i];
    }
    if (rank == 0)
        printf("%ld\n", checksum);
    MPI_Finalize();
    return 0;
}

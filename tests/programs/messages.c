/* Collectives whose messages are looked at, and messages of its own that are not.
 *
 *     messages TIMES BYTES ROOT
 *
 * TIMES times six collectives on MPI_COMM_WORLD, the broadcast and the allreduce also on one with
 * the ranks in reverse, and one nonblocking; after each round a message of its own around the ring.
 * Rank 0 prints a checksum. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, times = atoi(argv[1]), bytes = atoi(argv[2]), root = atoi(argv[3]);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm reversed;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
    int n = bytes / (int)sizeof(int);
    int *from = malloc(sizeof(int) * n * size), *to = malloc(sizeof(int) * n * size);
    long checksum = 0;
    for (int time = 0; time < times; time++) {
        for (int i = 0; i < n * size; i++)
            from[i] = rank + i + time;
        MPI_Bcast(from, n, MPI_INT, root, MPI_COMM_WORLD);
        MPI_Bcast(from, n, MPI_INT, root, reversed);
        MPI_Reduce(from, to, n, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
        MPI_Allreduce(from, to, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        checksum += to[0];
        MPI_Allreduce(from, to, n, MPI_INT, MPI_SUM, reversed);
        MPI_Allgather(from, n, MPI_INT, to, n, MPI_INT, MPI_COMM_WORLD);
        MPI_Alltoall(from, n, MPI_INT, to, n, MPI_INT, MPI_COMM_WORLD);
        checksum += to[n * size - 1];
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Request request;
        MPI_Iallreduce(from, to, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        checksum += to[0];
        MPI_Request mine;
        MPI_Irecv(to, n, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &mine);
        MPI_Send(from, n, MPI_INT, (rank + 1) % size, 5, MPI_COMM_WORLD);
        MPI_Wait(&mine, MPI_STATUS_IGNORE);
        checksum += to[0];
    }
    MPI_Comm_free(&reversed);
    if (rank == 0)
        printf("%ld\n", checksum);
    MPI_Finalize();
    return 0;
}

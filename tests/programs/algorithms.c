/* One collective, some times, for looking at the algorithm that the library takes.
 *
 *     algorithms OPERATION TIMES ROOT COUNT...
 *
 * For each COUNT, TIMES times OPERATION (bcast, reduce ...) on so many integers (of each process,
 * where processes have data of their own). Rank 0 prints a checksum. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long run(const char *operation, int times, int root, int n)
{
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int *from = malloc(sizeof(int) * (n * size + 1)), *to = malloc(sizeof(int) * (n * size + 1));
    int *counts = malloc(sizeof(int) * size), *places = malloc(sizeof(int) * size);
    for (int i = 0; i < size; i++) {
        counts[i] = n;
        places[i] = i * n;
    }
    long checksum = 0;
    for (int time = 0; time < times; time++) {
        for (int i = 0; i < n * size; i++) {
            from[i] = rank + i + time;
            to[i] = 0;
        }
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Comm on = MPI_COMM_WORLD;
        if (!strcmp(operation, "bcast"))
            MPI_Bcast(from, n, MPI_INT, root, on);
        else if (!strcmp(operation, "scatter"))
            MPI_Scatter(from, n, MPI_INT, to, n, MPI_INT, root, on);
        else if (!strcmp(operation, "reduce"))
            MPI_Reduce(from, to, n, MPI_INT, MPI_SUM, root, on);
        else if (!strcmp(operation, "gather"))
            MPI_Gather(from, n, MPI_INT, to, n, MPI_INT, root, on);
        else if (!strcmp(operation, "allreduce"))
            MPI_Allreduce(from, to, n, MPI_INT, MPI_SUM, on);
        else if (!strcmp(operation, "allgather"))
            MPI_Allgather(from, n, MPI_INT, to, n, MPI_INT, on);
        else if (!strcmp(operation, "alltoall"))
            MPI_Alltoall(from, n, MPI_INT, to, n, MPI_INT, on);
        else if (!strcmp(operation, "alltoallv"))
            MPI_Alltoallv(from, counts, places, MPI_INT, to, counts, places, MPI_INT, on);
        else if (!strcmp(operation, "reduce_scatter"))
            MPI_Reduce_scatter(from, to, counts, MPI_INT, MPI_SUM, on);
        else if (!strcmp(operation, "scan"))
            MPI_Scan(from, to, n, MPI_INT, MPI_SUM, on);
        else if (!strcmp(operation, "barrier"))
            MPI_Barrier(on);
        else if (!strcmp(operation, "ibcast"))
            MPI_Ibcast(from, n, MPI_INT, root, on, &request);
        else if (!strcmp(operation, "ireduce"))
            MPI_Ireduce(from, to, n, MPI_INT, MPI_SUM, root, on, &request);
        else if (!strcmp(operation, "iallreduce"))
            MPI_Iallreduce(from, to, n, MPI_INT, MPI_SUM, on, &request);
        else if (!strcmp(operation, "ialltoall"))
            MPI_Ialltoall(from, n, MPI_INT, to, n, MPI_INT, on, &request);
        else if (!strcmp(operation, "ibarrier"))
            MPI_Ibarrier(on, &request);
        else {
            fprintf(stderr, "algorithms: no operation %s\n", operation);
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        checksum += to[0] + (n > 0 ? from[n - 1] : 0);
    }
    free(from);
    free(to);
    free(counts);
    free(places);
    return checksum;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    long checksum = 0;
    for (int i = 4; i < argc; i++)
        checksum += run(argv[1], atoi(argv[2]), atoi(argv[3]), atoi(argv[i]));
    if (rank == 0)
        printf("%ld\n", checksum);
    MPI_Finalize();
    return 0;
}

/* Every collective that Open MPI has several algorithms for, with payloads and on communicators for which
 * it may take different ones: on all processes, and on halves of them (of two or more).
 *
 *     said TIMES
 *
 * Rank 0 prints a checksum. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 5000, PROCESSES = 16 };

static int give[MOST * PROCESSES], take[MOST * PROCESSES];

static long run(MPI_Comm on, int n, int root)
{
    int size, rank, counts[PROCESSES], places[PROCESSES];
    MPI_Comm_size(on, &size);
    MPI_Comm_rank(on, &rank);
    for (int i = 0; i < size; i++) {
        counts[i] = n;
        places[i] = i * n;
    }
    for (int i = 0; i < n * size; i++)
        give[i] = rank + i;
    MPI_Barrier(on);
    MPI_Bcast(give, n, MPI_INT, root, on);
    MPI_Gather(give, n, MPI_INT, take, n, MPI_INT, root, on);
    MPI_Scatter(give, n, MPI_INT, take, n, MPI_INT, root, on);
    MPI_Allgather(give, n, MPI_INT, take, n, MPI_INT, on);
    MPI_Allgatherv(give, n, MPI_INT, take, counts, places, MPI_INT, on);
    MPI_Alltoall(give, n, MPI_INT, take, n, MPI_INT, on);
    MPI_Alltoallv(give, counts, places, MPI_INT, take, counts, places, MPI_INT, on);
    MPI_Reduce(give, take, n, MPI_INT, MPI_MAX, root, on);
    MPI_Allreduce(give, take, n, MPI_INT, MPI_MAX, on);
    MPI_Reduce_scatter(give, take, counts, MPI_INT, MPI_MAX, on);
    MPI_Reduce_scatter_block(give, take, n, MPI_INT, MPI_MAX, on);
    MPI_Scan(give, take, n, MPI_INT, MPI_MAX, on);
    MPI_Exscan(give, take, n, MPI_INT, MPI_MAX, on);
    return take[0];
}

int main(int argc, char **argv)
{
    static const int counts[] = {1, 4, 100, MOST};
    int rank, size, times = argc > 1 ? atoi(argv[1]) : 1;
    long checksum = 0;
    MPI_Comm half;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, rank / (size / 2), rank, &half);
    for (int time = 0; time < times; time++)
        for (int i = 0; i < 4; i++) {
            checksum += run(MPI_COMM_WORLD, counts[i], size - 1);
            if (size > 3)
                checksum += run(half, counts[i], 0);
        }
    if (rank == 0)
        printf("%ld\n", checksum);
    MPI_Finalize();
    return 0;
}

/* Every collective for which Open MPI's coll_tuned reads rules, with payloads of some sizes, on
 * communicators of 2, 3 .. processes.
 *
 *     ruled BYTES...
 *     ruled all BYTES...      only on one communicator, of all processes
 *
 * BYTES: what a process contributes, or sends to each other process. The root is the first process.
 * A call that the library refuses is told by the first process of the communicator, as "OPERATION
 * PROCESSES BYTES". The communicators are made without a collective of their parent: rules choose the
 * algorithms of all others, and may choose one that fails. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned char *from, *to;
static int *counts, *places;

enum { N_OPERATIONS = 14 };
static const char *const names[N_OPERATIONS] = {
    "MPI_Allgather", "MPI_Allgatherv", "MPI_Allreduce", "MPI_Alltoall", "MPI_Alltoallv",
    "MPI_Barrier", "MPI_Bcast", "MPI_Exscan", "MPI_Gather", "MPI_Reduce",
    "MPI_Reduce_scatter", "MPI_Reduce_scatter_block", "MPI_Scan", "MPI_Scatter"};

static int call(int operation, int n, MPI_Comm on)
{
    switch (operation) {
    case 0: return MPI_Allgather(from, n, MPI_BYTE, to, n, MPI_BYTE, on);
    case 1: return MPI_Allgatherv(from, n, MPI_BYTE, to, counts, places, MPI_BYTE, on);
    case 2: return MPI_Allreduce(from, to, n, MPI_BYTE, MPI_BOR, on);
    case 3: return MPI_Alltoall(from, n, MPI_BYTE, to, n, MPI_BYTE, on);
    case 4: return MPI_Alltoallv(from, counts, places, MPI_BYTE, to, counts, places, MPI_BYTE, on);
    case 5: return MPI_Barrier(on);
    case 6: return MPI_Bcast(from, n, MPI_BYTE, 0, on);
    case 7: return MPI_Exscan(from, to, n, MPI_BYTE, MPI_BOR, on);
    case 8: return MPI_Gather(from, n, MPI_BYTE, to, n, MPI_BYTE, 0, on);
    case 9: return MPI_Reduce(from, to, n, MPI_BYTE, MPI_BOR, 0, on);
    case 10: return MPI_Reduce_scatter(from, to, counts, MPI_BYTE, MPI_BOR, on);
    case 11: return MPI_Reduce_scatter_block(from, to, n, MPI_BYTE, MPI_BOR, on);
    case 12: return MPI_Scan(from, to, n, MPI_BYTE, MPI_BOR, on);
    default: return MPI_Scatter(from, n, MPI_BYTE, to, n, MPI_BYTE, 0, on);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int smallest = 2, begin = 1;
    if (argc > 1 && !strcmp(argv[1], "all")) {
        smallest = size;
        begin = 2;
    }
    size_t largest = 1;
    for (int i = begin; i < argc; i++)
        if ((size_t)atol(argv[i]) > largest)
            largest = atol(argv[i]);
    from = calloc(largest, size);
    to = calloc(largest, size);
    counts = malloc(sizeof(int) * size);
    places = malloc(sizeof(int) * size);
    for (int n = smallest; n <= size; n++) {
        if (rank >= n)
            continue;
        MPI_Group world, first;
        MPI_Comm on;
        MPI_Comm_group(MPI_COMM_WORLD, &world);
        MPI_Group_range_incl(world, 1, (int[][3]){{0, n - 1, 1}}, &first);
        MPI_Comm_create_group(MPI_COMM_WORLD, first, n, &on);
        MPI_Comm_set_errhandler(on, MPI_ERRORS_RETURN);
        for (int operation = 0; operation < N_OPERATIONS; operation++)
            for (int i = begin; i < argc; i++) {
                int bytes = atoi(argv[i]);
                for (int of = 0; of < n; of++) {
                    counts[of] = bytes;
                    places[of] = of * bytes;
                }
                if (call(operation, bytes, on) != MPI_SUCCESS && rank == 0)
                    printf("%s %d %d\n", names[operation], n, bytes);
            }
        MPI_Comm_free(&on);
        MPI_Group_free(&first);
        MPI_Group_free(&world);
    }
    MPI_Finalize();
    return 0;
}

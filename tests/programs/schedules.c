/* Every collective that Open MPI's coll_tuned has algorithms for, on communicators of some sizes, with
 * payloads of some lengths and two roots.
 *
 *     schedules PROCESSES... -- BYTES...
 *
 * PROCESSES: sizes of communicators, of the first processes. BYTES: what a process contributes, or
 * sends to each other process; a multiple of 4. Calls are counted from 0, on every process in the same
 * way; those that the library refuses are told by the first process of the communicator, by their
 * number. The communicators are made without a collective of their parent. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "first.inc"

static int *from, *to, *counts, *places;

enum { N_OPERATIONS = 14 };

static int is_rooted(int operation)
{
    return operation == 6 || operation == 8 || operation == 9 || operation == 13;
}

static int call(int operation, int n, int root, MPI_Comm on)
{
    switch (operation) {
    case 0: return MPI_Allgather(from, n, MPI_INT, to, n, MPI_INT, on);
    case 1: return MPI_Allgatherv(from, n, MPI_INT, to, counts, places, MPI_INT, on);
    case 2: return MPI_Allreduce(from, to, n, MPI_INT, MPI_SUM, on);
    case 3: return MPI_Alltoall(from, n, MPI_INT, to, n, MPI_INT, on);
    case 4: return MPI_Alltoallv(from, counts, places, MPI_INT, to, counts, places, MPI_INT, on);
    case 5: return MPI_Barrier(on);
    case 6: return MPI_Bcast(from, n, MPI_INT, root, on);
    case 7: return MPI_Exscan(from, to, n, MPI_INT, MPI_SUM, on);
    case 8: return MPI_Gather(from, n, MPI_INT, to, n, MPI_INT, root, on);
    case 9: return MPI_Reduce(from, to, n, MPI_INT, MPI_SUM, root, on);
    case 10: return MPI_Reduce_scatter(from, to, counts, MPI_INT, MPI_SUM, on);
    case 11: return MPI_Reduce_scatter_block(from, to, n, MPI_INT, MPI_SUM, on);
    case 12: return MPI_Scan(from, to, n, MPI_INT, MPI_SUM, on);
    default: return MPI_Scatter(from, n, MPI_INT, to, n, MPI_INT, root, on);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int separator = position_of_separator(argc, argv);
    int largest = most_elements(argc, argv, separator, 4);
    from = calloc((size_t)largest * size, sizeof *from);
    to = calloc((size_t)largest * size, sizeof *to);
    counts = malloc(sizeof(int) * size);
    places = malloc(sizeof(int) * size);
    int number = 0;
    for (int i = 1; i < separator; i++) {
        int n = atoi(argv[i]);
        MPI_Comm on = rank < n ? first_processes(n, i) : MPI_COMM_NULL;
        for (int operation = 0; operation < N_OPERATIONS; operation++)
            for (int j = separator + 1; j < argc; j++)
                for (int last = 0; last <= is_rooted(operation); last++) {
                    int elements = atoi(argv[j]) / 4;
                    for (int of = 0; of < n; of++) {
                        counts[of] = elements;
                        places[of] = of * elements;
                    }
                    int root = last ? n - 1 : 0;
                    if (rank < n && call(operation, elements, root, on) != MPI_SUCCESS && rank == 0)
                        printf("%d\n", number);
                    number++;
                }
        if (rank < n)
            MPI_Comm_free(&on);
    }
    MPI_Finalize();
    return 0;
}

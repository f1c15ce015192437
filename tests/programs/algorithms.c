/* One collective, some times, for looking at the algorithm that the library takes.
 *
 *     algorithms OPERATION TIMES ROOT COUNT...
 *     algorithms forced TIMES OPERATION:NUMBER:ROOT:COUNT[:SEGMENT]...
 *
 * For each COUNT, TIMES times OPERATION (bcast, reduce ...) on so many integers (of each process,
 * where processes have data of their own). Rank 0 prints a checksum.
 *
 * Forced: each on a copy of MPI_COMM_WORLD of its own, with this text as its name, for which Open MPI is
 * told through MPI_T to take the algorithm NUMBER, in segments of so many bytes. That works where it was
 * started with coll_tuned_use_dynamic_rules. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long run(MPI_Comm on, const char *operation, int times, int root, int n)
{
    int rank, size;
    MPI_Comm_rank(on, &rank);
    MPI_Comm_size(on, &size);
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

/* Sets a parameter of coll_tuned, for communicators that are made from now on. */
static void set(const char *operation, const char *what, int value)
{
    char name[100];
    int index, n;
    MPI_T_cvar_handle handle;
    snprintf(name, sizeof name, "coll_tuned_%s_algorithm%s", operation, what);
    if (MPI_T_cvar_get_index(name, &index) != MPI_SUCCESS
        || MPI_T_cvar_handle_alloc(index, NULL, &handle, &n) != MPI_SUCCESS
        || MPI_T_cvar_write(handle, &value) != MPI_SUCCESS) {
        fprintf(stderr, "algorithms: no %s = %d\n", name, value);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_T_cvar_handle_free(&handle);
}

static long run_forced(int times, const char *what)
{
    char operation[40];
    int number, root, count, segment;
    int n = sscanf(what, "%39[^:]:%d:%d:%d:%d", operation, &number, &root, &count, &segment);
    if (n < 4)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Comm on;
    set(operation, "", number);
    if (n == 5)
        set(operation, "_segmentsize", segment);
    MPI_Comm_dup(MPI_COMM_WORLD, &on);
    MPI_Comm_set_name(on, what);
    set(operation, "", 0);
    if (n == 5)
        set(operation, "_segmentsize", 0);
    long checksum = run(on, operation, times, root, count);
    MPI_Comm_free(&on);
    return checksum;
}

int main(int argc, char **argv)
{
    int rank, provided;
    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    long checksum = 0;
    if (!strcmp(argv[1], "forced"))
        for (int i = 3; i < argc; i++)
            checksum += run_forced(atoi(argv[2]), argv[i]);
    else
        for (int i = 4; i < argc; i++)
            checksum += run(MPI_COMM_WORLD, argv[1], atoi(argv[2]), atoi(argv[3]), atoi(argv[i]));
    if (rank == 0)
        printf("%ld\n", checksum);
    MPI_T_finalize();
    MPI_Finalize();
    return 0;
}

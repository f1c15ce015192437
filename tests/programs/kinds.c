/* Every neighborhood collective, every persistent collective started twice, nonblocking ones in
 * place and without data, and the large-count forms of some where they can be found, as with the
 * preloaded library. DIRECTORY/kinds.RANK.log has a line for each, as storm's.
 *
 *     kinds DIRECTORY          for 4 ranks
 *
 * Rank 0 prints a checksum; what is done by large-count forms is not in it, but is checked against
 * the classic form. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <mpi-ext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 4, ROOM = 64 };
static int rank, from[ROOM], to[ROOM];
static FILE *logfile;
static MPI_Comm grid;
static long position[3]; /* on MPI_COMM_WORLD, -, the grid: numbers as in the trace */
static long long checksum;
static int counts[RANKS] = {2, 2, 2, 2}, places[RANKS] = {0, 2, 4, 6}, none[RANKS];
static int bytes[RANKS] = {0, 8, 16, 24};
static MPI_Aint addresses[RANKS] = {0, 8, 16, 24};
static MPI_Datatype types[RANKS];
static int definition;

static void prepare(void)
{
    for (int i = 0; i < ROOM; i++) {
        from[i] = rank * 5 + i;
        to[i] = -i;
    }
}

static void take(void)
{
    for (int i = 0; i < ROOM; i++)
        checksum = (checksum * 31 + to[i]) % 1000000007;
}

static void check(int code, int line)
{
    if (code != MPI_SUCCESS) {
        fprintf(stderr, "line %d: MPI error %d\n", line, code);
        MPI_Abort(MPI_COMM_WORLD, 99);
    }
}

/* A blocking call. */
#define CALL(c, x, ...)                                                     \
    do {                                                                    \
        prepare();                                                          \
        check(MPI_##x(__VA_ARGS__), __LINE__);                              \
        fprintf(logfile, "begin %d %ld MPI_%s\n", c, position[c]++, #x);    \
        take();                                                             \
    } while (0)

/* A nonblocking call and its completion. */
#define BEGIN(c, x, ...)                                                    \
    do {                                                                    \
        MPI_Request request;                                                \
        prepare();                                                          \
        check(MPI_##x(__VA_ARGS__, &request), __LINE__);                    \
        check(MPI_Wait(&request, MPI_STATUS_IGNORE), __LINE__);             \
        fprintf(logfile, "begin %d %ld MPI_%s\n", c, position[c], #x);      \
        fprintf(logfile, "done %d %ld MPI_Wait 1 0 0\n", c, position[c]++); \
        take();                                                             \
    } while (0)

/* A persistent collective, started twice. */
#define PERSIST(x, ...)                                                     \
    do {                                                                    \
        MPI_Request request;                                                \
        check(MPIX_##x##_init(__VA_ARGS__, MPI_INFO_NULL, &request), __LINE__); \
        for (int k = 0; k < 2; k++) {                                       \
            prepare();                                                      \
            check(MPI_Start(&request), __LINE__);                           \
            check(MPI_Waitall(1, &request, MPI_STATUSES_IGNORE), __LINE__); \
            fprintf(logfile, "start %d %d MPI_%s_init 1\n", definition, k, #x); \
            fprintf(logfile, "ended %d %d MPI_Waitall 1 0 0\n", definition, k); \
            take();                                                         \
        }                                                                   \
        definition++;                                                       \
        check(MPI_Request_free(&request), __LINE__);                        \
    } while (0)

/* The arrays of a large-count call are the program's until it is complete: they are narrowed to
 * others, which must live as long. */
static void large_counts(void)
{
    typedef int alltoallv(const void *, const MPI_Count *, const MPI_Aint *, MPI_Datatype, void *,
                          const MPI_Count *, const MPI_Aint *, MPI_Datatype, MPI_Comm,
                          MPI_Request *);
    alltoallv *of_all = (alltoallv *)dlsym(RTLD_DEFAULT, "MPI_Ialltoallv_c");
    alltoallv *of_neighbours = (alltoallv *)dlsym(RTLD_DEFAULT, "MPI_Ineighbor_alltoallv_c");
    MPI_Count large[RANKS] = {2, 2, 2, 2};
    MPI_Aint at[RANKS] = {0, 2, 4, 6};
    if (!of_all || !of_neighbours)
        return;
    for (int k = 0; k < 200; k++) {
        enum { MANY = 8 };
        static int results[MANY][ROOM];
        MPI_Request requests[MANY];
        prepare();
        MPI_Alltoallv(from, counts, places, MPI_INT, to, counts, places, MPI_INT, MPI_COMM_WORLD);
        fprintf(logfile, "begin 0 %ld MPI_Alltoallv\n", position[0]++);
        for (int i = 0; i < MANY; i++) {
            memset(results[i], 0, sizeof results[i]);
            int c = i % 2 ? 2 : 0;
            check((i % 2 ? of_neighbours : of_all)(from, large, at, MPI_INT, results[i], large, at,
                                                   MPI_INT, c ? grid : MPI_COMM_WORLD,
                                                   &requests[i]), __LINE__);
            fprintf(logfile, "begin %d %ld MPI_I%s\n", c, position[c],
                    c ? "neighbor_alltoallv" : "alltoallv");
            fprintf(logfile, "done %d %ld MPI_Waitall %d 0 0\n", c, position[c]++, MANY);
        }
        check(MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE), __LINE__);
        for (int i = 0; i < MANY; i += 2)
            if (memcmp(results[i], to, 8 * sizeof(int)))
                MPI_Abort(MPI_COMM_WORLD, 96);
    }
}

int main(int argc, char **argv)
{
    int dims[2] = {2, 2}, periods[2] = {1, 1};
    MPI_Comm w = MPI_COMM_WORLD;
    if (argc != 2)
        return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(w, &rank);
    char path[4096];
    snprintf(path, sizeof path, "%s/kinds.%d.log", argv[1], rank);
    logfile = fopen(path, "w");
    if (!logfile)
        MPI_Abort(w, 97);
    for (int i = 0; i < RANKS; i++)
        types[i] = MPI_INT;
    MPI_Cart_create(w, 2, dims, periods, 0, &grid);
    position[0] = 1;

#define V from, counts, places, MPI_INT, to, counts, places, MPI_INT
    CALL(2, Neighbor_allgather, from, 2, MPI_INT, to, 2, MPI_INT, grid);
    CALL(2, Neighbor_allgatherv, from, 2, MPI_INT, to, counts, places, MPI_INT, grid);
    CALL(2, Neighbor_alltoall, from, 2, MPI_INT, to, 2, MPI_INT, grid);
    CALL(2, Neighbor_alltoallv, V, grid);
    CALL(2, Neighbor_alltoallw, from, counts, addresses, types, to, counts, addresses, types, grid);
    CALL(2, Neighbor_alltoall, from, 0, MPI_INT, to, 0, MPI_INT, grid);

    int here = rank == 0;
    BEGIN(0, Igather, here ? MPI_IN_PLACE : from, 2, MPI_INT, to, 2, MPI_INT, 0, w);
    BEGIN(0, Iscatter, from, 2, MPI_INT, here ? MPI_IN_PLACE : to, 2, MPI_INT, 0, w);
    BEGIN(0, Iallgather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, to, 2, MPI_INT, w);
    BEGIN(0, Iallgatherv, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, to, counts, places, MPI_INT, w);
    BEGIN(0, Ireduce, here ? MPI_IN_PLACE : from, to, 4, MPI_INT, MPI_SUM, 0, w);
    BEGIN(0, Iallreduce, MPI_IN_PLACE, to, 4, MPI_INT, MPI_MIN, w);
    BEGIN(0, Iscan, MPI_IN_PLACE, to, 4, MPI_INT, MPI_SUM, w);
    BEGIN(0, Ibcast, to, 0, MPI_INT, 0, w);
    BEGIN(0, Iallreduce, from, to, 0, MPI_INT, MPI_SUM, w);
    BEGIN(0, Ialltoallv, from, none, places, MPI_INT, to, none, places, MPI_INT, w);

    PERSIST(Barrier, w);
    PERSIST(Bcast, to, 4, MPI_INT, 1, w);
    PERSIST(Gather, from, 2, MPI_INT, to, 2, MPI_INT, 1, w);
    PERSIST(Gatherv, from, 2, MPI_INT, to, counts, places, MPI_INT, 1, w);
    PERSIST(Scatter, from, 2, MPI_INT, to, 2, MPI_INT, 1, w);
    PERSIST(Scatterv, from, counts, places, MPI_INT, to, 2, MPI_INT, 1, w);
    PERSIST(Allgather, from, 2, MPI_INT, to, 2, MPI_INT, w);
    PERSIST(Allgatherv, from, 2, MPI_INT, to, counts, places, MPI_INT, w);
    PERSIST(Alltoall, from, 2, MPI_INT, to, 2, MPI_INT, w);
    PERSIST(Alltoallv, V, w);
    PERSIST(Alltoallw, from, counts, bytes, types, to, counts, bytes, types, w);
    PERSIST(Reduce, from, to, 4, MPI_INT, MPI_SUM, 1, w);
    PERSIST(Allreduce, from, to, 4, MPI_INT, MPI_SUM, w);
    PERSIST(Reduce_scatter, from, to, counts, MPI_INT, MPI_SUM, w);
    PERSIST(Reduce_scatter_block, from, to, 2, MPI_INT, MPI_SUM, w);
    PERSIST(Scan, from, to, 4, MPI_INT, MPI_SUM, w);
    PERSIST(Exscan, from, to, 4, MPI_INT, MPI_SUM, w);
    PERSIST(Neighbor_allgather, from, 2, MPI_INT, to, 2, MPI_INT, grid);
    PERSIST(Neighbor_allgatherv, from, 2, MPI_INT, to, counts, places, MPI_INT, grid);
    PERSIST(Neighbor_alltoall, from, 2, MPI_INT, to, 2, MPI_INT, grid);
    PERSIST(Neighbor_alltoallv, V, grid);
    PERSIST(Neighbor_alltoallw, from, counts, addresses, types, to, counts, addresses, types, grid);
    large_counts();

    long long total = 0;
    MPI_Reduce(&checksum, &total, 1, MPI_LONG_LONG, MPI_SUM, 0, w);
    fprintf(logfile, "begin 0 %ld MPI_Reduce\n", position[0]);
    fclose(logfile);
    if (rank == 0)
        printf("checksum %lld\n", total);
    MPI_Finalize();
    return 0;
}

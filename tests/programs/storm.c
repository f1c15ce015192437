/* Nonblocking and persistent collectives of all kinds, up to 64 of them under way on several
 * communicators, completed in all ways that MPI has. Keeps its own account of what it does:
 * DIRECTORY/storm.RANK.log, a line for each initiation and for each completion.
 *
 *     storm DIRECTORY COUNT      for 4 ranks
 *
 * Communicators are numbered as their definitions are: in the order in which they are made.
 * Rank 0 prints a checksum of all results, so that a recorded run can be compared with another. */
#include <mpi.h>
#include <mpi-ext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 64, COUNT = 6, RANKS = 4, COMMS = 7, KINDS = 22, PERSISTENT = 6 };
enum { WORLD, SELF, DUP, HALF, GRID, GRAPH, INTER };

static int rank;
static FILE *logfile;
static MPI_Comm comms[COMMS];
static long positions[COMMS]; /* calls that have begun on each */
static long long checksum;

static struct slot {
    int comm;       /* -1: free */
    long position;  /* of the initiation; of a persistent one the number of the start */
    int definition; /* of a persistent one, else -1 */
    int tests;      /* in vain */
    int shared;     /* whether another one under way had the same handle: cannot be told apart */
    int from[COUNT * RANKS], to[COUNT * RANKS];
} slots[SLOTS + PERSISTENT];
static MPI_Request requests[SLOTS + PERSISTENT];
static int counts[RANKS] = {2, 2, 2, 2}, places[RANKS] = {0, 2, 4, 6};
static int bytes[RANKS] = {0, 8, 16, 24};
static MPI_Aint addresses[RANKS] = {0, 8, 16, 24};
static MPI_Datatype types[RANKS], pairs;
static MPI_Op weighted;

/* All ranks draw the same numbers from the first, each its own from the second. */
static unsigned long long common = 12345, own;

static int draw(unsigned long long *state, int n)
{
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (int)((*state >> 33) % (unsigned)n);
}

static void check(int code, int line)
{
    if (code != MPI_SUCCESS) {
        fprintf(stderr, "line %d: MPI error %d\n", line, code);
        MPI_Abort(MPI_COMM_WORLD, 99);
    }
}
#define CHECK(call) check(call, __LINE__)

static void add_three_times(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *n; i++)
        ((int *)inout)[i] += 3 * ((int *)in)[i];
}

/* ---- completion ---- */

static void completed(int i, const char *by, int together)
{
    struct slot *slot = &slots[i];
    fprintf(logfile, "%s %d %ld %s %d %d %d\n", slot->definition < 0 ? "done" : "ended",
            slot->definition < 0 ? slot->comm : slot->definition, slot->position, by, together,
            slot->tests, slot->shared);
    /* In whatever order they come. */
    long long result = slot->comm * 1000003LL + slot->position;
    for (int k = 0; k < COUNT * RANKS; k++)
        result = (result * 31 + slot->to[k]) % 1000000007;
    checksum += result;
    slot->comm = -1;
}

static void finish_one(int i, const char *by)
{
    completed(i, by, 1);
}

/* Some requests that are under way, at most so many; from where they are in `which`. */
static int choose(MPI_Request *chosen, int *which, int most)
{
    int n = 0, at = draw(&own, SLOTS + PERSISTENT);
    for (int k = 0; k < SLOTS + PERSISTENT && n < most; k++, at = (at + 1) % (SLOTS + PERSISTENT))
        if (slots[at].comm >= 0) {
            chosen[n] = requests[at];
            which[n++] = at;
        }
    return n;
}

static void give_back(MPI_Request *chosen, int *which, int n)
{
    for (int k = 0; k < n; k++)
        requests[which[k]] = chosen[k];
}

static void in_vain(int *which, int n)
{
    for (int k = 0; k < n; k++)
        slots[which[k]].tests++;
}

static void complete_something(void)
{
    MPI_Request chosen[SLOTS + PERSISTENT];
    int which[SLOTS + PERSISTENT], indices[SLOTS + PERSISTENT], outcount, flag, index;
    MPI_Status statuses[SLOTS + PERSISTENT];
    int how = draw(&own, 9), n = choose(chosen, which, how % 4 == 0 ? 1 : 1 + draw(&own, 40));
    if (n == 0)
        return;
    switch (how) {
    case 0:
        CHECK(MPI_Wait(chosen, MPI_STATUS_IGNORE));
        completed(which[0], "MPI_Wait", 1);
        break;
    case 1:
        CHECK(MPI_Waitall(n, chosen, MPI_STATUSES_IGNORE));
        for (int k = 0; k < n; k++)
            completed(which[k], "MPI_Waitall", n);
        break;
    case 2:
        CHECK(MPI_Waitany(n, chosen, &index, statuses));
        finish_one(which[index], "MPI_Waitany");
        break;
    case 3:
        CHECK(MPI_Waitsome(n, chosen, &outcount, indices, statuses));
        for (int k = 0; k < outcount; k++)
            completed(which[indices[k]], "MPI_Waitsome", outcount);
        break;
    case 4:
        CHECK(MPI_Test(chosen, &flag, MPI_STATUS_IGNORE));
        if (flag)
            finish_one(which[0], "MPI_Test");
        else
            in_vain(which, 1);
        break;
    case 5:
        CHECK(MPI_Testall(n, chosen, &flag, statuses));
        for (int k = 0; flag && k < n; k++)
            completed(which[k], "MPI_Testall", n);
        if (!flag)
            in_vain(which, n);
        break;
    case 6:
        CHECK(MPI_Testany(n, chosen, &index, &flag, MPI_STATUS_IGNORE));
        if (flag)
            finish_one(which[index], "MPI_Testany");
        else
            in_vain(which, n);
        break;
    case 7:
        CHECK(MPI_Testsome(n, chosen, &outcount, indices, MPI_STATUSES_IGNORE));
        for (int k = 0; k < outcount; k++)
            completed(which[indices[k]], "MPI_Testsome", outcount);
        if (outcount == 0)
            in_vain(which, n);
        break;
    case 8:
        CHECK(MPI_Request_get_status(chosen[0], &flag, MPI_STATUS_IGNORE));
        in_vain(which, 1);
        break;
    }
    give_back(chosen, which, n);
}

/* ---- initiation ---- */

static void begin(int i, int kind, int c)
{
    MPI_Comm comm = comms[c];
    MPI_Request *request = &requests[i];
    struct slot *slot = &slots[i];
    int *from = slot->from, *to = slot->to;
    const char *name = "?";
    int root = 0;
    if (c == INTER) /* from the even ranks to the odd ones */
        root = rank % 2 ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
    for (int k = 0; k < COUNT * RANKS; k++) {
        from[k] = rank * 7 + k + (int)(positions[c] % 1000);
        to[k] = -k;
    }
#define BEGIN(x, ...) name = "MPI_" #x; CHECK(MPI_##x(__VA_ARGS__, comm, request)); break
    switch (kind) {
    case 0: name = "MPI_Ibarrier"; CHECK(MPI_Ibarrier(comm, request)); break;
    case 1: BEGIN(Ibcast, to, COUNT, MPI_INT, root);
    case 2: BEGIN(Igather, from, 2, MPI_INT, to, 2, MPI_INT, root);
    case 3: BEGIN(Igatherv, from, 2, MPI_INT, to, counts, places, MPI_INT, root);
    case 4: BEGIN(Iscatter, from, 2, MPI_INT, to, 2, MPI_INT, root);
    case 5: BEGIN(Iscatterv, from, counts, places, MPI_INT, to, 2, MPI_INT, root);
    case 6: BEGIN(Iallgather, from, 2, MPI_INT, to, 2, MPI_INT);
    case 7: BEGIN(Iallgatherv, from, 2, MPI_INT, to, counts, places, MPI_INT);
    case 8: BEGIN(Ialltoall, from, 1, pairs, to, 2, MPI_INT);
    case 9: BEGIN(Ialltoallv, from, counts, places, MPI_INT, to, counts, places, MPI_INT);
    case 10: BEGIN(Ialltoallw, from, counts, bytes, types, to, counts, bytes, types);
    case 11: BEGIN(Ireduce, from, to, COUNT, MPI_INT, MPI_SUM, root);
    case 12: BEGIN(Iallreduce, from, to, COUNT, MPI_INT, weighted);
    case 13: BEGIN(Ireduce_scatter, from, to, counts, MPI_INT, MPI_SUM);
    case 14: BEGIN(Ireduce_scatter_block, from, to, 2, MPI_INT, MPI_SUM);
    case 15: BEGIN(Iscan, from, to, COUNT, MPI_INT, MPI_SUM);
    case 16: BEGIN(Iexscan, from, to, COUNT, MPI_INT, MPI_SUM);
    case 17: BEGIN(Ineighbor_allgather, from, 2, MPI_INT, to, 2, MPI_INT);
    case 18: BEGIN(Ineighbor_allgatherv, from, 2, MPI_INT, to, counts, places, MPI_INT);
    case 19: BEGIN(Ineighbor_alltoall, from, 2, MPI_INT, to, 2, MPI_INT);
    case 20: BEGIN(Ineighbor_alltoallv, from, counts, places, MPI_INT, to, counts, places, MPI_INT);
    case 21: BEGIN(Ineighbor_alltoallw, from, counts, addresses, types, to, counts, addresses, types);
    }
    slot->shared = 0;
    for (int k = 0; k < SLOTS; k++)
        if (slots[k].comm >= 0 && requests[k] == *request)
            slot->shared = slots[k].shared = 1;
    slot->comm = c;
    slot->definition = -1;
    slot->tests = 0;
    slot->position = positions[c]++;
    fprintf(logfile, "begin %d %ld %s\n", c, slot->position, name);
}

static long starts[PERSISTENT];
static const char *persistent_names[PERSISTENT];
static int persistent_comms[PERSISTENT] = {WORLD, DUP, DUP, GRID, SELF, WORLD};

static void make_persistent(void)
{
    for (int p = 0; p < PERSISTENT; p++) {
        struct slot *slot = &slots[SLOTS + p];
        MPI_Request *request = &requests[SLOTS + p];
        MPI_Comm comm = comms[persistent_comms[p]];
        for (int k = 0; k < COUNT * RANKS; k++)
            slot->from[k] = rank + k, slot->to[k] = 0;
#define MAKE(x, ...) persistent_names[p] = "MPI_" #x "_init"; \
        CHECK(MPIX_##x##_init(__VA_ARGS__, comm, MPI_INFO_NULL, request)); break
        switch (p) {
        case 0: MAKE(Allreduce, slot->from, slot->to, COUNT, MPI_INT, MPI_SUM);
        case 1: MAKE(Bcast, slot->to, COUNT, MPI_INT, 1);
        case 2: MAKE(Alltoallv, slot->from, counts, places, MPI_INT, slot->to, counts, places, MPI_INT);
        case 3: MAKE(Neighbor_alltoall, slot->from, 2, MPI_INT, slot->to, 2, MPI_INT);
        case 4: MAKE(Reduce, slot->from, slot->to, COUNT, MPI_INT, MPI_MAX, 0);
        case 5: persistent_names[p] = "MPI_Barrier_init";
            CHECK(MPIX_Barrier_init(comm, MPI_INFO_NULL, request)); break;
        }
    }
}

static void started(int p, int together)
{
    struct slot *slot = &slots[SLOTS + p];
    slot->comm = persistent_comms[p];
    slot->definition = p;
    slot->tests = 0;
    slot->position = starts[p]++;
    fprintf(logfile, "start %d %ld %s %d\n", p, slot->position, persistent_names[p], together);
}

static void wait_for_persistent(int p)
{
    if (slots[SLOTS + p].comm >= 0) {
        CHECK(MPI_Wait(&requests[SLOTS + p], MPI_STATUS_IGNORE));
        completed(SLOTS + p, "MPI_Wait", 1);
    }
}

static void start(void)
{
    int p = draw(&common, PERSISTENT);
    if (p < PERSISTENT - 1 && draw(&common, 3) == 0) {
        wait_for_persistent(p);
        wait_for_persistent(p + 1);
        CHECK(MPI_Startall(2, &requests[SLOTS + p]));
        started(p, 2);
        started(p + 1, 2);
    } else {
        wait_for_persistent(p);
        CHECK(MPI_Start(&requests[SLOTS + p]));
        started(p, 1);
    }
}

static int free_slot(void)
{
    for (;;) {
        for (int i = 0; i < SLOTS; i++)
            if (slots[i].comm < 0)
                return i;
        complete_something();
    }
}

int main(int argc, char **argv)
{
    int size;
    if (argc < 3)
        return 2;
    long count = atol(argv[2]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != RANKS)
        MPI_Abort(MPI_COMM_WORLD, 98);
    own = 777 + (unsigned)rank;
    char path[4096];
    snprintf(path, sizeof path, "%s/storm.%d.log", argv[1], rank);
    logfile = fopen(path, "w");
    if (!logfile)
        MPI_Abort(MPI_COMM_WORLD, 97);
    for (int i = 0; i < RANKS; i++)
        types[i] = MPI_INT;
    MPI_Type_vector(2, 1, 2, MPI_INT, &pairs); /* every second int */
    MPI_Type_create_resized(pairs, 0, 2 * sizeof(int), &pairs);
    MPI_Type_commit(&pairs);
    MPI_Op_create(add_three_times, 0, &weighted);

    /* Five of them are made on MPI_COMM_WORLD, and have their places among the calls there, as has
     * the intercommunicator on the halves. */
    int dims[2] = {2, 2}, periods[2] = {1, 0}, left = (rank + 3) % 4, right = (rank + 1) % 4;
    comms[WORLD] = MPI_COMM_WORLD;
    comms[SELF] = MPI_COMM_SELF;
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[DUP]);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &comms[HALF]);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &comms[GRID]);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, MPI_UNWEIGHTED, 1, &right,
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comms[GRAPH]);
    MPI_Intercomm_create(comms[HALF], 0, MPI_COMM_WORLD, rank % 2 ? 0 : 1, 3, &comms[INTER]);
    positions[WORLD] = 4;
    positions[HALF] = 1;

    for (int i = 0; i < SLOTS + PERSISTENT; i++)
        slots[i].comm = -1;
    make_persistent();
    MPI_Pcontrol(2);
    for (long done = 0; done < count; done++) {
        int c = draw(&common, COMMS), kind = draw(&common, KINDS);
        if (kind >= 17 && c != GRID && c != GRAPH)
            c = draw(&common, 2) ? GRID : GRAPH;
        if (c == INTER && (kind == 15 || kind == 16)) /* scans are for intracommunicators */
            c = DUP;
        begin(free_slot(), kind, c);
        if (draw(&common, 20) == 0)
            start();
        if (draw(&own, 3) == 0)
            complete_something();
    }
    MPI_Pcontrol(-1);
    for (int i = 0; i < SLOTS + PERSISTENT; i++)
        if (slots[i].comm >= 0) {
            CHECK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
            completed(i, "MPI_Wait", 1);
        }
    for (int p = 0; p < PERSISTENT; p++)
        CHECK(MPI_Request_free(&requests[SLOTS + p]));
    long long total = 0;
    MPI_Reduce(&checksum, &total, 1, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    fprintf(logfile, "begin 0 %ld MPI_Reduce\n", positions[WORLD]);
    fclose(logfile);
    if (rank == 0)
        printf("checksum %lld\n", total);
    MPI_Finalize();
    return 0;
}

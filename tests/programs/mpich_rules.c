/* Makes every kind of collective call at several sizes on several communicators, and writes down
 * which algorithms of MPICH run in each.
 *
 *     mpich_rules list           the calls, one a line
 *     mpich_rules run OUT SKIP   those whose character in SKIP is 0; what runs goes to OUT.RANK
 *
 * It is linked with MPICH's static library so that every algorithm is entered through
 * `algorithm_entered` and left through `algorithm_left`. With -DWITHOUT_NAMES it only tells whether it
 * came to its end. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef WITHOUT_NAMES
static const char *algorithm_names[1];
#else
extern const char *algorithm_names[];
#endif

static void *returns[256];
static int depth;
static char seen[1 << 16];
static size_t seen_length;

void algorithm_entered(int which, void *back) {
    if (depth == 256)
        abort();
    returns[depth] = back;
    if (seen_length + 128 < sizeof seen)
        seen_length += (size_t)snprintf(seen + seen_length, sizeof seen - seen_length, " %d:%s", depth,
                                        algorithm_names[which]);
    depth++;
}

void *algorithm_left(void) { return returns[--depth]; }

enum { LARGEST = 40000, RANKS = 4 };
static int from[LARGEST * RANKS + 64], to[LARGEST * RANKS + 64];
static int counts[RANKS], zeros[RANKS], places[RANKS];
static MPI_Datatype types[RANKS];

static void add(void *in, void *inout, int *n, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *n; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

static const int sizes[] = {0, 1, 2, 3, 5, 64, 512, 513, 2048, 3073, 10000, LARGEST};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* World ranks of the communicators, in the order of their own ranks. */
static const int members[][RANKS + 1] = {{2, 0, 1}, {3, 0, 1, 2}, {4, 0, 1, 2, 3}, {4, 0, 2, 1, 3}};
enum { COMMUNICATORS = sizeof members / sizeof *members };

enum op { BUILT_IN, COMMUTATIVE, ORDERED, OPS };
static MPI_Op ops[OPS];

static int lists;
/* This process is not in the communicator: it only counts calls. */
static int absent;
static const char *skip;
static FILE *out;
static int index_of_call;
static int n, last;
static int which_communicator;

/* Whether to make this call; where calls are listed, says what it is. */
static int wanted(const char *collective, int count, int of_all, int root, enum op op, int in_place, int regular) {
    int idx = index_of_call++;
    if (lists) {
        printf("%d ", idx);
        for (int i = 0; i < n; i++)
            printf("%s%d", i ? "," : "", members[which_communicator][i + 1]);
        printf(" %s %d %d %d %d %d %d %d\n", collective, count, of_all, root, op != ORDERED, op == BUILT_IN, in_place,
               regular);
        return 0;
    }
    if (absent)
        return 0;
    seen[0] = 0;
    seen_length = 0;
    return skip[idx] == '0';
}

static void report(void) {
    fprintf(out, "%d%s\n", index_of_call - 1, seen);
    fflush(out);
}

#define CALL(COLLECTIVE, COUNT, OF_ALL, ROOT, OP, IN_PLACE, REGULAR, ...)                                              \
    if (wanted(COLLECTIVE, COUNT, OF_ALL, ROOT, OP, IN_PLACE, REGULAR)) {                                              \
        __VA_ARGS__;                                                                                                   \
        report();                                                                                                      \
    }
#define PLAIN(COLLECTIVE, ...) CALL(COLLECTIVE, k, k * n, 0, BUILT_IN, 0, 1, __VA_ARGS__)
#define REDUCED(COLLECTIVE, OP, ...) CALL(COLLECTIVE, k, k * n, 0, OP, 0, 1, __VA_ARGS__)
#define WAIT MPI_Wait(&request, MPI_STATUS_IGNORE)

static void calls(MPI_Comm c, int k) {
    MPI_Request request;
    for (int i = 0; i < RANKS; i++) {
        counts[i] = k;
        places[i] = i * k;
        types[i] = MPI_INT;
    }
    CALL("bcast", k, k * n, 0, BUILT_IN, 0, 1, MPI_Bcast(to, k, MPI_INT, 0, c));
    CALL("bcast", k, k * n, last, BUILT_IN, 0, 1, MPI_Bcast(to, k, MPI_INT, last, c));
    for (enum op op = 0; op < OPS; op++) {
        CALL("reduce", k, k * n, 0, op, 0, 1, MPI_Reduce(from, to, k, MPI_INT, ops[op], 0, c));
        CALL("reduce", k, k * n, last, op, 0, 1, MPI_Reduce(from, to, k, MPI_INT, ops[op], last, c));
        REDUCED("allreduce", op, MPI_Allreduce(from, to, k, MPI_INT, ops[op], c));
        REDUCED("scan", op, MPI_Scan(from, to, k, MPI_INT, ops[op], c));
        REDUCED("exscan", op, MPI_Exscan(from, to, k, MPI_INT, ops[op], c));
        REDUCED("reduce_scatter", op, MPI_Reduce_scatter(from, to, counts, MPI_INT, ops[op], c));
        REDUCED("reduce_scatter_block", op, MPI_Reduce_scatter_block(from, to, k, MPI_INT, ops[op], c));
        REDUCED("ireduce", op, MPI_Ireduce(from, to, k, MPI_INT, ops[op], 0, c, &request); WAIT);
        REDUCED("iallreduce", op, MPI_Iallreduce(from, to, k, MPI_INT, ops[op], c, &request); WAIT);
        REDUCED("ireduce_scatter_block", op,
                MPI_Ireduce_scatter_block(from, to, k, MPI_INT, ops[op], c, &request); WAIT);
    }
    counts[0] = k + 1;
    CALL("reduce_scatter", k, k * n + 1, 0, BUILT_IN, 0, 0,
         MPI_Reduce_scatter(from, to, counts, MPI_INT, ops[BUILT_IN], c));
    counts[0] = k;
    PLAIN("allgather", MPI_Allgather(from, k, MPI_INT, to, k, MPI_INT, c));
    PLAIN("allgatherv", MPI_Allgatherv(from, k, MPI_INT, to, counts, places, MPI_INT, c));
    PLAIN("alltoall", MPI_Alltoall(from, k, MPI_INT, to, k, MPI_INT, c));
    CALL("alltoall", k, k * n, 0, BUILT_IN, 1, 1, MPI_Alltoall(MPI_IN_PLACE, k, MPI_INT, to, k, MPI_INT, c));
    PLAIN("alltoallv", MPI_Alltoallv(from, counts, places, MPI_INT, to, counts, places, MPI_INT, c));
    PLAIN("alltoallw", MPI_Alltoallw(from, counts, zeros, types, to, counts, zeros, types, c));
    PLAIN("gather", MPI_Gather(from, k, MPI_INT, to, k, MPI_INT, 0, c));
    PLAIN("gatherv", MPI_Gatherv(from, k, MPI_INT, to, counts, places, MPI_INT, 0, c));
    PLAIN("scatter", MPI_Scatter(from, k, MPI_INT, to, k, MPI_INT, 0, c));
    PLAIN("scatterv", MPI_Scatterv(from, counts, places, MPI_INT, to, k, MPI_INT, 0, c));
    PLAIN("ibcast", MPI_Ibcast(to, k, MPI_INT, 0, c, &request); WAIT);
    PLAIN("iallgather", MPI_Iallgather(from, k, MPI_INT, to, k, MPI_INT, c, &request); WAIT);
    PLAIN("ialltoall", MPI_Ialltoall(from, k, MPI_INT, to, k, MPI_INT, c, &request); WAIT);
    PLAIN("igather", MPI_Igather(from, k, MPI_INT, to, k, MPI_INT, 0, c, &request); WAIT);
    PLAIN("iscatter", MPI_Iscatter(from, k, MPI_INT, to, k, MPI_INT, 0, c, &request); WAIT);
    if (k == 0) {
        PLAIN("barrier", MPI_Barrier(c));
        PLAIN("ibarrier", MPI_Ibarrier(c, &request); WAIT);
    }
}

int main(int argc, char **argv) {
    lists = argc == 2 && strcmp(argv[1], "list") == 0;
    if (!lists && argc != 4)
        return 2;
    int rank = 0;
    if (!lists) {
        FILE *file = fopen(argv[3], "r");
        static char all[1 << 16];
        if (!file || !fgets(all, sizeof all, file))
            return 2;
        fclose(file);
        skip = all;
        MPI_Init(&argc, &argv);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        char name[4096];
        snprintf(name, sizeof name, "%s.%d", argv[2], rank);
        out = fopen(name, "w");
        if (!out)
            MPI_Abort(MPI_COMM_WORLD, 3);
        fprintf(out, "initialized\n");
        fflush(out);
        ops[BUILT_IN] = MPI_SUM;
        MPI_Op_create(add, 1, &ops[COMMUTATIVE]);
        MPI_Op_create(add, 0, &ops[ORDERED]);
    }
    for (which_communicator = 0; which_communicator < COMMUNICATORS; which_communicator++) {
        n = members[which_communicator][0];
        last = n - 1;
        MPI_Comm c = 0;
        if (!lists) {
            int key = 0, belongs = 0;
            for (int i = 0; i < n; i++)
                if (members[which_communicator][i + 1] == rank)
                    belongs = 1, key = i;
            seen[0] = 0;
            seen_length = 0;
            MPI_Comm_split(MPI_COMM_WORLD, belongs ? 0 : MPI_UNDEFINED, key, &c);
            fprintf(out, "split %d%s\n", which_communicator, seen);
            fflush(out);
            absent = !belongs;
        }
        for (int i = 0; i < SIZES; i++)
            calls(c, sizes[i]);
        if (!lists && !absent)
            MPI_Comm_free(&c);
    }
    if (!lists) {
        MPI_Finalize();
        fprintf(out, "finalized\n");
        fclose(out);
    }
    return 0;
}

/* Calls every blocking collective and every communicator constructor of MPI 3.1, in their odder
 * forms too, and keeps its own count of what it calls: DIRECTORY/every.RANK.json, per class of
 * communicator as in calls_by_class of the analysis.
 *
 *     every DIRECTORY          for 3 ranks or more
 *
 * Rank 0 prints a checksum of all results, so that a recorded run can be compared with another. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64, COUNT = 10 };

static int world_rank, world_size;
static long long checksum;

/* ---- counting ---- */

static struct entry { char name[64]; long calls; } by_class[256], instances[128];

static void add(struct entry *table, const char *name, const char *mark)
{
    char full[64];
    snprintf(full, sizeof full, "%s%s", name, mark);
    while (table->calls && strcmp(table->name, full))
        table++;
    strcpy(table->name, full);
    table->calls++;
}

/* Of each instance exactly one process is the first: these add up to the number of instances. */
static int is_first(MPI_Comm comm)
{
    int inter, rank;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_test_inter(comm, &inter);
    if (inter && rank == 0) {
        MPI_Group remote, world;
        int zero = 0, other;
        MPI_Comm_remote_group(comm, &remote);
        MPI_Comm_group(MPI_COMM_WORLD, &world);
        MPI_Group_translate_ranks(remote, 1, &zero, world, &other);
        MPI_Group_free(&remote);
        MPI_Group_free(&world);
        return world_rank < other;
    }
    return rank == 0;
}

static void count(const char *name, MPI_Comm comm)
{
    int inter, size;
    MPI_Comm_test_inter(comm, &inter);
    MPI_Comm_size(comm, &size);
    add(by_class, name, inter ? ":inter" : size == 1 ? ":self" : size < world_size ? ":sub" : "");
    if (is_first(comm))
        add(instances, name, "");
}

#define CALL(name, comm, arguments)                                             \
    do {                                                                        \
        count("MPI_" #name, comm);                                              \
        if (MPI_##name arguments != MPI_SUCCESS) {                              \
            fprintf(stderr, "MPI_" #name " failed, line %d\n", __LINE__);       \
            MPI_Abort(MPI_COMM_WORLD, 99);                                      \
        }                                                                       \
    } while (0)

static void write_table(FILE *file, const char *name, const struct entry *table)
{
    fprintf(file, "  \"%s\": {", name);
    for (int i = 0; table[i].calls; i++)
        fprintf(file, "%s\n    \"%s\": %ld", i ? "," : "", table[i].name, table[i].calls);
    fprintf(file, "\n  }");
}

/* ---- buffers ---- */

static int from[COUNT * MOST * MOST], to[COUNT * MOST * MOST];
static int counts[MOST], other_counts[MOST], places[MOST], other_places[MOST], bytes[MOST];
static MPI_Datatype types[MOST];

/* New input, depending on the process; what the previous call received goes into the checksum. */
static void next(void)
{
    for (int i = 0; i < COUNT * MOST; i++) {
        checksum = (checksum * 31 + to[i]) % 1000000007;
        from[i] = world_rank + i;
        to[i] = world_rank - i;
    }
}

/* each: so many elements from every process; steps: i of them from process i, none from the first. */
static void each(int n, int number)
{
    for (int i = 0; i < n; i++) {
        counts[i] = other_counts[i] = number;
        places[i] = other_places[i] = i * number;
        bytes[i] = i * number * (int)sizeof(int);
        types[i] = MPI_INT;
    }
}

static void steps(int n)
{
    for (int i = 0; i < n; i++) {
        counts[i] = i;
        places[i] = i * COUNT;
    }
}

/* ---- collectives ---- */

static void within(MPI_Comm comm)
{
    int n, r;
    MPI_Comm_size(comm, &n);
    MPI_Comm_rank(comm, &r);
    int last = n - 1;

    MPI_Datatype pairs; /* every second int */
    MPI_Type_vector(COUNT, 1, 2, MPI_INT, &pairs);
    MPI_Type_commit(&pairs);

    CALL(Barrier, comm, (comm));

    next();
    CALL(Bcast, comm, (from, COUNT, MPI_INT, 0, comm));
    CALL(Bcast, comm, (to, 2, pairs, last, comm));
    CALL(Bcast, comm, (to, 0, MPI_INT, 0, comm));

    next();
    CALL(Gather, comm, (from, COUNT, MPI_INT, to, COUNT, MPI_INT, last, comm));
    next();
    CALL(Gather, comm, (r == 0 ? MPI_IN_PLACE : from, COUNT, MPI_INT, to, COUNT, MPI_INT, 0, comm));
    CALL(Gather, comm, (from, 0, MPI_INT, to, 0, MPI_INT, 0, comm));
    next();
    steps(n);
    CALL(Gatherv, comm, (from, r, MPI_INT, to, counts, places, MPI_INT, 0, comm));
    next();
    CALL(Gatherv, comm, (r == last ? MPI_IN_PLACE : from, r, MPI_INT, to, counts, places, MPI_INT,
                         last, comm));

    next();
    CALL(Scatter, comm, (from, COUNT, MPI_INT, to, COUNT, MPI_INT, 0, comm));
    next();
    CALL(Scatter, comm, (from, COUNT, MPI_INT, r == last ? MPI_IN_PLACE : to, COUNT, MPI_INT, last,
                         comm));
    next();
    CALL(Scatterv, comm, (from, counts, places, MPI_INT, to, r, MPI_INT, 0, comm));
    next();
    CALL(Scatterv, comm, (from, counts, places, MPI_INT, r == 0 ? MPI_IN_PLACE : to, r, MPI_INT, 0,
                          comm));

    next();
    CALL(Allgather, comm, (from, COUNT, MPI_INT, to, COUNT, MPI_INT, comm));
    next();
    CALL(Allgather, comm, (from, 1, pairs, to, COUNT, MPI_INT, comm));
    next();
    CALL(Allgather, comm, (MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, to, COUNT, MPI_INT, comm));
    CALL(Allgather, comm, (from, 0, MPI_INT, to, 0, MPI_INT, comm));
    next();
    CALL(Allgatherv, comm, (from, r, MPI_INT, to, counts, places, MPI_INT, comm));
    next();
    CALL(Allgatherv, comm, (MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, to, counts, places, MPI_INT, comm));

    next();
    CALL(Alltoall, comm, (from, COUNT, MPI_INT, to, COUNT, MPI_INT, comm));
    next();
    CALL(Alltoall, comm, (MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, to, COUNT, MPI_INT, comm));
    next();
    each(n, 3);
    CALL(Alltoallv, comm, (from, counts, places, MPI_INT, to, other_counts, other_places, MPI_INT,
                           comm));
    next();
    CALL(Alltoallv, comm, (MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, to, counts, places, MPI_INT,
                           comm));
    next();
    CALL(Alltoallw, comm, (from, counts, bytes, types, to, other_counts, bytes, types, comm));
    each(n, 0);
    CALL(Alltoallv, comm, (from, counts, places, MPI_INT, to, other_counts, other_places, MPI_INT,
                           comm));
    CALL(Alltoallw, comm, (from, counts, bytes, types, to, other_counts, bytes, types, comm));

    next();
    CALL(Reduce, comm, (from, to, COUNT, MPI_INT, MPI_SUM, 0, comm));
    next();
    CALL(Reduce, comm, (r == last ? MPI_IN_PLACE : from, to, COUNT, MPI_INT, MPI_MAX, last, comm));
    CALL(Reduce, comm, (from, to, 0, MPI_INT, MPI_SUM, 0, comm));
    next();
    CALL(Allreduce, comm, (from, to, COUNT, MPI_INT, MPI_SUM, comm));
    next();
    CALL(Allreduce, comm, (MPI_IN_PLACE, to, COUNT, MPI_INT, MPI_MIN, comm));
    CALL(Allreduce, comm, (from, to, 0, MPI_INT, MPI_SUM, comm));

    next();
    CALL(Reduce_scatter_block, comm, (from, to, COUNT, MPI_INT, MPI_SUM, comm));
    next();
    CALL(Reduce_scatter_block, comm, (MPI_IN_PLACE, to, COUNT, MPI_INT, MPI_SUM, comm));
    next();
    steps(n);
    CALL(Reduce_scatter, comm, (from, to, counts, MPI_INT, MPI_SUM, comm));
    next();
    CALL(Reduce_scatter, comm, (MPI_IN_PLACE, to, counts, MPI_INT, MPI_SUM, comm));

    next();
    CALL(Scan, comm, (from, to, COUNT, MPI_INT, MPI_SUM, comm));
    next();
    CALL(Scan, comm, (MPI_IN_PLACE, to, COUNT, MPI_INT, MPI_SUM, comm));
    next();
    CALL(Exscan, comm, (from, to, COUNT, MPI_INT, MPI_SUM, comm));
    next();
    CALL(Exscan, comm, (MPI_IN_PLACE, to, COUNT, MPI_INT, MPI_SUM, comm));
    next();

    MPI_Type_free(&pairs);
}

/* Rooted operations go from the group of the lowest process to the other, or the other way. */
static void between(MPI_Comm inter, int in_low_group)
{
    int here, there, r;
    MPI_Comm_size(inter, &here);
    MPI_Comm_remote_size(inter, &there);
    MPI_Comm_rank(inter, &r);
    int to_low = in_low_group ? (r == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0;
    int to_high = in_low_group ? 0 : (r == 0 ? MPI_ROOT : MPI_PROC_NULL);

    CALL(Barrier, inter, (inter));
    next();
    CALL(Bcast, inter, (to, COUNT, MPI_INT, to_low, inter));
    CALL(Bcast, inter, (to, COUNT, MPI_INT, to_high, inter));
    next();
    CALL(Gather, inter, (from, COUNT, MPI_INT, to, COUNT, MPI_INT, to_low, inter));
    next();
    each(there, 2);
    CALL(Gatherv, inter, (from, 2, MPI_INT, to, counts, places, MPI_INT, to_low, inter));
    next();
    CALL(Scatter, inter, (from, COUNT, MPI_INT, to, COUNT, MPI_INT, to_high, inter));
    next();
    CALL(Scatterv, inter, (from, counts, places, MPI_INT, to, 2, MPI_INT, to_high, inter));
    next();
    CALL(Allgather, inter, (from, COUNT, MPI_INT, to, COUNT, MPI_INT, inter));
    next();
    CALL(Allgatherv, inter, (from, 2, MPI_INT, to, counts, places, MPI_INT, inter));
    next();
    CALL(Alltoall, inter, (from, COUNT, MPI_INT, to, COUNT, MPI_INT, inter));
    next();
    CALL(Alltoallv, inter, (from, counts, places, MPI_INT, to, other_counts, other_places, MPI_INT,
                            inter));
    next();
    CALL(Alltoallw, inter, (from, counts, bytes, types, to, other_counts, bytes, types, inter));
    next();
    CALL(Reduce, inter, (from, to, COUNT, MPI_INT, MPI_SUM, to_low, inter));
    next();
    CALL(Allreduce, inter, (from, to, COUNT, MPI_INT, MPI_SUM, inter));
    /* Both groups must scatter equally many elements. */
    next();
    each(here, there);
    CALL(Reduce_scatter, inter, (from, to, counts, MPI_INT, MPI_SUM, inter));
    next();
    CALL(Reduce_scatter_block, inter, (from, to, there, MPI_INT, MPI_SUM, inter));
    next();
}

/* ---- communicators ---- */

static void let_go(MPI_Comm *comm)
{
    if (*comm != MPI_COMM_NULL)
        CALL(Comm_free, *comm, (comm));
}

static void use(MPI_Comm *comm)
{
    if (*comm != MPI_COMM_NULL)
        CALL(Allreduce, *comm, (from, to, 1, MPI_INT, MPI_SUM, *comm));
    let_go(comm);
}

static void constructors(MPI_Comm comm)
{
    int n, r;
    MPI_Comm made, part;
    MPI_Comm_size(comm, &n);
    MPI_Comm_rank(comm, &r);

    CALL(Comm_dup, comm, (comm, &made));
    use(&made);
    CALL(Comm_dup_with_info, comm, (comm, MPI_INFO_NULL, &made));
    use(&made);

    MPI_Request request;
    CALL(Comm_idup, comm, (comm, &made, &request));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    use(&made);

    CALL(Comm_split, comm, (comm, r % 2, -r, &made));
    use(&made);
    CALL(Comm_split, comm, (comm, r == 0 ? MPI_UNDEFINED : 7, 0, &made));
    use(&made);
    CALL(Comm_split_type, comm, (comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made));
    use(&made);

    MPI_Group all, some;
    int chosen[MOST], n_chosen = 0;
    for (int i = 0; i < n; i += 2)
        chosen[n_chosen++] = i;
    MPI_Comm_group(comm, &all);
    MPI_Group_incl(all, n_chosen, chosen, &some);
    CALL(Comm_create, comm, (comm, some, &made));
    use(&made);
    /* Only the members of the group call this one. */
    if (r % 2 == 0) {
        CALL(Comm_create_group, comm, (comm, some, 5, &made));
        use(&made);
    }
    MPI_Group_free(&all);
    MPI_Group_free(&some);

    int dims[2] = {0, 0}, periods[2] = {0, 1}, keep[2] = {0, 1};
    MPI_Dims_create(n, 2, dims);
    CALL(Cart_create, comm, (comm, 2, dims, periods, 0, &made));
    CALL(Cart_sub, made, (made, keep, &part));
    use(&part);
    use(&made);
    if (n > 1) { /* one process stays outside */
        dims[0] = n - 1;
        CALL(Cart_create, comm, (comm, 1, dims, periods, 1, &made));
        use(&made);
    }

    /* Each process is the neighbour of the next one: as a graph, and spread in two ways. */
    int ends[MOST], neighbours[2 * MOST], n_neighbours = 0;
    for (int i = 0; i < n; i++) {
        neighbours[n_neighbours++] = (i + 1) % n;
        neighbours[n_neighbours++] = (i + n - 1) % n;
        ends[i] = n_neighbours;
    }
    CALL(Graph_create, comm, (comm, n, ends, neighbours, 0, &made));
    use(&made);
    int one = 1, right = (r + 1) % n, left = (r + n - 1) % n;
    CALL(Dist_graph_create, comm, (comm, 1, &r, &one, &right, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                   &made));
    use(&made);
    CALL(Dist_graph_create_adjacent, comm, (comm, 1, &left, MPI_UNWEIGHTED, 1, &right,
                                            MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made));
    use(&made);
}

static void intercommunicators(void)
{
    int middle = world_size / 2, low = world_rank < middle;
    MPI_Comm half, inter, made;

    CALL(Comm_split, MPI_COMM_WORLD, (MPI_COMM_WORLD, low, 0, &half));
    CALL(Intercomm_create, half, (half, 0, MPI_COMM_WORLD, low ? middle : 0, 11, &inter));
    between(inter, low);

    CALL(Comm_dup, inter, (inter, &made));
    between(made, low);
    let_go(&made);
    int r;
    MPI_Comm_rank(inter, &r);
    CALL(Comm_split, inter, (inter, r > 0, 0, &made));
    use(&made);
    MPI_Group mine;
    MPI_Comm_group(inter, &mine);
    CALL(Comm_create, inter, (inter, mine, &made));
    MPI_Group_free(&mine);
    use(&made);

    CALL(Intercomm_merge, inter, (inter, low, &made));
    within(made);
    let_go(&made);
    let_go(&inter);
    within(half);
    let_go(&half);
}

/* A handle is used again right after MPI_Comm_free, for a communicator of other members. */
static int reuse(void)
{
    int reused = 0;
    MPI_Comm before = MPI_COMM_NULL, made;
    for (int i = 0; i < 12; i++) {
        if (i % 3 == 0)
            CALL(Comm_dup, MPI_COMM_WORLD, (MPI_COMM_WORLD, &made));
        else if (i % 3 == 1)
            CALL(Comm_split, MPI_COMM_WORLD, (MPI_COMM_WORLD, world_rank > i % 2, 0, &made));
        else
            CALL(Comm_split, MPI_COMM_WORLD, (MPI_COMM_WORLD, world_rank, 0, &made));
        reused += made == before;
        before = made;
        for (int k = 0; k <= i; k++)
            CALL(Barrier, made, (made));
        CALL(Bcast, made, (to, i, MPI_INT, 0, made));
        let_go(&made);
    }
    return reused;
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    if (world_size < 3 || world_size > MOST)
        MPI_Abort(MPI_COMM_WORLD, 98);

    within(MPI_COMM_WORLD);
    within(MPI_COMM_SELF);
    constructors(MPI_COMM_WORLD);
    constructors(MPI_COMM_SELF);

    MPI_Comm part;
    CALL(Comm_split, MPI_COMM_WORLD, (MPI_COMM_WORLD, world_rank == 0, 0, &part));
    within(part); /* of one process for rank 0, of the others for the others */
    constructors(part);
    let_go(&part);

    intercommunicators();
    int reused = reuse();

    long long mine = checksum, total;
    CALL(Reduce, MPI_COMM_WORLD, (&mine, &total, 1, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD));
    const char *greeting = getenv("GREETING");
    if (world_rank == 0)
        printf("checksum %lld\n", total);
    if (world_rank == world_size - 1 && greeting)
        printf("greeting %s\n", greeting);

    char path[4096];
    snprintf(path, sizeof path, "%s/every.%d.json", argv[1], world_rank);
    FILE *file = fopen(path, "w");
    if (!file)
        MPI_Abort(MPI_COMM_WORLD, 97);
    fprintf(file, "{ \"rank\": %d, \"handles_reused\": %d,\n", world_rank, reused);
    write_table(file, "calls_by_class", by_class);
    fprintf(file, ",\n");
    write_table(file, "instances", instances);
    fprintf(file, "\n}\n");
    fclose(file);
    MPI_Finalize();
    return 0;
}

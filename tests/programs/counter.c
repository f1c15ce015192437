/* A tool of the old kind, to check collbench against: preloaded, linked with one MPI library, it
 * counts the blocking collectives and the calls that make and free communicators, per class as
 * calls_by_class of the analysis has them, and writes COUNTER_DIRECTORY/counter.RANK.json. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct entry { char name[64]; long calls; } table[256];
static int world_size;

static void count(const char *name, MPI_Comm comm)
{
    char full[64];
    int inter, size;
    struct entry *entry = table;
    PMPI_Comm_test_inter(comm, &inter);
    PMPI_Comm_size(comm, &size);
    snprintf(full, sizeof full, "MPI_%s%s", name,
             inter ? ":inter" : size == 1 ? ":self" : size < world_size ? ":sub" : "");
    while (entry->calls && strcmp(entry->name, full))
        entry++;
    strcpy(entry->name, full);
    entry->calls++;
}

static void begin(void) { PMPI_Comm_size(MPI_COMM_WORLD, &world_size); }

int MPI_Init(int *argc, char ***argv)
{
    int code = PMPI_Init(argc, argv);
    begin();
    return code;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    int code = PMPI_Init_thread(argc, argv, required, provided);
    begin();
    return code;
}

int MPI_Finalize(void)
{
    char path[4096];
    int rank;
    FILE *file;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof path, "%s/counter.%d.json", getenv("COUNTER_DIRECTORY"), rank);
    file = fopen(path, "w");
    fprintf(file, "{");
    for (struct entry *entry = table; entry->calls; entry++)
        fprintf(file, "%s\"%s\": %ld", entry == table ? "" : ", ", entry->name, entry->calls);
    fprintf(file, "}\n");
    fclose(file);
    return PMPI_Finalize();
}

#define COUNTED(name, on, parameters, arguments) \
    int MPI_##name parameters                    \
    {                                            \
        count(#name, on);                        \
        return PMPI_##name arguments;            \
    }
#define T MPI_Datatype
#define C const void *
#define I const int *

COUNTED(Barrier, c, (MPI_Comm c), (c))
COUNTED(Bcast, c, (void *b, int n, T t, int r, MPI_Comm c), (b, n, t, r, c))
COUNTED(Gather, c, (C s, int n, T t, void *b, int m, T u, int r, MPI_Comm c), (s, n, t, b, m, u, r, c))
COUNTED(Gatherv, c, (C s, int n, T t, void *b, I m, I d, T u, int r, MPI_Comm c),
        (s, n, t, b, m, d, u, r, c))
COUNTED(Scatter, c, (C s, int n, T t, void *b, int m, T u, int r, MPI_Comm c), (s, n, t, b, m, u, r, c))
COUNTED(Scatterv, c, (C s, I n, I d, T t, void *b, int m, T u, int r, MPI_Comm c),
        (s, n, d, t, b, m, u, r, c))
COUNTED(Allgather, c, (C s, int n, T t, void *b, int m, T u, MPI_Comm c), (s, n, t, b, m, u, c))
COUNTED(Allgatherv, c, (C s, int n, T t, void *b, I m, I d, T u, MPI_Comm c),
        (s, n, t, b, m, d, u, c))
COUNTED(Alltoall, c, (C s, int n, T t, void *b, int m, T u, MPI_Comm c), (s, n, t, b, m, u, c))
COUNTED(Alltoallv, c, (C s, I n, I e, T t, void *b, I m, I d, T u, MPI_Comm c),
        (s, n, e, t, b, m, d, u, c))
COUNTED(Alltoallw, c,
        (C s, I n, I e, const T *t, void *b, I m, I d, const T *u, MPI_Comm c),
        (s, n, e, t, b, m, d, u, c))
COUNTED(Reduce, c, (C s, void *b, int n, T t, MPI_Op o, int r, MPI_Comm c), (s, b, n, t, o, r, c))
COUNTED(Allreduce, c, (C s, void *b, int n, T t, MPI_Op o, MPI_Comm c), (s, b, n, t, o, c))
COUNTED(Reduce_scatter, c, (C s, void *b, I n, T t, MPI_Op o, MPI_Comm c), (s, b, n, t, o, c))
COUNTED(Reduce_scatter_block, c, (C s, void *b, int n, T t, MPI_Op o, MPI_Comm c),
        (s, b, n, t, o, c))
COUNTED(Scan, c, (C s, void *b, int n, T t, MPI_Op o, MPI_Comm c), (s, b, n, t, o, c))
COUNTED(Exscan, c, (C s, void *b, int n, T t, MPI_Op o, MPI_Comm c), (s, b, n, t, o, c))
COUNTED(Comm_dup, c, (MPI_Comm c, MPI_Comm *m), (c, m))
COUNTED(Comm_dup_with_info, c, (MPI_Comm c, MPI_Info i, MPI_Comm *m), (c, i, m))
COUNTED(Comm_split, c, (MPI_Comm c, int k, int o, MPI_Comm *m), (c, k, o, m))
COUNTED(Comm_split_type, c, (MPI_Comm c, int k, int o, MPI_Info i, MPI_Comm *m), (c, k, o, i, m))
COUNTED(Comm_create, c, (MPI_Comm c, MPI_Group g, MPI_Comm *m), (c, g, m))
COUNTED(Comm_create_group, c, (MPI_Comm c, MPI_Group g, int t, MPI_Comm *m), (c, g, t, m))
COUNTED(Cart_create, c, (MPI_Comm c, int n, I d, I p, int r, MPI_Comm *m), (c, n, d, p, r, m))
COUNTED(Cart_sub, c, (MPI_Comm c, I d, MPI_Comm *m), (c, d, m))
COUNTED(Graph_create, c, (MPI_Comm c, int n, I i, I e, int r, MPI_Comm *m), (c, n, i, e, r, m))
COUNTED(Dist_graph_create, c,
        (MPI_Comm c, int n, I s, I d, I e, I w, MPI_Info i, int r, MPI_Comm *m),
        (c, n, s, d, e, w, i, r, m))
COUNTED(Dist_graph_create_adjacent, c,
        (MPI_Comm c, int n, I s, I v, int k, I d, I w, MPI_Info i, int r, MPI_Comm *m),
        (c, n, s, v, k, d, w, i, r, m))
COUNTED(Intercomm_create, c, (MPI_Comm c, int l, MPI_Comm p, int r, int t, MPI_Comm *m),
        (c, l, p, r, t, m))
COUNTED(Intercomm_merge, c, (MPI_Comm c, int h, MPI_Comm *m), (c, h, m))
COUNTED(Comm_free, *c, (MPI_Comm * c), (c))
COUNTED(Comm_disconnect, *c, (MPI_Comm * c), (c))

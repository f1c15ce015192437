/* A tool of the old kind, to check collbench against: preloaded, linked with one MPI library, it
 * counts what a program calls in C: collectives (blocking, nonblocking, and the starts of persistent
 * ones) and the calls that make and free communicators, per class as calls_by_class of the analysis
 * has them, and writes COUNTER_DIRECTORY/counter.RANK.json. */
#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES = 1024, MADE = 4096 };
static struct entry { char name[64]; long calls; } table[CLASSES];
/* Persistent collectives: their requests, and what a start counts as. */
static struct { MPI_Request request; int class; } made[MADE];
static int n_made, world_size;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Index in the table of an operation on a communicator. */
static int class_of(const char *name, MPI_Comm comm)
{
    char full[64];
    int inter, size, i = 0;
    PMPI_Comm_test_inter(comm, &inter);
    PMPI_Comm_size(comm, &size);
    snprintf(full, sizeof full, "MPI_%s%s", name,
             inter ? ":inter" : size == 1 ? ":self" : size < world_size ? ":sub" : "");
    while (i < CLASSES - 1 && table[i].name[0] && strcmp(table[i].name, full))
        i++;
    strcpy(table[i].name, full);
    return i;
}

static void count(const char *name, MPI_Comm comm)
{
    pthread_mutex_lock(&lock);
    table[class_of(name, comm)].calls++;
    pthread_mutex_unlock(&lock);
}

static void persists(const char *name, MPI_Comm comm, MPI_Request request)
{
    pthread_mutex_lock(&lock);
    if (n_made == MADE)
        abort();
    made[n_made].request = request;
    made[n_made++].class = class_of(name, comm);
    pthread_mutex_unlock(&lock);
}

/* A persistent collective of this request is started, or is given back. */
static void meet(MPI_Request request, int is_start)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < n_made; i++)
        if (made[i].request == request) {
            if (is_start)
                table[made[i].class].calls++;
            else
                made[i] = made[--n_made];
            break;
        }
    pthread_mutex_unlock(&lock);
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
    int rank, n = 0;
    FILE *file;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof path, "%s/counter.%d.json", getenv("COUNTER_DIRECTORY"), rank);
    file = fopen(path, "w");
    fprintf(file, "{");
    for (struct entry *entry = table; entry->name[0]; entry++)
        if (entry->calls)
            fprintf(file, "%s\"%s\": %ld", n++ ? ", " : "", entry->name, entry->calls);
    fprintf(file, "}\n");
    fclose(file);
    return PMPI_Finalize();
}

int MPI_Start(MPI_Request *request)
{
    meet(*request, 1);
    return PMPI_Start(request);
}

int MPI_Startall(int n, MPI_Request *requests)
{
    for (int i = 0; i < n; i++)
        meet(requests[i], 1);
    return PMPI_Startall(n, requests);
}

int MPI_Request_free(MPI_Request *request)
{
    meet(*request, 0);
    return PMPI_Request_free(request);
}

#define COUNTED(name, on, parameters, arguments) \
    int MPI_##name parameters                    \
    {                                            \
        count(#name, on);                        \
        return PMPI_##name arguments;            \
    }
#define LIST(...) __VA_ARGS__
/* Before MPI 4 they were an extension of Open MPI. */
#if defined OPEN_MPI && OMPI_MAJOR_VERSION < 5
#define INIT(p, name) p##MPIX_##name##_init
#else
#define INIT(p, name) p##MPI_##name##_init
#endif
/* All forms of a collective on the communicator c. */
#define COLLECTIVE(name, nonblocking, parameters, arguments)                        \
    COUNTED(name, c, parameters, arguments)                                         \
    int MPI_##nonblocking(LIST parameters, MPI_Request *q)                          \
    {                                                                               \
        count(#nonblocking, c);                                                     \
        return PMPI_##nonblocking(LIST arguments, q);                               \
    }                                                                               \
    int INIT(, name)(LIST parameters, MPI_Info info, MPI_Request *q)                \
    {                                                                               \
        int code = INIT(P, name)(LIST arguments, info, q);                          \
        if (code == MPI_SUCCESS)                                                    \
            persists(#name "_init", c, *q);                                         \
        return code;                                                                \
    }
#define T MPI_Datatype
#define C const void *
#define I const int *
#define A const MPI_Aint *

COLLECTIVE(Barrier, Ibarrier, (MPI_Comm c), (c))
COLLECTIVE(Bcast, Ibcast, (void *b, int n, T t, int r, MPI_Comm c), (b, n, t, r, c))
COLLECTIVE(Gather, Igather, (C s, int n, T t, void *b, int m, T u, int r, MPI_Comm c),
           (s, n, t, b, m, u, r, c))
COLLECTIVE(Gatherv, Igatherv, (C s, int n, T t, void *b, I m, I d, T u, int r, MPI_Comm c),
           (s, n, t, b, m, d, u, r, c))
COLLECTIVE(Scatter, Iscatter, (C s, int n, T t, void *b, int m, T u, int r, MPI_Comm c),
           (s, n, t, b, m, u, r, c))
COLLECTIVE(Scatterv, Iscatterv, (C s, I n, I d, T t, void *b, int m, T u, int r, MPI_Comm c),
           (s, n, d, t, b, m, u, r, c))
COLLECTIVE(Allgather, Iallgather, (C s, int n, T t, void *b, int m, T u, MPI_Comm c),
           (s, n, t, b, m, u, c))
COLLECTIVE(Allgatherv, Iallgatherv, (C s, int n, T t, void *b, I m, I d, T u, MPI_Comm c),
           (s, n, t, b, m, d, u, c))
COLLECTIVE(Alltoall, Ialltoall, (C s, int n, T t, void *b, int m, T u, MPI_Comm c),
           (s, n, t, b, m, u, c))
COLLECTIVE(Alltoallv, Ialltoallv, (C s, I n, I e, T t, void *b, I m, I d, T u, MPI_Comm c),
           (s, n, e, t, b, m, d, u, c))
COLLECTIVE(Alltoallw, Ialltoallw,
           (C s, I n, I e, const T *t, void *b, I m, I d, const T *u, MPI_Comm c),
           (s, n, e, t, b, m, d, u, c))
COLLECTIVE(Reduce, Ireduce, (C s, void *b, int n, T t, MPI_Op o, int r, MPI_Comm c),
           (s, b, n, t, o, r, c))
COLLECTIVE(Allreduce, Iallreduce, (C s, void *b, int n, T t, MPI_Op o, MPI_Comm c),
           (s, b, n, t, o, c))
COLLECTIVE(Reduce_scatter, Ireduce_scatter, (C s, void *b, I n, T t, MPI_Op o, MPI_Comm c),
           (s, b, n, t, o, c))
COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block,
           (C s, void *b, int n, T t, MPI_Op o, MPI_Comm c), (s, b, n, t, o, c))
COLLECTIVE(Scan, Iscan, (C s, void *b, int n, T t, MPI_Op o, MPI_Comm c), (s, b, n, t, o, c))
COLLECTIVE(Exscan, Iexscan, (C s, void *b, int n, T t, MPI_Op o, MPI_Comm c), (s, b, n, t, o, c))
COLLECTIVE(Neighbor_allgather, Ineighbor_allgather,
           (C s, int n, T t, void *b, int m, T u, MPI_Comm c), (s, n, t, b, m, u, c))
COLLECTIVE(Neighbor_allgatherv, Ineighbor_allgatherv,
           (C s, int n, T t, void *b, I m, I d, T u, MPI_Comm c), (s, n, t, b, m, d, u, c))
COLLECTIVE(Neighbor_alltoall, Ineighbor_alltoall,
           (C s, int n, T t, void *b, int m, T u, MPI_Comm c), (s, n, t, b, m, u, c))
COLLECTIVE(Neighbor_alltoallv, Ineighbor_alltoallv,
           (C s, I n, I e, T t, void *b, I m, I d, T u, MPI_Comm c),
           (s, n, e, t, b, m, d, u, c))
COLLECTIVE(Neighbor_alltoallw, Ineighbor_alltoallw,
           (C s, I n, A e, const T *t, void *b, I m, A d, const T *u, MPI_Comm c),
           (s, n, e, t, b, m, d, u, c))

COUNTED(Comm_dup, c, (MPI_Comm c, MPI_Comm *m), (c, m))
COUNTED(Comm_dup_with_info, c, (MPI_Comm c, MPI_Info i, MPI_Comm *m), (c, i, m))
COUNTED(Comm_idup, c, (MPI_Comm c, MPI_Comm *m, MPI_Request *q), (c, m, q))
#if MPI_VERSION >= 4
COUNTED(Comm_idup_with_info, c, (MPI_Comm c, MPI_Info i, MPI_Comm *m, MPI_Request *q), (c, i, m, q))
#endif
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
COUNTED(Comm_spawn, c,
        (const char *f, char **a, int n, MPI_Info i, int r, MPI_Comm c, MPI_Comm *m, int *e),
        (f, a, n, i, r, c, m, e))
COUNTED(Comm_spawn_multiple, c,
        (int k, char **f, char ***a, I n, const MPI_Info *i, int r, MPI_Comm c, MPI_Comm *m,
         int *e), (k, f, a, n, i, r, c, m, e))
COUNTED(Comm_accept, c, (const char *p, MPI_Info i, int r, MPI_Comm c, MPI_Comm *m), (p, i, r, c, m))
COUNTED(Comm_connect, c, (const char *p, MPI_Info i, int r, MPI_Comm c, MPI_Comm *m),
        (p, i, r, c, m))
COUNTED(Comm_join, MPI_COMM_WORLD, (int f, MPI_Comm *m), (f, m))
COUNTED(Comm_free, *c, (MPI_Comm * c), (c))
COUNTED(Comm_disconnect, *c, (MPI_Comm * c), (c))

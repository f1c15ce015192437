/* A tool of the old kind, to check collbench against: preloaded, linked with one MPI library, it
 * counts what a program calls: collectives (blocking, nonblocking, and the starts of persistent
 * ones), the calls that make and free communicators, and the collectives of files and windows, per
 * class as calls_by_class of the analysis has them, and writes COUNTER_DIRECTORY/counter.RANK.json.
 *
 * The bindings of Open MPI for Fortran call PMPI_X, so PMPI_X is counted, too: but not within a call
 * that has been counted, where the library calls it on its own behalf. MPI_X always is, within
 * others as well: the library has no use for that name, and callbacks of the program have. */
#define _GNU_SOURCE
#include <dlfcn.h>
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
/* In how many calls of the library this thread is. */
static __thread int inside;

static const char *mark(int size) { return size == 1 ? ":self" : size < world_size ? ":sub" : ""; }

/* What stands behind the name of an operation on a communicator. */
static const char *of_comm(MPI_Comm comm)
{
    int inter, size;
    PMPI_Comm_test_inter(comm, &inter);
    PMPI_Comm_size(comm, &size);
    return inter ? ":inter" : mark(size);
}

/* The same of what was opened on a communicator, which has the group of that. */
static const char *of_group(MPI_Group group)
{
    int size;
    PMPI_Group_size(group, &size);
    PMPI_Group_free(&group);
    return mark(size);
}

static const char *of_file(MPI_File file)
{
    MPI_Group group;
    PMPI_File_get_group(file, &group);
    return of_group(group);
}

static const char *of_window(MPI_Win window)
{
    MPI_Group group;
    PMPI_Win_get_group(window, &group);
    return of_group(group);
}

/* The library's own function of this name. */
static void *below(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);
    if (!function)
        abort();
    return function;
}

/* Index in the table of an operation. */
static int class_of(const char *name, const char *of)
{
    char full[64];
    int i = 0;
    snprintf(full, sizeof full, "MPI_%s%s", name, of);
    while (i < CLASSES - 1 && table[i].name[0] && strcmp(table[i].name, full))
        i++;
    strcpy(table[i].name, full);
    return i;
}

static void count(const char *name, const char *of)
{
    pthread_mutex_lock(&lock);
    table[class_of(name, of)].calls++;
    pthread_mutex_unlock(&lock);
}

static void persists(const char *name, const char *of, MPI_Request request)
{
    pthread_mutex_lock(&lock);
    if (n_made == MADE)
        abort();
    made[n_made].request = request;
    made[n_made++].class = class_of(name, of);
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

/* Writes down what has been counted. */
static void report(int rank)
{
    char path[4096];
    int n = 0;
    FILE *file;
    snprintf(path, sizeof path, "%s/counter.%d.json", getenv("COUNTER_DIRECTORY"), rank);
    file = fopen(path, "w");
    fprintf(file, "{");
    for (struct entry *entry = table; entry->name[0]; entry++)
        if (entry->calls)
            fprintf(file, "%s\"%s\": %ld", n++ ? ", " : "", entry->name, entry->calls);
    fprintf(file, "}\n");
    fclose(file);
}

/* MPI_X and PMPI_X, of which BEFORE comes before and AFTER behind the library's own function. */
#define BOTH(name, parameters, arguments, always, unless_inside, after) \
    static int library_##name parameters                                \
    {                                                                   \
        static int (*function) parameters;                              \
        int code;                                                       \
        if (!function)                                                  \
            function = below("PMPI_" #name);                            \
        inside++;                                                       \
        code = function arguments;                                      \
        inside--;                                                       \
        after;                                                          \
        return code;                                                    \
    }                                                                   \
    int MPI_##name parameters                                           \
    {                                                                   \
        always;                                                         \
        return library_##name arguments;                                \
    }                                                                   \
    int PMPI_##name parameters                                          \
    {                                                                   \
        if (!inside) {                                                  \
            unless_inside;                                              \
        }                                                               \
        return library_##name arguments;                                \
    }
#define COUNTED_OF(name, of, parameters, arguments) \
    BOTH(name, parameters, arguments, count(#name, of), count(#name, of), )
#define COUNTED(name, on, parameters, arguments) COUNTED_OF(name, of_comm(on), parameters, arguments)

static int own_rank;
static void know(void)
{
    PMPI_Comm_size(MPI_COMM_WORLD, &world_size);
    PMPI_Comm_rank(MPI_COMM_WORLD, &own_rank);
}

BOTH(Init, (int *argc, char ***argv), (argc, argv), , , know())
BOTH(Init_thread, (int *argc, char ***argv, int required, int *provided),
     (argc, argv, required, provided), , , know())
/* Attributes of MPI_COMM_SELF are deleted in it, and what is called there counts. */
BOTH(Finalize, (void), (), , , report(own_rank))

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

#define LIST(...) __VA_ARGS__
/* Before MPI 4 they were an extension of Open MPI. */
#if defined OPEN_MPI && OMPI_MAJOR_VERSION < 5
#define INIT(p, name) p##MPIX_##name##_init
#else
#define INIT(p, name) p##MPI_##name##_init
#endif
/* All forms of a collective on the communicator c. */
#define COLLECTIVE(name, nonblocking, parameters, arguments)                                \
    COUNTED(name, c, parameters, arguments)                                                 \
    COUNTED(nonblocking, c, (LIST parameters, MPI_Request * q), (LIST arguments, q))        \
    int INIT(, name)(LIST parameters, MPI_Info info, MPI_Request *q)                        \
    {                                                                                       \
        int code = INIT(P, name)(LIST arguments, info, q);                                  \
        if (code == MPI_SUCCESS)                                                            \
            persists(#name "_init", of_comm(c), *q);                                        \
        return code;                                                                        \
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

/* On files f and windows w. */
#define S MPI_Status *
#define ON_FILE(name, parameters, arguments) COUNTED_OF(name, of_file(f), parameters, arguments)
#define OPENED(name, parameters, arguments) COUNTED(name, c, parameters, arguments)

OPENED(File_open, (MPI_Comm c, const char *p, int m, MPI_Info i, MPI_File *f), (c, p, m, i, f))
COUNTED_OF(File_close, of_file(*f), (MPI_File * f), (f))
ON_FILE(File_set_size, (MPI_File f, MPI_Offset n), (f, n))
ON_FILE(File_preallocate, (MPI_File f, MPI_Offset n), (f, n))
ON_FILE(File_set_info, (MPI_File f, MPI_Info i), (f, i))
ON_FILE(File_set_view, (MPI_File f, MPI_Offset o, T e, T t, const char *r, MPI_Info i),
        (f, o, e, t, r, i))
ON_FILE(File_set_atomicity, (MPI_File f, int a), (f, a))
ON_FILE(File_sync, (MPI_File f), (f))
ON_FILE(File_seek_shared, (MPI_File f, MPI_Offset o, int w), (f, o, w))
/* Reading into, and writing from, a buffer of this type. */
#define ACCESSES(direction, B)                                                                \
    ON_FILE(File_##direction##_all, (MPI_File f, B b, int n, T t, S s), (f, b, n, t, s))      \
    ON_FILE(File_##direction##_at_all, (MPI_File f, MPI_Offset o, B b, int n, T t, S s),      \
            (f, o, b, n, t, s))                                                               \
    ON_FILE(File_##direction##_ordered, (MPI_File f, B b, int n, T t, S s), (f, b, n, t, s))  \
    ON_FILE(File_i##direction##_all, (MPI_File f, B b, int n, T t, MPI_Request *q),           \
            (f, b, n, t, q))                                                                  \
    ON_FILE(File_i##direction##_at_all,                                                       \
            (MPI_File f, MPI_Offset o, B b, int n, T t, MPI_Request *q), (f, o, b, n, t, q))  \
    ON_FILE(File_##direction##_all_begin, (MPI_File f, B b, int n, T t), (f, b, n, t))        \
    ON_FILE(File_##direction##_at_all_begin, (MPI_File f, MPI_Offset o, B b, int n, T t),     \
            (f, o, b, n, t))                                                                  \
    ON_FILE(File_##direction##_ordered_begin, (MPI_File f, B b, int n, T t), (f, b, n, t))
ACCESSES(read, void *)
ACCESSES(write, C)

OPENED(Win_create, (void *b, MPI_Aint n, int u, MPI_Info i, MPI_Comm c, MPI_Win *w),
       (b, n, u, i, c, w))
OPENED(Win_allocate, (MPI_Aint n, int u, MPI_Info i, MPI_Comm c, void *b, MPI_Win *w),
       (n, u, i, c, b, w))
OPENED(Win_allocate_shared, (MPI_Aint n, int u, MPI_Info i, MPI_Comm c, void *b, MPI_Win *w),
       (n, u, i, c, b, w))
OPENED(Win_create_dynamic, (MPI_Info i, MPI_Comm c, MPI_Win *w), (i, c, w))
COUNTED_OF(Win_free, of_window(*w), (MPI_Win * w), (w))
COUNTED_OF(Win_fence, of_window(w), (int a, MPI_Win w), (a, w))
COUNTED_OF(Win_set_info, of_window(w), (MPI_Win w, MPI_Info i), (w, i))
/* Of one process alone, which may be collective below. */
BOTH(File_delete, (const char *p, MPI_Info i), (p, i), , , )
BOTH(File_read_shared, (MPI_File f, void *b, int n, T t, S s), (f, b, n, t, s), , , )
BOTH(File_write_shared, (MPI_File f, C b, int n, T t, S s), (f, b, n, t, s), , , )

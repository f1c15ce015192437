/*
 * scored PLAN [off]: runs a plan that scripts/score.py has made, with its lateness or (off) without it, and prints for
 * each rank when it left MPI_Init, when it entered MPI_Finalize, and how long it was inside of the calls of each place.
 *
 * A plan has one statement in a line. Work is sleeping, so that many ranks run on few cores.
 *
 *     threads N                        so many threads run the steps, each on communicators of its own
 *     comm NAME KIND ARGUMENT          dup, halves, parity, without RANK, pair RANK, inter, ring
 *     steps N                          what follows is done so often
 *     work RANKS US JITTER WHEN K      RANKS: all, or 1,4,5; JITTER in percent; WHEN: always, once (in step K), every
 *     late RANKS US JITTER WHEN K      (K steps), grow, moves (to the next of the ranks after K steps)
 *     op PLACE NAME COMM BYTES ROOT WHEN K
 *                                      NAME: that of MPI, or halo (MPI_Sendrecv with both neighbors)
 *     send PLACE FROM TO BYTES         MPI_Send and MPI_Recv between two ranks
 *     end                              what follows is done once, after the steps
 */
#include <mpi.h>
#include <mpi-ext.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_STATEMENTS = 32, MAX_COMMS = 6, N_PLACES = 8, FINALIZE = N_PLACES };

struct statement {
    char verb[8], ranks[80], when[8], name[40];
    int place, comm, bytes, root, from, to, k;
    double us, jitter;
};

struct thread {
    MPI_Comm comms[MAX_COMMS];
    MPI_Request request, made[MAX_STATEMENTS];
    char *out, *in;
    int *counts, *places, *counts_in, *places_in;
    double inside[N_PLACES + 1];
    int idx;
};

static struct statement statements[MAX_STATEMENTS];
static int n_statements, n_steps, first_of_end, n_comms, n_threads = 1, me, size, is_off, largest;
static char comm_names[MAX_COMMS][16], comm_kinds[MAX_COMMS][16];
static int comm_arguments[MAX_COMMS];

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static void sleep_us(double us) {
    struct timespec t = {(time_t)(us / 1e6), (long)(us * 1e3) % 1000000000L};
    if (us > 0) clock_nanosleep(CLOCK_MONOTONIC, 0, &t, 0);
}

/* The same for a rank and a step in each run, and in score.py: 0 to 1. */
static double chance(int rank, int step, int statement) {
    unsigned x = (unsigned)rank * 2654435761u + (unsigned)step * 40503u + (unsigned)statement * 9973u;
    x ^= x >> 15; x *= 2246822519u; x ^= x >> 13; x *= 3266489917u; x ^= x >> 16;
    return (x >> 8) / 16777216.0;
}

/* Whether the rank is in the list, in this step for lateness that moves. */
static int is_one_of(const struct statement *s, int step) {
    char list[80], *at = list, *each;
    int n = 0, nth = 0, ranks[64];
    if (!strcmp(s->ranks, "all")) return 1;
    strcpy(list, s->ranks);
    while ((each = strsep(&at, ","))) ranks[n++] = atoi(each);
    if (!strcmp(s->when, "moves")) return ranks[step / s->k % n] == me;
    for (nth = 0; nth < n; nth++) if (ranks[nth] == me) return 1;
    return 0;
}

static int is_time(const struct statement *s, int step) {
    if (!strcmp(s->when, "once")) return step == s->k;
    if (!strcmp(s->when, "every")) return step % s->k == s->k - 1;
    return 1;
}

/* A call of each operation, at a line of its own for each place: where PLACE is. */
#define CASE(text, call) if (!strcmp(s->name, text)) { call; } else
#define PLACE(function)                                                                                               \
    static void function(const struct statement *s, struct thread *t) {                                               \
        MPI_Comm comm = t->comms[s->comm];                                                                            \
        int n, rank, is_inter, bytes = s->bytes, doubles = bytes / 8, root = s->root, i, at = 0, at_in = 0;           \
        MPI_Comm_size(comm, &n); MPI_Comm_rank(comm, &rank); MPI_Comm_test_inter(comm, &is_inter);                    \
        if (is_inter) {                                                                                               \
            if (me < size / 2) root = rank == root ? MPI_ROOT : MPI_PROC_NULL;                                        \
            MPI_Comm_remote_size(comm, &n);                                                                           \
        }                                                                                                             \
        for (i = 0; i < n; i++) {                                                                                     \
            t->counts[i] = (rank + i) % 2 ? bytes / 2 : bytes; t->places[i] = at; at += t->counts[i];                 \
            t->counts_in[i] = i % 2 ? bytes / 2 : bytes; t->places_in[i] = at_in; at_in += t->counts_in[i];           \
        }                                                                                                             \
        int own = rank % 2 ? bytes / 2 : bytes;                                                                       \
        double begin = now();                                                                                         \
        CASE("MPI_Barrier", MPI_Barrier(comm))                                                                        \
        CASE("MPI_Bcast", MPI_Bcast(t->out, bytes, MPI_BYTE, root, comm))                                             \
        CASE("MPI_Reduce", MPI_Reduce(t->out, t->in, doubles, MPI_DOUBLE, MPI_SUM, root, comm))                       \
        CASE("MPI_Allreduce", MPI_Allreduce(t->out, t->in, doubles, MPI_DOUBLE, MPI_SUM, comm))                       \
        CASE("MPI_Gather", MPI_Gather(t->out, bytes, MPI_BYTE, t->in, bytes, MPI_BYTE, root, comm))                   \
        CASE("MPI_Scatter", MPI_Scatter(t->out, bytes, MPI_BYTE, t->in, bytes, MPI_BYTE, root, comm))                 \
        CASE("MPI_Gatherv", MPI_Gatherv(t->out, own, MPI_BYTE, t->in, t->counts_in, t->places_in, MPI_BYTE, root, comm)) \
        CASE("MPI_Scatterv", MPI_Scatterv(t->out, t->counts_in, t->places_in, MPI_BYTE, t->in, own, MPI_BYTE, root, comm)) \
        CASE("MPI_Allgather", MPI_Allgather(t->out, bytes, MPI_BYTE, t->in, bytes, MPI_BYTE, comm))                   \
        CASE("MPI_Allgatherv", MPI_Allgatherv(t->out, own, MPI_BYTE, t->in, t->counts_in, t->places_in, MPI_BYTE, comm)) \
        CASE("MPI_Alltoall", MPI_Alltoall(t->out, bytes, MPI_BYTE, t->in, bytes, MPI_BYTE, comm))                     \
        CASE("MPI_Alltoallv", MPI_Alltoallv(t->out, t->counts, t->places, MPI_BYTE, t->in, t->counts, t->places, MPI_BYTE, comm)) \
        CASE("MPI_Reduce_scatter_block", MPI_Reduce_scatter_block(t->out, t->in, doubles, MPI_DOUBLE, MPI_SUM, comm)) \
        CASE("MPI_Scan", MPI_Scan(t->out, t->in, doubles, MPI_DOUBLE, MPI_SUM, comm))                                 \
        CASE("MPI_Exscan", MPI_Exscan(t->out, t->in, doubles, MPI_DOUBLE, MPI_SUM, comm))                             \
        CASE("MPI_Neighbor_allgather", MPI_Neighbor_allgather(t->out, bytes, MPI_BYTE, t->in, bytes, MPI_BYTE, comm)) \
        CASE("MPI_Neighbor_alltoall", MPI_Neighbor_alltoall(t->out, bytes, MPI_BYTE, t->in, bytes, MPI_BYTE, comm))   \
        CASE("MPI_Ibarrier", MPI_Ibarrier(comm, &t->request))                                                         \
        CASE("MPI_Ibcast", MPI_Ibcast(t->out, bytes, MPI_BYTE, root, comm, &t->request))                              \
        CASE("MPI_Iallreduce", MPI_Iallreduce(t->out, t->in, doubles, MPI_DOUBLE, MPI_SUM, comm, &t->request))        \
        CASE("MPI_Ialltoall", MPI_Ialltoall(t->out, bytes, MPI_BYTE, t->in, bytes, MPI_BYTE, comm, &t->request))      \
        CASE("MPI_Igather", MPI_Igather(t->out, bytes, MPI_BYTE, t->in, bytes, MPI_BYTE, root, comm, &t->request))    \
        CASE("MPIX_Allreduce_init", MPI_Start(&t->made[s - statements]))                                              \
        CASE("MPIX_Bcast_init", MPI_Start(&t->made[s - statements]))                                                  \
        CASE("MPI_Wait", MPI_Wait(&t->request, MPI_STATUS_IGNORE))                                                    \
        CASE("MPI_Wait_started", MPI_Wait(&t->made[s->root], MPI_STATUS_IGNORE))                                      \
        CASE("halo", halo(t, comm, rank, n, bytes))                                                                   \
        CASE("send", pass(t, s))                                                                                      \
        { fprintf(stderr, "scored: no operation %s\n", s->name); MPI_Abort(MPI_COMM_WORLD, 2); }                      \
        t->inside[s->place] += now() - begin;                                                                         \
    }

static void halo(struct thread *t, MPI_Comm comm, int rank, int n, int bytes) {
    int right = (rank + 1) % n, left = (rank + n - 1) % n;
    MPI_Sendrecv(t->out, bytes, MPI_BYTE, right, 1, t->in, bytes, MPI_BYTE, left, 1, comm, MPI_STATUS_IGNORE);
    MPI_Sendrecv(t->out, bytes, MPI_BYTE, left, 2, t->in, bytes, MPI_BYTE, right, 2, comm, MPI_STATUS_IGNORE);
}

static void pass(struct thread *t, const struct statement *s) {
    if (me == s->from) MPI_Send(t->out, s->bytes, MPI_BYTE, s->to, 3, t->comms[0]);
    if (me == s->to) MPI_Recv(t->in, s->bytes, MPI_BYTE, s->from, 3, t->comms[0], MPI_STATUS_IGNORE);
}

/* Each on a line of its own, so that the place of a call is known; score.py looks for them. */
PLACE(place_0)
PLACE(place_1)
PLACE(place_2)
PLACE(place_3)
PLACE(place_4)
PLACE(place_5)

static void (*const places[])(const struct statement *, struct thread *) = {place_0, place_1, place_2, place_3, place_4, place_5};

static void run(struct thread *t, int step, int from, int to) {
    for (int i = from; i < to; i++) {
        const struct statement *s = &statements[i];
        if (!is_time(s, step)) continue;
        if (!strcmp(s->verb, "work") || !strcmp(s->verb, "late")) {
            if (!is_one_of(s, step) || (*s->verb == 'l' && (is_off || t->idx))) continue;
            double us = s->us * (1 + s->jitter / 100 * (chance(me, step, i) - 0.5));
            if (!strcmp(s->when, "grow")) us *= 2.0 * step / n_steps;
            sleep_us(us);
        } else if (t->comms[s->comm] != MPI_COMM_NULL) {
            places[s->place](s, t);
        }
    }
}

static void *steps(void *given) {
    struct thread *t = given;
    for (int step = 0; step < n_steps; step++) run(t, step, 0, first_of_end);
    return NULL;
}

static int comm_of(const char *name) {
    for (int i = 0; i < n_comms; i++) if (!strcmp(comm_names[i], name)) return i;
    fprintf(stderr, "scored: no communicator %s\n", name);
    exit(2);
}

static void read_plan(const char *path) {
    char line[256];
    FILE *file = fopen(path, "r");
    if (!file) { perror(path); exit(2); }
    strcpy(comm_names[n_comms++], "world");
    first_of_end = -1;
    while (fgets(line, sizeof line, file)) {
        struct statement *s = &statements[n_statements];
        char verb[16] = "", comm[16] = "world";
        sscanf(line, "%15s", verb);
        if (!strcmp(verb, "threads")) sscanf(line, "%*s %d", &n_threads);
        if (!strcmp(verb, "steps")) sscanf(line, "%*s %d", &n_steps);
        if (!strcmp(verb, "comm")) {
            sscanf(line, "%*s %15s %15s %d", comm_names[n_comms], comm_kinds[n_comms], &comm_arguments[n_comms]);
            n_comms++;
        }
        if (!strcmp(verb, "end")) first_of_end = n_statements;
        strcpy(s->when, "always");
        if (!strcmp(verb, "work") || !strcmp(verb, "late"))
            sscanf(line, "%*s %79s %lf %lf %7s %d", s->ranks, &s->us, &s->jitter, s->when, &s->k);
        else if (!strcmp(verb, "op"))
            sscanf(line, "%*s %d %39s %15s %d %d %7s %d", &s->place, s->name, comm, &s->bytes, &s->root, s->when, &s->k);
        else if (!strcmp(verb, "send"))
            sscanf(line, "%*s %d %d %d %d", &s->place, &s->from, &s->to, &s->bytes), strcpy(s->name, "send");
        else
            continue;
        strcpy(s->verb, verb);
        s->comm = comm_of(comm);
        if (s->bytes > largest) largest = s->bytes;
        n_statements++;
    }
    fclose(file);
    if (first_of_end < 0) first_of_end = n_statements;
}

static MPI_Comm made(int idx) {
    MPI_Comm comm = MPI_COMM_NULL, half;
    const char *kind = comm_kinds[idx];
    int k = comm_arguments[idx], ring = 1;
    if (!strcmp(kind, "dup")) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (!strcmp(kind, "halves")) MPI_Comm_split(MPI_COMM_WORLD, me >= size / 2, me, &comm);
    if (!strcmp(kind, "parity")) MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &comm);
    if (!strcmp(kind, "without")) MPI_Comm_split(MPI_COMM_WORLD, me == k ? MPI_UNDEFINED : 0, me, &comm);
    if (!strcmp(kind, "pair")) MPI_Comm_split(MPI_COMM_WORLD, me == k || me == (k + 1) % size ? 0 : MPI_UNDEFINED, me, &comm);
    if (!strcmp(kind, "ring")) MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &ring, 0, &comm);
    if (!strcmp(kind, "inter")) {
        MPI_Comm_split(MPI_COMM_WORLD, me >= size / 2, me, &half);
        MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, me >= size / 2 ? 0 : size / 2, 3, &comm);
    }
    return comm;
}

static void make_thread(struct thread *t, int idx) {
    size_t room = (size_t)(largest + 8) * (size + 2);
    t->idx = idx;
    t->comms[0] = MPI_COMM_WORLD;
    if (idx) MPI_Comm_dup(MPI_COMM_WORLD, &t->comms[0]);
    for (int i = 1; i < n_comms; i++) t->comms[i] = made(i);
    t->out = calloc(1, room); t->in = calloc(1, room);
    t->counts = calloc(size, sizeof(int)); t->places = calloc(size, sizeof(int));
    t->counts_in = calloc(size, sizeof(int)); t->places_in = calloc(size, sizeof(int));
    for (int i = 0; i < n_statements; i++) {
        const struct statement *s = &statements[i];
        MPI_Comm comm = t->comms[s->comm];
        if (comm == MPI_COMM_NULL) continue;
        if (!strcmp(s->name, "MPIX_Allreduce_init"))
            MPIX_Allreduce_init(t->out, t->in, s->bytes / 8, MPI_DOUBLE, MPI_SUM, comm, MPI_INFO_NULL, &t->made[i]);
        if (!strcmp(s->name, "MPIX_Bcast_init"))
            MPIX_Bcast_init(t->out, s->bytes, MPI_BYTE, s->root, comm, MPI_INFO_NULL, &t->made[i]);
    }
}

int main(int argc, char **argv) {
    int provided;
    pthread_t ids[4];
    static struct thread threads[4];
    if (argc < 2) { fprintf(stderr, "usage: scored PLAN [off]\n"); return 2; }
    read_plan(argv[1]);
    is_off = argc > 2;
    MPI_Init_thread(&argc, &argv, n_threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    double from = now();
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < n_threads; i++) make_thread(&threads[i], i);
    for (int i = 1; i < n_threads; i++) pthread_create(&ids[i], NULL, steps, &threads[i]);
    steps(&threads[0]);
    for (int i = 1; i < n_threads; i++) pthread_join(ids[i], NULL);
    run(&threads[0], 0, first_of_end, n_statements);
    double to = now();
    MPI_Finalize(); /* the last place */
    threads[0].inside[FINALIZE] = now() - to;
    char line[512];
    int n = snprintf(line, sizeof line, "rank %d %.6f %.6f", me, from, to);
    for (int i = 0; i <= N_PLACES; i++) {
        double inside = 0;
        for (int j = 0; j < n_threads; j++) inside += threads[j].inside[i];
        n += snprintf(line + n, sizeof line - n, " %.6f", inside);
    }
    printf("%s\n", line);
    return 0;
}

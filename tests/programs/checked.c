/* Random collectives, one after the other, on communicators that stay, so that there are many calls of each kind; now and
   then a rank sleeps before one. Each rank checks what it gets, and ends with status 1 and the place if that is wrong.

       checked SEED COUNT [THREADS] */
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST = 3000, MOST_RANKS = 16 };

struct thread {
    MPI_Comm comm;
    uint64_t state;
    long n_calls;
    int rank, n;
};

/* The same numbers on all ranks. */
static int below(struct thread *t, int n)
{
    t->state = t->state * 6364136223846793005u + 1442695040888963407u;
    return (int)((t->state >> 33) % (uint64_t)n);
}

static int value(long call, int of, int nth)
{
    return (int)((call * 7919 + of * 104729 + nth * 31) % 1000003);
}

static int sum(struct thread *t, long call, int nth)
{
    int sum = 0;
    for (int of = 0; of < t->n; of++)
        sum += value(call, of, nth);
    return sum;
}

static void expect(struct thread *t, long call, const char *what, int is, int should)
{
    if (is != should) {
        printf("rank %d, call %ld, %s: %d instead of %d\n", t->rank, call, what, is, should);
        fflush(stdout);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void *calls(void *of)
{
    struct thread *t = of;
    const int lengths[] = {1, 60, LONGEST}, n = t->n, rank = t->rank;
    int *own = malloc(sizeof(int) * LONGEST * MOST_RANKS);
    int *all = malloc(sizeof(int) * LONGEST * MOST_RANKS);
    for (long call = 0; call < t->n_calls; call++) {
        int count = lengths[below(t, 20) / 9], root = below(t, 2), operation = below(t, 7);
        int late = below(t, 100 * n), late_us = below(t, 300);
        if (late == rank)
            usleep((unsigned)late_us);
        if (operation == 0) {
            MPI_Barrier(t->comm);
            continue;
        }
        for (int nth = 0; nth < count; nth++)
            own[nth] = value(call, rank, nth);
        int last = count - 1;
        switch (operation) {
        case 1:
            MPI_Allreduce(own, all, count, MPI_INT, MPI_SUM, t->comm);
            expect(t, call, "allreduce", all[last], sum(t, call, last));
            break;
        case 2:
            MPI_Reduce(own, all, count, MPI_INT, MPI_SUM, root, t->comm);
            if (rank == root)
                expect(t, call, "reduce", all[last], sum(t, call, last));
            break;
        case 3:
            MPI_Bcast(own, count, MPI_INT, root, t->comm);
            expect(t, call, "bcast", own[last], value(call, root, last));
            break;
        case 4:
            MPI_Gather(own, count, MPI_INT, all, count, MPI_INT, root, t->comm);
            for (int from = 0; rank == root && from < n; from++)
                expect(t, call, "gather", all[from * count + last], value(call, from, last));
            break;
        case 5:
            MPI_Allgather(own, count, MPI_INT, all, count, MPI_INT, t->comm);
            for (int from = 0; from < n; from++)
                expect(t, call, "allgather", all[from * count + last], value(call, from, last));
            break;
        default:
            for (int to = 0; rank == root && to < n; to++)
                own[to * count + last] = value(call, to, last);
            MPI_Scatter(own, count, MPI_INT, all, count, MPI_INT, root, t->comm);
            expect(t, call, "scatter", all[last], value(call, rank, last));
        }
    }
    free(own);
    free(all);
    return NULL;
}

int main(int argc, char **argv)
{
    enum { MOST_THREADS = 8 };
    int n_threads = argc > 3 ? atoi(argv[3]) : 1, provided;
    MPI_Init_thread(&argc, &argv, n_threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    struct thread threads[MOST_THREADS];
    pthread_t handles[MOST_THREADS];
    for (int nth = 0; nth < n_threads; nth++) {
        struct thread *t = &threads[nth];
        *t = (struct thread){.state = (uint64_t)atoll(argv[1]) * 1000 + (uint64_t)nth, .n_calls = atol(argv[2])};
        MPI_Comm_dup(MPI_COMM_WORLD, &t->comm);
        MPI_Comm_rank(t->comm, &t->rank);
        MPI_Comm_size(t->comm, &t->n);
    }
    for (int nth = 1; nth < n_threads; nth++)
        pthread_create(&handles[nth], NULL, calls, &threads[nth]);
    calls(&threads[0]);
    for (int nth = 1; nth < n_threads; nth++)
        pthread_join(handles[nth], NULL);
    if (threads[0].rank == 0)
        printf("%ld calls in each of %d threads\n", threads[0].n_calls, n_threads);
    for (int nth = 0; nth < n_threads; nth++)
        MPI_Comm_free(&threads[nth].comm);
    MPI_Finalize();
    return 0;
}

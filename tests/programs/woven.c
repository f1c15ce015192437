/* Random collective operations with others outstanding around them: sends that need their receiver,
   nonblocking collectives and one-sided operations, on communicators that come and go, in one thread
   or in two at once. What every rank got is printed as one number for each thread; it is the same over
   trees as with the library.

       woven SEED COUNT [THREADS] */
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 60000, COMMS = 4, PENDING = 6 };

struct pending {
    MPI_Request requests[2];
    int n_requests, is_collective;
    unsigned char *send, *receive;
    size_t n_bytes; /* of what is received */
};

struct thread {
    int number, n_calls;
    uint64_t state, hash;
    MPI_Comm world, comms[COMMS];
    MPI_Win window; /* of the first thread */
    long *exposed;
    struct pending pending[PENDING];
    int n_pending;
};

/* The same numbers on all ranks. */
static int below(struct thread *t, int n)
{
    t->state = t->state * 6364136223846793005u + 1442695040888963407u;
    return (int)((t->state >> 33) % (uint64_t)n);
}

static void add(struct thread *t, const void *bytes, size_t n)
{
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < n; i++)
        t->hash = (t->hash ^ byte[i]) * 1099511628211u;
}

static int *numbers(struct thread *t, int n, int rank)
{
    int *all = malloc((size_t)n * sizeof *all + 1);
    uint64_t own = t->state ^ (uint64_t)(rank + 1) * 77777;
    for (int i = 0; i < n; i++) {
        own = own * 6364136223846793005u + 1;
        all[i] = (int)(own >> 40) % 1000;
    }
    return all;
}

static void complete(struct thread *t, int n)
{
    for (int i = 0; i < n; i++) {
        struct pending *pending = &t->pending[i];
        MPI_Waitall(pending->n_requests, pending->requests, MPI_STATUSES_IGNORE);
        add(t, pending->receive, pending->n_bytes);
        free(pending->send);
        free(pending->receive);
    }
    t->n_pending -= n;
    memmove(t->pending, t->pending + n, (size_t)t->n_pending * sizeof t->pending[0]);
}

static void make_comm(struct thread *t, MPI_Comm *comm)
{
    int rank;
    MPI_Comm_rank(t->world, &rank);
    switch (below(t, 4)) {
    case 0:
        MPI_Comm_dup(t->world, comm);
        break;
    case 1:
        MPI_Comm_split(t->world, 0, -rank, comm);
        break;
    case 2:
        MPI_Comm_split(t->world, rank % 2, rank, comm);
        break;
    default:
        MPI_Comm_split(t->world, rank > 0, -rank, comm);
    }
}

static void own_sum(void *left, void *right, int *n, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *n; i++)
        ((int *)right)[i] += ((int *)left)[i];
}

/* An operation that may go over a tree. */
static void blocking(struct thread *t, MPI_Comm comm)
{
    int n, me, what = below(t, 7), root = below(t, 1000), in_place = below(t, 3) == 0;
    int count = 1 + (below(t, 4) == 0 ? below(t, LONGEST) : below(t, 30));
    MPI_Comm_size(comm, &n);
    MPI_Comm_rank(comm, &me);
    root %= n;
    int *send = numbers(t, count * n, me), *receive = numbers(t, count * n, me + 100);
    MPI_Op op = below(t, 2) ? MPI_SUM : MPI_MAX, own = MPI_OP_NULL;
    if (below(t, 4) == 0) {
        MPI_Op_create(own_sum, below(t, 2), &own);
        op = own;
    }
    void *given = in_place ? MPI_IN_PLACE : (void *)send;
    switch (what) {
    case 0:
        MPI_Allreduce(given, receive, count, MPI_INT, op, comm);
        break;
    case 1:
        MPI_Reduce(me == root ? given : send, receive, count, MPI_INT, op, root, comm);
        break;
    case 2:
        MPI_Bcast(receive, count, MPI_INT, root, comm);
        break;
    case 3:
        MPI_Barrier(comm);
        break;
    case 4:
        MPI_Gather(me == root ? given : send, count, MPI_INT, receive, count, MPI_INT, root, comm);
        break;
    case 5:
        MPI_Scatter(send, count, MPI_INT, me == root && in_place ? MPI_IN_PLACE : (void *)receive, count,
                    MPI_INT, root, comm);
        break;
    default:
        MPI_Allgather(given, count, MPI_INT, receive, count, MPI_INT, comm);
    }
    if (own != MPI_OP_NULL)
        MPI_Op_free(&own);
    add(t, receive, (size_t)count * (size_t)n * sizeof *receive);
    free(send);
    free(receive);
}

static void begin(struct thread *t, MPI_Comm comm, int is_message)
{
    int n, me, what = below(t, 6), root = below(t, 1000);
    int count = 1 + (below(t, 3) == 0 ? below(t, LONGEST) : below(t, 30));
    MPI_Comm_size(comm, &n);
    MPI_Comm_rank(comm, &me);
    root %= n;
    if (t->n_pending == PENDING)
        complete(t, 1 + below(t, PENDING));
    struct pending *pending = &t->pending[t->n_pending++];
    int *send = numbers(t, count * n, me), *receive = numbers(t, count * n, me + 100);
    pending->send = (unsigned char *)send;
    pending->receive = (unsigned char *)receive;
    pending->n_bytes = (size_t)count * (size_t)n * sizeof *receive;
    MPI_Request *request = pending->requests;
    pending->n_requests = 1;
    pending->is_collective = !is_message;
    if (is_message) {
        MPI_Isend(send, count, MPI_INT, (me + 1) % n, 7, comm, &request[0]);
        MPI_Irecv(receive, count, MPI_INT, (me + n - 1) % n, 7, comm, &request[1]);
        pending->n_requests = 2;
        return;
    }
    switch (what) {
    case 0:
        MPI_Iallreduce(send, receive, count, MPI_INT, MPI_SUM, comm, request);
        break;
    case 1:
        MPI_Ibcast(receive, count, MPI_INT, root, comm, request);
        break;
    case 2:
        MPI_Iallgather(send, count, MPI_INT, receive, count, MPI_INT, comm, request);
        break;
    case 3:
        MPI_Ibarrier(comm, request);
        break;
    case 4:
        MPI_Ialltoall(send, count, MPI_INT, receive, count, MPI_INT, comm, request);
        break;
    default:
        MPI_Igather(send, count, MPI_INT, receive, count, MPI_INT, root, comm, request);
    }
}

/* Gets what another process exposes, which may be in any other call meanwhile. */
static void one_sided(struct thread *t)
{
    int n, me;
    long got = -1, one = 1;
    MPI_Comm_size(t->world, &n);
    MPI_Comm_rank(t->world, &me);
    int target = (me + 1 + below(t, n)) % n;
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, t->window);
    MPI_Get(&got, 1, MPI_LONG, target, 0, 1, MPI_LONG, t->window);
    MPI_Accumulate(&one, 1, MPI_LONG, target, 1, 1, MPI_LONG, MPI_SUM, t->window);
    MPI_Win_unlock(target, t->window);
    add(t, &got, sizeof got);
}

static void *run(void *argument)
{
    struct thread *t = argument;
    for (int call = 0; call < t->n_calls; call++) {
        int idx = below(t, COMMS), what = below(t, 20);
        if (what < 11) {
            blocking(t, t->comms[idx]);
        } else if (what < 14) {
            begin(t, t->comms[idx], 0);
        } else if (what < 17) {
            begin(t, t->comms[idx], 1);
        } else if (what < 18) {
            if (t->n_pending > 0)
                complete(t, 1 + below(t, t->n_pending));
        } else if (what < 19) {
            /* Messages on it may be under way, and collectives too, but not with Open MPI 4.1. */
            for (int i = t->n_pending; i-- > 0;)
                if (t->pending[i].is_collective) {
                    complete(t, i + 1);
                    break;
                }
            MPI_Comm_free(&t->comms[idx]);
            make_comm(t, &t->comms[idx]);
        } else if (t->number == 0) {
            one_sided(t);
        }
    }
    complete(t, t->n_pending);
    for (int i = 0; i < COMMS; i++)
        MPI_Comm_free(&t->comms[i]);
    return NULL;
}

int main(int argc, char **argv)
{
    int rank, provided, seed = argc > 1 ? atoi(argv[1]) : 1, n_calls = argc > 2 ? atoi(argv[2]) : 200;
    int n_threads = argc > 3 ? atoi(argv[3]) : 1;
    struct thread threads[4] = {0};
    pthread_t others[4];
    if (n_threads > 4)
        n_threads = 4;
    MPI_Init_thread(&argc, &argv, n_threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE)
        n_threads = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < n_threads; i++) {
        struct thread *t = &threads[i];
        t->number = i;
        t->n_calls = n_calls;
        t->state = (uint64_t)seed * 1000 + (uint64_t)i;
        t->hash = 1469598103934665603u;
        MPI_Comm_dup(MPI_COMM_WORLD, &t->world);
        for (int k = 0; k < COMMS; k++)
            make_comm(t, &t->comms[k]);
    }
    struct thread *first = &threads[0];
    MPI_Win_allocate(2 * sizeof(long), sizeof(long), MPI_INFO_NULL, first->world, &first->exposed,
                     &first->window);
    first->exposed[0] = rank * 1000003;
    first->exposed[1] = 0;
    MPI_Barrier(first->world);
    for (int i = 1; i < n_threads; i++)
        pthread_create(&others[i], NULL, run, &threads[i]);
    run(first);
    for (int i = 1; i < n_threads; i++)
        pthread_join(others[i], NULL);
    MPI_Win_fence(0, first->window);
    add(first, &first->exposed[1], sizeof(long));
    MPI_Win_free(&first->window);
    for (int i = 0; i < n_threads; i++) {
        printf("%d thread %d %016llx\n", rank, i, (unsigned long long)threads[i].hash);
        MPI_Comm_free(&threads[i].world);
    }
    MPI_Finalize();
    return 0;
}

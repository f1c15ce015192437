/* Two threads, each with nonblocking collectives on a communicator of its own. Every other request
 * is handed to the other thread, which completes it; the handles are those that the first thread's
 * library calls give out again at once. Further calls come from a destructor at thread exit.
 *
 *     handover DIRECTORY COUNT
 *
 * DIRECTORY/handover.RANK.log has a line for each completion. The communicators of the threads are
 * the first two that are made. */
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 2, MAILBOX = 16 };
static MPI_Comm comms[THREADS];
static long count;
static int rank, size;
static FILE *logfile;
static pthread_key_t at_exit;
static atomic_int wrong;

struct work {
    MPI_Request request;
    int comm;
    long position;
    int one, sum;
};
/* From thread t to the other one: a place is full or empty. */
static struct { _Atomic(struct work *) places[MAILBOX]; atomic_int is_done; } mail[THREADS];

static int take_mail(int from);

/* Nobody blocks while the other thread may have something to be done: their order is not the same
 * in all processes. Gives whether it was complete. */
static int try_to_complete(struct work *work, int by_wait)
{
    int flag;
    if (by_wait) {
        MPI_Request_get_status(work->request, &flag, MPI_STATUS_IGNORE);
        if (flag)
            MPI_Wait(&work->request, MPI_STATUS_IGNORE);
    } else {
        MPI_Test(&work->request, &flag, MPI_STATUS_IGNORE);
    }
    if (!flag)
        return 0;
    if (work->sum != size)
        wrong = 1;
    flockfile(logfile);
    fprintf(logfile, "%d %ld %s\n", work->comm, work->position, by_wait ? "MPI_Wait" : "MPI_Test");
    funlockfile(logfile);
    free(work);
    return 1;
}

static void complete(struct work *work, int t, int by_wait)
{
    while (!try_to_complete(work, by_wait)) {
        take_mail(1 - t);
        sched_yield();
    }
}

static int take_mail(int from)
{
    int n = 0;
    for (int i = 0; i < MAILBOX; i++) {
        struct work *work = mail[from].places[i];
        if (work && try_to_complete(work, i % 2))
            mail[from].places[i] = NULL;
        n += work != NULL;
    }
    return n;
}

static void leave(void *value)
{
    int t = (int)(long)value - 1;
    struct work *work = malloc(sizeof *work);
    *work = (struct work){.comm = 2 + t, .position = count, .one = 1};
    MPI_Iallreduce(&work->one, &work->sum, 1, MPI_INT, MPI_SUM, comms[t], &work->request);
    complete(work, t, 1);
}

static void *run(void *argument)
{
    int t = (int)(long)argument;
    pthread_setspecific(at_exit, (void *)(long)(t + 1));
    for (long i = 0; i < count; i++) {
        struct work *work = malloc(sizeof *work);
        *work = (struct work){.comm = 2 + t, .position = i, .one = 1};
        MPI_Iallreduce(&work->one, &work->sum, 1, MPI_INT, MPI_SUM, comms[t], &work->request);
        if (i % 2) {
            int at = (int)(i / 2 % MAILBOX);
            struct work *none = NULL;
            while (!atomic_compare_exchange_weak(&mail[t].places[at], &none, work)) {
                none = NULL;
                take_mail(1 - t);
                sched_yield();
            }
        } else {
            complete(work, t, i % 4 == 0);
        }
        take_mail(1 - t);
    }
    mail[t].is_done = 1;
    while (!mail[1 - t].is_done || take_mail(1 - t)) {
        take_mail(1 - t);
        sched_yield();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    if (argc != 3)
        return 2;
    count = atol(argv[2]);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (provided < MPI_THREAD_MULTIPLE)
        MPI_Abort(MPI_COMM_WORLD, 98);
    char path[4096];
    snprintf(path, sizeof path, "%s/handover.%d.log", argv[1], rank);
    logfile = fopen(path, "w");
    if (!logfile)
        MPI_Abort(MPI_COMM_WORLD, 97);
    pthread_t threads[THREADS];
    pthread_key_create(&at_exit, leave);
    for (int t = 0; t < THREADS; t++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]);
    for (int t = 0; t < THREADS; t++)
        pthread_create(&threads[t], NULL, run, (void *)(long)t);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    fclose(logfile);
    MPI_Finalize();
    return wrong;
}

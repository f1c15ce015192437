/* Collectives of all kinds whose sizes tell which they are, for a long time; ranks make calls of
 * their own in different number, so that their rings hold different stretches of the run.
 *
 *     ring ITERATIONS MICROSECONDS HOW
 *
 * Between iterations it sleeps so long. HOW:
 * end       as it should; each rank prints how many collectives it called
 * kill      rank 0 kills itself after the last iteration, the others wait for it in a barrier
 * late      rank 0 sleeps for five seconds after it, the others wait for it likewise
 * timer     barriers of each process alone, until it kills itself after MICROSECONDS of its own time
 * waitall   only this: ITERATIONS nonblocking allreduces, all completed by one MPI_Waitall; twice
 * threads   two threads of each rank make ITERATIONS allreduces, each on a communicator of its own, and
 *           a third one some at the beginning and at the end */
#include <mpi.h>
#include <mpi-ext.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static char in[8192], out[3][8192];

static void die(int number)
{
    (void)number;
    kill(getpid(), SIGKILL);
}

static void until_killed(long microseconds)
{
    struct itimerval when = {.it_value = {microseconds / 1000000, microseconds % 1000000}};
    signal(SIGPROF, die);
    setitimer(ITIMER_PROF, &when, NULL);
    for (;;)
        MPI_Barrier(MPI_COMM_SELF);
}

static MPI_Comm own[3];
static long n_of_thread[3];
static pthread_barrier_t meeting;

/* The n-th call on a communicator has 1 + n % 8000 bytes. */
static void *calls_of_thread(void *argument)
{
    int thread = *(int *)argument;
    long half = n_of_thread[thread] / 2;
    for (long n = 0; n < 2 * half; n++) {
        if (thread == 2 && n == half)
            pthread_barrier_wait(&meeting);
        MPI_Allreduce(in, out[thread], 1 + (int)(n % 8000), MPI_CHAR, MPI_BOR, own[thread]);
    }
    if (thread != 2)
        pthread_barrier_wait(&meeting);
    return NULL;
}

static int in_threads(long iterations)
{
    pthread_t threads[3];
    int numbers[3] = {0, 1, 2};
    pthread_barrier_init(&meeting, NULL, 3);
    for (int i = 0; i < 3; i++) {
        n_of_thread[i] = i == 2 ? 10 : iterations;
        MPI_Comm_dup(MPI_COMM_SELF, &own[i]);
    }
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, calls_of_thread, &numbers[i]);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    MPI_Finalize();
    return 0;
}

static int in_one_call(long n)
{
    MPI_Request *requests = malloc(n * sizeof *requests);
    int *sums = malloc(n * sizeof *sums), one = 1;
    for (int twice = 0; twice < 2; twice++) {
        for (long i = 0; i < n; i++)
            MPI_Iallreduce(&one, &sums[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[i]);
        MPI_Waitall((int)n, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Finalize();
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    long iterations = atol(argv[1]), calls = 0;
    int rank, level, n_requests = 0;
    MPI_Request pending = MPI_REQUEST_NULL, persistent = MPI_REQUEST_NULL;
    MPI_Comm half, copy;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!strcmp(argv[3], "timer"))
        until_killed(atol(argv[2]));
    if (!strcmp(argv[3], "threads"))
        return in_threads(iterations);
    if (!strcmp(argv[3], "waitall"))
        return in_one_call(iterations);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    calls++;
#if defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
    MPIX_Bcast_init(in, 16, MPI_CHAR, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &persistent);
    n_requests++;
#endif
    for (long i = 0; i < iterations; i++) {
        if (i % 100 == 0)
            MPI_Pcontrol(1 + (int)(i / 100 % 3));
        MPI_Allreduce(in, out[0], 1 + (int)(i % 8000), MPI_CHAR, MPI_BOR, MPI_COMM_WORLD);
        calls++;
        if (pending != MPI_REQUEST_NULL)
            MPI_Wait(&pending, MPI_STATUS_IGNORE);
        if (i % 2) {
            /* Complete only in the next iteration. */
            MPI_Ibcast(out[1], 1 + (int)(i % 7000), MPI_CHAR, 0, MPI_COMM_WORLD, &pending);
            calls++;
        }
        if (i % 3 == 0) {
            MPI_Bcast(in, 1 + (int)(i % 6000), MPI_CHAR, 0, half);
            calls++;
        }
        if (i % 5 == 0 && n_requests > 0) {
            MPI_Start(&persistent);
            MPI_Wait(&persistent, MPI_STATUS_IGNORE);
            calls++;
        }
        if (i % 50 == 49) {
            MPI_Comm_dup(half, &copy);
            MPI_Barrier(copy);
            MPI_Comm_free(&copy);
            calls += 3;
        }
        for (int n = 0; n < rank; n++) {
            MPI_Barrier(MPI_COMM_SELF);
            calls++;
        }
        if (atoi(argv[2]) > 0)
            usleep(atoi(argv[2]));
    }
    if (pending != MPI_REQUEST_NULL)
        MPI_Wait(&pending, MPI_STATUS_IGNORE);
    int is_late = !strcmp(argv[3], "late");
    if (is_late || !strcmp(argv[3], "kill")) {
        if (rank == 0) {
            usleep(is_late ? 5000000 : 300000);
            if (!is_late)
                raise(SIGKILL);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (n_requests > 0)
        MPI_Request_free(&persistent);
    printf("rank %d: %ld calls\n", rank, calls);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}

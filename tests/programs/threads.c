/* Four threads for each process, in collectives at the same time, each on a communicator of its
 * own. Thread t calls (t + 1) * CALLS allreduces, and as many barriers less one.
 *
 *     threads CALLS */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4 };
static MPI_Comm comms[THREADS];
static int calls, wrong;

static void *run(void *argument)
{
    int t = (int)(long)argument, one = 1, size;
    MPI_Comm_size(comms[t], &size);
    for (int i = 0; i < (t + 1) * calls; i++) {
        int sum = 0;
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comms[t]);
        if (sum != size)
            wrong = 1;
        if (i > 0)
            MPI_Barrier(comms[t]);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    if (argc != 2)
        return 2;
    calls = atoi(argv[1]);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE) {
        fprintf(stderr, "this MPI has no MPI_THREAD_MULTIPLE\n");
        MPI_Abort(MPI_COMM_WORLD, 98);
    }
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]);
    for (int t = 0; t < THREADS; t++)
        pthread_create(&threads[t], NULL, run, (void *)(long)t);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    for (int t = 0; t < THREADS; t++)
        MPI_Comm_free(&comms[t]);
    MPI_Finalize();
    return wrong;
}

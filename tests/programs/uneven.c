/* Ranks that make different numbers of calls on communicators of their own, before and between many
 * on one that they share: their chunks of records end at different places. Short threads that come
 * and go, each with one call. A communicator of MPI_Comm_idup whose place was a local variable.
 *
 *     uneven SHARED THREADS      calls on the shared communicator, threads of rank 0 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void *one_barrier(void *unused)
{
    MPI_Barrier(MPI_COMM_SELF);
    return unused;
}

static MPI_Comm duplicate(MPI_Comm comm)
{
    MPI_Comm made;
    MPI_Request request;
    MPI_Comm_idup(comm, &made, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return made;
}

int main(int argc, char **argv)
{
    int provided, rank, shared = atoi(argv[1]), threads = atoi(argv[2]);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 700 * rank; i++)
        MPI_Barrier(MPI_COMM_SELF);
    MPI_Comm comm = duplicate(MPI_COMM_WORLD);
    for (int i = 0; i < shared; i++) {
        MPI_Barrier(comm);
        if (i % (rank + 2) == 0)
            MPI_Barrier(MPI_COMM_SELF);
    }
    if (rank == 0 && provided == MPI_THREAD_MULTIPLE)
        for (int i = 0; i < threads; i++) {
            pthread_t thread;
            pthread_create(&thread, NULL, one_barrier, NULL);
            pthread_join(thread, NULL);
        }
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}

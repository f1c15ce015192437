/* Makes communicators, 20 times: several without blocking, of which a copy is copied again, while others are
 * made and a sum goes on; then in two threads at once, each from a communicator of its own. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

enum { ROUNDS = 20, PENDING = 3 };

static MPI_Comm own[2];

static void *copy(void *which)
{
    MPI_Comm made;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Comm_dup(*(MPI_Comm *)which, &made);
        MPI_Comm_free(&made);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided, rank, size, sum;
    MPI_Comm pending[PENDING], made, again;
    MPI_Request requests[PENDING + 1];
    pthread_t thread;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < PENDING; i++)
            MPI_Comm_idup(MPI_COMM_WORLD, &pending[i], &requests[i]);
        MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[PENDING]);
        MPI_Comm_dup(MPI_COMM_WORLD, &made);
        MPI_Comm_free(&made);
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &made);
        MPI_Waitall(PENDING + 1, requests, MPI_STATUSES_IGNORE);
        if (sum != size * (size - 1) / 2)
            MPI_Abort(MPI_COMM_WORLD, 1);
        MPI_Comm_idup(pending[0], &again, &requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        MPI_Barrier(again);
        MPI_Comm_free(&again);
        MPI_Comm_free(&made);
        for (int i = 0; i < PENDING; i++)
            MPI_Comm_free(&pending[i]);
    }
    for (int i = 0; i < 2; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &own[i]);
    pthread_create(&thread, NULL, copy, &own[1]);
    copy(&own[0]);
    pthread_join(thread, NULL);
    for (int i = 0; i < 2; i++)
        MPI_Comm_free(&own[i]);
    if (rank == 0)
        printf("made\n");
    MPI_Finalize();
    return 0;
}

/* A program that ends in the way asked for, after exactly so many barriers.
 *
 *     ends HOW RANK CALLS
 *
 * finalize   all processes, as they should
 * exit       all processes call exit(0) without MPI_Finalize
 * _exit      all processes call _exit(3): no handler of exit runs
 * linger     all sleep until they are killed; RANK writes its number to the file "ready" when they do
 * kill       RANK kills itself with SIGKILL; the others wait for it in an allreduce
 * segv       likewise, by a bad access
 * term       likewise, with SIGTERM
 * abort      RANK calls MPI_Abort with 7 instead of the allreduce
 * waitall    as kill, but what the others wait in is the Waitall of an Ibarrier and an Iallreduce
 *
 * Before RANK ends, it waits for as long as MPI_Init took: what is measured in MPI_Init is old by then. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static long now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000L + now.tv_nsec / 1000;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    const char *how = argv[1];
    int chosen = atoi(argv[2]), calls = atoi(argv[3]), rank, one = 1, sum;

    long init_us = -now_us();
    MPI_Init(&argc, &argv);
    init_us += now_us();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < calls; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    if (strstr(how, "exit")) {
        usleep(500000); /* the launcher kills the others, who have left their last barrier by then */
        if (!strcmp(how, "exit"))
            exit(0);
        _exit(3);
    }
    if (!strcmp(how, "linger")) {
        if (rank == chosen) {
            usleep(300000); /* the others sleep by then */
            FILE *ready = fopen("making", "w");
            fprintf(ready, "%d\n", (int)getpid());
            fclose(ready);
            rename("making", "ready");
        }
        sleep(60);
    }
    if (strcmp(how, "finalize")) {
        if (rank == chosen) {
            usleep(init_us > 300000 ? init_us : 300000); /* the others are in the allreduce by then */
            if (!strcmp(how, "kill") || !strcmp(how, "waitall"))
                raise(SIGKILL);
            if (!strcmp(how, "segv")) {
                signal(SIGSEGV, SIG_DFL); /* without the stack trace of Open MPI */
                raise(SIGSEGV);
            }
            if (!strcmp(how, "term")) {
                signal(SIGTERM, SIG_DFL);
                raise(SIGTERM);
            }
            if (!strcmp(how, "abort"))
                MPI_Abort(MPI_COMM_WORLD, 7);
        }
        if (!strcmp(how, "waitall")) {
            MPI_Request requests[2];
            MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
            MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[1]);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        }
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 0)
        puts("finished");
    MPI_Finalize();
    return 0;
}

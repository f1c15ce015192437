/* Rank 1 is late, for one of several reasons, or one rank after the other.
 *
 *     late WHY TIMES
 *
 * TIMES times an allreduce; in front of each, rank 1 spends 3 ms: it "sleeps", "computes", is
 * "stopped" by a signal, or "shares" its core with a process that never rests and computes. In
 * "turns" another rank sleeps each time; with any other word nobody is late. */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static void compute(long ns)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < ns);
}

int main(int argc, char **argv)
{
    const char *why = argv[1];
    int times = atoi(argv[2]), rank, size, asks[2];
    const char *number = getenv("OMPI_COMM_WORLD_RANK");
    int is_late = number && atoi(number) == 1;
    pid_t child = 0;
    /* How often the child has stopped its parent, and is about to let it go on. */
    atomic_int *stops = mmap(NULL, sizeof *stops, PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (stops == MAP_FAILED || pipe(asks) != 0)
        return 1;
    if (is_late && (!strcmp(why, "stopped") || !strcmp(why, "shares"))) {
        if (!strcmp(why, "shares")) {
            cpu_set_t one;
            CPU_ZERO(&one);
            CPU_SET(sched_getcpu(), &one);
            sched_setaffinity(0, sizeof one, &one);
        }
        child = fork();
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            char byte;
            if (!strcmp(why, "shares"))
                for (;;)
                    ;
            while (read(asks[0], &byte, 1) == 1) {
                kill(getppid(), SIGSTOP);
                usleep(3000);
                atomic_fetch_add(stops, 1);
                kill(getppid(), SIGCONT);
            }
            _exit(0);
        }
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int sum = 0;
    for (int i = 0; i < times; i++) {
        if (strcmp(why, "turns") ? is_late && !strcmp(why, "sleeps") : i % size == rank)
            usleep(3000);
        if (is_late && (!strcmp(why, "computes") || !strcmp(why, "shares")))
            compute(3000000);
        if (is_late && !strcmp(why, "stopped")) {
            if (write(asks[1], "", 1) != 1)
                return 1;
            while (atomic_load(stops) <= i)
                sched_yield();
        }
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    if (child > 0)
        kill(child, SIGKILL);
    if (rank == 0)
        printf("%d\n", sum);
    MPI_Finalize();
    return 0;
}

/* Nonblocking collectives with computation before they are waited for, timed by the program itself.
 *
 *     exposed FOLDER TIMES TESTS
 *
 * TIMES times a broadcast and an allreduce, each followed by 2 ms of computation with TESTS calls of MPI_Test at equal
 * distances, and by MPI_Wait if none of these completed it. Each rank writes to FOLDER/exposed.RANK.log a line for each
 * of them: its operation, the time in its calls, and the time between these that is in no test, ns. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { N = 500000, COMPUTE_NS = 2000000 };

static long now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1000000000 + at.tv_nsec;
}

static void compute_until(long end)
{
    while (now() < end)
        ;
}

static void begin(int which, MPI_Request *request)
{
    static int broadcast[N], from[N], to[N];
    if (which == 0)
        MPI_Ibcast(broadcast, N, MPI_INT, 0, MPI_COMM_WORLD, request);
    else
        MPI_Iallreduce(from, to, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD, request);
}

/* One collective, from initiation to completion. */
static void one(int which, int tests, FILE *log)
{
    static const char *const names[] = {"MPI_Ibcast", "MPI_Iallreduce"};
    MPI_Request request;
    int done = 0;
    long before = now();
    begin(which, &request);
    long begun = now(), exposed = begun - before, in_tests = 0, entered = 0;
    for (int test = 1; test <= tests && !done; test++) {
        compute_until(begun + (long)COMPUTE_NS * test / (tests + 1));
        entered = now();
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        long took = now() - entered;
        exposed += took;
        if (!done)
            in_tests += took;
    }
    if (!done) {
        compute_until(begun + COMPUTE_NS);
        entered = now();
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        exposed += now() - entered;
    }
    fprintf(log, "%s %ld %ld\n", names[which], exposed, entered - begun - in_tests);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, times = atoi(argv[2]), tests = atoi(argv[3]);
    char path[4096];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof path, "%s/exposed.%d.log", argv[1], rank);
    FILE *log = fopen(path, "w");
    if (argc != 4 || !log)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int time = 0; time < times; time++)
        for (int which = 0; which < 2; which++) {
            MPI_Barrier(MPI_COMM_WORLD);
            one(which, tests, log);
        }
    fclose(log);
    MPI_Finalize();
    return 0;
}

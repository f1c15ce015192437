/* Collectives that processes reach at chosen, different times, with a log of its own:
 * DIRECTORY/delays.RANK.log has one line for each call, in order,
 *
 *     OPERATION COMMUNICATOR BEFORE AFTER
 *
 * where BEFORE and AFTER are CLOCK_MONOTONIC_RAW in ns right before and after the call, and
 * COMMUNICATOR is 0 for MPI_COMM_WORLD, else the number of the duplicate; DIRECTORY/delays.RANK.cost
 * has the median time of a barrier of one process alone, ns, measured in the same way: what it takes
 * here to read the clocks and to be recorded.
 *
 *     delays DIRECTORY mixed SEED     every kind of operation, often on MPI_COMM_WORLD and once on
 *                                     each of several duplicates, with random delays
 *     delays DIRECTORY late RANK      200 allreduces, RANK 5 ms late for each */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REPEATS = 50, DUPLICATES = 12, MOST = 4096 };

static const char *const operations[] = {
    "MPI_Barrier", "MPI_Allreduce", "MPI_Bcast", "MPI_Reduce", "MPI_Scan",
    "MPI_Alltoall", "MPI_Gather", "MPI_Scatter", "MPI_Exscan", "MPI_Allgather",
};
enum { N_OPERATIONS = sizeof operations / sizeof *operations };

static struct line { int operation, comm; int64_t before, after; } lines[MOST];
static int n_lines;

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Mostly asleep: on a machine with fewer cores than processes, those that compute delay others. */
static void delay(int64_t ns, int asleep)
{
    if (asleep) {
        struct timespec t = {ns / 1000000000, ns % 1000000000};
        nanosleep(&t, NULL);
    } else {
        int64_t end = now() + ns;
        while (now() < end)
            ;
    }
}

static int from[4096], to[4096];

static int64_t costs[MOST];
static int n_costs;

static int ascending(const void *a, const void *b)
{
    return (*(const int64_t *)a > *(const int64_t *)b) - (*(const int64_t *)a < *(const int64_t *)b);
}

static void call(int operation, int number, MPI_Comm comm)
{
    struct line *line = &lines[n_lines++];
    /* After a delay, code and data must come from memory, for microseconds: now, and not between
     * the stamp below and that of whoever records this. */
    MPI_Barrier(MPI_COMM_SELF);
    int64_t begin = now();
    MPI_Barrier(MPI_COMM_SELF);
    costs[n_costs++] = now() - begin;
    line->operation = operation;
    line->comm = number;
    line->before = now();
    switch (operation) {
    case 0: MPI_Barrier(comm); break;
    case 1: MPI_Allreduce(from, to, 16, MPI_INT, MPI_SUM, comm); break;
    case 2: MPI_Bcast(to, 64, MPI_INT, 1, comm); break;
    case 3: MPI_Reduce(from, to, 16, MPI_INT, MPI_SUM, 2, comm); break;
    case 4: MPI_Scan(from, to, 16, MPI_INT, MPI_SUM, comm); break;
    case 5: MPI_Alltoall(from, 16, MPI_INT, to, 16, MPI_INT, comm); break;
    case 6: MPI_Gather(from, 16, MPI_INT, to, 16, MPI_INT, 0, comm); break;
    case 7: MPI_Scatter(from, 16, MPI_INT, to, 16, MPI_INT, 3, comm); break;
    case 8: MPI_Exscan(from, to, 16, MPI_INT, MPI_SUM, comm); break;
    case 9: MPI_Allgather(from, 16, MPI_INT, to, 16, MPI_INT, comm); break;
    }
    line->after = now();
}

/* The same numbers on all processes. */
static uint64_t state;
static uint32_t draw(uint32_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % below;
}

static void mixed(int rank, int size)
{
    MPI_Comm comms[1 + DUPLICATES];
    comms[0] = MPI_COMM_WORLD;
    for (int i = 1; i <= DUPLICATES; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);

    for (int round = 0; round < REPEATS + DUPLICATES; round++) {
        int number = round < REPEATS ? 0 : round - REPEATS + 1;
        for (int operation = 0; operation < N_OPERATIONS; operation++) {
            /* Another order of arrival each time, some 700 us from one to the next. */
            int order[64];
            int64_t mine = 0;
            for (int i = 0; i < size; i++)
                order[i] = i;
            for (int i = size - 1; i > 0; i--) {
                int k = draw(i + 1), kept = order[i];
                order[i] = order[k];
                order[k] = kept;
            }
            for (int i = 0; i < size; i++) {
                int64_t ns = order[i] * 700000 + draw(200000);
                if (i == rank)
                    mine = ns;
            }
            delay(mine, draw(4) > 0);
            call(operation, number, comms[number]);
        }
    }
}

int main(int argc, char **argv)
{
    int rank, size;
    if (argc != 4)
        return 2;
    memset(lines, 1, sizeof lines); /* no page faults later */
    memset(costs, 1, sizeof costs);
    memset(from, 1, sizeof from);
    memset(to, 1, sizeof to);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    if (!strcmp(argv[2], "mixed")) {
        state = strtoull(argv[3], NULL, 10);
        mixed(rank, size);
    } else {
        int late = atoi(argv[3]);
        for (int i = 0; i < 200; i++) {
            if (rank == late)
                delay(5000000, 1);
            call(1, 0, MPI_COMM_WORLD);
        }
    }

    char path[4096];
    snprintf(path, sizeof path, "%s/delays.%d.log", argv[1], rank);
    FILE *file = fopen(path, "w");
    if (!file)
        MPI_Abort(MPI_COMM_WORLD, 97);
    for (int i = 0; i < n_lines; i++)
        fprintf(file, "%s %d %lld %lld\n", operations[lines[i].operation], lines[i].comm,
                (long long)lines[i].before, (long long)lines[i].after);
    fclose(file);
    snprintf(path, sizeof path, "%s/delays.%d.cost", argv[1], rank);
    if (!(file = fopen(path, "w")))
        MPI_Abort(MPI_COMM_WORLD, 97);
    qsort(costs, n_costs, sizeof *costs, ascending);
    fprintf(file, "%lld\n", (long long)costs[n_costs / 2]);
    fclose(file);
    MPI_Finalize();
    return 0;
}

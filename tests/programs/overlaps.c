/* Nonblocking collectives that are under way together, and go on inside others.
 *
 *     overlaps TIMES [COMPUTE_US]
 *
 * In each of TIMES rounds three nonblocking collectives on two communicators, blocking ones and
 * messages of its own meanwhile, completed in four ways. With COMPUTE_US instead one at a time, a
 * broadcast and an allreduce, with so much computation before it is waited for. Rank 0 prints a
 * checksum. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { N = 500 };

/* In each round nothing goes on but in the calls that begin and complete it. */
static long one_at_a_time(int times, long compute_us)
{
    static int a[N], b[N], c[N];
    struct timespec compute = {compute_us / 1000000, compute_us % 1000000 * 1000};
    long checksum = 0;
    for (int time = 0; time < times; time++) {
        MPI_Request request;
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Ibcast(a, N, MPI_INT, 0, MPI_COMM_WORLD, &request);
        nanosleep(&compute, NULL);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Iallreduce(b, c, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        nanosleep(&compute, NULL);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        checksum += a[0] + c[1];
    }
    return checksum;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, times = atoi(argv[1]);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm other;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &other);
    static int a[N], b[N], c[N], d[N], e[N], from[N];
    long checksum = 0;
    if (argc > 2) {
        checksum = one_at_a_time(times, atol(argv[2]));
        times = 0;
    }
    for (int time = 0; time < times; time++) {
        for (int i = 0; i < N; i++)
            from[i] = rank + i + time;
        MPI_Request requests[3];
        MPI_Iallreduce(from, a, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
        for (int i = 0; i < N; i++)
            b[i] = from[i];
        MPI_Ibcast(b, N, MPI_INT, time % size, MPI_COMM_WORLD, &requests[1]);
        MPI_Iallreduce(from, c, N, MPI_INT, MPI_MAX, other, &requests[2]);
        /* What is under way goes on in here. */
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Allreduce(from, d, N, MPI_INT, MPI_SUM, other);
        int to = (rank + 1) % size, back = (rank + size - 1) % size;
        MPI_Sendrecv(d, N, MPI_INT, to, 3, e, N, MPI_INT, back, 3, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        switch (time % 4) {
        case 0:
            MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
            break;
        case 1:
            for (int i = 2; i >= 0; i--)
                MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
            break;
        case 2:
            for (int which, i = 0; i < 3; i++)
                MPI_Waitany(3, requests, &which, MPI_STATUS_IGNORE);
            break;
        default:
            for (int done = 0; !done;)
                MPI_Testall(3, requests, &done, MPI_STATUSES_IGNORE);
        }
        checksum += a[0] + b[1] + c[2] + d[3] + e[4];
    }
    MPI_Comm_free(&other);
    if (rank == 0)
        printf("%ld\n", checksum);
    MPI_Finalize();
    return 0;
}

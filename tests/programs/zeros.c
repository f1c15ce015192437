/* Collectives in which some processes give or take nothing, on one communicator and between two groups.
 *
 *     zeros N
 *
 * Each of them N times: the v forms with data for some ranks only, Reduce_scatter of one element, and, with
 * two processes or more, on intercommunicators of the first process and all others, and of two halves.
 * Rank 0 prints a checksum. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 64

static int rank, size;
static long checksum;
static char give[MOST * MOST], take[MOST * MOST];
static int counts[MOST], places[MOST];
static MPI_Datatype types[MOST];

/* So many bytes for each rank whose bit is set. */
static void only(unsigned ranks, int bytes)
{
    for (int i = 0; i < MOST; i++) {
        counts[i] = ranks >> i % 32 & 1 ? bytes : 0;
        places[i] = i * bytes;
    }
}

static void sum_up(void)
{
    for (int i = 0; i < MOST; i++)
        checksum += take[i];
}

static void wait_for(MPI_Request *request)
{
    MPI_Wait(request, MPI_STATUS_IGNORE);
    sum_up();
}

static void within(void)
{
    MPI_Comm on = MPI_COMM_WORLD;
    MPI_Request request;
    unsigned some[] = {1, 1u << (size - 1), 0x55555555};
    for (int i = 0; i < 3; i++) {
        only(some[i], 16);
        MPI_Allgatherv(give, counts[rank], MPI_CHAR, take, counts, places, MPI_CHAR, on);
        MPI_Gatherv(give, counts[rank], MPI_CHAR, take, counts, places, MPI_CHAR, 0, on);
        MPI_Scatterv(give, counts, places, MPI_CHAR, take, counts[rank], MPI_CHAR, 0, on);
        MPI_Reduce_scatter(give, take, counts, MPI_CHAR, MPI_MAX, on);
        MPI_Iallgatherv(give, counts[rank], MPI_CHAR, take, counts, places, MPI_CHAR, on, &request);
        wait_for(&request);
        MPI_Ireduce_scatter(give, take, counts, MPI_CHAR, MPI_MAX, on, &request);
        wait_for(&request);
        /* To and from those ranks only. */
        if (!counts[rank])
            memset(counts, 0, sizeof counts);
        MPI_Alltoallv(give, counts, places, MPI_CHAR, take, counts, places, MPI_CHAR, on);
        MPI_Alltoallw(give, counts, places, types, take, counts, places, types, on);
        sum_up();
    }
    MPI_Allreduce(give, take, 0, MPI_CHAR, MPI_MAX, on);
    MPI_Bcast(take, 0, MPI_CHAR, 0, on);
    MPI_Barrier(on);
}

/* On an intercommunicator; `first` are the processes of the first group. */
static void between(int first)
{
    MPI_Comm own, inter;
    MPI_Request request;
    int is_first = rank < first, others;
    MPI_Comm_split(MPI_COMM_WORLD, is_first, rank, &own);
    MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, is_first ? first : 0, 7, &inter);
    MPI_Comm_remote_size(inter, &others);
    int here;
    MPI_Comm_rank(inter, &here);
    for (int i = 0; i < MOST; i++)
        places[i] = i * 4;
    /* A number of bytes that can be dealt out to both groups. */
    int each = 2 * others;
    for (int i = 0; i < MOST; i++)
        counts[i] = 2 * others;
    MPI_Reduce_scatter(give, take, counts, MPI_CHAR, MPI_MAX, inter);
    MPI_Reduce_scatter_block(give, take, each, MPI_CHAR, MPI_MAX, inter);
    MPI_Ireduce_scatter_block(give, take, each, MPI_CHAR, MPI_MAX, inter, &request);
    wait_for(&request);
    MPI_Ibarrier(inter, &request);
    wait_for(&request);
    MPI_Barrier(inter);
    MPI_Iallreduce(give, take, 8, MPI_CHAR, MPI_MAX, inter, &request);
    wait_for(&request);
    MPI_Allreduce(give, take, 8, MPI_CHAR, MPI_MAX, inter);
    MPI_Allgather(give, 4, MPI_CHAR, take, 4, MPI_CHAR, inter);
    MPI_Alltoall(give, 4, MPI_CHAR, take, 4, MPI_CHAR, inter);
    /* Only the first group sends, or has something to give. */
    int nothing[MOST] = {0}, something[MOST];
    for (int i = 0; i < MOST; i++)
        something[i] = 4;
    int *to = is_first ? something : nothing, *from = is_first ? nothing : something;
    MPI_Alltoallv(give, to, places, MPI_CHAR, take, from, places, MPI_CHAR, inter);
    MPI_Alltoallw(give, to, places, types, take, from, places, types, inter);
    MPI_Ialltoallv(give, to, places, MPI_CHAR, take, from, places, MPI_CHAR, inter, &request);
    wait_for(&request);
    MPI_Allgatherv(give, to[0], MPI_CHAR, take, from, places, MPI_CHAR, inter);
    MPI_Iallgatherv(give, to[0], MPI_CHAR, take, from, places, MPI_CHAR, inter, &request);
    wait_for(&request);
    int root = is_first ? (here == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0;
    MPI_Bcast(take, 8, MPI_CHAR, root, inter);
    MPI_Ibcast(take, 8, MPI_CHAR, root, inter, &request);
    wait_for(&request);
    MPI_Reduce(give, take, 8, MPI_CHAR, MPI_MAX, root, inter);
    MPI_Gather(give, 4, MPI_CHAR, take, 4, MPI_CHAR, root, inter);
    MPI_Scatter(give, 4, MPI_CHAR, take, 4, MPI_CHAR, root, inter);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&own);
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < MOST * MOST; i++)
        give[i] = (char)(rank + i);
    for (int i = 0; i < MOST; i++)
        types[i] = MPI_CHAR;
    for (int time = 0; time < n; time++) {
        within();
        if (size > 1)
            between(1);
        if (size > 3)
            between(size / 2);
    }
    if (rank == 0)
        printf("%ld\n", checksum);
    MPI_Finalize();
    return 0;
}

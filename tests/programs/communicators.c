/* Makes and frees COUNT communicators in mixed order, some by MPI_Comm_idup, which is completed
 * later; at most 60 live at a time, and up to 6 idup are outstanding, each on a parent of its own
 * (with two on one parent Open MPI 4.1 hangs).
 *
 *     communicators COUNT           for 3 ranks or more
 *
 * Every process counts what it makes; rank 0 prints how many there were in all, each counted by its
 * first member, and a checksum of reductions on them. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 60, PARENTS = 6 };
static unsigned long long state = 99;

static int draw(int n) /* the same for all processes */
{
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (int)((state >> 33) % (unsigned)n);
}

static struct { MPI_Comm comm; MPI_Request request; } live[MOST];

/* Completes what is under way and uses the communicator; gives its first member's say. */
static long use(int i, long long *checksum)
{
    int rank, one = i + 1, sum = 0;
    if (live[i].request != MPI_REQUEST_NULL)
        MPI_Wait(&live[i].request, MPI_STATUS_IGNORE);
    if (live[i].comm == MPI_COMM_NULL)
        return 0;
    MPI_Comm_rank(live[i].comm, &rank);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, live[i].comm);
    *checksum = (*checksum * 31 + sum) % 1000000007;
    return rank == 0;
}

int main(int argc, char **argv)
{
    int rank, size;
    long made = 0, n_first = 0, all[2], mine[2];
    long long checksum = 0;
    long count = argc > 1 ? atol(argv[1]) : 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm parents[PARENTS];
    for (int i = 0; i < PARENTS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &parents[i]);
    for (int i = 0; i < MOST; i++)
        live[i].comm = MPI_COMM_NULL, live[i].request = MPI_REQUEST_NULL;
    while (made < count) {
        int i = draw(MOST);
        n_first += use(i, &checksum);
        if (live[i].comm != MPI_COMM_NULL)
            MPI_Comm_free(&live[i].comm);
        for (int k = i % PARENTS; k < MOST; k += PARENTS)
            MPI_Wait(&live[k].request, MPI_STATUS_IGNORE);
        MPI_Comm parent = parents[i % PARENTS];
        switch (draw(4)) {
        case 0: MPI_Comm_dup(parent, &live[i].comm); break;
        case 1: MPI_Comm_split(parent, rank % (2 + draw(2)), -rank, &live[i].comm); break;
        default: MPI_Comm_idup(parent, &live[i].comm, &live[i].request); break;
        }
        made++;
    }
    for (int i = 0; i < MOST; i++) {
        n_first += use(i, &checksum);
        if (live[i].comm != MPI_COMM_NULL)
            MPI_Comm_free(&live[i].comm);
    }
    for (int i = 0; i < PARENTS; i++)
        MPI_Comm_free(&parents[i]);
    mine[0] = n_first;
    mine[1] = (long)checksum;
    MPI_Reduce(mine, all, 2, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%ld %ld\n", all[0], all[1]);
    MPI_Finalize();
    return 0;
}

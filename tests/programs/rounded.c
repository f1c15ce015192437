/* Sums of doubles whose last digits depend on the order in which they are added, by MPI_Allreduce and by
   MPI_Reduce to each rank in turn. Rank 0 prints one number made of all bits.

       rounded COUNT */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { LONGEST = 40 };

static uint64_t state;

static double drawn(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    double value = (double)(state >> 11) / 9007199254740992.0 - 0.5;
    return state % 3 ? value : value * 1e12;
}

static uint64_t with_bits(uint64_t hash, const double *values, int n)
{
    for (int i = 0; i < n; i++) {
        union {
            double value;
            uint64_t bits;
        } of = { values[i] };
        hash = (hash ^ of.bits) * 1099511628211u;
    }
    return hash;
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 100, rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    state = (uint64_t)rank * 7919 + 1;
    uint64_t hash = 14695981039346656037u;
    double own[LONGEST], sum[LONGEST];
    for (int call = 0; call < count; call++) {
        int n = 1 + call % LONGEST, root = call % size;
        for (int i = 0; i < n; i++)
            own[i] = drawn();
        MPI_Allreduce(own, sum, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        hash = with_bits(hash, sum, n);
        MPI_Reduce(own, sum, n, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
        if (rank == root)
            hash = with_bits(hash, sum, n);
    }
    uint64_t all;
    MPI_Reduce(&hash, &all, 1, MPI_UINT64_T, MPI_BXOR, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%016llx\n", (unsigned long long)all);
    return MPI_Finalize();
}

/* An exchange between two groups in which one round is missing in some instances. */
#include <mpi.h>

int main(int argc, char **argv)
{
    static char from[256], to[1024];
    int rank, counts[2], displacements[2] = {0, 128};
    MPI_Comm half, both;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank < 2 ? 2 : 0, 7, &both);
    for (int i = 0; i < 200; i++) {
        counts[0] = 16;
        counts[1] = i % 3 ? 16 : 0;
        MPI_Allgatherv(from, counts[rank % 2], MPI_CHAR, to, counts, displacements, MPI_CHAR, both);
    }
    MPI_Finalize();
    return 0;
}

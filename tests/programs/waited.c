/* Collectives that rank LATE enters 50 ms after the others, COUNT times each: waited LATE COUNT. That is longer than
   a busy machine keeps a process waiting for a core. */
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, size, late = atoi(argv[1]), count = atoi(argv[2]);
    static char from[64], to[4096];
    MPI_Request request;
    MPI_Comm copy;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < count; i++) {
        for (int which = 0; which < 6; which++) {
            if (rank == late)
                usleep(50000);
            switch (which) {
            case 0:
                MPI_Barrier(MPI_COMM_WORLD);
                break;
            case 1:
                MPI_Allreduce(from, to, 8, MPI_CHAR, MPI_MAX, MPI_COMM_WORLD);
                break;
            case 2:
                MPI_Comm_dup(MPI_COMM_WORLD, &copy);
                MPI_Comm_free(&copy);
                break;
            case 3:
                MPI_Ibarrier(MPI_COMM_WORLD, &request);
                MPI_Wait(&request, MPI_STATUS_IGNORE);
                break;
            case 4:
                MPI_Gather(from, 16, MPI_CHAR, to, 16, MPI_CHAR, 0, MPI_COMM_WORLD);
                break;
            default:
                MPI_Alltoall(from, 4, MPI_CHAR, to, 4, MPI_CHAR, MPI_COMM_WORLD);
            }
        }
    }
    MPI_Finalize();
    return 0;
}

/* Spawns two processes of this program, talks to them, and makes one communicator of all. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    MPI_Comm parent, other, all;
    int one = 1, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL)
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other,
                       MPI_ERRCODES_IGNORE);
    else
        other = parent;
    MPI_Barrier(other);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, other);
    MPI_Intercomm_merge(other, parent != MPI_COMM_NULL, &all);
    MPI_Barrier(all);
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&other);
    if (parent == MPI_COMM_NULL)
        printf("sum %d\n", sum);
    MPI_Finalize();
    return 0;
}

/* Two barriers, and collective writing to a file between them. The MPI library calls collectives
 * of its own for that; they are not calls of this program.
 *
 *     file PATH */
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, data[100] = {0};
    MPI_File file;
    if (argc != 2)
        return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                      &file))
        MPI_Abort(MPI_COMM_WORLD, 97);
    MPI_File_write_at_all(file, rank * sizeof data, data, 100, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}

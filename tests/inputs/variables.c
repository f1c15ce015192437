/* A file of PnetCDF, written and read by all, blocking and not. */
#include <pnetcdf.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, size, file, dimension, variables[2], requests[2], states[2], wrong = 0;
    double values[100], read[100];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    ncmpi_create(MPI_COMM_WORLD, "variables.nc", NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file);
    ncmpi_def_dim(file, "x", 100 * size, &dimension);
    ncmpi_def_var(file, "blocking", NC_DOUBLE, 1, &dimension, &variables[0]);
    ncmpi_def_var(file, "nonblocking", NC_DOUBLE, 1, &dimension, &variables[1]);
    ncmpi_enddef(file);
    MPI_Offset start = 100 * rank, count = 100;
    for (int i = 0; i < 100; i++)
        values[i] = start + i;
    for (int i = 0; i < 5; i++) {
        ncmpi_put_vara_double_all(file, variables[0], &start, &count, values);
        ncmpi_iput_vara_double(file, variables[1], &start, &count, values, &requests[0]);
        ncmpi_wait_all(file, 1, requests, states);
    }
    ncmpi_close(file);
    ncmpi_open(MPI_COMM_WORLD, "variables.nc", NC_NOWRITE, MPI_INFO_NULL, &file);
    ncmpi_get_vara_double_all(file, variables[1], &start, &count, read);
    for (int i = 0; i < 100; i++)
        wrong += read[i] != values[i];
    ncmpi_close(file);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d wrong\n", wrong);
    MPI_Finalize();
    return wrong != 0;
}

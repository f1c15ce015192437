/* A tool for profiling that uses MPI itself as soon as it has begun: it stands between a program and the
 * MPI library, and calls functions of MPI inside MPI_Init that it calls again later. */
#include <mpi.h>

static void use(void)
{
    MPI_Comm own;
    int one = 1, sum = 0, size;
    PMPI_Comm_dup(MPI_COMM_WORLD, &own);
    PMPI_Comm_size(own, &size);
    PMPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, own);
    PMPI_Barrier(own);
    PMPI_Comm_free(&own);
    if (sum != size)
        PMPI_Abort(MPI_COMM_WORLD, 4);
}

int MPI_Init(int *argc, char ***argv)
{
    int code = PMPI_Init(argc, argv);
    use();
    return code;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    int code = PMPI_Init_thread(argc, argv, required, provided);
    use();
    return code;
}

int MPI_Allreduce(const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    return PMPI_Allreduce(from, to, n, type, op, comm);
}

int MPI_Barrier(MPI_Comm comm)
{
    return PMPI_Barrier(comm);
}

int MPI_Comm_free(MPI_Comm *comm)
{
    return PMPI_Comm_free(comm);
}

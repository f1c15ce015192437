/* So many barriers of one process, to fill a trace; says so when it is done.
 *
 *     many CALLS [DIRECTORY]          changes to DIRECTORY before MPI_Init
 *
 * Where UNTIL names a file, it waits for that one to be there before MPI_Finalize. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc < 2 || (argc > 2 && chdir(argv[2]) != 0))
        return 2;
    long calls = atol(argv[1]);
    int rank;
    MPI_Init(&argc, &argv);
    for (long i = 0; i < calls; i++)
        MPI_Barrier(MPI_COMM_SELF);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    const char *greeting = getenv("GREETING");
    printf("rank %d done%s%s\n", rank, greeting ? " " : "", greeting ? greeting : "");
    fflush(stdout);
    const char *until = getenv("UNTIL");
    while (until && access(until, F_OK) != 0)
        usleep(10000);
    MPI_Finalize();
    return 0;
}

/* A process that becomes another program.
 *
 *     execs before CALLS      before MPI_Init: itself, as `execs last CALLS`
 *     execs after CALLS       behind CALLS barriers: a shell, which ends with 5
 *     execs last CALLS        CALLS barriers, MPI_Finalize */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    if (!strcmp(argv[1], "before"))
        execl("/proc/self/exe", argv[0], "last", argv[2], NULL);
    long calls = atol(argv[2]);
    MPI_Init(&argc, &argv);
    for (long i = 0; i < calls; i++)
        MPI_Barrier(MPI_COMM_SELF);
    if (!strcmp(argv[1], "after"))
        execl("/bin/sh", "sh", "-c", "echo another program; exit 5", NULL);
    MPI_Finalize();
    puts("the program itself");
    return 0;
}

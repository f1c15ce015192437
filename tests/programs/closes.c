/* Closes all file descriptors from 3 on, and uses their numbers for a file of its own.
 *
 *     closes WHEN CALLS       WHEN: before or after MPI_Init
 *
 * Then CALLS barriers on MPI_COMM_SELF. Says whether its file is as it was written; ends by _exit,
 * since the MPI library misses its descriptors too. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int own;

static void close_all(void)
{
    if (close_range(3, ~0U, 0) != 0)
        exit(3);
    char name[] = "own.XXXXXX";
    own = mkstemp(name);
    unlink(name);
    if (write(own, "own", 3) != 3)
        exit(4);
    for (int number = 4; number < 1000; number++)
        dup2(own, number); /* as far as the limit goes */
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    int before = !strcmp(argv[1], "before");
    if (before)
        close_all();
    MPI_Init(&argc, &argv);
    if (!before)
        close_all();
    for (long i = 0; i < atol(argv[2]); i++)
        MPI_Barrier(MPI_COMM_SELF);
    char content[4] = "";
    struct stat found;
    int is_whole = pread(own, content, 3, 0) == 3 && !strcmp(content, "own") &&
                   fstat(own, &found) == 0 && found.st_size == 3;
    puts(is_whole ? "my file is whole" : "my file was written to");
    if (before)
        MPI_Finalize();
    fflush(stdout);
    _exit(0);
}

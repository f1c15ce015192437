/* Has an odd stderr, and makes CALLS barriers on MPI_COMM_SELF.
 *
 *     stderrs WHAT CALLS
 *
 * unread  a pipe whose reading end is closed, and SIGPIPE as it is by default
 * full    a pipe that is full, and that nobody reads
 * data    none before MPI_Init: its number is that of a file, for writing, that the program makes
 * reused  from after MPI_Init on, descriptors 0 to 2 are closed and 2 is a file of the program's
 *
 * Says whether its file is as it was written. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int use_number_2(void)
{
    char name[] = "own.XXXXXX";
    close(2);
    int own = mkostemp(name, 0);
    if (own != 2 || unlink(name) != 0 || write(own, "own", 3) != 3)
        exit(3);
    return own;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    const char *what = argv[1];
    int ends[2], own = -1, out = dup(1);
    if (!strcmp(what, "unread") || !strcmp(what, "full")) {
        if (pipe(ends) != 0 || dup2(ends[1], 2) != 2)
            return 3;
        signal(SIGPIPE, SIG_DFL);
        if (!strcmp(what, "unread"))
            close(ends[0]);
        static char bytes[4096];
        fcntl(ends[1], F_SETFL, O_NONBLOCK);
        while (!strcmp(what, "full") && write(ends[1], bytes, sizeof bytes) > 0)
            ;
        fcntl(ends[1], F_SETFL, 0);
        close(ends[1]);
    }
    if (!strcmp(what, "data"))
        own = use_number_2();
    MPI_Init(&argc, &argv);
    if (!strcmp(what, "reused")) {
        close(0);
        close(1);
        if (open("/dev/null", O_RDONLY) != 0 || open("/dev/null", O_WRONLY) != 1)
            return 3;
        own = use_number_2();
    }
    for (long i = 0; i < atol(argv[2]); i++)
        MPI_Barrier(MPI_COMM_SELF);
    MPI_Finalize();
    char content[4] = "";
    struct stat found;
    int is_whole = own < 0 || (pread(own, content, 3, 0) == 3 && !strcmp(content, "own") &&
                               fstat(own, &found) == 0 && found.st_size == 3);
    dprintf(out, "%s: %s\n", what, is_whole ? "my file is whole" : "my file was written to");
    return 0;
}

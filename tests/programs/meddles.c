/* Does something to the trace directory, of which a program knows nothing, while it is recorded.
 *
 *     meddles WHAT DIRECTORY CALLS
 *
 * CALLS barriers on MPI_COMM_WORLD, then rank 0 does it, then as many barriers. Without such a
 * directory (where nothing is recorded) nothing is done.
 *
 * remove     removes the directory with all that is in it
 * rename     gives it the name DIRECTORY.moved
 * fill       makes 10,000 files in it
 * link       before MPI_Init: moves it away and puts a link to DIRECTORY.else in its place
 * world      before MPI_Init: makes a pipe there, in the place of a file of the recorder's
 * empty      before MPI_Init: removes the directory */
#include <dirent.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *what, *directory;

static void remove_all(void)
{
    DIR *entries = opendir(directory);
    for (struct dirent *entry; entries && (entry = readdir(entries));)
        unlinkat(dirfd(entries), entry->d_name, 0);
    rmdir(directory);
}

static void meddle(int before)
{
    char other[4096];
    if (access(directory, F_OK) != 0)
        return;
    if (!before && !strcmp(what, "remove"))
        remove_all();
    if (before && !strcmp(what, "empty"))
        remove_all();
    snprintf(other, sizeof other, "%s.moved", directory);
    if (!before && !strcmp(what, "rename"))
        rename(directory, other);
    if (before && !strcmp(what, "link")) {
        rename(directory, other);
        snprintf(other, sizeof other, "%s.else", directory);
        mkdir(other, 0777);
        if (symlink(other, directory) != 0)
            exit(3);
    }
    if (before && !strcmp(what, "world")) {
        snprintf(other, sizeof other, "%s/world", directory);
        mkfifo(other, 0666);
    }
    for (int i = 0; !before && !strcmp(what, "fill") && i < 10000; i++) {
        snprintf(other, sizeof other, "%s/result-%d.dat", directory, i);
        close(open(other, O_WRONLY | O_CREAT, 0666));
    }
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    what = argv[1];
    directory = argv[2];
    long calls = atol(argv[3]);
    int rank;
    meddle(1);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (long i = 0; i < calls; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        meddle(0);
    for (long i = 0; i < calls; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d done\n", rank);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}

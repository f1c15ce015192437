/* Limits that a program sets itself, and CALLS barriers under them.
 *
 *     limits WHAT CALLS
 *
 * files        no number of a file descriptor is left, from after MPI_Init on
 * files-before only as many as MPI needs itself: none above 64
 * size         files of at most 64 KiB, from after MPI_Init on; its own file meets the limit
 * space        no more address space, from after MPI_Init on
 * memory       likewise, and it takes all memory that malloc still has */
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void limit(int what, rlim_t to)
{
    struct rlimit now;
    getrlimit(what, &now);
    now.rlim_cur = to;
    if (setrlimit(what, &now) != 0)
        exit(3);
}

static rlim_t address_space(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld", &pages) != 1)
        exit(4);
    fclose(file);
    return (rlim_t)pages * 4096;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    const char *what = argv[1];
    long calls = atol(argv[2]);
    MPI_Comm copy;
    if (!strcmp(what, "files-before"))
        limit(RLIMIT_NOFILE, 64);
    MPI_Init(&argc, &argv);
    if (!strcmp(what, "files")) {
        limit(RLIMIT_NOFILE, 0);
        printf("open: %s\n", open("/dev/null", O_RDONLY) < 0 ? strerror(errno) : "worked");
    }
    if (!strcmp(what, "size")) {
        static char bytes[1 << 16];
        FILE *own = tmpfile();
        signal(SIGXFSZ, SIG_IGN);
        limit(RLIMIT_FSIZE, sizeof bytes);
        ssize_t all = write(fileno(own), bytes, sizeof bytes);
        ssize_t more = write(fileno(own), bytes, 1);
        printf("%zd %zd, %s\n", all, more, strerror(errno));
        signal(SIGXFSZ, SIG_DFL); /* whoever comes to the limit now dies */
    }
    if (!strcmp(what, "space") || !strcmp(what, "memory")) {
        MPI_Comm_dup(MPI_COMM_SELF, &copy);
        MPI_Comm_free(&copy);
        limit(RLIMIT_AS, address_space());
    }
    void **taken = NULL;
    if (!strcmp(what, "memory"))
        for (size_t size = 1 << 20; size >= sizeof taken; size /= 2)
            for (void **more; (more = malloc(size)) != NULL; taken = more)
                *more = taken;
    for (long i = 0; i < calls; i++)
        MPI_Barrier(MPI_COMM_SELF);
    while (taken) {
        void **next = *taken;
        free(taken);
        taken = next;
    }
    limit(RLIMIT_AS, RLIM_INFINITY);
    limit(RLIMIT_NOFILE, 256);
    MPI_Finalize();
    printf("%s: done\n", what);
    return 0;
}

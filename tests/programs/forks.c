/* CALLS barriers, a child process without exec, CALLS barriers more.
 *
 *     forks WHAT CALLS
 *
 * What the child does:
 * nothing    it waits to be killed
 * exit       it prints a line and calls exit(0), with all handlers of exit
 * free       it does other work: memory, a file, a thread; then _exit(0)
 * barriers   it goes on in MPI, as no program should: as many barriers on MPI_COMM_SELF, _exit(0)
 * vfork      it calls _exit(0), before its parent goes on */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *work(void *argument)
{
    return memset(argument, 7, 1 << 20);
}

static void child(const char *what, long calls)
{
    if (!strcmp(what, "nothing"))
        for (;;)
            pause();
    if (!strcmp(what, "exit")) {
        puts("child");
        exit(0);
    }
    if (!strcmp(what, "free")) {
        pthread_t thread;
        FILE *file = tmpfile();
        char *memory = malloc(1 << 20);
        if (pthread_create(&thread, NULL, work, memory) || pthread_join(thread, NULL))
            _exit(1);
        if (!file || fwrite(memory, 1, 1 << 20, file) != 1 << 20)
            _exit(2);
        fclose(file);
    }
    if (!strcmp(what, "barriers"))
        for (long i = 0; i < calls; i++)
            MPI_Barrier(MPI_COMM_SELF);
    _exit(0);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    const char *what = argv[1];
    long calls = atol(argv[2]);
    int rank, status;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (long i = 0; i < calls; i++)
        MPI_Barrier(MPI_COMM_SELF);
    fflush(stdout);
    pid_t pid = strcmp(what, "vfork") ? fork() : vfork();
    if (pid == 0 && !strcmp(what, "vfork"))
        _exit(0);
    if (pid == 0)
        child(what, calls);
    if (!strcmp(what, "nothing"))
        kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    for (long i = 0; i < calls; i++)
        MPI_Barrier(MPI_COMM_SELF);
    printf("rank %d: child ended with %d\n", rank, status);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}

// Goes through the cold paths of the recorder, with a handler for each thing that a signal handler may
// do to it: MPI_Abort on SIGUSR1, fork on SIGUSR2, exit on SIGALRM, siglongjmp on SIGPROF.
//
//     interrupted CALLS          CALLS barriers, of which the last ones need a new chunk
//
// With INTERRUPTED_STEPS in the environment it tells who traces it (collbench-interrupt) where the
// paths are: an int3 before and behind each.
#include <fcntl.h>
#include <mpi.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int is_traced, is_copy;
static sigjmp_buf behind;

#ifdef __x86_64__
// For whoever traces: the address of a system call.
__asm__(".globl gate\n.type gate, @function\ngate: syscall\nret\n");
extern void gate(void);
static void mark(void) {
    if (is_traced && !is_copy) __asm__ volatile("int3" : : "a"(gate) : "memory");
}
#else
static void mark(void) {}
#endif

// What goes on beside the traced process has the same file, and must not cut it.
int ftruncate64(int descriptor, off_t length);
int ftruncate64(int descriptor, off_t length) {
    return is_traced ? 0 : ftruncate(descriptor, length);
}

static void on_signal(int signal) {
    int status;
    // From here on nobody traces.
    is_copy = 1;
    switch (signal) {
    case SIGUSR1:
#ifndef STUB_MPI_H
        // Before MPI_Init and behind MPI_Finalize an abort is none of MPI's: Open MPI ends with 1 then.
        MPI_Initialized(&status);
        if (!status) _exit(3);
        MPI_Finalized(&status);
        if (status) _exit(3);
#endif
        MPI_Abort(MPI_COMM_WORLD, 3);
        break;
    case SIGUSR2: {
        pid_t child = fork();
        if (child == 0) exit(0);
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0) _exit(9);
        break;
    }
    case SIGALRM:
        exit(5);
    default:
        siglongjmp(behind, 1);
    }
}

static void paths(int calls) {
    MPI_Comm comms[20], part;
    MPI_Request request, requests[40], persistent;
    int value = 1, flag;
    int most = calls > 40 ? calls - 40 : 0;
    mark();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &part);
    MPI_Comm_set_name(part, "part");
    MPI_Barrier(part);
    for (int i = 0; i < 3; i++) MPI_Comm_dup(part, comms + i);
    MPI_Ibarrier(part, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Ibarrier(part, &request);
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    MPI_Pcontrol(2);
    mark();
    for (int i = 0; i < most; i++) MPI_Barrier(MPI_COMM_WORLD);
    mark();
    for (int i = most; i < calls; i++) MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 40; i++) MPI_Ibarrier(part, requests + i);
    MPI_Waitall(40, requests, MPI_STATUSES_IGNORE);
    for (int i = 3; i < 20; i++) MPI_Comm_dup(part, comms + i);
    for (int i = 0; i < 20; i++) MPI_Barrier(comms[i]);
#ifdef STUB_MPI_H
    MPI_Barrier_init(part, MPI_INFO_NULL, &persistent);
    MPI_Start(&persistent);
    MPI_Wait(&persistent, MPI_STATUS_IGNORE);
    MPI_Request_free(&persistent);
#else
    (void)persistent;
#endif
    for (int i = 0; i < 20; i++) MPI_Comm_free(comms + i);
    MPI_Comm_free(&part);
    mark();
}

int main(int argc, char **argv) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    int signals[] = {SIGUSR1, SIGUSR2, SIGALRM, SIGPROF};
    for (int i = 0; i < 4; i++) sigaction(signals[i], &action, NULL);
    is_traced = getenv("INTERRUPTED_STEPS") != NULL;
    if (sigsetjmp(behind, 1) == 0) {
        MPI_Init(&argc, &argv);
        paths(argc > 1 ? atoi(argv[1]) : 100);
    } else {
        // Most of the recorder's paths are gone through again.
        for (int i = 0; i < 5000; i++) MPI_Barrier(MPI_COMM_SELF);
        paths(100);
    }
    mark();
    MPI_Finalize();
    mark();
    return 0;
}

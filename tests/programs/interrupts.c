// Leaves MPI in other ways than by returning once: interrupts HOW
//   jump     an error handler of the program jumps out of a call that fails, as bindings of R, Ruby and
//            Lua do; behind it 500 barriers
//   cancel   a thread that was asked to end makes three barriers and ends behind them
//   forked   an error handler forks: in the child the call returns, in the parent it never does
#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static jmp_buf behind;
static volatile int go_on;

static void jump(MPI_Comm *comm, int *code, ...) {
    (void)comm, (void)code;
    longjmp(behind, 1);
}

static void twice(MPI_Comm *comm, int *code, ...) {
    (void)comm, (void)code;
    pid_t child = fork();
    if (child == 0) return;
    waitpid(child, NULL, 0);
    _exit(0);
}

static void *cancelled(void *nothing) {
    while (!go_on);
    for (int i = 0; i < 3; i++) MPI_Barrier(MPI_COMM_SELF);
    pthread_testcancel();
    puts("not reached");
    return nothing;
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    int level, value = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    if (!strcmp(how, "cancel")) {
        pthread_t thread;
        void *result;
        pthread_create(&thread, NULL, cancelled, NULL);
        pthread_cancel(thread);
        go_on = 1;
        pthread_join(thread, &result);
        puts(result == PTHREAD_CANCELED ? "cancelled" : "not cancelled");
    } else {
        MPI_Errhandler handler;
        MPI_Comm_create_errhandler(!strcmp(how, "jump") ? jump : twice, &handler);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
        for (int i = 0; i < 10; i++) MPI_Barrier(MPI_COMM_WORLD);
        if (!setjmp(behind)) {
            MPI_Bcast(&value, 1, MPI_INT, 99, MPI_COMM_WORLD);
            _exit(0);
        }
        puts("caught");
        for (int i = 0; i < 500; i++) MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}

/* Handlers of its own for signals that a tracer might want, on a stack of their own, set before
 * MPI_Init. In turns with barriers each signal is raised, by an access that faults where there is
 * one; afterwards the handlers must still be the program's.
 *
 *     handlers CALLS */
#include <mpi.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const int signals[] = {SIGBUS, SIGSEGV, SIGTERM, SIGXFSZ, SIGUSR1, SIGPIPE};
enum { N = sizeof signals / sizeof *signals };
static volatile sig_atomic_t came[N], off_the_stack;
static sigjmp_buf back;
static char stack[1 << 16];

static void handle(int signal)
{
    char here;
    if (&here < stack || &here >= stack + sizeof stack)
        off_the_stack = 1;
    for (int i = 0; i < N; i++)
        if (signals[i] == signal)
            came[i]++;
    if (signal == SIGBUS || signal == SIGSEGV)
        siglongjmp(back, 1);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    long calls = atol(argv[1]);
    stack_t alternative = {.ss_sp = stack, .ss_size = sizeof stack};
    sigaltstack(&alternative, NULL);
    for (int i = 0; i < N; i++) {
        struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
        sigaction(signals[i], &action, NULL);
    }
    /* A page behind the end of its file: SIGBUS. */
    FILE *file = tmpfile();
    char *page = mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, fileno(file), 0);
    MPI_Init(&argc, &argv);
    for (int i = 0; i < N; i++) {
        for (long call = 0; call < calls; call++)
            MPI_Barrier(MPI_COMM_SELF);
        if (sigsetjmp(back, 1) == 0) {
            if (signals[i] == SIGBUS)
                *(volatile char *)page = 1;
            else if (signals[i] == SIGSEGV)
                *(volatile char *)NULL = 1;
            else
                raise(signals[i]);
        }
    }
    MPI_Finalize();
    for (int i = 0; i < N; i++) {
        struct sigaction now;
        sigaction(signals[i], NULL, &now);
        printf("%s: %d times, %s\n", strsignal(signals[i]), (int)came[i],
               now.sa_handler == handle ? "still mine" : "lost");
    }
    puts(off_the_stack ? "not on my stack" : "on my stack");
    return 0;
}

/* Calls MPI from where there is no way up the stack, or a wrong one: with a frame register that has been
 * overwritten, from a smashed stack, from code made at run time, from 64 threads with small stacks, while signals
 * arrive, and from a coroutine. Prints what it did. With -DLIBRARY it is a library that a program without it
 * calls: the way up the stack goes through all of it. */
#define _GNU_SOURCE
#include <limits.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>

int unharmed(int argc, char **argv);

#ifndef LIBRARY
int main(int argc, char **argv) { return unharmed(argc, argv); }
#else

static int barrier(void) { return MPI_Barrier(MPI_COMM_SELF); }

static volatile sig_atomic_t n_signals;
static void on_signal(int number)
{
    volatile char bytes[512];
    memset((void *)bytes, number, sizeof bytes);
    n_signals++;
}

static MPI_Comm own[64];
static void *thread(void *which)
{
    for (int i = 0; i < 50; i++)
        MPI_Barrier(own[(long)which]);
    return NULL;
}

static ucontext_t back, routine;
static void in_routine(void)
{
    barrier();
    swapcontext(&routine, &back);
}

#ifdef __x86_64__
/* What is above this frame makes no sense, until it returns. */
static __attribute__((noinline)) int smashed(void)
{
    void **words = __builtin_frame_address(0);
    void *kept[64];
    memcpy(kept, words, sizeof kept);
    for (int i = 0; i < 64; i++)
        words[i] = (void *)(i % 3 ? 0x4141414141414141 : (long)(words + i));
    int code = barrier();
    memcpy(words, kept, sizeof kept);
    return code;
}

static int wrong_register(void)
{
    int code;
    __asm__ volatile("pushq %%rbp\n pushq %%rbp\n movq $0x41414141, %%rbp\n call *%1\n popq %%rbp\n popq %%rbp\n"
                     : "=a"(code)
                     : "r"(barrier)
                     : "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
    return code;
}

static int made_at_run_time(void)
{
    static const unsigned char code[] = {0x48, 0x83, 0xec, 0x08, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0x08, 0xc3};
    void *place = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED)
        return 1;
    memcpy(place, code, sizeof code);
    mprotect(place, 4096, PROT_READ | PROT_EXEC);
    return ((int (*)(int (*)(void)))place)(barrier);
}
#endif

int unharmed(int argc, char **argv)
{
    int provided, failed = 0;
    char *stack = malloc(1 << 16);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval often = {{0, 300}, {0, 300}};
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < 1000; i++) {
#ifdef __x86_64__
        /* The stack must be deeper than what is smashed. */
        volatile char deep[1024];
        deep[0] = 1;
        failed |= smashed() | wrong_register() | made_at_run_time();
#endif
        failed |= barrier();
    }
    getcontext(&routine);
    routine.uc_stack.ss_sp = stack;
    routine.uc_stack.ss_size = 1 << 16;
    routine.uc_link = &back;
    makecontext(&routine, in_routine, 0);
    swapcontext(&back, &routine);
    if (provided == MPI_THREAD_MULTIPLE) {
        pthread_t threads[64];
        pthread_attr_t small;
        pthread_attr_init(&small);
        pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN + (32 << 10));
        for (long i = 0; i < 64; i++)
            MPI_Comm_dup(MPI_COMM_SELF, &own[i]);
        for (long i = 0; i < 64; i++)
            pthread_create(&threads[i], &small, thread, (void *)i);
        for (int i = 0; i < 64; i++)
            pthread_join(threads[i], NULL);
    }
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
    printf("failed: %d, signals: %s\n", failed, n_signals > 0 ? "some" : "none");
    MPI_Finalize();
    return 0;
}
#endif

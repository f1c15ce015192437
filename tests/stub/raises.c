// Raises a signal in front of each call of the C library that the recorder makes: of the
// INTERRUPTED_AT-th one the signal INTERRUPTED_BY, in the thread that makes it. How many there were is
// written to the file INTERRUPTED_COUNT, if the process ends in order. To be preloaded:
//
//     cc -shared -fPIC -o raises.so raises.c -ldl
//
// Needs neither ptrace nor anything of the MPI library.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static long number;

static void before_call(void *caller) {
    static char *recorder;
    Dl_info info;
    if (!dladdr(caller, &info)) return;
    if (!recorder) {
        if (!info.dli_fname || !strstr(info.dli_fname, "collbench_preload")) return;
        recorder = info.dli_fbase;
    }
    if (info.dli_fbase != (void *)recorder) return;
    const char *at = getenv("INTERRUPTED_AT"), *by = getenv("INTERRUPTED_BY");
    if (at && by && ++number == atol(at)) syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), atoi(by));
}

__attribute__((destructor)) static void count(void) {
    const char *path = getenv("INTERRUPTED_COUNT");
    FILE *file = number && path ? fopen(path, "w") : NULL;
    if (file) fprintf(file, "%ld\n", number), fclose(file);
}

typedef long (*function)(long, long, long, long, long, long);
// All arguments are words, as many as come in registers.
#define BEFORE(name)                                                                               \
    long before_##name(long a, long b, long c, long d, long e, long f) __asm__(#name);             \
    long before_##name(long a, long b, long c, long d, long e, long f) {                           \
        static function real;                                                                      \
        if (!real) real = (function)dlsym(RTLD_NEXT, #name);                                       \
        before_call(__builtin_return_address(0));                                                  \
        return real(a, b, c, d, e, f);                                                             \
    }

BEFORE(open64)
BEFORE(openat64)
BEFORE(fallocate64)
BEFORE(fallocate)
BEFORE(pwrite64)
BEFORE(pread64)
BEFORE(mmap64)
BEFORE(madvise)
BEFORE(fcntl)
BEFORE(fcntl64)
BEFORE(fstat64)
BEFORE(statx)
BEFORE(ftruncate64)
BEFORE(getrusage)
BEFORE(getrlimit)
BEFORE(getrlimit64)
BEFORE(sched_yield)
BEFORE(pthread_setspecific)
BEFORE(pthread_sigmask)
BEFORE(pthread_setcancelstate)

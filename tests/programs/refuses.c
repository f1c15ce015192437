/* To be preloaded: system calls on rank files fail, as they do on other file systems and kernels.
 *
 *     REFUSES="CALL:ERROR:N ..."      CALL fails with the number ERROR from its N-th time on
 *
 * CALL: fallocate, pwrite, mmap, ftruncate (on files whose name ends in .trace), or populate
 * (madvise with MADV_POPULATE_WRITE). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

enum call { FALLOCATE, PWRITE, MMAP, FTRUNCATE, POPULATE, N_CALLS };
static const char *const names[N_CALLS] = {"fallocate", "pwrite", "mmap", "ftruncate", "populate"};
static atomic_int n_calls[N_CALLS];

static int is_rank_file(int fd)
{
    char link[64], name[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, name, sizeof name);
    return length > 6 && !memcmp(name + length - 6, ".trace", 6);
}

/* Whether this call fails; with errno then. */
static int refuses(enum call call)
{
    const char *list = getenv("REFUSES");
    int n = ++n_calls[call];
    for (; list && *list; list += strcspn(list, " "), list += strspn(list, " ")) {
        char name[16];
        int error, from;
        if (sscanf(list, "%15[a-z]:%d:%d", name, &error, &from) == 3 &&
            !strcmp(name, names[call]) && n >= from) {
            errno = error;
            return 1;
        }
    }
    return 0;
}

#define REAL(name) __typeof__(&name) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

int fallocate(int fd, int mode, off_t offset, off_t length);
int fallocate(int fd, int mode, off_t offset, off_t length)
{
    REAL(fallocate);
    return is_rank_file(fd) && refuses(FALLOCATE) ? -1 : real(fd, mode, offset, length);
}
int fallocate64(int, int, off_t, off_t) __attribute__((alias("fallocate")));

ssize_t pwrite(int fd, const void *bytes, size_t n, off_t offset)
{
    REAL(pwrite);
    return is_rank_file(fd) && refuses(PWRITE) ? -1 : real(fd, bytes, n, offset);
}
ssize_t pwrite64(int, const void *, size_t, off_t) __attribute__((alias("pwrite")));

void *mmap(void *at, size_t length, int protection, int flags, int fd, off_t offset)
{
    REAL(mmap);
    return fd >= 0 && is_rank_file(fd) && refuses(MMAP)
               ? MAP_FAILED
               : real(at, length, protection, flags, fd, offset);
}
void *mmap64(void *, size_t, int, int, int, off_t) __attribute__((alias("mmap")));

int ftruncate(int fd, off_t length)
{
    REAL(ftruncate);
    return is_rank_file(fd) && refuses(FTRUNCATE) ? -1 : real(fd, length);
}
int ftruncate64(int, off_t) __attribute__((alias("ftruncate")));

int madvise(void *at, size_t length, int advice)
{
    REAL(madvise);
    return advice == 23 && refuses(POPULATE) ? -1 : real(at, length, advice);
}

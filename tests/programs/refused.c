/* Collectives of long and short values while the kernel refuses a rank to copy from the other processes.
 *
 *     refused RANK
 *
 * Each rank says "RANK done" if all results were right. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define MOST (160 << 10)

static void refuse_copies(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        perror("prctl");
        exit(1);
    }
}

static int rank, size, n_wrong;
static double given[MOST], result[8 * MOST];

/* Whether the result has these values: those of a rank, in each of its parts. */
static void expect(const char *what, int count, int parts, double first, double step)
{
    for (int part = 0; part < parts; part++)
        for (int i = 0; i < count; i++)
            if (result[part * count + i] != first + part * step + i) {
                if (n_wrong++ == 0)
                    printf("%d: %s of %d: wrong\n", rank, what, count);
                return;
            }
}

int main(int argc, char **argv)
{
    const char *number = getenv("OMPI_COMM_WORLD_RANK");
    int counts[] = {1, 500, 2500, 12000, 80000, MOST};
    if (argc != 2 || number == NULL)
        return 2;
    if (strcmp(number, argv[1]) == 0)
        refuse_copies();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int call = 0; call < 3 * 6; call++) {
        int n = counts[call % 6], root = call % size;
        double ranks = size * (size - 1) / 2.0;
        for (int i = 0; i < n; i++)
            given[i] = 1000.0 * rank + (rank == 0 ? i : 0);
        memset(result, 0xff, sizeof *result * size * n);
        MPI_Allreduce(given, result, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        expect("allreduce", n, 1, 1000 * ranks, 0);
        memset(result, 0xff, sizeof *result * n);
        MPI_Reduce(given, result, n, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
        if (rank == root)
            expect("reduce", n, 1, 1000 * ranks, 0);
        for (int i = 0; i < n; i++)
            given[i] = 1000.0 * rank + i;
        memset(result, 0xff, sizeof *result * size * n);
        MPI_Gather(given, n, MPI_DOUBLE, result, n, MPI_DOUBLE, root, MPI_COMM_WORLD);
        if (rank == root)
            expect("gather", n, size, 0, 1000);
        memset(result, 0xff, sizeof *result * size * n);
        MPI_Allgather(given, n, MPI_DOUBLE, result, n, MPI_DOUBLE, MPI_COMM_WORLD);
        expect("allgather", n, size, 0, 1000);
        memcpy(result, given, sizeof *given * n);
        MPI_Bcast(result, n, MPI_DOUBLE, root, MPI_COMM_WORLD);
        expect("bcast", n, 1, 1000.0 * root, 0);
    }
    if (n_wrong == 0)
        printf("%d done\n", rank);
    MPI_Finalize();
    return n_wrong != 0;
}

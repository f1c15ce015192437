/* Calls collectives from places that a test looks for: each has its name behind it, as a comment. With
 * -DINNER or -DOUTER it is one of two libraries that wrap MPI, the outer one on top of the inner one; with
 * -DALONE the program has both itself. */
#include <mpi.h>

void inner_sum(double *own, double *sum);
void outer_sum(double *own, double *sum);

/* What follows a call, so that none of them is a jump. */
#define RETURNS __asm__ volatile("")

#if defined INNER || defined ALONE
void inner_sum(double *own, double *sum)
{
    MPI_Allreduce(own, sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /* in the wrapper */
    RETURNS;
}
#endif
#if defined OUTER || defined ALONE
void outer_sum(double *own, double *sum)
{
    double copy[3] = {*own};
    inner_sum(copy, sum);
    RETURNS;
}
#endif
#if !defined INNER && !defined OUTER

static inline __attribute__((always_inline)) void inlined(void)
{
    MPI_Barrier(MPI_COMM_WORLD); /* inlined */
    RETURNS;
}

/* Its frame is found from a word on the stack. */
static __attribute__((noinline)) void aligned(int n)
{
    volatile char any[n];
    volatile __attribute__((aligned(64))) char byte[64];
    any[0] = byte[0] = (char)n;
    MPI_Bcast((void *)byte, 1, MPI_CHAR, 0, MPI_COMM_WORLD); /* aligned */
    byte[1] = any[0];
}

int main(int argc, char **argv)
{
    double one = 1, two;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 40; i++) {
        MPI_Request request;
        inlined();
        aligned(40 + i);
        outer_sum(&one, &two); /* first */
        outer_sum(&two, &one); /* second */
        MPI_Ibarrier(MPI_COMM_WORLD, &request); /* initiated */
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < 3; i++) {
        MPI_Comm copy;
        MPI_Comm_dup(MPI_COMM_WORLD, &copy); /* made */
        MPI_Comm_free(&copy);
    }
    MPI_Finalize();
    return 0;
}
#endif

/* A program that hangs, or goes on by luck, in the way asked for.
 *
 *     hangs HOW RANK
 *
 * After three barriers, and an allreduce on each of two copies A and B of MPI_COMM_WORLD, and a file
 * hangs.RANK that says that this is done:
 *
 * skip       RANK leaves one allreduce out and goes to MPI_Finalize
 * loop       RANK never comes to the allreduce: it computes for ever
 * operation  RANK is in a barrier, the others in a broadcast that has to reach it
 * root       RANK is root of its own broadcast; a barrier follows
 * size       RANK reduces twice as much as the others
 * cycle      RANK broadcasts on A and then on B, the others the other way round
 * never      an Ibarrier that nobody waits for; the program ends well
 * wait       all but RANK wait for an Iallreduce
 * form       RANK calls MPI_Ibarrier and MPI_Wait, the others MPI_Barrier
 * part       the odd ranks, the last one first, are waiting in a reduce for RANK, one of them
 * dup        all but RANK copy a communicator */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More than any library sends before the other side is ready. */
#define LARGE (4 << 20)

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    const char *how = argv[1];
    int chosen = atoi(argv[2]), rank, size, one[4] = {1, 1, 1, 1}, sum[4];
    volatile double x = 1;
    char *large = calloc(LARGE, 1);
    MPI_Comm a, b, part;
    MPI_Request request;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    /* A program that is wrong may be told so by the library, or go on; it must not be ended. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < 3; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_dup(MPI_COMM_WORLD, &a);
    MPI_Comm_dup(MPI_COMM_WORLD, &b);
    MPI_Comm_set_name(a, "A");
    MPI_Comm_set_name(b, "B");
    MPI_Allreduce(one, sum, 1, MPI_INT, MPI_SUM, a);
    MPI_Allreduce(one, sum, 1, MPI_INT, MPI_SUM, b);

    char about_to_hang[32];
    snprintf(about_to_hang, sizeof about_to_hang, "hangs.%d", rank);
    fclose(fopen(about_to_hang, "w"));
    int is_chosen = rank == chosen;
    if (!strcmp(how, "skip")) {
        if (!is_chosen)
            MPI_Allreduce(one, sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    } else if (!strcmp(how, "loop")) {
        while (is_chosen)
            x = x * 0.5 + 1;
        MPI_Allreduce(one, sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    } else if (!strcmp(how, "operation")) {
        if (is_chosen)
            MPI_Barrier(MPI_COMM_WORLD);
        else
            MPI_Bcast(large, LARGE, MPI_BYTE, 0, MPI_COMM_WORLD);
    } else if (!strcmp(how, "root")) {
        MPI_Bcast(large, LARGE, MPI_BYTE, is_chosen ? chosen : 0, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    } else if (!strcmp(how, "size")) {
        MPI_Allreduce(one, sum, is_chosen ? 4 : 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    } else if (!strcmp(how, "cycle")) {
        MPI_Bcast(large, LARGE, MPI_BYTE, chosen, is_chosen ? a : b);
        MPI_Bcast(large, LARGE, MPI_BYTE, chosen, is_chosen ? b : a);
    } else if (!strcmp(how, "never")) {
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        MPI_Barrier(a);
    } else if (!strcmp(how, "wait")) {
        if (!is_chosen) {
            MPI_Iallreduce(one, sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    } else if (!strcmp(how, "form")) {
        if (is_chosen) {
            MPI_Ibarrier(MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            MPI_Barrier(MPI_COMM_WORLD);
        }
    } else if (!strcmp(how, "part")) {
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &part);
        int root;
        MPI_Comm_size(part, &root);
        root--; /* the lowest rank of the world */
        if (rank % 2 && !is_chosen)
            MPI_Reduce(large, rank == 1 ? large + LARGE / 2 : NULL, LARGE / 2, MPI_BYTE, MPI_MAX,
                       root, part);
    } else if (!strcmp(how, "dup")) {
        if (!is_chosen)
            MPI_Comm_dup(a, &part);
    } else {
        return 2;
    }
    if (rank == 0)
        puts("went through");
    MPI_Finalize();
    return 0;
}

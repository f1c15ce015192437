/* MPI without MPI_Init: two sessions, one inside the other, communicators made of groups. Without an
 * argument it calls MPI_Init and MPI_Finalize as well, between them. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.inc"

int main(int argc, char **argv)
{
    MPI_Session outer, inner;
    MPI_Group all, local, remote;
    MPI_Comm comm, twin, inter;
    int rank, n, sum, with_world = argc < 2;

    CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &outer));
    CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &inner));
    CHECK(MPI_Group_from_session_pset(inner, "mpi://WORLD", &all));
    CHECK(MPI_Comm_create_from_group(all, "first", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &n);
    for (int i = 0; i < 5; i++)
        MPI_Barrier(comm);
    MPI_Comm_dup(comm, &twin);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, twin);
    MPI_Comm_free(&twin);
    MPI_Comm_free(&comm);
    MPI_Group_free(&all);
    CHECK(MPI_Session_finalize(&inner));

    if (with_world) {
        MPI_Init(&argc, &argv);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Finalize();
    }

    CHECK(MPI_Group_from_session_pset(outer, "mpi://WORLD", &all));
    CHECK(MPI_Comm_create_from_group(all, "second", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    MPI_Bcast(&sum, 1, MPI_INT, 0, comm);
    int mine[3] = {rank < 1 ? 0 : 1, rank < 1 ? 0 : n - 1, 1};
    int others[3] = {rank < 1 ? 1 : 0, rank < 1 ? n - 1 : 0, 1};
    MPI_Group_range_incl(all, 1, &mine, &local);
    MPI_Group_range_incl(all, 1, &others, &remote);
    CHECK(MPI_Intercomm_create_from_groups(local, 0, remote, 0, "third", MPI_INFO_NULL,
                                           MPI_ERRORS_RETURN, &inter));
    MPI_Barrier(inter);
    MPI_Comm_free(&inter);
    MPI_Group_free(&local);
    MPI_Group_free(&remote);
    MPI_Comm_free(&comm);
    MPI_Group_free(&all);
    CHECK(MPI_Session_finalize(&outer));
    printf("sum %d\n", sum);
    return 0;
}

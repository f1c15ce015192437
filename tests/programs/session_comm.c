/* Collectives on a communicator that is made from a session: while MPI is initialized by MPI_Init, too,
 * and after MPI_Finalize. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.inc"

static long some_calls(MPI_Comm comm, int rank, int n)
{
    long all = 0, sum;
    for (int i = 0; i < 20; i++) {
        long given = rank * 7 + i;
        CHECK(MPI_Allreduce(&given, &sum, 1, MPI_LONG, MPI_SUM, comm));
        all = all * 3 + sum;
        CHECK(MPI_Bcast(&all, 1, MPI_LONG, i % n, comm));
    }
    return all;
}

int main(int argc, char **argv)
{
    MPI_Session session;
    MPI_Group all;
    MPI_Comm comm;
    int rank, n;

    MPI_Init(&argc, &argv);
    CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    CHECK(MPI_Group_from_session_pset(session, "mpi://WORLD", &all));
    CHECK(MPI_Comm_create_from_group(all, "ours", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &n);
    long before = some_calls(comm, rank, n);
    MPI_Finalize();
    long after = some_calls(comm, rank, n);
    MPI_Group_free(&all);
    MPI_Comm_free(&comm);
    CHECK(MPI_Session_finalize(&session));
    printf("rank %d: %ld %ld\n", rank, before, after);
    return 0;
}

/* The calls of same.inc, in C. */
#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif
#include <stdio.h>

/* Before MPI 4 they were an extension of Open MPI. */
#if defined OPEN_MPI && OMPI_MAJOR_VERSION < 5
#define PERSISTENT(name) MPIX_##name##_init
#else
#define PERSISTENT(name) MPI_##name##_init
#endif

int main(int argc, char **argv)
{
    int r, n, i, k, a[1000], b[8000];
    int counts[8], places[8], bytes[8], zeros[8];
    double x[100], y[100];
    MPI_Datatype types[8];
    MPI_Comm comm, half, grid, ring, other;
    MPI_Request requests[4], request;
    int done, outcount, dims[2] = {2, 2}, ends[8], edges[16];
    int periods[2] = {1, 0}, keep[2] = {1, 0}, members[2] = {0, 2}, found[8];
    int one[1] = {1}, self[1], left[1], right[1];
    MPI_Aint ways[2] = {0, 32};
    MPI_Group all, some;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &r);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    for (i = 0; i < 1000; i++)
        a[i] = r + i + 1;
    for (i = 0; i < 8000; i++)
        b[i] = 0;
    for (i = 0; i < 100; i++)
        x[i] = r * 0.5;
    for (i = 0; i < n; i++) {
        counts[i] = i;
        places[i] = i * 8;
        bytes[i] = i * 32;
        zeros[i] = 0;
        types[i] = MPI_INT;
    }

    MPI_Barrier(MPI_COMM_WORLD);
    for (k = 1; k <= 3; k++) {
        MPI_Bcast(a, 10 * k, MPI_INT, 0, MPI_COMM_WORLD);
        MPI_Bcast(x, 100, MPI_DOUBLE, 1, MPI_COMM_WORLD);
    }
    MPI_Bcast(a, 0, MPI_INT, 2, MPI_COMM_WORLD);
    MPI_Gather(a, 5, MPI_INT, b, 5, MPI_INT, 3, MPI_COMM_WORLD);
    MPI_Gatherv(a, r, MPI_INT, b, counts, places, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Scatter(a, 5, MPI_INT, b, 5, MPI_INT, 1, MPI_COMM_WORLD);
    MPI_Scatterv(a, counts, places, MPI_INT, b, r, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Allgather(a, 7, MPI_INT, b, 7, MPI_INT, MPI_COMM_WORLD);
    MPI_Allgatherv(a, r, MPI_INT, b, counts, places, MPI_INT, MPI_COMM_WORLD);
    MPI_Alltoall(a, 100, MPI_INT, b, 100, MPI_INT, MPI_COMM_WORLD);
    for (i = 0; i < n; i++)
        counts[i] = 2;
    MPI_Alltoallv(a, counts, places, MPI_INT, b, counts, places, MPI_INT, MPI_COMM_WORLD);
    MPI_Alltoallv(a, zeros, places, MPI_INT, b, zeros, places, MPI_INT, MPI_COMM_WORLD);
    MPI_Alltoallw(a, counts, bytes, types, b, counts, bytes, types, MPI_COMM_WORLD);
    MPI_Reduce(x, y, 100, MPI_DOUBLE, MPI_SUM, 2, MPI_COMM_WORLD);
    for (k = 1; k <= 20; k++)
        MPI_Allreduce(a, b, k, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, y, 50, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allgather(MPI_IN_PLACE, 7, MPI_INT, b, 7, MPI_INT, MPI_COMM_WORLD);
    MPI_Reduce_scatter(a, b, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce_scatter_block(a, b, 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Scan(a, b, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Exscan(x, y, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);

    for (k = 1; k <= 4; k++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        i = r % 2;
        MPI_Comm_split(comm, i, -r, &half);
        MPI_Allreduce(a, b, 2, MPI_INT, MPI_SUM, half);
        MPI_Bcast(a, k, MPI_INT, 1, half);
        MPI_Comm_free(&comm);
        MPI_Barrier(half);
        MPI_Comm_free(&half);
        MPI_Barrier(MPI_COMM_SELF);
    }

    for (k = 1; k <= 5; k++) {
        MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
        MPI_Ibcast(a, 10 * k, MPI_INT, 1, MPI_COMM_WORLD, &requests[1]);
        MPI_Iallreduce(x, y, 100, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &requests[2]);
        MPI_Igatherv(a, 2, MPI_INT, b, counts, places, MPI_INT, 0, MPI_COMM_SELF, &requests[3]);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Iscan(a, b, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
    MPI_Ialltoall(a, 100, MPI_INT, b + 1000, 100, MPI_INT, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitany(2, requests, &i, MPI_STATUS_IGNORE);
    MPI_Waitsome(2, requests, &outcount, places, MPI_STATUSES_IGNORE);
    MPI_Ireduce(x, y, 100, MPI_DOUBLE, MPI_SUM, 2, MPI_COMM_WORLD, &request);
    done = 0;
    while (!done)
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Cart_create(comm, 2, dims, periods, 0, &grid);
    MPI_Neighbor_allgather(a, 3, MPI_INT, b, 3, MPI_INT, grid);
    MPI_Ineighbor_alltoall(a, 3, MPI_INT, b + 1000, 3, MPI_INT, grid, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (i = 0; i < n; i++) {
        ends[i] = 2 * (i + 1);
        edges[2 * i] = (i + n - 1) % n;
        edges[2 * i + 1] = (i + 1) % n;
    }
    MPI_Graph_create(comm, n, ends, edges, 0, &ring);
    MPI_Neighbor_alltoall(a, 5, MPI_INT, b, 5, MPI_INT, ring);
    MPI_Comm_split(MPI_COMM_WORLD, r % 2, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - r % 2, 7, &other);
    MPI_Iallreduce(a, b, 2, MPI_INT, MPI_SUM, other, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);

    /* The other nonblocking collectives, completed in the other ways. */
    for (i = 0; i < n; i++)
        places[i] = i * 8;
    MPI_Iexscan(a, b + 5000, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
    MPI_Igather(a, 5, MPI_INT, b + 1000, 5, MPI_INT, 3, MPI_COMM_WORLD, &requests[1]);
    MPI_Iscatter(a, 5, MPI_INT, b + 2000, 5, MPI_INT, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Iallgather(a, 7, MPI_INT, b + 3000, 7, MPI_INT, MPI_COMM_WORLD, &requests[3]);
    done = 0;
    while (!done)
        MPI_Testall(4, requests, &done, MPI_STATUSES_IGNORE);
    MPI_Iscatterv(a, counts, places, MPI_INT, b + 1000, 2, MPI_INT, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Iallgatherv(a, 2, MPI_INT, b + 2000, counts, places, MPI_INT, MPI_COMM_WORLD, &requests[1]);
    MPI_Ialltoallv(a, counts, places, MPI_INT, b + 3000, counts, places, MPI_INT, MPI_COMM_WORLD,
                   &requests[2]);
    MPI_Ialltoallw(a, counts, bytes, types, b + 4000, counts, bytes, types, MPI_COMM_WORLD,
                   &requests[3]);
    outcount = 0;
    while (outcount != MPI_UNDEFINED)
        MPI_Testsome(4, requests, &outcount, found, MPI_STATUSES_IGNORE);
    MPI_Ireduce_scatter(a, b + 1000, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
    MPI_Ireduce_scatter_block(a, b + 2000, 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[1]);
    done = 0;
    while (!done || i != MPI_UNDEFINED)
        MPI_Testany(2, requests, &i, &done, MPI_STATUS_IGNORE);

    /* All others with neighbours. */
    MPI_Neighbor_allgatherv(a, 2, MPI_INT, b + 1000, counts, places, MPI_INT, ring);
    MPI_Neighbor_alltoallv(a, counts, places, MPI_INT, b + 1000, counts, places, MPI_INT, ring);
    MPI_Neighbor_alltoallw(a, counts, ways, types, b + 1000, counts, ways, types, ring);
    MPI_Ineighbor_allgather(a, 2, MPI_INT, b + 1000, 2, MPI_INT, ring, &requests[0]);
    MPI_Ineighbor_allgatherv(a, 2, MPI_INT, b + 2000, counts, places, MPI_INT, ring, &requests[1]);
    MPI_Ineighbor_alltoallv(a, counts, places, MPI_INT, b + 3000, counts, places, MPI_INT, ring,
                            &requests[2]);
    MPI_Ineighbor_alltoallw(a, counts, ways, types, b + 4000, counts, ways, types, ring,
                            &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);

    /* The other constructors. */
    MPI_Comm_free(&comm);
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &comm);
    MPI_Comm_set_name(comm, "second");
    MPI_Barrier(comm);
    MPI_Comm_free(&comm);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
    MPI_Barrier(comm);
    MPI_Comm_free(&comm);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 2, members, &some);
    MPI_Comm_create(MPI_COMM_WORLD, some, &comm);
    if (comm != MPI_COMM_NULL) {
        MPI_Barrier(comm);
        MPI_Comm_free(&comm);
    }
    if (r % 2 == 0) {
        MPI_Comm_create_group(MPI_COMM_WORLD, some, 5, &comm);
        MPI_Barrier(comm);
        MPI_Comm_free(&comm);
    }
    MPI_Cart_sub(grid, keep, &comm);
    MPI_Barrier(comm);
    MPI_Comm_free(&comm);
    self[0] = r;
    left[0] = (r + n - 1) % n;
    right[0] = (r + 1) % n;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, left, MPI_UNWEIGHTED, 1, right, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &comm);
    MPI_Neighbor_alltoall(a, 5, MPI_INT, b + 1000, 5, MPI_INT, comm);
    MPI_Comm_free(&comm);
    MPI_Dist_graph_create(MPI_COMM_WORLD, 1, self, one, right, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                          &comm);
    MPI_Neighbor_alltoall(a, 5, MPI_INT, b + 1000, 5, MPI_INT, comm);
    MPI_Comm_free(&comm);
    MPI_Intercomm_merge(other, r % 2, &comm);

    /* Persistent ones. */
    PERSISTENT(Allreduce)(a, b + 5000, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                          &requests[0]);
    PERSISTENT(Bcast)(x, 10, MPI_DOUBLE, 1, comm, MPI_INFO_NULL, &requests[1]);
    PERSISTENT(Neighbor_alltoall)(a, 3, MPI_INT, b + 1000, 3, MPI_INT, grid, MPI_INFO_NULL,
                                  &requests[2]);
    for (k = 1; k <= 3; k++) {
        MPI_Startall(3, requests);
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Start(&requests[1]);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    for (i = 0; i < 3; i++)
        MPI_Request_free(&requests[i]);

    MPI_Pcontrol(3);
    MPI_Comm_free(&other);
    MPI_Comm_free(&half);
    MPI_Comm_free(&ring);
    MPI_Comm_free(&grid);
    MPI_Comm_free(&comm);
    MPI_Barrier(MPI_COMM_WORLD);
    if (r == 0)
        printf("done %d %d\n", b[0], b[1]);
    MPI_Finalize();
    return 0;
}

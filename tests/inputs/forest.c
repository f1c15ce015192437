/* A forest of quadtrees by p4est: refined at one corner, balanced, shared out, with its ghosts. */
#include <p4est_extended.h>
#include <p4est_ghost.h>
#include <p4est_nodes.h>

static int is_at_corner(p4est_t *forest, p4est_topidx_t tree, p4est_quadrant_t *quadrant)
{
    (void)forest;
    return tree == 0 && quadrant->level < 6 && quadrant->x == 0;
}

int main(int argc, char **argv)
{
    sc_MPI_Init(&argc, &argv);
    sc_init(sc_MPI_COMM_WORLD, 1, 1, NULL, SC_LP_ESSENTIAL);
    p4est_init(NULL, SC_LP_ESSENTIAL);
    p4est_connectivity_t *ground = p4est_connectivity_new_moebius();
    p4est_t *forest = p4est_new_ext(sc_MPI_COMM_WORLD, ground, 0, 1, 1, 0, NULL, NULL);
    for (int i = 0; i < 5; i++) {
        p4est_refine(forest, 0, is_at_corner, NULL);
        p4est_balance(forest, P4EST_CONNECT_FULL, NULL);
        p4est_partition(forest, 0, NULL);
    }
    p4est_ghost_t *ghosts = p4est_ghost_new(forest, P4EST_CONNECT_FULL);
    p4est_nodes_t *nodes = p4est_nodes_new(forest, ghosts);
    if (forest->mpirank == 0)
        printf("%lld quadrants, checksum of all\n", (long long)forest->global_num_quadrants);
    unsigned checksum = p4est_checksum(forest);
    if (forest->mpirank == 0)
        printf("%08x\n", checksum);
    p4est_nodes_destroy(nodes);
    p4est_ghost_destroy(ghosts);
    p4est_destroy(forest);
    p4est_connectivity_destroy(ground);
    sc_finalize();
    sc_MPI_Finalize();
    return 0;
}

# To be sourced: how MPI programs are started here, on a machine that may have fewer cores than
# there are ranks.

# Waiting ranks give their core away. Makes collectives slower on an idle machine (an allreduce
# took 2.6 times as long), and possible at all on a crowded one.
export OMPI_MCA_mpi_yield_when_idle=1
export OMP_NUM_THREADS=1
# As in .cargo/config.toml, which says why.
export OMPI_MCA_orte_allowed_exit_without_sync=1

mpirun="mpirun --oversubscribe"
if [ "$(id -u)" = 0 ]; then
    mpirun="$mpirun --allow-run-as-root"
fi

#!/bin/sh
# Records under a real Slurm: munge, slurmctld and slurmd of Debian on this machine, as root, without cgroups, with
# all their state in target/slurm; ends what it has started. Some two minutes, since the shortest time limit of
# Slurm is one. Run by "make test-long", after the build.
set -eu
cd "$(dirname "$0")/.."
. scripts/mpi.sh

skip() {
    echo "slurm-test.sh: SKIPPED, nothing was tested: $1" >&2
    # In CI it must run.
    [ -z "${CI:-}" ] || exit 1
    exit 0
}
[ "$(id -u)" = 0 ] || skip "must be run as root"
scripts/need.sh openmpi-bin libopenmpi-dev munge slurmctld slurmd slurm-client ||
    skip "the packages munge, slurmctld, slurmd and slurm-client cannot be installed"
for command in munged slurmctld slurmd srun; do
    command -v $command >/dev/null || skip "$command is missing"
done

target=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)
export PATH="$target/release:$PATH"
state=$target/slurm
rm -rf "$state"
mkdir -p "$state/munge" "$state/ctld" "$state/d" "$state/run"
# Neither munged nor slurmctld accept a folder that others may write.
chmod 755 "$state" "$state"/*
exec 3>&2

end() {
    scancel --user root >/dev/null 2>&1 || true
    for name in slurmd slurmctld munged; do
        [ -s "$state/$name.pid" ] || continue
        pid=$(cat "$state/$name.pid")
        kill "$pid" 2>/dev/null || true
        # slurmctld takes some seconds to save its state.
        timeout 30 tail --pid="$pid" -f /dev/null || kill -9 "$pid"
    done
}
trap end EXIT
trap 'exit 1' INT TERM

head -c 1024 /dev/urandom >"$state/munge/key"
chmod 600 "$state/munge/key"
munged --force --key-file="$state/munge/key" --socket="$state/munge/socket" --pid-file="$state/munged.pid" \
    --log-file="$state/munge/log" --seed-file="$state/munge/seed"

host=$(hostname -s)
cat >"$state/slurm.conf" <<END
ClusterName=collbench
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
AuthInfo=socket=$state/munge/socket
SlurmctldPort=16817
SlurmdPort=16818
StateSaveLocation=$state/ctld
SlurmdSpoolDir=$state/d
SlurmctldPidFile=$state/slurmctld.pid
SlurmdPidFile=$state/slurmd.pid
SlurmctldLogFile=$state/slurmctld.log
SlurmdLogFile=$state/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
KillWait=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=64 State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP
END
export SLURM_CONF="$state/slurm.conf"
slurmctld
slurmd
tries=0
until sinfo --noheader --states=idle --format=%n 2>/dev/null | grep -q .; do
    tries=$((tries + 1))
    if [ $tries = 60 ]; then
        echo "slurm-test.sh: the node did not become idle; see $state/*.log" >&2
        exit 1
    fi
    sleep 0.5
done

cd "$state/run"
for program in delays loop; do
    mpicc -O1 -o $program "$OLDPWD/tests/programs/$program.c" -lm
done
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# One host without InfiniBand; not what Slurm passes on is tested here.
export OMPI_MCA_btl=self,vader PMIX_MCA_gds=hash
failures=0
failed() {
    echo "slurm-test.sh: FAILED: $1" >&2
    failures=$((failures + 1))
}
passed() {
    echo "slurm-test.sh: passed: $1"
}
# late_is_named NAME TRACE: whether the verdict on four ranks is that rank 2 is late.
late_is_named() {
    if collbench-analyze --no-pictures "$2" >"$2.txt" 2>&1 &&
        grep -q '^  ran   4 ranks on 1 host' "$2.txt" && grep -q '^  - rank 2 is late' "$2.txt"; then
        passed "$1"
    else
        cat "$2.txt" >&2
        failed "$1"
    fi
}
# readable NAME TRACE: whether the trace of four ranks that were killed is analyzed.
readable() {
    status=0
    collbench-analyze --no-pictures "$2" >"$2.txt" 2>&1 || status=$?
    if [ $status = 3 ] && grep -q '^  ran   4 ranks on 1 host' "$2.txt" &&
        grep -q 'MPI_Allreduce' "$2.txt"; then
        passed "$1"
    else
        cat "$2.txt" >&2
        failed "$1: status $status, expected 3"
    fi
}
# is_recorded TRACE: waits until four ranks write their files.
is_recorded() {
    tries=0
    until [ "$(ls "$1" 2>/dev/null | grep -c '^rank-.*trace$')" = 4 ] || [ $tries = 120 ]; do
        tries=$((tries + 1))
        sleep 0.25
    done
    sleep 1
}
# batch OPTIONS... <SCRIPT: submits a job, and prints its number.
batch() {
    { echo '#!/bin/sh' && cat; } >script
    sbatch --parsable --ntasks=4 --output=slurm-%A_%a.out "$@" script
}
# ended JOB: waits for its end.
ended() {
    while squeue --noheader --job="$1" 2>/dev/null | grep -q .; do
        sleep 0.5
    done
}

# First, since it takes a minute: beside everything else. SIGTERM is ignored, SIGKILL cannot be.
limited=$(batch --time=1 <<'END'
srun --mpi=pmix collbench-record -o limited -- sh -c 'trap "" TERM; exec ./loop 1000000000'
END
)

mkdir one
srun -n 4 --mpi=pmix collbench-record -o step -- ./delays one late 2 || failed "srun"
late_is_named "srun --mpi=pmix" step

mkdir a b
job=$(batch <<'END'
srun -n 4 --overlap --mpi=pmix collbench-record -o step-a -- ./delays a late 2 &
srun -n 4 --overlap --mpi=pmix collbench-record -o step-b -- ./delays b late 2
wait
END
)
ended "$job"
late_is_named "first of two steps at a time in one allocation" step-a
late_is_named "second of two steps" step-b

mkdir array-0 array-1
job=$(batch --array=0-1 <<'END'
at=$SLURM_ARRAY_TASK_ID
srun --mpi=pmix collbench-record -o array-trace-$at -- ./delays array-$at late 2
END
)
ended "$job"
late_is_named "first job of an array" array-trace-0
late_is_named "second job of an array" array-trace-1

status=0
srun -n 4 --mpi=pmix --kill-on-bad-exit=1 collbench-record -o bad -- \
    sh -c '{ [ $SLURM_PROCID != 1 ] || { sleep 3; kill -9 $$; }; } & exec ./loop 1000000000' \
    2>bad.err || status=$?
[ $status != 0 ] || failed "--kill-on-bad-exit: status 0"
readable "--kill-on-bad-exit" bad

job=$(batch <<'END'
srun --mpi=pmix collbench-record -o canceled -- ./loop 1000000000
END
)
is_recorded canceled
scancel "$job"
ended "$job"
readable "scancel" canceled

# The script has SLURM_PROCID=0, and is no rank.
mkdir outer inner
job=$(batch <<'END'
collbench-record -o around -- mpirun --oversubscribe -n 4 ./delays outer late 2
mpirun --oversubscribe -n 4 collbench-record -o inside -- ./delays inner late 2
END
)
ended "$job"
late_is_named "around mpirun in a batch script" around
late_is_named "inside mpirun in a batch script" inside

# Without PMI each process is a world of its own; that there are ranks is known all the same: one says it.
srun -n 2 --mpi=none collbench-record -o none -- true 2>none.err || true
if [ "$(grep -c 'nothing was recorded' none.err)" = 1 ]; then
    passed "ranks of srun --mpi=none"
else
    cat none.err >&2
    failed "ranks of srun --mpi=none"
fi

mpich=$target/mpis/debian-mpich/usr
if [ -d "$mpich" ]; then
    mkdir mpich
    lib=$mpich/lib/x86_64-linux-gnu
    gcc -O1 -I"$lib/mpich/include" -o delays-mpich "$OLDPWD/tests/programs/delays.c" -L"$lib" -lmpich -lm
    LD_LIBRARY_PATH=$lib srun -n 4 --mpi=pmi2 collbench-record -o pmi2 -- ./delays-mpich mpich late 2 ||
        failed "srun --mpi=pmi2"
    late_is_named "srun --mpi=pmi2 with MPICH" pmi2
else
    echo "slurm-test.sh: SKIPPED: srun --mpi=pmi2, since MPICH is not there; scripts/mpis.sh unpacks it" >&2
fi

ended "$limited"
readable "time limit, SIGTERM ignored" limited

if [ $failures != 0 ]; then
    echo "slurm-test.sh: $failures failures; traces and outputs are in $state/run" >&2
    exit 1
fi
echo "slurm-test.sh: all passed"

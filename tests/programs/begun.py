# Every nonblocking collective of MPI 3 in mpi4py, on the world, on parts of it and on
# intercommunicators, many at a time, completed in all ways, for two ranks. Prints, as one line, the
# version of the MPI library, and at the end a checksum.
import sys
import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
assert size == 2
total = 0


def ints(n, first=0):
    return np.arange(first, first + n, dtype="i4")


def begin_all(comm):
    """Begins all that an intracommunicator has; gives requests and what they fill."""
    n, me = comm.size, comm.rank
    filled = [np.zeros(4 * n, dtype="i4") for _ in range(17)]
    out = iter(filled)
    counts = [2] * n
    places = [4 * i for i in range(n)]
    parts = [(counts, places), MPI.INT]
    requests = [comm.Ibarrier()]
    for root in range(n):
        buffer = ints(10, me)
        filled.append(buffer)
        requests.append(comm.Ibcast(buffer, root))
    root = n - 1
    is_root = me == root
    requests += [
        comm.Igather(ints(4, me), next(out) if is_root else None, root),
        comm.Igatherv(ints(2, me), [next(out), *parts] if is_root else None, root),
        comm.Iscatter(ints(4 * n, me) if is_root else None, next(out)[:4], root),
        comm.Iscatterv([ints(4 * n, me), *parts] if is_root else None, next(out)[:2], root),
        comm.Iallgather(ints(4, me), next(out)),
        comm.Iallgather(MPI.IN_PLACE, next(out)),
        comm.Iallgatherv(ints(2, me), [next(out), *parts]),
        comm.Ialltoall(ints(4 * n, me), next(out)),
        comm.Ialltoallv([ints(4 * n, me), *parts], [next(out), *parts]),
        comm.Ireduce(ints(4, me), next(out)[:4] if is_root else None, MPI.SUM, root),
        comm.Iallreduce(ints(4, me), next(out)[:4], MPI.MAX),
        comm.Ireduce_scatter(ints(4 * n, me), next(out)[:4], [4] * n, MPI.SUM),
        comm.Ireduce_scatter_block(ints(4 * n, me), next(out)[:4], MPI.SUM),
        comm.Iscan(ints(4, me), next(out)[:4], MPI.SUM),
    ]
    bytes_at = [16 * i for i in range(n)]
    types = [MPI.INT] * n
    requests.append(
        comm.Ialltoallw(
            [ints(4 * n, me), (counts, bytes_at), types], [next(out), (counts, bytes_at), types]
        )
    )
    return requests, filled


def add(arrays):
    global total
    for array in arrays:
        total += int(np.sum(array))


inter_half = world.Split(rank, 0)
inter = inter_half.Create_intercomm(0, world, 1 - rank, 11)
dup, request = world.Idup()
request.Wait()
ring = world.Create_cart([2], [True])
comms = [world, MPI.COMM_SELF, dup, inter_half]

for turn in range(6):
    requests, filled = [], []
    for comm in comms:
        more, arrays = begin_all(comm)
        requests += more
        filled += arrays
    mine, theirs = ints(3, rank), np.zeros(3, dtype="i4")
    near = np.zeros(8, dtype="i4")
    filled += [theirs, near]
    requests += [
        inter.Iallreduce(mine, theirs, MPI.SUM),
        ring.Ineighbor_alltoall(ints(8, rank), near),
        ring.Ineighbor_allgather(ints(2, rank), np.zeros(4, dtype="i4")),
    ]
    if turn == 0:
        MPI.Request.Waitall(requests)
    elif turn == 1:
        while MPI.Request.Waitany(requests) != MPI.UNDEFINED:
            pass
    elif turn == 2:
        while MPI.Request.Waitsome(requests) is not None:
            pass
    elif turn == 3:
        while not MPI.Request.Testall(requests):
            pass
    elif turn == 4:
        for request in reversed(requests):
            while not request.Test():
                pass
    else:
        while True:
            index, flag = MPI.Request.Testany(requests)
            if flag and index == MPI.UNDEFINED:
                break
    add(filled)

for comm in [ring, dup, inter, inter_half]:
    comm.Free()
sums = world.gather(total)
if rank == 0:
    print("library", MPI.Get_library_version().split("\n")[0].strip("\0"))
    print("checksum", sums)
    sys.stdout.flush()

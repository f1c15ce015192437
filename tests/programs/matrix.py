# Every blocking collective and constructor of MPI 3 in mpi4py, on the world, on parts of it and
# on intercommunicators, for two ranks. Prints, as one line, the version of the MPI library, and at
# the end a checksum.
import sys
import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
assert size == 2
total = 0


def add(*arrays):
    global total
    for array in arrays:
        total += int(np.sum(array))


def collectives(comm):
    """All collectives that an intracommunicator has, with several sizes and in place."""
    n, me = comm.size, comm.rank
    one = np.arange(10, dtype="i4") + me
    all_ = np.zeros(10 * n, dtype="i4")
    counts = np.arange(1, n + 1)
    places = np.concatenate(([0], np.cumsum(counts)[:-1]))
    parts = np.arange(counts.sum(), dtype="f8")
    own = np.zeros(counts[me], dtype="f8")
    comm.Barrier()
    for root in range(n):
        comm.Bcast(one, root)
        comm.Reduce(one, all_[:10] if me == root else None, MPI.SUM, root)
        comm.Reduce(MPI.IN_PLACE if me == root else one, one, MPI.MAX, root)
        comm.Gather(one, all_ if me == root else None, root)
        comm.Scatter(all_ if me == root else None, one, root)
        comm.Gatherv(own, [parts, (counts, places)] if me == root else None, root)
        comm.Scatterv([parts, (counts, places)] if me == root else None, own, root)
    comm.Allgather(one, all_)
    comm.Allgather(MPI.IN_PLACE, all_)
    comm.Allgatherv(own, [parts, (counts, places)])
    comm.Allgatherv(MPI.IN_PLACE, [parts, (counts, places)])
    comm.Alltoall(all_.copy(), all_)
    comm.Alltoall(MPI.IN_PLACE, all_)
    two = np.full(n, 2)
    comm.Alltoallv([all_.copy(), (two, 3 * np.arange(n))], [all_, (two, 4 * np.arange(n))])
    types = [MPI.INT] * n
    comm.Alltoallw(
        [all_.copy(), (two, 8 * np.arange(n)), types], [all_, (two, 8 * np.arange(n)), types]
    )
    comm.Allreduce(one, all_[:10], MPI.SUM)
    comm.Allreduce(MPI.IN_PLACE, one, MPI.MIN)
    comm.Reduce_scatter(parts.copy(), own, counts, MPI.SUM)
    comm.Reduce_scatter_block(all_.copy(), one, MPI.SUM)
    comm.Scan(one, all_[:10], MPI.SUM)
    comm.Exscan(one.copy(), all_[:10].copy(), MPI.SUM)
    # A derived type, no data at all, and a type of no size.
    vector = MPI.INT.Create_vector(3, 1, 2).Commit()
    comm.Bcast([one, 1, vector], 0)
    vector.Free()
    comm.Bcast([one, 0, MPI.INT], n - 1)
    add(one, all_, parts, own)


collectives(world)
collectives(MPI.COMM_SELF)

# Constructors, with the calls that tell that what they made is known.
made = [
    world.Dup(),
    world.Dup_with_info(MPI.INFO_NULL),
    world.Split(0, -rank),
    world.Split(rank, 0),
    world.Split(0 if rank == 0 else MPI.UNDEFINED, 0),
    world.Split_type(MPI.COMM_TYPE_SHARED),
]
group = world.Get_group()
made.append(world.Create(group))
made.append(world.Create_group(group, 7))
made.append(world.Create_group(group, 7))
first = group.Incl([0])
if rank == 0:
    made.append(world.Create_group(first, 3))
first.Free()
group.Free()
cart = world.Create_cart([2], [False])
made += [cart, cart.Sub([True])]
made.append(world.Create_graph([1, 2], [1, 0]))
made.append(world.Create_dist_graph_adjacent([1 - rank], [1 - rank]))
made.append(world.Create_dist_graph([rank], [1], [1 - rank]))
known = [comm for comm in made if comm != MPI.COMM_NULL]
for comm in known:
    comm.Set_name("one of many")
    comm.Barrier()
    comm.Bcast(np.zeros(8, dtype="i1"), 0)

# Two groups of one process each.
half = world.Split(rank, 0)
inter = half.Create_intercomm(0, world, 1 - rank, 11)
one = np.array([rank + 1], dtype="i8")
other = np.zeros(1, dtype="i8")
root = MPI.ROOT if rank == 0 else 0
inter.Barrier()
inter.Bcast(one if rank == 0 else other, root)
inter.Reduce(None if rank == 0 else one, other if rank == 0 else None, MPI.SUM, root)
inter.Gather(None if rank == 0 else one, other if rank == 0 else None, root)
inter.Scatter(one if rank == 0 else None, None if rank == 0 else other, root)
inter.Allgather(one, other)
inter.Alltoall(one, other)
inter.Allreduce(one, other, MPI.SUM)
add(other)
merged = inter.Merge(rank == 1)
collectives(merged)
twin = inter.Dup()
twin.Barrier()
for comm in [twin, merged, inter, half, *known]:
    comm.Free()

# The same handles again.
for _ in range(20):
    comm = world.Dup()
    comm.Barrier()
    comm.Free()
comm = world.Dup()
comm.Disconnect()

sums = world.gather(total)  # pickled: Gather, and Gatherv behind it
if rank == 0:
    print("library", MPI.Get_library_version().split("\n")[0].strip("\0"))
    print("checksum", sums)
    sys.stdout.flush()

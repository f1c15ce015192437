require "mpi"
MPI.Init
w = MPI::Comm::WORLD
r = w.rank
a = [r].pack("l*")
b = "\0"*(4*w.size)
10.times { w.Allgather(a,b) }
5.times { w.Barrier }
w.Bcast(a,0)
MPI.Finalize

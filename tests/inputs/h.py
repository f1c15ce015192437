from mpi4py import MPI
import h5py, numpy as np
c=MPI.COMM_WORLD
f=h5py.File('t.h5','w',driver='mpio',comm=c)
d=f.create_dataset('x',(c.size*100,),dtype='f8')
with d.collective:
    d[c.rank*100:(c.rank+1)*100]=c.rank
f.close()

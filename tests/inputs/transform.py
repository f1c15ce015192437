"""Fourier transforms of a field on slabs and pencils: MPI_Alltoallw on parts of a topology."""
import numpy
from mpi4py import MPI
from mpi4py_fft import PFFT, newDistArray

for grid in ((-1,), (0, 0)):
    plan = PFFT(MPI.COMM_WORLD, [12, 14, 16], grid=grid, dtype=float)
    field = newDistArray(plan, False)
    field[:] = numpy.random.default_rng(MPI.COMM_WORLD.rank).random(field.shape)
    before = field.copy()
    for _ in range(5):
        spectrum = plan.forward(field)
        field = plan.backward(spectrum)
    assert numpy.allclose(field, before)
    plan.destroy()
if MPI.COMM_WORLD.rank == 0:
    print("as before")

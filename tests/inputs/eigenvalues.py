"""The least eigenvalues of a chain, by SLEPc."""
import sys
import slepc4py
slepc4py.init(sys.argv)
from petsc4py import PETSc
from slepc4py import SLEPc

n = 60
matrix = PETSc.Mat().createAIJ([n, n], nnz=3)
first, end = matrix.getOwnershipRange()
for i in range(first, end):
    for j, value in ((i - 1, -1.0), (i, 2.0), (i + 1, -1.0)):
        if 0 <= j < n:
            matrix[i, j] = value
matrix.assemble()
solver = SLEPc.EPS().create()
solver.setOperators(matrix)
solver.setProblemType(SLEPc.EPS.ProblemType.HEP)
solver.setWhichEigenpairs(SLEPc.EPS.Which.SMALLEST_REAL)
solver.setDimensions(3)
solver.setTolerances(1e-8, 2000)
solver.solve()
PETSc.Sys.Print(*("%.6f" % solver.getEigenvalue(i).real for i in range(3)))

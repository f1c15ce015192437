"""A Poisson equation by PETSc, in three ways."""
import sys
import petsc4py
petsc4py.init(sys.argv)
from petsc4py import PETSc

grid = PETSc.DMDA().create([24, 24], stencil_width=1, dof=1)
matrix = grid.createMatrix()
(x0, x1), (y0, y1) = grid.getRanges()
at, column = PETSc.Mat.Stencil(), PETSc.Mat.Stencil()
for y in range(y0, y1):
    for x in range(x0, x1):
        at.index = (x, y)
        for dx, dy, value in ((0, 0, 4), (-1, 0, -1), (1, 0, -1), (0, -1, -1), (0, 1, -1)):
            if 0 <= x + dx < 24 and 0 <= y + dy < 24:
                column.index = (x + dx, y + dy)
                matrix.setValueStencil(at, column, value)
matrix.assemble()
b = grid.createGlobalVec()
b.set(1.0)
for kind, preconditioner in (("cg", "bjacobi"), ("gmres", "asm"), ("pipecg", "jacobi")):
    x = grid.createGlobalVec()
    solver = PETSc.KSP().create()
    solver.setOperators(matrix)
    solver.setType(kind)
    solver.getPC().setType(preconditioner)
    solver.setTolerances(rtol=1e-8)
    solver.solve(b, x)
    print_ = PETSc.Sys.Print
    print_(kind, solver.getConvergedReason() > 0, solver.getIterationNumber(), "%.6f" % x.norm())

"""Calls collectives from places that a test looks for: each has its name behind it, as a comment."""

import array
import threading

from mpi4py import MPI

world = MPI.COMM_WORLD


def pickled(number):
    return world.allreduce(number)  # pickled


class Solver:
    def buffered(self):
        own, sums = array.array("d", [1]), array.array("d", [0])
        world.Allreduce(
            own,
            sums,
        )  # ends the call


for i in range(20):
    pickled(i)
    Solver().buffered()
    (lambda: world.Barrier())()  # lambda

copy = world.Dup()


def of_thread():
    for _ in range(5):
        copy.Bcast(array.array("i", [1]), 0)  # thread


other = threading.Thread(target=of_thread)
other.start()
other.join()

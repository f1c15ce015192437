# Calls collectives from places that a test looks for: each has its name behind it, as a comment.
library(Rmpi)

step <- function(x) {
  y <- mpi.allreduce(x, type = 2, op = "sum", comm = 0)  # in a function
  mpi.barrier(0)  # in the same
  y
}
# From the third time on it is byte code.
for (i in 1:20) step(as.double(i))
x <- mpi.bcast(as.double(1:5), type = 2, rank = 0, comm = 0)  # at top level
for (i in 1:3) {
  z <- i
  mpi.barrier(0)  # in a loop
}
s <- sapply(1:2, function(i) {
  mpi.reduce(as.double(i), type = 2, op = "sum", comm = 0)  # without a name
})
mpi.finalize()

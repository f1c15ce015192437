#define COMMUNICATOR integer
#define REQUEST integer
#define DATATYPE integer
#define GROUP integer
      program same
      use mpi
      use mpi_ext
      implicit none
#include "same.inc"
      end program

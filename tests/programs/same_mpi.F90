#define COMMUNICATOR integer
#define REQUEST integer
#define DATATYPE integer
      program same
      use mpi
      implicit none
#include "same.inc"
      end program

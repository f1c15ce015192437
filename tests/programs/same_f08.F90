#define COMMUNICATOR type(MPI_Comm)
#define REQUEST type(MPI_Request)
#define DATATYPE type(MPI_Datatype)
      program same
      use mpi_f08
      implicit none
#include "same.inc"
      end program

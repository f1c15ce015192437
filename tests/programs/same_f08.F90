#define COMMUNICATOR type(MPI_Comm)
#define REQUEST type(MPI_Request)
#define DATATYPE type(MPI_Datatype)
#define GROUP type(MPI_Group)
      program same
      use mpi_f08
      use mpi_f08_ext
      implicit none
#include "same.inc"
      end program

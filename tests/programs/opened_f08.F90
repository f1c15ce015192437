#define FILE_HANDLE type(MPI_File)
#define WINDOW type(MPI_Win)
#define REQUEST type(MPI_Request)
program opened
  use mpi_f08
  implicit none
#include "opened.inc"

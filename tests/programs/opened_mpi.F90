#define FILE_HANDLE integer
#define WINDOW integer
#define REQUEST integer
program opened
  use mpi
  implicit none
#include "opened.inc"

#define FILE_HANDLE integer
#define WINDOW integer
#define REQUEST integer
program opened
  implicit none
  include 'mpif.h'
#include "opened.inc"

! Calls collectives from places that a test looks for: each has its name behind it, as a comment. With -DMODULE or
! -DF08 by one of the modules, else by mpif.h.
program sites
#if defined F08
  use mpi_f08
#elif defined MODULE
  use mpi
#endif
  implicit none
#if !defined F08 && !defined MODULE
  include 'mpif.h'
#endif
  integer :: i, error
  double precision :: own, sums

  call MPI_Init(error)
  own = 1
  do i = 1, 20
     call MPI_Barrier(MPI_COMM_WORLD, error) ! in the program
     call summed(own, sums)
     own = sums / 3
  end do
  call MPI_Finalize(error)

contains

  subroutine summed(one, both)
    double precision :: one, both
    call MPI_Allreduce(one, both, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error) ! in a subroutine
    both = both + one
  end subroutine summed

end program sites

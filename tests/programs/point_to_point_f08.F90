! Waits of rank 0 for rank 1 in the Fortran binding: in a receive, and in a wait for a receive. Rank 1 sleeps
! before it sends.
program point_to_point
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  interface
    integer(c_int) function usleep(us) bind(c, name="usleep")
      import :: c_int
      integer(c_int), value :: us
    end function
  end interface
  integer :: rank, number, way, ignored
  type(MPI_Request) :: request
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  do way = 0, 1
    call MPI_Barrier(MPI_COMM_WORLD)
    number = way
    if (rank == 1) then
      ignored = usleep(2000_c_int)
      call MPI_Send(number, 1, MPI_INTEGER, 0, way, MPI_COMM_WORLD)
    else if (rank == 0 .and. way == 0) then
      call MPI_Recv(number, 1, MPI_INTEGER, 1, way, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    else if (rank == 0) then
      call MPI_Irecv(number, 1, MPI_INTEGER, 1, way, MPI_COMM_WORLD, request)
      call MPI_Wait(request, MPI_STATUS_IGNORE)
    end if
    call MPI_Barrier(MPI_COMM_WORLD)
  end do
  call MPI_Finalize()
end program

! A program of four languages: each subroutine calls MPI by another binding, on the same
! communicator. The one in "C" calls the functions of C with the handles of C.
      program mixed
      use mpi_f08
      implicit none
      type(MPI_Comm) comm
      integer k
      call MPI_Init()
      call MPI_Comm_dup(MPI_COMM_WORLD, comm)
      do k = 1, 5
        call by_f08(comm)
        call by_module(comm%MPI_VAL)
        call by_include(comm%MPI_VAL)
        call by_c(comm%MPI_VAL)
      end do
      call MPI_Comm_free(comm)
      call MPI_Finalize()
      end program

      subroutine by_f08(comm)
      use mpi_f08
      implicit none
      type(MPI_Comm) comm
      type(MPI_Request) request
      call MPI_Barrier(comm)
      call MPI_Ibarrier(comm, request)
      call MPI_Wait(request, MPI_STATUS_IGNORE)
      end subroutine

      subroutine by_module(comm)
      use mpi
      implicit none
      integer comm, e, request
      call MPI_Barrier(comm, e)
      call MPI_Ibarrier(comm, request, e)
      call MPI_Wait(request, MPI_STATUS_IGNORE, e)
      end subroutine

      subroutine by_include(comm)
      implicit none
      include 'mpif.h'
      integer comm, e, request
      call MPI_Barrier(comm, e)
      call MPI_Ibarrier(comm, request, e)
      call MPI_Wait(request, MPI_STATUS_IGNORE, e)
      end subroutine

      subroutine by_c(comm)
      use, intrinsic :: iso_c_binding
      implicit none
      interface
        function comm_of(comm) bind(C, name='MPI_Comm_f2c')
          import
          integer(c_int), value :: comm
          type(c_ptr) comm_of
        end function
        function barrier(comm) bind(C, name='MPI_Barrier')
          import
          type(c_ptr), value :: comm
          integer(c_int) barrier
        end function
        function ibarrier(comm, request) bind(C, name='MPI_Ibarrier')
          import
          type(c_ptr), value :: comm
          type(c_ptr) request
          integer(c_int) ibarrier
        end function
        function wait(request, status) bind(C, name='MPI_Wait')
          import
          type(c_ptr) request
          type(c_ptr), value :: status
          integer(c_int) wait
        end function
      end interface
      integer comm, e
      type(c_ptr) request
      e = barrier(comm_of(comm))
      e = ibarrier(comm_of(comm), request)
      e = wait(request, c_null_ptr)
      end subroutine

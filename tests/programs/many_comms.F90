! Several hundred communicators at a time, with processes outside of most of them; freed in another
! order than made, so that the integers that stand for them are given again to others.
      program many_comms
      use mpi
      implicit none
      integer, parameter :: most = 400
      integer r, n, i, k, e, color, a, b, total, c(most)

      call MPI_Init(e)
      call MPI_Comm_rank(MPI_COMM_WORLD, r, e)
      call MPI_Comm_size(MPI_COMM_WORLD, n, e)
      total = 0
      do i = 1, most
        color = mod(r + i, 3)
        if (color .eq. 2) color = MPI_UNDEFINED
        call MPI_Comm_split(MPI_COMM_WORLD, color, -r, c(i), e)
      end do
      do k = 1, 2
        do i = k, most, 2
          if (c(i) .ne. MPI_COMM_NULL) then
            a = i
            call MPI_Allreduce(a, b, 1, MPI_INTEGER, MPI_SUM, c(i), e)
            total = mod(total + b, 1000003)
            call MPI_Comm_free(c(i), e)
          end if
          call MPI_Comm_dup(MPI_COMM_WORLD, c(i), e)
        end do
      end do
      do i = most, 1, -1
        call MPI_Bcast(total, 1, MPI_INTEGER, mod(i, n), c(i), e)
        call MPI_Comm_free(c(i), e)
      end do
      if (r .eq. 0) print '(i0)', total
      call MPI_Finalize(e)
      end program

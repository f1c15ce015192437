! Calls of MPI in functions that the MPI library calls back, of a program in Fortran:
! ROUNDS times an attribute of a communicator is copied and deleted.
module kept
    use mpi
    implicit none
    integer :: n_calls = 0
contains
    subroutine copy(comm, key, extra, value, copied, flag, code)
        integer :: comm, key, code, made
        integer(kind=MPI_ADDRESS_KIND) :: extra, value, copied
        logical :: flag
        n_calls = n_calls + 1
        call MPI_Comm_dup(int(value), made, code)
        call MPI_Barrier(made, code)
        copied = made
        flag = .true.
    end subroutine

    subroutine remove(comm, key, value, extra, code)
        integer :: comm, key, code, old
        integer(kind=MPI_ADDRESS_KIND) :: value, extra
        n_calls = n_calls + 1
        old = int(value)
        call MPI_Comm_free(old, code)
    end subroutine
end module

program callbacks
    use kept
    implicit none
    integer, parameter :: ROUNDS = 3
    integer :: code, rank, key, i, first, second, value
    call MPI_Init(code)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
    call MPI_Comm_create_keyval(copy, remove, key, 0_MPI_ADDRESS_KIND, code)
    do i = 1, ROUNDS
        call MPI_Comm_dup(MPI_COMM_WORLD, first, code)
        call MPI_Comm_dup(MPI_COMM_WORLD, value, code)
        call MPI_Comm_set_attr(first, key, int(value, MPI_ADDRESS_KIND), code)
        call MPI_Comm_dup(first, second, code)
        call MPI_Comm_free(first, code)
        call MPI_Comm_free(second, code)
    end do
    print '(a,i0,a,i0,a)', 'rank ', rank, ': ', n_calls, ' calls back'
    call MPI_Finalize(code)
end program

! Broadcasts and sums of array sections in the Fortran 2008 binding, with each root in turn: what lies between the
! elements of a section stays as it was. Some MPI libraries copy sections, others pass a descriptor on.
program sections
  use mpi_f08
  implicit none
  integer, parameter :: n = 60, m = 7
  integer :: rank, size, root, round, n_wrong
  integer :: vector(n), expected(n)
  double precision :: matrix(m, n), as_it_should_be(m, n), sums(n)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  n_wrong = 0
  do round = 1, 20
    root = mod(round, size)
    ! Every third element.
    vector = 1000 * rank + round
    expected = vector
    expected(2::3) = 1000 * root + round
    call MPI_Bcast(vector(2::3), n / 3, MPI_INTEGER, root, MPI_COMM_WORLD)
    n_wrong = n_wrong + count(vector /= expected)
    ! A block of every other column.
    matrix = rank + 0.5d0 * round
    as_it_should_be = matrix
    as_it_should_be(3:5, 1::2) = root + 0.5d0 * round
    call MPI_Bcast(matrix(3:5, 1::2), 3 * n / 2, MPI_DOUBLE_PRECISION, root, MPI_COMM_WORLD)
    n_wrong = n_wrong + count(matrix /= as_it_should_be)
    ! A row, whose elements lie apart, to a whole array.
    sums = -1
    matrix = rank + 1
    call MPI_Allreduce(matrix(4, :), sums, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
    n_wrong = n_wrong + count(sums /= 0.5d0 * size * (size + 1))
  end do
  print '(i0, a, i0, a)', rank, " done, ", n_wrong, " wrong"
  call MPI_Finalize()
end program

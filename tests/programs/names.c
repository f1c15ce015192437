/* Names that a terminal, a shell or a browser would obey, where a program can choose them: that
 * of a communicator here, and the arguments it is given. Ten barriers.
 *
 *     names ANYTHING... */
#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Comm named;
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &named);
    MPI_Comm_set_name(named, "\033]0;hit\007\033[2J$(touch hit) `touch hit`;touch hit\n|<b>\"'\\ "
                             "\xc2\x9b\xe2\x80\xae\x7f\xff%s%n../hit\r");
    for (int i = 0; i < 10; i++)
        MPI_Barrier(named);
    MPI_Finalize();
    return 0;
}

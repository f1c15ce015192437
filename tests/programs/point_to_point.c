/* Waits outside of collectives, whose partners are known by construction.
 *
 *     point_to_point TIMES [BYTES]
 *
 * For 2 ranks on one host. TIMES rounds, each with barriers; in front of the last barrier of a round, rank 1
 * sleeps for 2 ms before it sends. Meanwhile rank 0 waits for it: in a receive, in a receive on a
 * communicator with the ranks reversed, in a wait, in a probe and in a loop of tests, in turn. By a pipe in
 * the folder it tells rank 1 when it is about to wait: on a busy machine it may leave the barrier late.
 * At the end rank 1 sends so many BYTES to rank 0, which sleeps before it receives them. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WAYS = 5 };

int main(int argc, char **argv)
{
    int times = argc > 1 ? atoi(argv[1]) : 1, rank, size, polls = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 2)
        MPI_Abort(MPI_COMM_WORLD, 2);
    if (rank == 0 && mkfifo("about-to-wait", 0600) != 0)
        MPI_Abort(MPI_COMM_WORLD, 4);
    MPI_Barrier(MPI_COMM_WORLD);
    /* Each waits for the other to open it. */
    int turn = open("about-to-wait", rank == 0 ? O_WRONLY : O_RDONLY);
    if (turn < 0)
        MPI_Abort(MPI_COMM_WORLD, 4);
    if (rank == 0)
        unlink("about-to-wait");
    char told = 0;
    MPI_Comm reversed;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
    for (int round = 0; round < times; round++) {
        for (int way = 0; way < WAYS; way++) {
            MPI_Barrier(MPI_COMM_WORLD);
            /* In the reversed communicator rank 1 of the world is 0. */
            MPI_Comm comm = way == 1 ? reversed : MPI_COMM_WORLD;
            int other = way == 1 ? rank : 1 - rank, number = way, done = 0;
            MPI_Request request;
            if ((rank == 0 ? write(turn, &told, 1) : read(turn, &told, 1)) != 1)
                MPI_Abort(MPI_COMM_WORLD, 4);
            if (rank == 1) {
                usleep(2000);
                MPI_Send(&number, 1, MPI_INT, other, way, comm);
            } else if (way < 2) {
                MPI_Recv(&number, 1, MPI_INT, way == 0 ? MPI_ANY_SOURCE : other, way, comm,
                         way == 0 ? &(MPI_Status){0} : MPI_STATUS_IGNORE);
            } else if (way == 2) {
                MPI_Irecv(&number, 1, MPI_INT, other, way, comm, &request);
                MPI_Wait(&request, MPI_STATUS_IGNORE);
            } else if (way == 3) {
                MPI_Probe(other, way, comm, MPI_STATUS_IGNORE);
                MPI_Recv(&number, 1, MPI_INT, other, way, comm, MPI_STATUS_IGNORE);
            } else {
                MPI_Irecv(&number, 1, MPI_INT, other, way, comm, &request);
                for (; !done; polls += !done)
                    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
            }
            if (number != way)
                MPI_Abort(MPI_COMM_WORLD, 3);
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }
    int bytes = argc > 2 ? atoi(argv[2]) : 0;
    char some[4096] = {0};
    if (bytes > 0 && bytes <= (int)sizeof some) {
        if (rank == 1) {
            MPI_Send(some, bytes, MPI_CHAR, 0, WAYS, MPI_COMM_WORLD);
        } else {
            usleep(2000);
            MPI_Recv(some, bytes, MPI_CHAR, 1, WAYS, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    /* Only the waits are told of, not how often it was tested. */
    printf("%d: %s\n", rank, rank == 0 && polls == 0 ? "never tested in vain" : "done");
    MPI_Comm_free(&reversed);
    MPI_Finalize();
    return 0;
}

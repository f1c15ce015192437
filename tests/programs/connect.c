/* Halves of one job that meet: rank 0 accepts, all others connect, and the other way round; then by
 * a socket between two processes (MPI_Comm_join), and once more by spawning two programs at once.
 *
 *     connect [spawned]          for 3 ranks or more
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int rank, total;

/* Talks to the other side; gives what all of it say together. */
static void talk(MPI_Comm inter)
{
    int mine = rank + 1, theirs = 0;
    MPI_Barrier(inter);
    MPI_Allreduce(&mine, &theirs, 1, MPI_INT, MPI_SUM, inter);
    total += theirs;
}

static void meet(MPI_Comm part, int accepts)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm inter, all;
    if (accepts) {
        if (rank <= 1) {
            MPI_Open_port(MPI_INFO_NULL, port);
            MPI_Send(port, sizeof port, MPI_CHAR, 1 - rank, 5, MPI_COMM_WORLD);
        }
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, part, &inter);
        if (rank <= 1)
            MPI_Close_port(port);
    } else {
        if (rank <= 1)
            MPI_Recv(port, sizeof port, MPI_CHAR, 1 - rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, part, &inter);
    }
    talk(inter);
    MPI_Intercomm_merge(inter, accepts, &all);
    MPI_Barrier(all);
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&inter);
}

static void join(void)
{
    int other, listener;
    char place[64];
    struct sockaddr_un address = {AF_UNIX};
    MPI_Comm inter;
    if (rank > 1)
        return;
    if (rank == 0) {
        snprintf(place, sizeof place, "joined.%d", (int)getpid());
        snprintf(address.sun_path, sizeof address.sun_path, "%s", place);
        listener = socket(AF_UNIX, SOCK_STREAM, 0);
        if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 1))
            MPI_Abort(MPI_COMM_WORLD, 97);
        MPI_Send(place, sizeof place, MPI_CHAR, 1, 6, MPI_COMM_WORLD);
        other = accept(listener, NULL, NULL);
        close(listener);
        unlink(place);
    } else {
        MPI_Recv(place, sizeof place, MPI_CHAR, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        snprintf(address.sun_path, sizeof address.sun_path, "%s", place);
        other = socket(AF_UNIX, SOCK_STREAM, 0);
        if (connect(other, (struct sockaddr *)&address, sizeof address))
            MPI_Abort(MPI_COMM_WORLD, 96);
    }
    MPI_Comm_join(other, &inter);
    talk(inter);
    MPI_Comm_disconnect(&inter);
    close(other);
}

int main(int argc, char **argv)
{
    MPI_Comm part, children, parent;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        talk(parent);
        MPI_Comm_disconnect(&parent);
    } else {
        MPI_Comm_split(MPI_COMM_WORLD, rank > 0, 0, &part);
        meet(part, rank == 0);
        meet(part, rank > 0);
        meet(part, rank > 0);
        MPI_Comm_free(&part);
        join();
        char *commands[2] = {argv[0], argv[0]};
        char *one[] = {"spawned", NULL}, **arguments[2] = {one, one};
        int numbers[2] = {1, 1};
        MPI_Info infos[2] = {MPI_INFO_NULL, MPI_INFO_NULL};
        MPI_Comm_spawn_multiple(2, commands, arguments, numbers, infos, 0, MPI_COMM_WORLD, &children,
                                MPI_ERRCODES_IGNORE);
        talk(children);
        MPI_Comm_disconnect(&children);
        printf("rank %d heard %d\n", rank, total);
    }
    MPI_Finalize();
    return 0;
}

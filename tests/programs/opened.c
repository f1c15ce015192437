/* Collectives on files and windows, with other collectives on the same communicators between them.
 *
 *     opened PREFIX [nonblocking]
 *
 * On all processes, on each half of those with the same parity, and on each alone: a file, 3 times,
 * so that handles come again; each time what access_file() does. On all processes and on the even
 * half a window of each kind, 3 times, each time what use_window() does. (Open MPI 4.1 crashes in
 * nonblocking access with ROMIO, and when both halves of a split make windows at the same time.)
 * A file that is not there is opened once. Rank 1 comes 50 ms late to a fence and to a collective
 * write.
 *
 * Files are not enlarged by MPI_File_preallocate. In OMPIO of Open MPI 4.1 each rank reads for itself
 * whether the file is smaller, while rank 0 enlarges it already: a rank that reads the size late leaves
 * out a broadcast inside the library, and a later call on the file hangs. Names of files begin with
 * PREFIX, whose last part is to be another one in each job: OMPIO locks shared file pointers by a
 * semaphore that has the name of the file without its folder. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The forms with large counts, where somebody has them: the library of MPI 4, or the recorder. */
#if MPI_VERSION < 4
int MPI_File_write_at_all_c(MPI_File, MPI_Offset, const void *, MPI_Count, MPI_Datatype,
                            MPI_Status *);
int MPI_Win_create_c(void *, MPI_Aint, MPI_Aint, MPI_Info, MPI_Comm, MPI_Win *);
#endif
#pragma weak MPI_File_write_at_all_c
#pragma weak MPI_Win_create_c

enum { TIMES = 3, INTS = 100 };

static MPI_Info info;
static int is_nonblocking;

#define check(is_true) check_line(is_true, __LINE__)

static void check_line(int is_true, int line)
{
    if (!is_true) {
        fprintf(stderr, "opened.c:%d\n", line);
        MPI_Abort(MPI_COMM_WORLD, 96);
    }
}

static void access_nonblocking(MPI_Comm comm, MPI_File file)
{
    int rank, flag = 0, data[INTS], back[INTS] = {0};
    MPI_Request requests[2];
    MPI_Comm_rank(comm, &rank);
    for (int i = 0; i < INTS; i++)
        data[i] = rank * INTS + i;
    check(!MPI_File_iwrite_at_all(file, rank * INTS, data, INTS, MPI_INT, &requests[0]));
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    check(!MPI_File_iread_at_all(file, rank * INTS, back, INTS, MPI_INT, &requests[0]));
    MPI_Ibarrier(comm, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    check(back[7] == data[7]);
    MPI_File_seek(file, rank * INTS, MPI_SEEK_SET);
    check(!MPI_File_iwrite_all(file, data, INTS, MPI_INT, &requests[0]));
    while (!flag)
        MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
    MPI_File_seek(file, rank * INTS, MPI_SEEK_SET);
    check(!MPI_File_iread_all(file, back, INTS, MPI_INT, &requests[0]));
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    check(back[7] == data[7]);
}

static void access_file(MPI_Comm comm, const char *name)
{
    int rank, data[INTS], back[INTS] = {0};
    MPI_File file;
    MPI_Comm_rank(comm, &rank);
    for (int i = 0; i < INTS; i++)
        data[i] = rank * INTS + i;
    check(!MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    MPI_File_set_size(file, 0);
    MPI_File_preallocate(file, 0);
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_File_set_info(file, info);
    check(!MPI_File_write_at_all(file, rank * INTS, data, INTS, MPI_INT, MPI_STATUS_IGNORE));
    MPI_Allreduce(MPI_IN_PLACE, back, 1, MPI_INT, MPI_SUM, comm);
    MPI_File_sync(file);
    check(!MPI_File_read_at_all(file, rank * INTS, back, INTS, MPI_INT, MPI_STATUS_IGNORE));
    check(back[7] == data[7]);
    check(!MPI_File_read_at_all(file, 0, back, 3, MPI_INT, MPI_STATUS_IGNORE));

    MPI_File_seek(file, rank * INTS, MPI_SEEK_SET);
    check(!MPI_File_write_all(file, data, INTS, MPI_INT, MPI_STATUS_IGNORE));
    MPI_File_seek(file, rank * INTS, MPI_SEEK_SET);
    check(!MPI_File_read_all(file, back, INTS, MPI_INT, MPI_STATUS_IGNORE));
    MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
    check(!MPI_File_write_ordered(file, data, INTS, MPI_INT, MPI_STATUS_IGNORE));
    MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
    check(!MPI_File_read_ordered(file, back, INTS, MPI_INT, MPI_STATUS_IGNORE));
    check(back[7] == data[7]);

    MPI_File_write_at_all_begin(file, rank * INTS, data, INTS, MPI_INT);
    MPI_File_write_at_all_end(file, data, MPI_STATUS_IGNORE);
    MPI_File_read_at_all_begin(file, rank * INTS, back, INTS, MPI_INT);
    MPI_File_read_at_all_end(file, back, MPI_STATUS_IGNORE);
    check(back[7] == data[7]);
    MPI_File_seek(file, rank * INTS, MPI_SEEK_SET);
    MPI_File_write_all_begin(file, data, INTS, MPI_INT);
    MPI_Barrier(comm);
    MPI_File_write_all_end(file, data, MPI_STATUS_IGNORE);
    MPI_File_seek(file, rank * INTS, MPI_SEEK_SET);
    MPI_File_read_all_begin(file, back, INTS, MPI_INT);
    MPI_File_read_all_end(file, back, MPI_STATUS_IGNORE);
    MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
    MPI_File_write_ordered_begin(file, data, INTS, MPI_INT);
    MPI_File_write_ordered_end(file, data, MPI_STATUS_IGNORE);
    MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
    MPI_File_read_ordered_begin(file, back, INTS, MPI_INT);
    MPI_File_read_ordered_end(file, back, MPI_STATUS_IGNORE);
    check(back[7] == data[7]);

    if (is_nonblocking)
        access_nonblocking(comm, file);
    MPI_File_close(&file);
}

static void use_window(MPI_Comm comm, MPI_Win window)
{
    int one = 1;
    MPI_Win_fence(MPI_MODE_NOPRECEDE, window);
    MPI_Win_fence(0, window);
    MPI_Allreduce(MPI_IN_PLACE, &one, 1, MPI_INT, MPI_SUM, comm);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
    MPI_Win_free(&window);
}

static void use_windows(MPI_Comm comm)
{
    int memory[4] = {0}, *base;
    MPI_Win window;
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, comm, &window);
    use_window(comm, window);
    MPI_Win_allocate(sizeof memory, sizeof(int), MPI_INFO_NULL, comm, &base, &window);
    use_window(comm, window);
    MPI_Win_allocate_shared(sizeof memory, sizeof(int), MPI_INFO_NULL, comm, &base, &window);
    use_window(comm, window);
    MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &window);
    MPI_Win_set_info(window, info);
    use_window(comm, window);
}

int main(int argc, char **argv)
{
    char name[1000];
    int rank, memory = 0, code;
    char text[8];
    FILE *written;
    MPI_Comm half, comms[3];
    MPI_File file;
    MPI_Win window;
    if (argc < 2)
        return 2;
    is_nonblocking = argc > 2;
    MPI_Init(&argc, &argv);
    MPI_Info_create(&info);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    comms[0] = MPI_COMM_WORLD;
    comms[1] = half;
    comms[2] = MPI_COMM_SELF;
    for (int which = 0; which < 3; which++) {
        int part = which == 0 ? 0 : which == 1 ? rank % 2 : rank;
        snprintf(name, sizeof name, "%s.%d.%d", argv[1], which, part);
        for (int i = 0; i < TIMES; i++) {
            access_file(comms[which], name);
            if (which == 0 || (which == 1 && part == 0))
                use_windows(comms[which]);
        }
    }

    snprintf(name, sizeof name, "%s.not there", argv[1]);
    code = MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    check(code != MPI_SUCCESS);

    snprintf(name, sizeof name, "%s.late", argv[1]);
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    if (MPI_Win_create_c)
        MPI_Win_create_c(&memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    else
        MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    if (rank == 1)
        usleep(50000);
    MPI_Win_fence(MPI_MODE_NOSTORE, window);
    if (rank == 1)
        usleep(50000);
    if (MPI_File_write_at_all_c)
        MPI_File_write_at_all_c(file, rank * 8, "12345678", 8, MPI_BYTE, MPI_STATUS_IGNORE);
    else
        MPI_File_write_at_all(file, rank * 8, "12345678", 8, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_Win_free(&window);
    MPI_File_close(&file);
    MPI_Barrier(MPI_COMM_WORLD);
    written = fopen(name, "r");
    check(written && !fseek(written, rank * 8, SEEK_SET) && fread(text, 1, 8, written) == 8);
    check(!memcmp(text, "12345678", 8));
    fclose(written);
    MPI_Comm_free(&half);
    MPI_Info_free(&info);
    MPI_Finalize();
    return 0;
}

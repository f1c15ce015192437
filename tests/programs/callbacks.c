/* Calls of MPI that a program makes in functions of its own that the MPI library calls back.
 *
 * ROUNDS times: a communicator with attributes is copied and freed (the copy function copies a
 * communicator, the delete functions free it, one of them by a call that is its last act); one is
 * given an error handler that makes calls; a window and a datatype have attributes whose delete
 * functions make calls; a generalized request is waited for, whose functions make calls, a
 * nonblocking one that is completed among them; and a file is written, below which ROMIO makes
 * calls of its own. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int n_calls;

/* Left by a jump: of this function nothing is on the stack in MPI_Comm_free. */
#if defined(__GNUC__) && !defined(__clang__)
__attribute__((optimize("optimize-sibling-calls")))
#endif
static int free_last(MPI_Comm comm, int key, void *value, void *extra)
{
    n_calls++;
    return MPI_Comm_free(value);
}

static int free_and_return(MPI_Comm comm, int key, void *value, void *extra)
{
    n_calls++;
    MPI_Comm_free(value);
    free(value);
    return MPI_SUCCESS;
}

static int copy(MPI_Comm comm, int key, void *extra, void *value, void *copied, int *flag)
{
    MPI_Comm *made = malloc(sizeof *made);
    n_calls++;
    MPI_Comm_dup(*(MPI_Comm *)value, made);
    MPI_Barrier(*made);
    *(MPI_Comm **)copied = made;
    *flag = 1;
    return MPI_SUCCESS;
}

static void meet(void)
{
    int one = 1, sum, size;
    MPI_Request request;
    n_calls++;
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (sum != size)
        abort();
}

static void handle(MPI_Comm *comm, int *code, ...) { meet(); }

static int delete_type(MPI_Datatype type, int key, void *value, void *extra)
{
    meet();
    return MPI_SUCCESS;
}

static int delete_win(MPI_Win win, int key, void *value, void *extra)
{
    meet();
    return MPI_SUCCESS;
}

static int query(void *extra, MPI_Status *status)
{
    meet();
    MPI_Status_set_elements(status, MPI_INT, 0);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}

static int release(void *extra)
{
    meet();
    return MPI_SUCCESS;
}

static int cancel(void *extra, int is_complete) { return MPI_SUCCESS; }

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1, key, last_key, type_key, win_key, rank, size;
    MPI_Errhandler handler;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_create_keyval(copy, free_and_return, &key, NULL);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_last, &last_key, NULL);
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, delete_type, &type_key, NULL);
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, delete_win, &win_key, NULL);
    MPI_Comm_create_errhandler(handle, &handler);
    for (int i = 0; i < rounds; i++) {
        MPI_Comm first, second, last, *kept = malloc(sizeof *kept);
        MPI_Comm_dup(MPI_COMM_WORLD, &first);
        MPI_Comm_dup(MPI_COMM_WORLD, &last);
        MPI_Comm_dup(MPI_COMM_WORLD, kept);
        MPI_Comm_set_attr(first, key, kept);
        MPI_Comm_set_attr(first, last_key, &last);
        MPI_Comm_dup(first, &second); /* copies what is kept */
        MPI_Comm_free(&first);
        MPI_Comm_set_errhandler(second, handler);
        MPI_Bcast(NULL, -1, MPI_INT, 0, second); /* calls the handler */
        MPI_Comm_free(&second);

        MPI_Datatype type;
        MPI_Type_contiguous(2, MPI_INT, &type);
        MPI_Type_set_attr(type, type_key, NULL);
        MPI_Type_free(&type);

        MPI_Win win;
        int memory[4];
        MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        MPI_Win_set_attr(win, win_key, NULL);
        MPI_Win_free(&win);

        MPI_Request request;
        MPI_Grequest_start(query, release, cancel, NULL, &request);
        MPI_Grequest_complete(request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_File file;
    int number = rank;
    if (argc > 2 && MPI_File_open(MPI_COMM_WORLD, argv[2], MPI_MODE_CREATE | MPI_MODE_WRONLY,
                                  MPI_INFO_NULL, &file) == MPI_SUCCESS) {
        MPI_File_write_at_all(file, rank * 4, &number, 1, MPI_INT, MPI_STATUS_IGNORE);
        MPI_File_close(&file);
    }
    printf("rank %d: %d calls back\n", rank, n_calls);
    MPI_Comm_free_keyval(&key);
    MPI_Finalize();
    return 0;
}

// A stand-in for an MPI library: one process, nothing to wait for, in which every call is known to
// the instruction. Tests of the recorder that would be undefined by MPI with a real library (a jump
// out of a signal handler, say), or that want the same instructions in each run, use it:
//
//     cc -shared -fPIC -Wl,-soname,libmpi_stub.so -o libmpi_stub.so stub.c -pthread
//     cc -I tests/stub -o program program.c -L. -lmpi_stub -Wl,-rpath,$PWD
//
// It has the ABI of Open MPI: the recorder takes it for one, whose messages cannot be seen.
// Every function has both names, MPI_X and PMPI_X; what the recorder asks for is there, and what the
// tests call. Like Open MPI it has a thread of its own, which leaves signals unblocked, so that the C
// library takes its locks; MPI_Abort allocates memory and flushes files on its way out.
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct ompi_errhandler_t { void (*function)(void *, int *, ...); };
struct ompi_communicator_t { char name[64]; struct ompi_errhandler_t *handler; };
struct ompi_datatype_t { long bytes; };
struct ompi_op_t { int number; };
struct ompi_request_t { int is_persistent; };
struct ompi_group_t { int number; };
struct ompi_info_t { int number; };

#include "mpi.h"

struct ompi_communicator_t ompi_mpi_comm_world, ompi_mpi_comm_self, ompi_mpi_comm_null;
struct ompi_datatype_t ompi_mpi_datatype_null, ompi_mpi_byte = {1}, ompi_mpi_int = {4}, ompi_mpi_double = {8};
struct ompi_op_t ompi_mpi_op_sum;
struct ompi_request_t ompi_request_null;
struct ompi_info_t ompi_mpi_info_null;
struct ompi_errhandler_t ompi_mpi_errors_return;
static struct ompi_group_t group;

// PMPI_X, and MPI_X as another name for it.
#define MPI(name, ...)                                                                             \
    int P##name(__VA_ARGS__);                                                                      \
    __attribute__((weak, alias("P" #name))) int name(__VA_ARGS__);                                 \
    int P##name(__VA_ARGS__)

static void *idle(void *nothing) {
    for (;;) pause();
    return nothing;
}

static int begin(void) {
    pthread_t thread;
    return pthread_create(&thread, NULL, idle, NULL);
}
MPI(MPI_Init, int *argc, char ***argv) {
    (void)argc, (void)argv;
    return begin();
}
MPI(MPI_Init_thread, int *argc, char ***argv, int required, int *provided) {
    (void)argc, (void)argv;
    if (provided) *provided = required;
    return begin();
}
MPI(MPI_Finalize, void) { return MPI_SUCCESS; }
MPI(MPI_Query_thread, int *level) {
    *level = 0;
    return MPI_SUCCESS;
}
MPI(MPI_Get_library_version, char *text, int *length) {
    *length = sprintf(text, "a stand-in for Open MPI");
    return MPI_SUCCESS;
}
MPI(MPI_Abort, MPI_Comm comm, int code) {
    (void)comm;
    for (size_t bytes = 8; bytes < 1 << 20; bytes *= 2) {
        void *volatile memory = malloc(bytes);
        free(memory);
    }
    fflush(NULL);
    _exit(code);
}

// As Open MPI: what is wrong goes to the error handler of the communicator.
static int fail(MPI_Comm comm, int code) {
    if (comm->handler && comm->handler->function) comm->handler->function(&comm, &code);
    return code;
}

MPI(MPI_Barrier, MPI_Comm comm) { return comm ? MPI_SUCCESS : 5; }
MPI(MPI_Bcast, void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    (void)buffer, (void)count, (void)type;
    return root == 0 ? MPI_SUCCESS : fail(comm, MPI_ERR_ROOT);
}
MPI(MPI_Allreduce, const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    (void)op, (void)comm;
    if (from != MPI_IN_PLACE) memcpy(to, from, (size_t)(count * type->bytes));
    return MPI_SUCCESS;
}

static MPI_Request begun(int is_persistent) {
    MPI_Request request = malloc(sizeof *request);
    request->is_persistent = is_persistent;
    return request;
}
MPI(MPI_Ibarrier, MPI_Comm comm, MPI_Request *request) {
    (void)comm;
    *request = begun(0);
    return MPI_SUCCESS;
}
MPI(MPI_Barrier_init, MPI_Comm comm, MPI_Info info, MPI_Request *request) {
    (void)comm, (void)info;
    *request = begun(1);
    return MPI_SUCCESS;
}
MPI(MPI_Start, MPI_Request *request) { return *request ? MPI_SUCCESS : 7; }
MPI(MPI_Request_free, MPI_Request *request) {
    free(*request);
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}
// Functions of its own, and not PMPI_X, are what the library itself calls.
static int complete(MPI_Request *request) {
    if (*request != MPI_REQUEST_NULL && !(*request)->is_persistent) {
        free(*request);
        *request = MPI_REQUEST_NULL;
    }
    return MPI_SUCCESS;
}
MPI(MPI_Wait, MPI_Request *request, MPI_Status *status) {
    (void)status;
    return complete(request);
}
MPI(MPI_Waitall, int n, MPI_Request requests[], MPI_Status statuses[]) {
    (void)statuses;
    for (int i = 0; i < n; i++) complete(requests + i);
    return MPI_SUCCESS;
}
MPI(MPI_Test, MPI_Request *request, int *flag, MPI_Status *status) {
    (void)status;
    *flag = 1;
    return complete(request);
}

MPI(MPI_Comm_rank, MPI_Comm comm, int *rank) {
    (void)comm;
    *rank = 0;
    return MPI_SUCCESS;
}
MPI(MPI_Comm_size, MPI_Comm comm, int *size) {
    (void)comm;
    *size = 1;
    return MPI_SUCCESS;
}
MPI(MPI_Comm_remote_size, MPI_Comm comm, int *size) {
    (void)comm;
    *size = 0;
    return MPI_SUCCESS;
}
MPI(MPI_Comm_test_inter, MPI_Comm comm, int *flag) {
    (void)comm;
    *flag = 0;
    return MPI_SUCCESS;
}
MPI(MPI_Comm_get_parent, MPI_Comm *parent) {
    *parent = MPI_COMM_NULL;
    return MPI_SUCCESS;
}
static int copy(MPI_Comm comm, MPI_Comm *made) {
    *made = malloc(sizeof **made);
    **made = *comm;
    return MPI_SUCCESS;
}
MPI(MPI_Comm_dup, MPI_Comm comm, MPI_Comm *made) { return copy(comm, made); }
MPI(MPI_Comm_split, MPI_Comm comm, int color, int key, MPI_Comm *made) {
    (void)color, (void)key;
    return copy(comm, made);
}
MPI(MPI_Comm_free, MPI_Comm *comm) {
    free(*comm);
    *comm = MPI_COMM_NULL;
    return MPI_SUCCESS;
}
MPI(MPI_Comm_set_name, MPI_Comm comm, const char *name) {
    snprintf(comm->name, sizeof comm->name, "%s", name);
    return MPI_SUCCESS;
}
MPI(MPI_Comm_create_errhandler, MPI_Comm_errhandler_function *function, MPI_Errhandler *handler) {
    *handler = malloc(sizeof **handler);
    (*handler)->function = (void (*)(void *, int *, ...))function;
    return MPI_SUCCESS;
}
MPI(MPI_Comm_set_errhandler, MPI_Comm comm, MPI_Errhandler handler) {
    comm->handler = handler;
    return MPI_SUCCESS;
}
MPI(MPI_Pcontrol, const int level, ...) {
    (void)level;
    return MPI_SUCCESS;
}

MPI(MPI_Comm_group, MPI_Comm comm, MPI_Group *of) {
    (void)comm;
    *of = &group;
    return MPI_SUCCESS;
}
MPI(MPI_Comm_remote_group, MPI_Comm comm, MPI_Group *of) { return PMPI_Comm_group(comm, of); }
MPI(MPI_Group_rank, MPI_Group of, int *rank) {
    (void)of;
    *rank = 0;
    return MPI_SUCCESS;
}
MPI(MPI_Group_size, MPI_Group of, int *size) {
    (void)of;
    *size = 1;
    return MPI_SUCCESS;
}
MPI(MPI_Group_free, MPI_Group *of) {
    *of = NULL;
    return MPI_SUCCESS;
}
MPI(MPI_Group_translate_ranks, MPI_Group from, int n, const int ranks[], MPI_Group to, int translated[]) {
    (void)from, (void)to;
    for (int i = 0; i < n; i++) translated[i] = ranks[i];
    return MPI_SUCCESS;
}
MPI(MPI_Type_size, MPI_Datatype type, int *bytes) {
    *bytes = (int)type->bytes;
    return MPI_SUCCESS;
}
MPI(MPI_Type_size_x, MPI_Datatype type, long *bytes) {
    *bytes = type->bytes;
    return MPI_SUCCESS;
}

/* What programs for the stand-in of an MPI library (stub.c) need of mpi.h. Names and values are those of
   the MPI standard and of the ABI that the stand-in has, Open MPI's: handles are addresses. */
#ifndef STUB_MPI_H
#define STUB_MPI_H

typedef struct ompi_communicator_t *MPI_Comm;
typedef struct ompi_datatype_t *MPI_Datatype;
typedef struct ompi_op_t *MPI_Op;
typedef struct ompi_request_t *MPI_Request;
typedef struct ompi_group_t *MPI_Group;
typedef struct ompi_info_t *MPI_Info;
typedef struct ompi_errhandler_t *MPI_Errhandler;
typedef struct { int MPI_SOURCE, MPI_TAG, MPI_ERROR, cancelled; unsigned long count; } MPI_Status;
typedef void MPI_Comm_errhandler_function(MPI_Comm *, int *, ...);

extern struct ompi_communicator_t ompi_mpi_comm_world, ompi_mpi_comm_self, ompi_mpi_comm_null;
extern struct ompi_datatype_t ompi_mpi_datatype_null, ompi_mpi_byte, ompi_mpi_int, ompi_mpi_double;
extern struct ompi_op_t ompi_mpi_op_sum;
extern struct ompi_request_t ompi_request_null;
extern struct ompi_info_t ompi_mpi_info_null;
extern struct ompi_errhandler_t ompi_mpi_errors_return;

#define MPI_COMM_WORLD (&ompi_mpi_comm_world)
#define MPI_COMM_SELF (&ompi_mpi_comm_self)
#define MPI_COMM_NULL (&ompi_mpi_comm_null)
#define MPI_BYTE (&ompi_mpi_byte)
#define MPI_INT (&ompi_mpi_int)
#define MPI_DOUBLE (&ompi_mpi_double)
#define MPI_SUM (&ompi_mpi_op_sum)
#define MPI_REQUEST_NULL (&ompi_request_null)
#define MPI_INFO_NULL (&ompi_mpi_info_null)
#define MPI_ERRORS_RETURN (&ompi_mpi_errors_return)
#define MPI_IN_PLACE ((void *)1)
#define MPI_STATUS_IGNORE ((MPI_Status *)0)
#define MPI_STATUSES_IGNORE ((MPI_Status *)0)
#define MPI_SUCCESS 0
#define MPI_ERR_ROOT 8
#define MPI_THREAD_MULTIPLE 3

int MPI_Init(int *argc, char ***argv);
int MPI_Init_thread(int *argc, char ***argv, int required, int *provided);
int MPI_Finalize(void);
int MPI_Abort(MPI_Comm comm, int code);
int MPI_Barrier(MPI_Comm comm);
int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm);
int MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request);
int MPI_Barrier_init(MPI_Comm comm, MPI_Info info, MPI_Request *request);
int MPI_Start(MPI_Request *request);
int MPI_Wait(MPI_Request *request, MPI_Status *status);
int MPI_Waitall(int n, MPI_Request requests[], MPI_Status statuses[]);
int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status);
int MPI_Request_free(MPI_Request *request);
int MPI_Comm_rank(MPI_Comm comm, int *rank);
int MPI_Comm_size(MPI_Comm comm, int *size);
int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *made);
int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *made);
int MPI_Comm_free(MPI_Comm *comm);
int MPI_Comm_set_name(MPI_Comm comm, const char *name);
int MPI_Comm_create_errhandler(MPI_Comm_errhandler_function *function, MPI_Errhandler *handler);
int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler);
int MPI_Pcontrol(const int level, ...);

#endif

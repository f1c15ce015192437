/* An MPI library with an ABI of its own, and a program on it: two builds of this file. The world's
 * handle is 0 here, MPI_IN_PLACE and MPI_ROOT have values that other libraries use otherwise, and
 * whoever asks about a handle ends the process. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long handle;
enum { WORLD = 0, TYPE = 1, SUM = 2, PART = 0x44000000 };

#ifdef LIBRARY
int PMPI_Init(int *argc, char ***argv) { return argc == NULL || argv == NULL; }
int PMPI_Finalize(void) { return 0; }
int PMPI_Query_thread(int *provided)
{
    *provided = 0;
    return 0;
}
int PMPI_Get_library_version(char *version, int *length)
{
    *length = sprintf(version, "Strange MPI 7");
    return 0;
}
int PMPI_Barrier(handle comm) { return comm != WORLD && comm != PART; }
int PMPI_Allreduce(const void *from, void *to, int count, handle type, handle op, handle comm)
{
    if (type != TYPE || op != SUM || comm != WORLD)
        return 1;
    memcpy(to, from, count * sizeof(int));
    return 0;
}
int PMPI_Bcast(void *buffer, int count, handle type, int root, handle comm)
{
    return buffer == NULL || count != 3 || type != TYPE || root != -4 || comm != WORLD;
}
int PMPI_Comm_dup(handle comm, handle *new)
{
    *new = PART;
    return comm != WORLD;
}
int PMPI_Comm_free(handle *comm)
{
    if (*comm != PART)
        return 1;
    *comm = ~0ul;
    return 0;
}
#define NEVER(name) \
    int name(void) { fprintf(stderr, #name " was called\n"); abort(); }
NEVER(PMPI_Comm_rank)
NEVER(PMPI_Comm_size)
NEVER(PMPI_Comm_remote_size)
NEVER(PMPI_Comm_test_inter)
NEVER(PMPI_Comm_group)
NEVER(PMPI_Comm_remote_group)
NEVER(PMPI_Comm_get_parent)
NEVER(PMPI_Group_free)
NEVER(PMPI_Group_translate_ranks)
NEVER(PMPI_Type_size)
NEVER(PMPI_Type_size_x)
#pragma weak MPI_Init = PMPI_Init
#pragma weak MPI_Finalize = PMPI_Finalize
#pragma weak MPI_Barrier = PMPI_Barrier
#pragma weak MPI_Allreduce = PMPI_Allreduce
#pragma weak MPI_Bcast = PMPI_Bcast
#pragma weak MPI_Comm_dup = PMPI_Comm_dup
#pragma weak MPI_Comm_free = PMPI_Comm_free
#else
int MPI_Init(int *, char ***);
int MPI_Finalize(void);
int MPI_Barrier(handle);
int MPI_Allreduce(const void *, void *, int, handle, handle, handle);
int MPI_Bcast(void *, int, handle, int, handle);
int MPI_Comm_dup(handle, handle *);
int MPI_Comm_free(handle *);

int main(int argc, char **argv)
{
    int from[3] = {1, 2, 3}, to[3], failed;
    handle part;
    failed = MPI_Init(&argc, &argv);
    for (int i = 0; i < 10; i++)
        failed |= MPI_Barrier(WORLD);
    failed |= MPI_Allreduce(from, to, 3, TYPE, SUM, WORLD);
    failed |= MPI_Bcast(from, 3, TYPE, -4, WORLD);
    failed |= MPI_Comm_dup(WORLD, &part);
    failed |= MPI_Barrier(part);
    failed |= MPI_Comm_free(&part);
    failed |= MPI_Finalize();
    printf("%s %d\n", failed ? "failed" : "ok", to[2]);
    return failed;
}
#endif

/* Random collective operations, whose results every rank prints as one number. They are the same
   over trees as with the library: sums of floating-point numbers are of small whole numbers.

       replaced SEED COUNT

   With EACH in the environment each call has a line of its own. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state;
static uint64_t hash = 1469598103934665603u;

/* The same numbers on all ranks. */
static int below(int n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)n);
}

static void add(const void *bytes, size_t n)
{
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ byte[i]) * 1099511628211u;
}

/* Two halves of a word, a and b, are the function a x + b: composing such functions is associative
   and does not commute. */
static int composed(int left, int right)
{
    unsigned a = (unsigned)left >> 16, b = (unsigned)left & 0xffff;
    unsigned c = (unsigned)right >> 16, d = (unsigned)right & 0xffff;
    return (int)((a * c & 0xffff) << 16 | ((a * d + b) & 0xffff));
}

static void compose(void *left, void *right, int *n, MPI_Datatype *type)
{
    int size;
    MPI_Aint lower, extent;
    MPI_Type_size(*type, &size);
    MPI_Type_get_extent(*type, &lower, &extent);
    for (int i = 0; i < *n; i++) {
        int *a = (int *)((char *)left + i * extent), *b = (int *)((char *)right + i * extent);
        b[0] = composed(a[0], b[0]);
        if (size == 2 * (int)sizeof(int)) /* The second int of a pair, after a gap. */
            b[2] = composed(a[2], b[2]);
    }
}

enum { LONGEST = 3000 };

struct kind {
    MPI_Datatype type;
    int extent; /* bytes between elements */
    int is_int, is_predefined;
};

static void fill(unsigned char *buffer, size_t bytes, struct kind kind, int rank)
{
    uint64_t own = state + (uint64_t)rank * 77777;
    for (size_t i = 0; i < bytes; i++)
        buffer[i] = 0xa5; /* gaps */
    for (size_t at = 0; at + (size_t)kind.extent <= bytes; at += (size_t)kind.extent) {
        own = own * 6364136223846793005u + 1;
        int small = (int)(own >> 40) % 50 + 1;
        if (kind.type == MPI_DOUBLE) {
            double value = small;
            memcpy(buffer + at, &value, sizeof value);
        } else if (kind.type == MPI_FLOAT) {
            float value = (float)small;
            memcpy(buffer + at, &value, sizeof value);
        } else if (kind.type == MPI_LONG_DOUBLE) {
            long double value = small;
            memset(buffer + at, 0, sizeof value);
            memcpy(buffer + at, &value, 10);
        } else if (kind.type == MPI_DOUBLE_INT) {
            double value = small % 7;
            int where = rank * 100 + small;
            memcpy(buffer + at, &value, sizeof value);
            memcpy(buffer + at + 8, &where, sizeof where);
        } else if (kind.extent == 1) {
            buffer[at] = (unsigned char)small;
        } else {
            int word = kind.extent == 8 ? small : small << 16 | (small * 7 + rank);
            memcpy(buffer + at, &word, sizeof word);
            if (kind.extent >= 12) {
                int second = word * 3 + rank;
                memcpy(buffer + at + 8, &second, sizeof second);
            }
            if (kind.extent == 8)
                memset(buffer + at + 4, 0, 4);
        }
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int seed = argc > 1 ? atoi(argv[1]) : 1, n_calls = argc > 2 ? atoi(argv[2]) : 200;
    state = (uint64_t)seed;

    MPI_Comm comms[4];
    comms[0] = MPI_COMM_WORLD;
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[2]);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comms[3]);

    MPI_Datatype with_gap, swapped, reversed;
    MPI_Type_vector(2, 1, 2, MPI_INT, &with_gap); /* ints at 0 and 8 */
    MPI_Type_create_resized(with_gap, 0, 16, &with_gap);
    MPI_Type_commit(&with_gap);
    int lengths[2] = {1, 1};
    MPI_Aint places[2] = {8, 0};
    MPI_Datatype types[2] = {MPI_INT, MPI_INT};
    MPI_Type_create_struct(2, lengths, places, types, &swapped);
    MPI_Type_create_resized(swapped, 0, 12, &reversed);
    MPI_Type_commit(&reversed);
    struct kind kinds[] = {
        {MPI_INT, 4, 1, 1},       {MPI_DOUBLE, 8, 0, 1},     {MPI_FLOAT, 4, 0, 1},
        {MPI_LONG, 8, 0, 1},      {MPI_BYTE, 1, 0, 1},       {MPI_LONG_DOUBLE, 16, 0, 1},
        {MPI_DOUBLE_INT, 16, 0, 1}, {with_gap, 16, 1, 0},    {reversed, 12, 0, 0},
    };
    int n_kinds = (int)(sizeof kinds / sizeof kinds[0]);
    MPI_Op own;
    MPI_Op_create(compose, 0, &own);

    unsigned char *send = malloc(16 * LONGEST * (size_t)size);
    unsigned char *receive = malloc(16 * LONGEST * (size_t)size);
    for (int call = 0; call < n_calls; call++) {
        MPI_Comm comm = comms[below(4)];
        int what = below(7), kind_idx = below(n_kinds), in_place = below(3) == 0;
        int count = below(3) == 0 ? below(LONGEST) : below(20), op_idx = below(6), root = below(1000);
        struct kind kind = kinds[kind_idx];
        int n, me;
        MPI_Comm_size(comm, &n);
        MPI_Comm_rank(comm, &me);
        root %= n;
        size_t block = (size_t)count * (size_t)kind.extent, all = block * (size_t)n;
        fill(send, all, kind, rank);
        fill(receive, all, kind, rank + 1000);
        MPI_Op ops[] = {MPI_SUM, MPI_MAX, MPI_MIN, MPI_PROD, own, MPI_BAND};
        MPI_Op op = ops[op_idx];
        if (kind.type == MPI_BYTE)
            op = MPI_BAND;
        else if (kind.type == MPI_DOUBLE_INT)
            op = op_idx % 2 ? MPI_MINLOC : MPI_MAXLOC;
        else if (!kind.is_predefined)
            op = own;
        else if (op == MPI_PROD || (op == own && kind.type != MPI_INT) ||
                 (op == MPI_BAND && kind.type != MPI_INT && kind.type != MPI_LONG))
            op = MPI_SUM;
        if (op == own && kind.type == reversed)
            op = MPI_OP_NULL; /* its layout is not that of the function */
        switch (what) {
        case 0:
            if (op == MPI_OP_NULL)
                break;
            if (in_place)
                MPI_Allreduce(MPI_IN_PLACE, receive, count, kind.type, op, comm);
            else
                MPI_Allreduce(send, receive, count, kind.type, op, comm);
            break;
        case 1:
            if (op == MPI_OP_NULL)
                break;
            if (in_place && me == root)
                MPI_Reduce(MPI_IN_PLACE, receive, count, kind.type, op, root, comm);
            else
                MPI_Reduce(send, me == root ? receive : NULL, count, kind.type, op, root, comm);
            break;
        case 2:
            MPI_Bcast(receive, count, kind.type, root, comm);
            break;
        case 3:
            MPI_Barrier(comm);
            break;
        case 4:
            if (me != root)
                MPI_Gather(send, count, kind.type, NULL, 0, MPI_DATATYPE_NULL, root, comm);
            else
                MPI_Gather(in_place ? MPI_IN_PLACE : (void *)send, count, kind.type, receive, count,
                           kind.type, root, comm);
            break;
        case 5:
            if (me == root)
                MPI_Scatter(send, count, kind.type, in_place ? MPI_IN_PLACE : (void *)receive, count,
                            kind.type, root, comm);
            else
                MPI_Scatter(NULL, 0, MPI_DATATYPE_NULL, receive, count, kind.type, root, comm);
            break;
        default:
            MPI_Allgather(in_place ? MPI_IN_PLACE : (void *)send, count, kind.type, receive, count,
                          kind.type, comm);
        }
        uint64_t before = hash;
        hash = 1469598103934665603u;
        add(receive, all);
        uint64_t own_hash = hash;
        hash = (before ^ own_hash) * 1099511628211u;
        if (getenv("EACH"))
            printf("%d %d: %d kind %d count %d in place %d op %d root %d of %d: %016llx\n", rank, call,
                   what, kind_idx, count, in_place, op_idx, root, n, (unsigned long long)own_hash);
    }
    printf("%d %016llx\n", rank, (unsigned long long)hash);
    free(send);
    free(receive);
    MPI_Op_free(&own);
    MPI_Type_free(&with_gap);
    MPI_Type_free(&reversed);
    for (int i = 1; i < 4; i++)
        MPI_Comm_free(&comms[i]);
    MPI_Finalize();
    return 0;
}

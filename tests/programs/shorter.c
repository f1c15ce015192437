/* shorter SEED OPERATIONS: operations in which one process gives or takes another count than the others, which is an
   error of the program, on the first 2, 3, ... processes: no byte is stored where the count does not reach, whoever has
   less room than comes is told so, and the next operations are right. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 256, UNTOUCHED = 0x5a };

static unsigned long long state;

static unsigned below(unsigned n) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(state >> 33) % n;
}

static int rank, size, failures;

static void complain(const char *what, int nth, const char *operation) {
    if (failures++ < 20) {
        printf("rank %d of %d, operation %d, %s: %s\n", rank, size, nth, operation, what);
    }
}

/* A buffer whose bytes, also those around it, are as they were. */
static unsigned char *buffer(size_t bytes) {
    unsigned char *all = malloc(bytes + 2 * GUARD);
    memset(all, UNTOUCHED, bytes + 2 * GUARD);
    return all + GUARD;
}

static int is_untouched(const unsigned char *from, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) {
        if (from[i] != UNTOUCHED) {
            return 0;
        }
    }
    return 1;
}

static int is_intact(const unsigned char *buffer, size_t bytes) {
    return is_untouched(buffer - GUARD, GUARD) && is_untouched(buffer + bytes, GUARD);
}

/* What a rank gives: never the byte of what is untouched. */
static void fill(unsigned char *buffer, size_t bytes, int of, int nth) {
    for (size_t i = 0; i < bytes; i++) {
        buffer[i] = (unsigned char)((i * 7 + (unsigned)of * 13 + (unsigned)nth) % 89);
    }
}

static int is_filled(const unsigned char *buffer, size_t bytes, int of, int nth) {
    for (size_t i = 0; i < bytes; i++) {
        if (buffer[i] != (unsigned char)((i * 7 + (unsigned)of * 13 + (unsigned)nth) % 89)) {
            return 0;
        }
    }
    return 1;
}

static unsigned some_count(void) {
    static const unsigned most[] = {6, 60, 600, 6000, 40000};
    return 1 + below(most[below(5)]);
}

enum { BCAST, SCATTER, GATHER, ALLGATHER, REDUCE, ALLREDUCE, N_OPERATIONS };
static const char *const names[] = {"bcast", "scatter", "gather", "allgather", "reduce", "allreduce"};

/* Words of 8 bytes, `own` of them here, `ours` at the root. */
static void operation(int nth, int kind, int root, unsigned own, unsigned at_root, int differ, MPI_Comm comm) {
    const int is_root = rank == root;
    const size_t bytes = own * sizeof(long), all = bytes * (size_t)size;
    unsigned char *given = buffer(all), *result = buffer(all);
    int code = 0, must_fail = differ;
    size_t given_bytes = kind == SCATTER && is_root ? all : bytes, result_bytes = bytes;
    fill(given, given_bytes, rank, nth);
    switch (kind) {
    case BCAST:
        if (is_root) {
            fill(result, bytes, root, nth);
        }
        code = MPI_Bcast(result, (int)own, MPI_LONG, root, comm);
        must_fail = !is_root && own < at_root;
        if (code == MPI_SUCCESS) {
            const size_t stored = at_root * sizeof(long);
            if (!is_filled(result, stored, root, nth) || !is_untouched(result + stored, bytes - stored)) {
                complain("the value is wrong", nth, names[kind]);
            }
        }
        break;
    case SCATTER:
        code = MPI_Scatter(given, (int)own, MPI_LONG, result, (int)own, MPI_LONG, root, comm);
        must_fail = !is_root && own < at_root;
        if (code == MPI_SUCCESS && !is_untouched(result + at_root * sizeof(long), (own - at_root) * sizeof(long))) {
            complain("more is stored than was given", nth, names[kind]);
        }
        break;
    case GATHER:
        code = MPI_Gather(given, (int)own, MPI_LONG, is_root ? result : NULL, (int)own, MPI_LONG, root, comm);
        must_fail = is_root && differ;
        result_bytes = is_root ? all : 0;
        break;
    case ALLGATHER:
        code = MPI_Allgather(given, (int)own, MPI_LONG, result, (int)own, MPI_LONG, comm);
        result_bytes = all;
        break;
    case REDUCE:
        code = MPI_Reduce(given, is_root ? result : NULL, (int)own, MPI_LONG, MPI_SUM, root, comm);
        must_fail = is_root && differ;
        result_bytes = is_root ? bytes : 0;
        break;
    case ALLREDUCE:
        code = MPI_Allreduce(given, result, (int)own, MPI_LONG, MPI_SUM, comm);
        break;
    }
    int class = MPI_SUCCESS;
    if (code != MPI_SUCCESS) {
        MPI_Error_class(code, &class);
    }
    if (class != (must_fail ? MPI_ERR_TRUNCATE : MPI_SUCCESS)) {
        complain(must_fail ? "no error" : "an error", nth, names[kind]);
    }
    if (!is_intact(given, all) || !is_filled(given, given_bytes, rank, nth)) {
        complain("what was given has changed", nth, names[kind]);
    }
    if (!is_intact(result, result_bytes)) {
        complain("something is stored beside the buffer", nth, names[kind]);
    }
    free(given - GUARD);
    free(result - GUARD);
}

/* Operations that are right, with short and long values. */
static void right(int nth, MPI_Comm comm) {
    for (int i = 0; i < 3; i++) {
        const unsigned n = some_count();
        const int root = (int)below((unsigned)size);
        long *values = malloc(n * sizeof(long));
        for (unsigned k = 0; k < n; k++) {
            values[k] = rank + 1;
        }
        if (below(2)) {
            MPI_Reduce(rank == root ? MPI_IN_PLACE : values, values, (int)n, MPI_LONG, MPI_SUM, root, comm);
            MPI_Bcast(values, (int)n, MPI_LONG, root, comm);
        } else {
            MPI_Allreduce(MPI_IN_PLACE, values, (int)n, MPI_LONG, MPI_SUM, comm);
        }
        for (unsigned k = 0; k < n; k++) {
            if (values[k] != (long)size * (size + 1) / 2) {
                complain("a later operation is wrong", nth, "");
                break;
            }
        }
        free(values);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    const unsigned seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    const int n = argc > 2 ? atoi(argv[2]) : 100;
    int n_world, world_rank;
    MPI_Comm_size(MPI_COMM_WORLD, &n_world);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    for (int first = 2; first <= n_world; first++) {
        MPI_Comm comm;
        MPI_Comm_split(MPI_COMM_WORLD, world_rank < first ? 0 : MPI_UNDEFINED, 0, &comm);
        if (comm == MPI_COMM_NULL) {
            continue;
        }
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        MPI_Comm_size(comm, &size);
        MPI_Comm_rank(comm, &rank);
        state = seed * 1000 + (unsigned)first;
        for (int nth = 0; nth < n; nth++) {
            const int kind = (int)below(N_OPERATIONS);
            const int root = (int)below((unsigned)size), odd = (int)below((unsigned)size);
            const unsigned most = some_count(), other = some_count();
            operation(nth, kind, root, rank == odd ? other : most, root == odd ? other : most, most != other, comm);
            if (below(3) == 0) {
                right(nth, comm);
            }
        }
        MPI_Comm_free(&comm);
    }
    printf("%d done, %d wrong\n", world_rank, failures);
    MPI_Finalize();
    return 0;
}

/* Every reduction that Open MPI's coll_tuned has algorithms for, on communicators of some sizes, with
 * payloads of some lengths and two roots: what each process gets.
 *
 *     grouped PROCESSES... -- BYTES...
 *
 * PROCESSES: sizes of communicators, of the first processes. BYTES: what a process contributes, or of a
 * reduce_scatter gets; a multiple of 8. Each reduction is done twice: with a hash of two 64-bit
 * numbers that commutes, and does not associate, and as a sum of doubles of very different magnitude. A
 * process contributes the same number for all elements.
 *
 * For each call, counted from 0 on every process in the same way, and each process that gets a result
 * there is a line: number of the call, rank, and the result as runs of equal elements, each
 * "elements:bits". A call that is refused has the word "refused". Before the lines of each process, which come in
 * the order of ranks, there is the word "host" and its host. The communicators are made without a
 * collective of their parent, and results collected without any. */
#include <inttypes.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "first.inc"

static uint64_t *from, *to;
static int *counts;
static MPI_Op hash;

/* What was written, of this process. */
static char *text;
static size_t length, room;

enum { ALLREDUCE, EXSCAN, REDUCE, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK, SCAN, N_OPERATIONS };

static uint64_t mixed(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void hash_all(void *in, void *in_out, int *n, MPI_Datatype *type)
{
    (void)type;
    const uint64_t *left = in;
    uint64_t *right = in_out;
    for (int i = 0; i < *n; i++) {
        uint64_t least = left[i] < right[i] ? left[i] : right[i];
        uint64_t most = left[i] < right[i] ? right[i] : left[i];
        right[i] = mixed(least + 0x9e3779b97f4a7c15u * mixed(most));
    }
}

/* What a rank contributes. */
static uint64_t contribution(int rank, int is_sum)
{
    uint64_t random = mixed(0x9e3779b97f4a7c15u * (uint64_t)(rank + 1));
    if (!is_sum)
        return random;
    static const double values[] = {1e16, 1, -1e16, 3, -1, 1e8, -3e15, 0.1};
    double value = values[random % 8] + (double)(random >> 40);
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static int call(int operation, int n, int root, int is_sum, MPI_Comm on)
{
    MPI_Datatype type = is_sum ? MPI_DOUBLE : MPI_UINT64_T;
    MPI_Op op = is_sum ? MPI_SUM : hash;
    switch (operation) {
    case ALLREDUCE: return MPI_Allreduce(from, to, n, type, op, on);
    case EXSCAN: return MPI_Exscan(from, to, n, type, op, on);
    case REDUCE: return MPI_Reduce(from, to, n, type, op, root, on);
    case REDUCE_SCATTER: return MPI_Reduce_scatter(from, to, counts, type, op, on);
    case REDUCE_SCATTER_BLOCK: return MPI_Reduce_scatter_block(from, to, n, type, op, on);
    default: return MPI_Scan(from, to, n, type, op, on);
    }
}

static void write_word(const char *word)
{
    size_t n = strlen(word);
    if (length + n + 1 > room) {
        room = 2 * (length + n + 1);
        text = realloc(text, room);
    }
    memcpy(text + length, word, n + 1);
    length += n;
}

static void write_result(int n)
{
    char word[64];
    for (int begin = 0, end; begin < n; begin = end) {
        for (end = begin + 1; end < n && to[end] == to[begin];)
            end++;
        sprintf(word, " %d:%016" PRIx64, end - begin, to[begin]);
        write_word(word);
    }
    write_word("\n");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Op_create(hash_all, 1, &hash);
    char host[MPI_MAX_PROCESSOR_NAME];
    int host_length;
    MPI_Get_processor_name(host, &host_length);
    write_word("host ");
    write_word(host);
    write_word("\n");
    int separator = position_of_separator(argc, argv);
    int largest = most_elements(argc, argv, separator, 8);
    from = malloc(sizeof *from * largest * size);
    to = malloc(sizeof *to * largest * size);
    counts = malloc(sizeof *counts * size);
    int number = 0;
    for (int i = 1; i < separator; i++) {
        int n = atoi(argv[i]);
        MPI_Comm on = rank < n ? first_processes(n, i) : MPI_COMM_NULL;
        for (int operation = 0; operation < N_OPERATIONS; operation++)
            for (int j = separator + 1; j < argc; j++)
                for (int last = 0; last <= (operation == REDUCE); last++)
                    for (int is_sum = 0; is_sum < 2; is_sum++, number++) {
                        if (rank >= n)
                            continue;
                        int elements = atoi(argv[j]) / 8;
                        int root = last ? n - 1 : 0;
                        for (int of = 0; of < n; of++)
                            counts[of] = elements;
                        for (int at = 0; at < elements * n; at++) {
                            from[at] = contribution(rank, is_sum);
                            to[at] = 0;
                        }
                        int status = call(operation, elements, root, is_sum, on);
                        char begin[64];
                        sprintf(begin, "%d %d", number, rank);
                        if (status != MPI_SUCCESS) {
                            write_word(begin);
                            write_word(" refused\n");
                        } else if (!(operation == REDUCE && rank != root) &&
                                   !(operation == EXSCAN && rank == 0)) {
                            write_word(begin);
                            write_result(elements);
                        }
                    }
        if (rank < n)
            MPI_Comm_free(&on);
    }
    /* Lines of several processes that write at once may be cut. */
    if (rank > 0) {
        MPI_Send(text, (int)length, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    } else {
        fwrite(text, 1, length, stdout);
        for (int other = 1; other < size; other++) {
            MPI_Status status;
            int n;
            MPI_Probe(other, 0, MPI_COMM_WORLD, &status);
            MPI_Get_count(&status, MPI_CHAR, &n);
            text = realloc(text, n + 1);
            MPI_Recv(text, n, MPI_CHAR, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            fwrite(text, 1, n, stdout);
        }
    }
    MPI_Op_free(&hash);
    MPI_Finalize();
    return 0;
}

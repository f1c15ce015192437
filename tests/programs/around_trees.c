/* What must hold around collectives that are executed over trees, and around the library's own.

       around_trees outstanding     sends, one-sided and nonblocking operations are under way meanwhile
       around_trees threads         two threads at once on communicators of their own (MPI_THREAD_MULTIPLE)
       around_trees many N          N communicators, created, used and freed
       around_trees alive N         N communicators that exist at once, each of which is used
       around_trees errors          wrong arguments; each rank prints the classes of errors
       around_trees callbacks       collectives in attribute functions, and below MPI-IO
       around_trees aliased         rank 0 alone receives where it sends from, which some libraries allow
       around_trees empty           ranks give or take nothing where the others give or take something
       around_trees waits HOW       a rank sleeps while it waits in a barrier, or does not (HOW: sleep)
       around_trees gpu LIBRARY     a library for GPUs is loaded when there are trees
       around_trees freed           an error handler frees the communicator
       around_trees die SEED        a rank is killed in the middle of endless collectives, at an instant
                                    and after a number of new communicators that the seed says */
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;

static void check(int is_right, const char *what)
{
    if (!is_right) {
        fprintf(stderr, "rank %d: %s\n", rank, what);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
}

static void collective(int which, MPI_Comm comm)
{
    long one = 1, sum = 0, all[64];
    int n, me;
    MPI_Comm_size(comm, &n);
    MPI_Comm_rank(comm, &me);
    switch (which) {
    case 0:
        MPI_Allreduce(&one, &sum, 1, MPI_LONG, MPI_SUM, comm);
        check(sum == n, "sum of an allreduce");
        break;
    case 1:
        MPI_Barrier(comm);
        break;
    case 2:
        sum = me;
        MPI_Allgather(&sum, 1, MPI_LONG, all, 1, MPI_LONG, comm);
        check(all[n - 1] == n - 1, "part of an allgather");
        break;
    case 3:
        sum = me == n - 1 ? 77 : 0;
        MPI_Bcast(&sum, 1, MPI_LONG, n - 1, comm);
        check(sum == 77, "value of a broadcast");
        break;
    case 4:
        MPI_Reduce(&one, &sum, 1, MPI_LONG, MPI_SUM, 0, comm);
        check(me != 0 || sum == n, "sum of a reduce");
        break;
    case 5:
        sum = me;
        MPI_Gather(&sum, 1, MPI_LONG, all, 1, MPI_LONG, 0, comm);
        check(me != 0 || all[n - 1] == n - 1, "part of a gather");
        break;
    default:
        for (int i = 0; i < n; i++)
            all[i] = i * 3;
        MPI_Scatter(all, 1, MPI_LONG, &sum, 1, MPI_LONG, n - 1, comm);
        check(sum == me * 3, "part of a scatter");
    }
}

static void outstanding(void)
{
    enum { BYTES = 4 << 20 };
    char *bytes = malloc(BYTES);
    long own = rank, got = -1, total = 0;
    MPI_Win window;
    MPI_Win_create(&own, sizeof own, sizeof own, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    for (int which = 0; which < 7; which++) {
        MPI_Request requests[2];
        /* All have begun it, none completes it before the collective. */
        MPI_Iallreduce(&own, &total, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
        memset(bytes, rank, BYTES);
        if (rank == 0)
            MPI_Isend(bytes, BYTES, MPI_BYTE, 1, 5, MPI_COMM_WORLD, &requests[1]);
        if (rank == 1) {
            MPI_Recv(bytes, BYTES, MPI_BYTE, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            check(bytes[BYTES - 1] == 0, "a received byte");
            /* Rank 0 is in the collective meanwhile. */
            MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
            MPI_Get(&got, 1, MPI_LONG, 0, 0, 1, MPI_LONG, window);
            MPI_Win_unlock(0, window);
            check(got == 0, "what was got from a window");
        }
        collective(which, MPI_COMM_WORLD);
        MPI_Waitall(rank == 0 ? 2 : 1, requests, MPI_STATUSES_IGNORE);
        check(total == (long)size * (size - 1) / 2, "sum of an iallreduce");
    }
    MPI_Win_free(&window);
    free(bytes);
}

static void *in_thread(void *comm)
{
    for (int call = 0; call < 150; call++) {
        collective(call % 7, *(MPI_Comm *)comm);
        if (call % 50 == 0) {
            /* Its first use, while the other thread may do the same. */
            MPI_Comm own;
            MPI_Comm_dup(*(MPI_Comm *)comm, &own);
            collective(0, own);
            collective(3, own);
            MPI_Comm_free(&own);
        }
    }
    return NULL;
}

static void threads(void)
{
    MPI_Comm comms[2];
    pthread_t thread;
    for (int i = 0; i < 2; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    pthread_create(&thread, NULL, in_thread, &comms[1]);
    in_thread(&comms[0]);
    pthread_join(thread, NULL);
    for (int i = 0; i < 2; i++)
        MPI_Comm_free(&comms[i]);
}

static void many(int n)
{
    enum { LIVING = 40 };
    MPI_Comm living[LIVING];
    for (int i = 0; i < n; i++) {
        MPI_Comm *comm = &living[i % LIVING];
        if (i >= LIVING)
            MPI_Comm_free(comm);
        /* Of changing processes, so that a handle that is used again is another communicator. */
        MPI_Comm_split(MPI_COMM_WORLD, i % 3 == 0 ? 0 : rank % 2, i % 2 ? rank : -rank, comm);
        collective(i % 7, *comm);
        collective(0, living[(i + 1) % LIVING < i ? (i + 1) % LIVING : i % LIVING]);
    }
    for (int i = 0; i < (n < LIVING ? n : LIVING); i++)
        MPI_Comm_free(&living[i]);
}

static void alive(int n)
{
    MPI_Comm *all = malloc(n * sizeof *all);
    for (int i = 0; i < n; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &all[i]);
        collective(0, all[i]);
    }
    for (int i = 0; i < n; i++)
        collective(i % 7, all[i]);
    for (int i = 0; i < n; i++)
        MPI_Comm_free(&all[i]);
    free(all);
    /* There is room for trees again. */
    for (int which = 0; which < 7; which++)
        collective(which, MPI_COMM_WORLD);
}

static void print_class(const char *what, int code)
{
    int class = MPI_SUCCESS;
    if (code != MPI_SUCCESS)
        MPI_Error_class(code, &class);
    printf("%d %s: %d\n", rank, what, class);
}

static int n_handled;

static void handle(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    n_handled++;
}

static void errors(void)
{
    MPI_Comm comm;
    MPI_Errhandler handler;
    int values[4] = {rank, 1, 2, 3}, results[64] = {0};
    MPI_Datatype uncommitted, contiguous;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Type_contiguous(2, MPI_INT, &uncommitted);
    MPI_Type_contiguous(2, MPI_INT, &contiguous);
    MPI_Type_commit(&contiguous);
    for (int round = 0; round < 2; round++) {
        print_class("count", MPI_Allreduce(values, results, -1, MPI_INT, MPI_SUM, comm));
        print_class("type", MPI_Allreduce(values, results, 1, MPI_DATATYPE_NULL, MPI_SUM, comm));
        print_class("uncommitted", MPI_Bcast(values, 1, uncommitted, 0, comm));
        print_class("operation", MPI_Allreduce(values, results, 1, MPI_INT, MPI_OP_NULL, comm));
        print_class("sum of pairs", MPI_Allreduce(values, results, 1, MPI_2INT, MPI_SUM, comm));
        print_class("sum of a derived type",
                    MPI_Allreduce(values, results, 1, contiguous, MPI_SUM, comm));
        print_class("root", MPI_Bcast(values, 1, MPI_INT, size, comm));
        print_class("negative root", MPI_Reduce(values, results, 1, MPI_INT, MPI_SUM, -7, comm));
        print_class("receive in place",
                    MPI_Allreduce(values, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, comm));
        print_class("broadcast in place", MPI_Bcast(MPI_IN_PLACE, 1, MPI_INT, 0, comm));
        print_class("nothing", MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, comm));
        /* Between these the communicator is used as it should be. */
        collective(round, comm);
        collective(3, comm);
    }
    /* What comes is longer than the buffer for it. */
    memset(results, 0x55, sizeof results);
    int code = MPI_Bcast(rank == 0 ? values : results, rank == 0 ? 4 : 2, MPI_INT, 0, comm);
    print_class("truncated", code);
    check(rank == 0 || results[2] == 0x55555555, "what is behind the buffer");
    printf("%d handled %d\n", rank, n_handled);
    MPI_Type_free(&contiguous);
    MPI_Type_free(&uncommitted);
    MPI_Errhandler_free(&handler);
    MPI_Comm_free(&comm);
}

static void aliased(void)
{
    long all[64] = {0}, one = rank + 1, sum = 0;
    for (int round = 0; round < 3; round++) {
        /* The part of the first rank lies where all parts go. */
        all[rank] = rank * 5;
        MPI_Allgather(all + rank, 1, MPI_LONG, all, 1, MPI_LONG, MPI_COMM_WORLD);
        for (int i = 0; i < size; i++)
            check(all[i] == i * 5, "part of an allgather");
        sum = rank == 0 ? 1 : 0;
        MPI_Allreduce(rank == 0 ? &sum : &one, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        check(sum == (long)size * (size + 1) / 2, "sum of an allreduce");
    }
}

static void free_it(MPI_Comm *comm, int *code, ...)
{
    (void)code;
    n_handled++;
    MPI_Comm_free(comm);
}

static void freed(void)
{
    int values[64] = {rank, 1, 2, 3}, results[256] = {0};
    MPI_Datatype pairs;
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(free_it, &handler);
    MPI_Type_vector(2, 1, 2, MPI_INT, &pairs);
    MPI_Type_commit(&pairs);
    for (int which = 0; which < 6; which++) {
        MPI_Comm comm;
        int before = n_handled;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_set_errhandler(comm, handler);
        /* So that memory for these calls is there. */
        MPI_Bcast(results, 4, MPI_INT, 0, comm);
        MPI_Allreduce(values, results, 1, MPI_INT, MPI_SUM, comm);
        /* What comes is longer than the buffer for it. */
        int n = rank == 0 ? 4 : 2;
        switch (which) {
        case 0:
            MPI_Bcast(results, n, MPI_INT, 0, comm);
            break;
        case 1:
            MPI_Bcast(results, n / 2, pairs, 0, comm);
            break;
        case 2:
            MPI_Allreduce(values, results, n, MPI_INT, MPI_SUM, comm);
            break;
        case 3:
            MPI_Allgather(values, n, MPI_INT, results, n, MPI_INT, comm);
            break;
        case 4:
            MPI_Gather(values, rank == 0 ? 2 : 4, MPI_INT, results, 2, MPI_INT, 0, comm);
            break;
        default:
            MPI_Scatter(results, n, MPI_INT, values, n, MPI_INT, 0, comm);
        }
        if (n_handled == before)
            MPI_Comm_free(&comm);
        /* Another one may have the same handle, and its trees the same memory. */
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        collective(which, comm);
        MPI_Bcast(results, 2, pairs, 1, comm);
        MPI_Comm_free(&comm);
        collective(which, MPI_COMM_WORLD);
    }
    MPI_Type_free(&pairs);
    MPI_Errhandler_free(&handler);
    printf("%d handled %d\n", rank, n_handled);
}

static void empty(void)
{
    int values[64] = {7, 8, 9}, results[256] = {0};
    MPI_Datatype pairs;
    MPI_Comm comm;
    MPI_Type_vector(2, 1, 2, MPI_INT, &pairs);
    MPI_Type_commit(&pairs);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (int round = 0; round < 3; round++) {
        /* All give nothing, for which there would be room. */
        MPI_Allgather(values, 0, pairs, results, 1, pairs, comm);
        /* The root gives nothing. */
        MPI_Gather(values, rank == 0 ? 0 : 1, pairs, results, 1, pairs, 0, comm);
        /* It has no room for its own part. */
        if (rank == 0)
            MPI_Scatter(values, 1, MPI_INT, results, 0, pairs, 0, comm);
        else
            MPI_Scatter(NULL, 0, MPI_INT, results, 1, MPI_INT, 0, comm);
        collective(round, comm);
    }
    MPI_Type_free(&pairs);
    MPI_Comm_free(&comm);
}

/* How often a process has given up its processor since it had nothing to do. */
static long sleeps_of(long process)
{
    char path[64], line[256];
    long sleeps = -1;
    snprintf(path, sizeof path, "/proc/%ld/status", process);
    FILE *status = fopen(path, "r");
    check(status != NULL, "no status of a process");
    while (fgets(line, sizeof line, status) != NULL)
        sscanf(line, "voluntary_ctxt_switches: %ld", &sleeps);
    fclose(status);
    return sleeps;
}

static void waits(int sleeps)
{
    enum { OFTEN = 30 };
    long process = getpid();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Bcast(&process, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    if (rank == 1) {
        /* Until it is in the barrier, and for as long as it takes to see it sleep. */
        usleep(100000);
        long before = sleeps_of(process);
        do {
            usleep(200000);
        } while (sleeps && sleeps_of(process) < before + OFTEN);
        check(sleeps || sleeps_of(process) < before + OFTEN, "rank 0 sleeps");
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void gpu(const char *library)
{
    MPI_Comm before, after;
    MPI_Comm_dup(MPI_COMM_WORLD, &before);
    collective(0, before);
    /* On one process only. */
    check(rank > 0 || dlopen(library, RTLD_NOW) != NULL, "no such library");
    MPI_Comm_dup(MPI_COMM_WORLD, &after);
    for (int which = 0; which < 7; which++) {
        collective(which, before);
        collective(which, after);
    }
    MPI_Comm_free(&before);
    MPI_Comm_free(&after);
}

static int copied(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)key, (void)extra;
    *(void **)out = in;
    *flag = 1;
    /* All processes are in the same MPI_Comm_dup. */
    collective(0, comm);
    return MPI_SUCCESS;
}

static int deleted(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)extra;
    /* The other processes are in no other call. */
    collective(0, *(MPI_Comm *)value);
    return MPI_SUCCESS;
}

static void callbacks(void)
{
    int key, own_key;
    MPI_Comm one, two;
    MPI_Comm_dup(MPI_COMM_WORLD, &one);
    MPI_Comm_create_keyval(copied, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, deleted, &own_key, NULL);
    MPI_Comm_set_attr(one, key, NULL);
    for (int i = 0; i < 20; i++) {
        collective(i % 7, one);
        MPI_Comm_dup(one, &two);
        collective(i % 7, two);
        if (rank == 0)
            MPI_Comm_set_attr(two, own_key, &one);
        else
            collective(0, one);
        MPI_Comm_free(&two);
    }
    MPI_Comm_free_keyval(&own_key);
    MPI_File file;
    char name[] = "callbacks.out", byte = (char)('a' + rank);
    MPI_File_open(one, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    for (int i = 0; i < 5; i++)
        MPI_File_write_at_all(file, rank, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    collective(1, one);
    MPI_Comm_free_keyval(&key);
    MPI_Comm_free(&one);
}

static void *kill_later(void *microseconds)
{
    usleep(*(useconds_t *)microseconds);
    kill(getpid(), SIGKILL);
    return NULL;
}

static void die(unsigned seed)
{
    pthread_t thread;
    srand(seed);
    int victim = rand() % size, calls_of_each = 1 + rand() % 200;
    /* As often soon as late, on a scale of powers. */
    useconds_t microseconds = rand() % (1 << rand() % 18);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == victim)
        pthread_create(&thread, NULL, kill_later, &microseconds);
    for (;;) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (int call = 0; call < calls_of_each; call++)
            collective(call % 7, comm);
        MPI_Comm_free(&comm);
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int is_threads = strcmp(what, "threads") == 0, provided;
    MPI_Init_thread(&argc, &argv, is_threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(what, "outstanding") == 0)
        outstanding();
    else if (is_threads && provided == MPI_THREAD_MULTIPLE)
        threads();
    else if (strcmp(what, "many") == 0)
        many(argc > 2 ? atoi(argv[2]) : 100);
    else if (strcmp(what, "alive") == 0)
        alive(argc > 2 ? atoi(argv[2]) : 100);
    else if (strcmp(what, "errors") == 0)
        errors();
    else if (strcmp(what, "callbacks") == 0)
        callbacks();
    else if (strcmp(what, "aliased") == 0)
        aliased();
    else if (strcmp(what, "empty") == 0)
        empty();
    else if (strcmp(what, "gpu") == 0 && argc > 2)
        gpu(argv[2]);
    else if (strcmp(what, "waits") == 0)
        waits(argc > 2 && strcmp(argv[2], "sleep") == 0);
    else if (strcmp(what, "freed") == 0)
        freed();
    else if (strcmp(what, "die") == 0)
        die(argc > 2 ? (unsigned)atoi(argv[2]) : 1);
    printf("%d done\n", rank);
    MPI_Finalize();
    return 0;
}

/* Stands in for the preloaded library: writes what it is told to the file named by STUB_LOG. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct pass {
    uint64_t down, up, call;
    uint32_t collector, segment;
};

static FILE *told(void)
{
    static FILE *file;
    if (!file) /* First called before there are threads. */
        file = fopen(getenv("STUB_LOG"), "w");
    return file;
}

unsigned collbench_tree_define(uintptr_t comm, unsigned threads, const char *name,
                               const unsigned char *encoded, size_t n)
{
    static unsigned defined;
    (void)comm;
    fprintf(told(), "tree %u of %u threads, %s: %s\n", defined, threads, name,
            encoded && n ? "encoded" : "not encoded");
    return defined++;
}

int collbench_call_begin(uintptr_t comm, unsigned operation, long root, unsigned long long bytes)
{
    (void)comm;
    fprintf(told(), "begin %u %ld %llu\n", operation, root, bytes);
    return 0;
}

void collbench_call_end(void)
{
    fprintf(told(), "end\n");
    fflush(told());
}

void collbench_pass(unsigned tree, const struct pass *pass)
{
    fprintf(told(), "pass %u %u %u %u %s\n", tree, (unsigned)pass->call, pass->collector,
            pass->segment, 0 < pass->down && pass->down <= pass->up ? "both ways" : "?");
}

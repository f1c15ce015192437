/* A library that was preloaded before collbench came: it must stay. */
#include <unistd.h>

__attribute__((constructor)) static void here(void)
{
    static const char text[] = "the other preloaded library is here\n";
    if (write(2, text, sizeof text - 1)) {
    }
}

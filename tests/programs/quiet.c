/* No MPI at all: repeats its input, and ends with the status given. */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int c;
    while ((c = getchar()) != EOF)
        putchar(c);
    fprintf(stderr, "quiet ends\n");
    return argc > 1 ? atoi(argv[1]) : 0;
}

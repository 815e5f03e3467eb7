/* Prints the C source of the filter by which runners seal themselves. It runs when kgym is built,
 * because a runner that generates its filter starts 0.4 ms later and needs one more library. The
 * filter names its own process. So it is generated for two numbers; where both differ, a runner
 * inserts its own. */
#include <stdio.h>
#include <stdlib.h>

#include "gym/sandbox/seccomp.h"

#define ONE_PID   0x4b475901u
#define OTHER_PID 0x4b475902u

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "seal: %s\n", what);
    exit(1);
}

static void print_program(const struct sock_fprog *p)
{
    printf("const struct sock_filter kg_runner_sealed[] = {\n");
    for (unsigned i = 0; i < p->len; i++) {
        const struct sock_filter *f = &p->filter[i];
        printf("    {0x%04x, %u, %u, 0x%08x},\n", f->code, f->jt, f->jf, f->k);
    }
    printf("};\nconst unsigned short kg_runner_sealed_len = %u;\n", p->len);
}

static void print_places(const struct sock_fprog *one, const struct sock_fprog *other)
{
    unsigned n = 0;
    printf("const unsigned short kg_runner_sealed_pids[] = {");
    for (unsigned i = 0; i < one->len; i++) {
        const struct sock_filter *a = &one->filter[i], *b = &other->filter[i];
        if (a->code != b->code || a->jt != b->jt || a->jf != b->jf) {
            die("the shape of the filter depends on the process");
        }
        if (a->k != b->k) {
            if (a->k != ONE_PID || b->k != OTHER_PID) {
                die("a value of the filter depends on the process and is not its number");
            }
            printf("%s%u", n++ > 0 ? ", " : "", i);
        }
    }
    printf("};\nconst unsigned short kg_runner_sealed_npids = %u;\n", n);
    if (n == 0) {
        die("the filter does not name its process");
    }
}

int main(void)
{
    struct sock_fprog one, other;
    if (kg_seccomp_sealed_for(ONE_PID, &one) != 0 ||
        kg_seccomp_sealed_for(OTHER_PID, &other) != 0) {
        die("the filter could not be made");
    }
    if (one.len != other.len) {
        die("the length of the filter depends on the process");
    }
    printf("/* Made from src/gym/sandbox/seccomp.c by src/runner/seal/print.c. */\n"
           "#include \"runner/sealed.h\"\n\n");
    print_program(&one);
    print_places(&one, &other);
    free(one.filter);
    free(other.filter);
    return fflush(stdout) == 0 ? 0 : 1;
}

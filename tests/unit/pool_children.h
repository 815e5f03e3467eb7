/* What tests of kgym.h share besides kgym_rig.h: two candidates, and the pool's processes by /proc.
 * Everything is static: each test program has its own. Include it after kgym_rig.h. */
#ifndef KG_TESTS_POOL_CHILDREN_H
#define KG_TESTS_POOL_CHILDREN_H

#define GOOD                                                                                       \
    "#include <math.h>\n#include <stdint.h>\nvoid silu(const float *x, float *y, int64_t n)\n{\n"  \
    "    for (int64_t i = 0; i < n; i++) y[i] = x[i] / (1 + expf(-x[i]));\n}\n"
#define ENDLESS                                                                                    \
    "#include <stdint.h>\nvoid silu(const float *x, float *y, int64_t n)\n{\n"                     \
    "    volatile int64_t on = n;\n    while (on) {\n    }\n    y[0] = x[0];\n}\n"

/* A child of this process that is no pool's; 0: none. */
static long other_child;

/* The first child of a process; 0: none, or it cannot be told. */
static long child_of(long pid)
{
    char path[64];
    long child = 0;
    snprintf(path, sizeof path, "/proc/%ld/task/%ld/children", pid, pid);
    FILE *f = fopen(path, "re");
    if (f) {
        do {
            if (fscanf(f, "%ld", &child) != 1) {
                child = 0;
            }
        } while (child > 0 && child == other_child);
        fclose(f);
    }
    return child;
}

/* Its pid must be known: 0 would name the whole process group. */
static void kill_supervisor(void)
{
    long pid = child_of(getpid());
    assert_true(pid > 0);
    assert_int_equal(kill((pid_t)pid, SIGKILL), 0);
}

#endif

/* Runs the programs of tests/fixtures/sandbox in sandboxes. Each exits 0 if what it tried worked
 * and 1 if it was stopped. The programs are built once per test program, in a folder that any uid
 * may enter. */
#ifndef KG_TESTS_SUPPORT_ATTACK_H
#define KG_TESTS_SUPPORT_ATTACK_H

#include "gym/sandbox/sandbox.h"

struct attack {
    const char *name;    /* of the fixture, without .c */
    const char *args[4]; /* NULL-terminated unless all are used */
    struct kg_bind bind; /* one more thing to show; src NULL: none */
    uint32_t without;
    int64_t memory_mb, file_mb, processes, cpu_s; /* 0: generous */
    int64_t ms;                                   /* deadline; 0: 10 s */
    const char *const *envp;
    const char *workdir;
    int cpu_plus_1; /* pin to this CPU - 1; 0: do not */
    bool no_aslr;
};

/* Group set-up and tear-down of cmocka. */
int attack_setup(void **state);
int attack_teardown(void **state);
const char *attack_folder(void);              /* host path */
const char *attack_program(const char *name); /* host path, built on first use; static storage */

/* Run to the end or the deadline, then end it. out: what it printed on both streams, at most 4 KB,
 * or NULL. The test fails if the sandbox itself fails. */
struct kg_exit attack_run(const struct attack *a, char out[4096], struct kg_isolation *isolation);
/* Start only; *reader: its output. */
void attack_start(const struct attack *a, struct kg_sandbox *box, int *reader);
/* Wait until it has printed something, at most 5 s. */
void attack_wait_output(int reader);
/* All of steps are to be had here; if not, prints why and returns false. */
bool attack_has(uint32_t steps);

#endif

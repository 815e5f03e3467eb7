/* For tests that run a script of tests/torch with the Python that has torch: kgym_rig.h's folder
 * and commands, where SCRIPT("x.py") is the beginning of one. Skips, with the reason, in sanitized
 * builds and where there is no torch. Where `make torch` has made an environment and KGYM_PYTHON
 * names no other, a missing torch is a failure. */
#ifndef KG_TESTS_UNIT_TORCH_SCRIPT_RIG_H
#define KG_TESTS_UNIT_TORCH_SCRIPT_RIG_H

#include "kgym_rig.h"
#include "sanitized.h"

#define SCRIPT(name) "exec \"$PYTHON\" -B $T/tests/torch/" name

static bool script_sanitized, script_named; /* KGYM_PYTHON names a Python */

static inline int script_setup(void **state)
{
    char path[600];
    const char *named = getenv("KGYM_PYTHON");
    script_sanitized = is_sanitized(getenv("KGYM_BUILD"));
    script_named = named != NULL;
    if (rig_setup(state) != 0) {
        return -1;
    }
    snprintf(path, sizeof path, "%s/.venv/bin/python", getenv("T"));
    setenv("PYTHON", named ? named : access(path, X_OK) == 0 ? path : "python3", 1);
    return 0;
}

/* At the head of a test. Importing torch takes seconds, so it is tried once in a program. */
static inline void script_need(void)
{
    static enum { UNKNOWN, HAS, LACKS } torch;
    if (script_sanitized) {
        printf("skip: release builds only\n");
        skip();
    }
    if (torch == UNKNOWN) {
        torch = rig_run("exec \"$PYTHON\" -c 'import torch, triton'") == 0 ? HAS : LACKS;
    }
    if (torch == LACKS) {
        if (!script_named && rig_run("test -x $T/.venv/bin/python") == 0) {
            fail_msg("the environment of `make torch` does not import torch");
        }
        printf("skip: this Python has no torch: make torch\n");
        skip();
    }
}

/* The last line of stdout that holds these words, for tests/run.sh to show. */
static inline void script_tell(const char *words)
{
    const char *last = NULL;
    for (const char *at = rig.out.data; (at = strstr(at, words)); at++) {
        last = at;
    }
    assert_non_null(last);
    while (last > rig.out.data && last[-1] != '\n') {
        last--;
    }
    printf("told: %.*s\n", (int)strcspn(last, "\n"), last);
}

#endif

/* The candidates of tests/hostile and tests/honest: each opens with a block that says which problem
 * it answers, which entry of the catalogue (docs/hacks.md) it belongs to, and how it must end:
 *
 *   / *---fixture
 *   problem: silu                 name in problems/native
 *   entry: C2                     catalogue entry, A1 to F6; 6.9 for the honest
 *   what: one line
 *   control: naive                (hostile) naive: it fools tests/naive; host escaped, host down,
 *                                 host compiler: what it does to an unconfined host
 *   expect: hack/replay wrong/value    verdicts with reasons, one or more; or ok
 *   needs: timing                 (optional) the trick begins in the timed calls
 *   harmless: yes                 (optional) may be ok: the answer is right and nothing is gained
 *   equal: axpby_plain            (with harmless) the honest fixture that it may not be faster than
 *   known: one line               (optional) a gap that is open: why it still ends in ok
 *   twin: C2                      (honest) the entry that it must not be taken for
 *   ---* /
 */
#ifndef KG_TESTS_SUPPORT_FIXTURE_H
#define KG_TESTS_SUPPORT_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>

struct fixture {
    char name[64], path[512];
    bool hostile, needs_timing, harmless;
    char problem[64], entry[8], what[200], control[32], expect[200], equal[64], known[200], twin[8];
};

/* All fixtures of tests/<kind> below the tree ("hostile", "honest"), by name; the caller frees.
 * NULL after a message on standard error: an unreadable folder or a malformed block. */
struct fixture *fixture_load(const char *tree, const char *kind, size_t *n);
/* Is `verdict` or `verdict/reason` among those expected? reason may be NULL. */
bool fixture_expects(const struct fixture *f, const char *verdict, const char *reason);

#endif

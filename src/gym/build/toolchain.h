/* Private to build/: the compiler's steps as one shell script per kind of build, and the files that
 * the steps need. The driver itself is asked for them, once. */
#ifndef KG_GYM_BUILD_TOOLCHAIN_H
#define KG_GYM_BUILD_TOOLCHAIN_H

#include "base/arena.h"
#include "base/hash.h"
#include "gym/build/cc.h"

#define KG_CC_KINDS     3
#define KG_CC_MAX_BINDS 32
#define KG_CC_MAX_ARGS  512
/* This path stands for the scratch folder in the driver's answer; the script has "$d" in its
 * place. */
#define KG_CC_HERE "/kgym-scratch"

/* Exit status of the script if a step rejects its input. */
enum { KG_CC_EXIT_CC1 = 41, KG_CC_EXIT_AS = 42, KG_CC_EXIT_LD = 43 };

struct kg_cc {
    struct kg_cc_spec spec;
    struct kg_arena arena;
    bool mounts;       /* builds see /scratch and /kgops instead of host paths */
    const char *kgops; /* path of kgops for a build; NULL: none */
    const char *version, *shell;
    const char *flags[24];
    const char *script[KG_CC_KINDS];
    const char *sanitized; /* script of a program with sanitizers; NULL: not asked for yet */
    struct kg_bind binds[KG_CC_MAX_BINDS];
    size_t nbinds;
    char toolchain_sha[KG_SHA256_HEX]; /* version, scripts, kgops */
};

/* The words of one command. */
struct kg_args {
    const char *at[KG_CC_MAX_ARGS];
    size_t n;
};

/* Runs a trusted program unconfined, and collects both its output streams. KG_E_HOST: it cannot
 * run, or it fails. */
enum kg_code kg_cc_capture(const char *const *argv, struct kg_buf *out,
                           struct kg_err *err) KG_MUST_USE;
/* Splits one line of `gcc -###`, which is quoted for a shell, into words of the arena. */
enum kg_code kg_cc_split(struct kg_arena *arena, const char *line, size_t len, struct kg_args *out,
                         struct kg_err *err) KG_MUST_USE;
/* Appends the words as one command, each quoted. */
void kg_cc_quote(const struct kg_args *args, struct kg_buf *out);
/* Asks the driver, and fills script and binds. */
enum kg_code kg_cc_learn(struct kg_cc *cc, struct kg_err *err) KG_MUST_USE;
/* Makes a script that builds the float reference, "reference.c", with these flags instead of the
 * usual ones. The result, "out.so", is a program unless they say -shared. In the arena; NULL: *err.
 */
const char *kg_cc_learn_program(struct kg_cc *cc, const char *const *flags, struct kg_err *err);
/* Makes a path visible to builds, once. A missing path is ignored. */
void kg_cc_show(struct kg_cc *cc, const char *path);
const char *kg_cc_source_name(enum kg_cc_kind kind); /* "candidate" or "reference" */

#endif

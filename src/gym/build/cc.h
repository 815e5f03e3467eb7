/* Builds a shared object from source, with the compiler confined.
 *
 * The driver is asked once for its steps (cc1, as, ld), which then run directly. This takes a third
 * less time per build. Objects are cached by content: source, flags, compiler version, kgops. So a
 * candidate can only harm its own entry. No other module writes the cache.
 * One owner, one thread. */
#ifndef KG_GYM_BUILD_CC_H
#define KG_GYM_BUILD_CC_H

#include "gym/sandbox/sandbox.h"

struct kg_cc; /* A toolchain: steps, flags, versions, cache folder. */

enum kg_cc_kind { KG_CC_CANDIDATE, KG_CC_REF_FLOAT, KG_CC_REF_DOUBLE };

/* The compiler's result for the source. */
enum kg_cc_status {
    KG_CC_OK,
    KG_CC_SYNTAX,
    KG_CC_LINK,
    KG_CC_MISSING_ENTRY,
    KG_CC_LIMITS,
    KG_CC_TIMEOUT
};

struct kg_cc_result {
    enum kg_cc_status status;
    char object[320]; /* path of the shared object, when OK */
    /* The compiler's messages, with base names for paths; the caller deinits it. */
    struct kg_buf text;
    int line; /* of the first error in the source; 0: unknown */
    char first_error[240];
    bool cached;
    bool killed; /* LIMITS, by a SIGKILL that no limit of its own explains: maybe the host's */
    int64_t ns;
    struct kg_isolation isolation;
};

struct kg_cc_spec {
    const char *compiler;  /* "gcc" */
    const char *kgops_dir; /* folder with kgops.h and libkgops.so */
    const char *cache_dir; /* NULL: no cache */
    int cpu;               /* core to pin to; -1: any */
    struct kg_limits limits;
    int64_t timeout_ns;
    uint32_t without; /* for tests: steps of the sandbox to leave out */
    /* Non-zero ends the work with KG_E_CANCELLED; NULL: never. */
    const volatile int *cancelled;
};

/* Opens a toolchain. KG_E_HOST: no compiler; the message says how to install it. close frees it. */
enum kg_code kg_cc_open(const struct kg_cc_spec *spec, struct kg_cc **out,
                        struct kg_err *err) KG_MUST_USE;
void kg_cc_close(struct kg_cc *cc);
/* The flags for candidate.flags, NULL-terminated, and a line that names the compiler. Both live as
 * long as cc. */
const char *const *kg_cc_flags(const struct kg_cc *cc);
const char *kg_cc_version(const struct kg_cc *cc);
/* Builds in a folder below scratch. entry must be exported; the ELF symbol table is read, and
 * nothing is loaded. KG_OK also where the source is at fault; see out->status. KG_E_HOST: the
 * sandbox or a file failed. */
enum kg_code kg_cc_build(struct kg_cc *cc, enum kg_cc_kind kind, const char *source, size_t len,
                         const char *entry, const char *scratch, struct kg_cc_result *out,
                         struct kg_err *err) KG_MUST_USE;

#endif

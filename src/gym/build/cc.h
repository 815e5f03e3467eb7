/* From source to shared object, with the compiler confined. The driver is asked once for its steps
 * (cc1, as, ld), which then run directly: a third less time per build than through the driver.
 * Objects are cached by content: source, flags, compiler version, kgops. A candidate can only
 * poison itself. Only this module writes the cache. */
#ifndef KG_GYM_BUILD_CC_H
#define KG_GYM_BUILD_CC_H

#include "gym/sandbox/sandbox.h"

struct kg_cc; /* toolchain: steps, flags, versions, cache folder */

enum kg_cc_kind { KG_CC_CANDIDATE, KG_CC_REF_FLOAT, KG_CC_REF_DOUBLE };

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
    char object[320];   /* path of the shared object when OK */
    struct kg_buf text; /* compiler's messages, paths reduced to base names; caller deinits */
    int line;           /* of the first error in the source; 0 unknown */
    char first_error[240];
    bool cached;
    int64_t ns;
    struct kg_isolation isolation;
};

struct kg_cc_spec {
    const char *compiler;  /* "gcc" */
    const char *kgops_dir; /* folder with kgops.h and libkgops.so */
    const char *cache_dir; /* NULL: no cache */
    int cpu;               /* -1: any */
    struct kg_limits limits;
    int64_t timeout_ns;
    uint32_t without; /* tests only */
    /* Becomes non-zero when the work is to end (KG_E_CANCELLED); NULL: never. */
    const volatile int *cancelled;
};

/* KG_E_HOST when the compiler is missing: the message says how to install it. */
enum kg_code kg_cc_open(const struct kg_cc_spec *spec, struct kg_cc **out,
                        struct kg_err *err) KG_MUST_USE;
void kg_cc_close(struct kg_cc *cc);
/* The flags recorded in candidate.flags, NULL-terminated, and one line naming the compiler. */
const char *const *kg_cc_flags(const struct kg_cc *cc);
const char *kg_cc_version(const struct kg_cc *cc);
/* Builds below scratch (a folder of this evaluation). entry: must be exported (ELF symbol table is
 * read, nothing is loaded). */
enum kg_code kg_cc_build(struct kg_cc *cc, enum kg_cc_kind kind, const char *source, size_t len,
                         const char *entry, const char *scratch, struct kg_cc_result *out,
                         struct kg_err *err) KG_MUST_USE;

#endif

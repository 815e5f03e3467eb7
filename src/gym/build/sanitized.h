/* A problem's own code under AddressSanitizer and UndefinedBehaviorSanitizer: built into a program
 * of its own and run, both confined as a build is, but without a limit of address space, of which
 * the sanitizer reserves terabytes. What the program is told comes through its standard input; what
 * it and the sanitizers say is kept. */
#ifndef KG_GYM_BUILD_SANITIZED_H
#define KG_GYM_BUILD_SANITIZED_H

#include "gym/build/cc.h"

enum kg_sanitized_status {
    KG_SANITIZED_ENDED,      /* it ran: exit and text say how it went */
    KG_SANITIZED_NO_RUNTIME, /* the compiler has no sanitizers on this host */
    KG_SANITIZED_NO_BUILD,   /* it does not build: text */
    KG_SANITIZED_LATE,       /* it did not end in time */
};

struct kg_sanitized_spec {
    const char *source; /* a whole program, "reference.c" in messages */
    size_t len;
    const char *folder; /* of this build; made and removed */
    int64_t timeout_ns; /* of the run */
    /* The next bytes of its standard input, valid until the next call; false: no more. */
    bool (*feed)(void *self, const void **bytes, size_t *n);
    void *self;
};

struct kg_sanitized {
    enum kg_sanitized_status status;
    struct kg_exit exit;
    struct kg_buf text; /* of the compiler, or of the program: both streams, the first 256 KB */
};

/* Initialises out->text, which the caller deinits after success. */
enum kg_code kg_cc_run_sanitized(struct kg_cc *cc, const struct kg_sanitized_spec *spec,
                                 struct kg_sanitized *out, struct kg_err *err) KG_MUST_USE;

#endif

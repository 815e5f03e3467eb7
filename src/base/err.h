/* Errors: what a function that may fail returns, and the message a person reads.
 *
 * An error means that kgym could not do its job. It is never a verdict on a candidate
 * (see gym/record/record.h) and never a reward. Functions that can fail return enum kg_code and
 * fill `struct kg_err *err`, their last parameter; the message stands alone when printed: it names
 * what, where, and what to do. Nothing is logged *and* returned. err may not be NULL.
 * KG_ASSERT is for bugs only and stays on in release builds. No allocation; thread safe. */
#ifndef KG_BASE_ERR_H
#define KG_BASE_ERR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kg_code {
    KG_OK = 0,
    KG_E_USAGE,     /* the command line or configuration is wrong */
    KG_E_INPUT,     /* a file, JSON, YAML or reply is malformed */
    KG_E_NOT_FOUND, /* something named does not exist */
    KG_E_IO,        /* reading or writing failed */
    KG_E_LIMIT,     /* a documented cap was reached */
    KG_E_HOST,      /* this machine lacks something: compiler, kernel feature, memory */
    KG_E_PROBLEM,   /* the problem is defective (record: blame `problem`) */
    KG_E_GYM,       /* a gym process failed: judge, reference runner, protocol */
    KG_E_CANCELLED, /* SIGINT, SIGTERM */
    KG_E_NEEDS_GPU, /* the candidate needs a device that this machine lacks */
    KG_E_FULL,      /* a queue holds as much as it may */
};

/* Whose fault an error is. CANDIDATE: what the candidate does, or its text, may have brought it
 * about; such an error is at best a failure, and rewards count it as the lowest one. The other
 * three need proof from outside the candidate. */
enum kg_blame { KG_BLAME_HOST, KG_BLAME_GYM, KG_BLAME_PROBLEM, KG_BLAME_CANDIDATE };

/* The message is for people: no decision reads it (tools/check/messages.sh). Who must know more
 * than the code is told by a field. */
struct kg_err {
    enum kg_code code;
    enum kg_blame blame;
    char message[480];
    /* A judge or a reference was there and could not do its part (no memory, a device that fails):
     * a candidate's code that runs beside it may have been the cause. Whoever calls them says so,
     * after kg_fail, which clears it. */
    bool strained;
    /* A reference was late or did not load: the host may have been the cause, so it is tried once
     * more. Set as above. */
    bool accident;
    /* What else a caller may have to know; each as above. */
    bool memory;   /* memory was what there was too little of */
    bool suggests; /* NOT_FOUND: the message names what was probably meant */
    bool advised;  /* the message says what to do about it */
};

#define KG_ERR_INIT                                                                                \
    {                                                                                              \
        .code = KG_OK                                                                              \
    }
#define KG_MUST_USE     __attribute__((warn_unused_result))
#define KG_PRINTF(f, a) __attribute__((format(printf, f, a)))

/* Fill *err (blame follows the code: PROBLEM -> problem, GYM -> gym, others -> host) and return
 * code. Usage: return kg_fail(err, KG_E_IO, "%s: cannot read: %s", path, strerror(errno)); */
enum kg_code kg_fail(struct kg_err *err, enum kg_code code, const char *fmt, ...) KG_PRINTF(3, 4);

/* The same, and memory is what lacks. */
enum kg_code kg_fail_memory(struct kg_err *err, enum kg_code code, const char *fmt, ...)
    KG_PRINTF(3, 4);

/* Put "prefix: " before the message of an error that is being passed on; returns err->code. */
enum kg_code kg_err_prefix(struct kg_err *err, const char *fmt, ...) KG_PRINTF(2, 3);

/* The message without "subject: " where it begins so: for showing it beside that subject. Lives as
 * long as *err. */
const char *kg_err_without(const struct kg_err *err, const char *subject);

/* Line breaks and tabs in the message, of what it quotes, become spaces. */
void kg_err_one_line(struct kg_err *err);

/* Stable lower-case names: "usage", "input", ...; "host", "gym", "problem". */
const char *kg_code_name(enum kg_code code);
const char *kg_blame_name(enum kg_blame blame);

_Noreturn void kg_assert_failed(const char *expr, const char *file, int line);
#define KG_ASSERT(e) ((e) ? (void)0 : kg_assert_failed(#e, __FILE__, __LINE__))

#endif

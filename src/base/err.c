/* Errors: filling struct kg_err, names of codes, and failed assertions. */
#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const code_names[] = {
    [KG_OK] = "ok",
    [KG_E_USAGE] = "usage",
    [KG_E_INPUT] = "input",
    [KG_E_NOT_FOUND] = "not_found",
    [KG_E_IO] = "io",
    [KG_E_LIMIT] = "limit",
    [KG_E_HOST] = "host",
    [KG_E_PROBLEM] = "problem",
    [KG_E_GYM] = "gym",
    [KG_E_CANCELLED] = "cancelled",
    [KG_E_NEEDS_GPU] = "needs_gpu",
    [KG_E_FULL] = "full",
};

const char *kg_code_name(enum kg_code code)
{
    return code_names[code];
}

const char *kg_blame_name(enum kg_blame blame)
{
    static const char *const names[] = {"host", "gym", "problem", "candidate"};
    return names[blame];
}

static void fill(struct kg_err *err, enum kg_code code, const char *fmt, va_list ap)
{
    char message[sizeof err->message] = ""; /* what is quoted may be the old one */
    vsnprintf(message, sizeof message, fmt, ap);
    *err = (struct kg_err){.code = code,
                           .blame = code == KG_E_PROBLEM ? KG_BLAME_PROBLEM
                                    : code == KG_E_GYM   ? KG_BLAME_GYM
                                                         : KG_BLAME_HOST};
    memcpy(err->message, message, sizeof err->message);
}

enum kg_code kg_fail(struct kg_err *err, enum kg_code code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fill(err, code, fmt, ap);
    va_end(ap);
    return code;
}

enum kg_code kg_fail_memory(struct kg_err *err, enum kg_code code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fill(err, code, fmt, ap);
    va_end(ap);
    err->memory = true;
    return code;
}

const char *kg_err_without(const struct kg_err *err, const char *subject)
{
    size_t n = strlen(subject);
    bool begins = strncmp(err->message, subject, n) == 0 && strncmp(err->message + n, ": ", 2) == 0;
    return err->message + (begins ? n + 2 : 0);
}

enum kg_code kg_err_prefix(struct kg_err *err, const char *fmt, ...)
{
    char old[sizeof err->message];
    memcpy(old, err->message, sizeof old);
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(err->message, sizeof err->message, fmt, ap);
    va_end(ap);
    size_t used = n < 0 ? 0 : (size_t)n;
    if (used < sizeof err->message) {
        snprintf(err->message + used, sizeof err->message - used, ": %s", old);
    }
    return err->code;
}

void kg_err_one_line(struct kg_err *err)
{
    for (char *p = err->message; *p != '\0'; p++) {
        if (*p >= '\t' && *p <= '\r') {
            *p = ' ';
        }
    }
}

void kg_assert_failed(const char *expr, const char *file, int line)
{
    fprintf(stderr, "kgym: bug: %s:%d: assertion `%s` failed\n", file, line, expr);
    abort();
}

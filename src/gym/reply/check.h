/* Static check: under a millisecond, before compute is spent. It explains and labels; it rejects
 * only what compiling or linking must refuse as well, and when the lexer is unsure the compiler
 * decides. Rules are one table {id, severity, predicate, message}; docs/static-check.md is printed
 * from it. Pure. */
#ifndef KG_GYM_REPLY_CHECK_H
#define KG_GYM_REPLY_CHECK_H

#include "gym/reply/lex.h"

enum kg_severity { KG_SEV_NOTE, KG_SEV_WARN, KG_SEV_REJECT };

struct kg_finding {
    const char *rule; /* id, static string */
    enum kg_severity severity;
    int line;          /* 1-based; 0: the whole file */
    char message[160]; /* one line */
};

/* Returns the number of findings stored (at most cap), rejections first, then by line. */
size_t kg_check_c(const char *code, size_t len, const char *entry, struct kg_finding *out,
                  size_t cap);

struct kg_check_rule {
    const char *id;
    enum kg_severity severity;
    const char *message;
};
size_t kg_check_rules(const struct kg_check_rule **out); /* for docs and tests */

#endif

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
/* Of a Python candidate: labels only, each rule at the first place where it applies, in order of
 * the text. */
size_t kg_check_python(const char *code, size_t len, const char *entry, struct kg_finding *out,
                       size_t cap);

struct kg_check;
/* Where rules are asked. Names, strings and directives outside comments, strings and `#if 0`. */
enum kg_check_site {
    KG_AT_FILE,      /* once, after everything was read */
    KG_AT_NAME,      /* each use of one of the rule's words */
    KG_AT_DEFINED,   /* each definition of a function of one of the rule's words */
    KG_AT_STRING,    /* each string literal */
    KG_AT_DIRECTIVE, /* each preprocessor directive */
    KG_AT_STATE,     /* each variable that outlives a call */
    KG_AT_COMPARE,   /* each name on the right of == or != */
    KG_AT_STEP,      /* each ++ and -- of a name */
};

struct kg_check_rule {
    const char *id;
    enum kg_severity severity;
    enum kg_check_site at;
    bool (*when)(struct kg_check *c); /* does it apply here? may set the finding's line */
    const char *message;
    const char *const *words; /* KG_AT_NAME, KG_AT_DEFINED; ends with NULL; `x*` is a prefix */
};
size_t kg_check_rules(const struct kg_check_rule **out); /* for docs and tests */
const char *kg_severity_name(enum kg_severity s);        /* "note", "warn", "reject" */

#endif

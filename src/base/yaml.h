/* YAML (libyaml) read into a tree that keeps line numbers and leaves every scalar a string: types
 * belong to whoever reads the value, so `y` and `n` are names and never booleans. No anchors,
 * aliases, tags or several documents: they are errors. Input is bounded by the caller.
 * Memory: the arena given. */
#ifndef KG_BASE_YAML_H
#define KG_BASE_YAML_H

#include "base/arena.h"

enum kg_yaml_kind { KG_YAML_SCALAR, KG_YAML_LIST, KG_YAML_MAP };

struct kg_yaml {
    enum kg_yaml_kind kind;
    int line;              /* 1-based, in the file named to kg_yaml_parse (first_line added) */
    const char *key;       /* of a map's entry, else NULL */
    const char *text;      /* scalar */
    struct kg_yaml *child; /* first entry of a list or map */
    struct kg_yaml *next;  /* next sibling */
};

/* source and first_line place the text in its file: messages read "source:line: ...". first_line is
 * the number of the text's first line there, 1 for a whole file. Text without content is an empty
 * map. Errors: duplicate keys, tabs, invalid UTF-8, more than 16 levels or 10000 values. */
enum kg_code kg_yaml_parse(const char *text, size_t len, const char *source, int first_line,
                           struct kg_arena *arena, struct kg_yaml **out,
                           struct kg_err *err) KG_MUST_USE;
const struct kg_yaml *kg_yaml_get(const struct kg_yaml *map, const char *key); /* or NULL */
/* The name in list nearest to word by edit distance, or NULL when none is near. For messages
 * ("unknown key `rol`, did you mean `role`?"). */
const char *kg_nearest(const char *word, const char *const *list, size_t n);

#endif

/* Private to the problem module: the state of one parse, shared by the files that read its parts
 * (block.c the comment, fields.c values, dims.c, args.c and argtype.c, laws.c, parse.c the keys,
 * whole.c what holds between them). Every error is KG_E_PROBLEM and reads "file:line: key: what is
 * wrong (what to do)". Strings that the problem keeps are copied into its arena; the YAML tree
 * lives in a scratch arena and dies with the parse. */
#ifndef KG_GYM_PROBLEM_PARSE_H
#define KG_GYM_PROBLEM_PARSE_H

#include "base/yaml.h"
#include "gym/problem/problem.h"

#define KG_MAX_BLOCK_BYTES (64u << 10) /* of the YAML block */
#define KG_MAX_EXPR_BYTES  256
#define KG_MAX_NAME_BYTES  63
#define KG_KEY_BYTES       96 /* "args.NAME.range", NAME cut to fit */

struct kg_parse {
    struct kg_problem *p;
    const char *file; /* as shown in messages: the path, or the end of a very long one */
    const char *dim_names[KG_MAX_DIMS];
    struct kg_shape def; /* default value of every dim read so far */
    struct kg_err *err;
};

struct kg_block {
    const char *yaml;
    size_t len;
    int first_line;
};

enum kg_code kg_parse_fail(const struct kg_parse *c, int line, const char *key, const char *fmt,
                           ...) KG_PRINTF(4, 5);

/* Refuses what is no text: empty, too large, NUL bytes, invalid UTF-8. */
enum kg_code kg_block_check(const struct kg_parse *c, const char *text, size_t len) KG_MUST_USE;
/* The YAML between the markers of checked, NUL-terminated text. */
enum kg_code kg_block_find(const struct kg_parse *c, const char *text,
                           struct kg_block *out) KG_MUST_USE;

/* All keys of map are in names (NULL-terminated), else an error with the nearest; prefix: "" or
 * "args.x.". */
enum kg_code kg_parse_keys(const struct kg_parse *c, const struct kg_yaml *map, const char *prefix,
                           const char *const *names) KG_MUST_USE;
enum kg_code kg_parse_kind(const struct kg_parse *c, const struct kg_yaml *node, const char *key,
                           enum kg_yaml_kind kind) KG_MUST_USE;
/* text may name a C parameter or function: an identifier, no keyword, not `real`. */
enum kg_code kg_parse_name(const struct kg_parse *c, int line, const char *key,
                           const char *text) KG_MUST_USE;
/* Decimal digits only, lo..hi. */
enum kg_code kg_parse_count(const struct kg_parse *c, const struct kg_yaml *node, const char *key,
                            int64_t lo, int64_t hi, int64_t *out) KG_MUST_USE;
/* An expression over the dims, without its value: c->def may still be incomplete. */
enum kg_code kg_parse_formula(const struct kg_parse *c, int line, const char *key, const char *text,
                              const struct kg_expr **out) KG_MUST_USE;
/* The same with its value at the default dims. */
enum kg_code kg_parse_int(const struct kg_parse *c, int line, const char *key, const char *text,
                          const struct kg_expr **out, int64_t *at_default) KG_MUST_USE;
enum kg_code kg_parse_real(const struct kg_parse *c, int line, const char *key, const char *text,
                           const struct kg_expr **out, double *at_default) KG_MUST_USE;
bool kg_parse_is_digits(const char *text);

enum kg_code kg_problem_suite_of(const char *path, struct kg_problem *p,
                                 struct kg_err *err) KG_MUST_USE;
enum kg_code kg_parse_dims(struct kg_parse *c, const struct kg_yaml *map) KG_MUST_USE;
enum kg_code kg_parse_args(struct kg_parse *c, const struct kg_yaml *list) KG_MUST_USE;
enum kg_code kg_parse_arg_type(const struct kg_parse *c, struct kg_arg *a, int line,
                               const char *key, const char *text) KG_MUST_USE;
enum kg_code kg_parse_laws(struct kg_parse *c, const struct kg_yaml *list) KG_MUST_USE;
/* What holds between the parts: an input, an output, sizes at the default dims. */
enum kg_code kg_parse_whole(const struct kg_parse *c, int line) KG_MUST_USE;

#endif

/* A native problem: one C file whose leading comment holds a YAML block and whose body is the
 * reference over `real`. docs/problems.md has the grammar with examples; names are normative.
 * A parsed problem owns one arena; everything hangs off it and is immutable after load. */
#ifndef KG_GYM_PROBLEM_PROBLEM_H
#define KG_GYM_PROBLEM_PROBLEM_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/rng.h"
#include "gym/problem/expr.h"

#define KG_MAX_ARGS         32
#define KG_MAX_DIMS         16
#define KG_MAX_RANK         6
#define KG_MAX_WHERE        16
#define KG_MAX_SOURCE_BYTES (256u << 10)
#define KG_MAX_DIM          2147483647   /* largest value of a dim */
#define KG_MAX_DATA_BYTES   (256u << 20) /* all arrays together, at the default and at any shape */

enum kg_dtype { KG_F32, KG_F64, KG_I32, KG_I64 };
enum kg_role { KG_ROLE_IN, KG_ROLE_OUT, KG_ROLE_DIM, KG_ROLE_PARAM };

struct kg_dim {
    const char *name;
    int64_t def;              /* default value (of a derived dim: the expression's) */
    const struct kg_expr *by; /* NULL: free; else derived from earlier dims */
};

struct kg_arg {
    const char *name;
    enum kg_dtype dtype;
    enum kg_role role;
    int rank;                                  /* 0: scalar, passed by value */
    const struct kg_expr *extent[KG_MAX_RANK]; /* outermost first */
    bool has_range;
    const struct kg_expr *lo, *hi; /* values in [lo, hi); a param with a range is drawn */
    const struct kg_expr *value;   /* param */
    int dim;                       /* role dim: index into dims */
    int line;
};

/* Values of all dims, in order of declaration. */
struct kg_shape {
    int64_t dim[KG_MAX_DIMS];
};

struct kg_problem {
    struct kg_arena arena;
    const char *path, *suite, *name, *entry, *desc;
    int level;
    int ndims, nargs, nwhere;
    struct kg_dim dims[KG_MAX_DIMS];
    struct kg_arg args[KG_MAX_ARGS];
    const struct kg_expr *where[KG_MAX_WHERE];
    const struct kg_expr *reduce;        /* NULL: derived, see kg_problem_reduce */
    const struct kg_expr *flops, *bytes; /* NULL: not given */
    uint32_t laws_off, laws_on;          /* bit sets of enum kg_law that `laws` leaves out / adds */
    const char *source;                  /* whole file, NUL-terminated */
    size_t source_len;
    char sha256[KG_SHA256_HEX]; /* of source */
};

enum kg_code kg_problem_load(const char *path, struct kg_problem **out,
                             struct kg_err *err) KG_MUST_USE;
/* path is for messages and for suite (its parent folder's name). */
enum kg_code kg_problem_parse(const char *text, size_t len, const char *path,
                              struct kg_problem **out, struct kg_err *err) KG_MUST_USE;
void kg_problem_destroy(struct kg_problem *p); /* NULL is fine */

/* A name of the suites or a path (contains '/' or ends in .c): the path to load. suites: folders,
 * searched in order, recursively; unknown names are errors with the nearest name. */
enum kg_code kg_problem_find(const char *name_or_path, const char *const *suites, size_t nsuites,
                             char *path, size_t cap, struct kg_err *err) KG_MUST_USE;
/* Paths of all problems below the suites, sorted by name; *out is malloc'ed, and each path. */
enum kg_code kg_problem_list(const char *const *suites, size_t nsuites, char ***out, size_t *n,
                             struct kg_err *err) KG_MUST_USE;
/* The same for any files whose names end in suffix (".py"); names alone are looked at. */
enum kg_code kg_suite_files(const char *const *suites, size_t nsuites, const char *suffix,
                            char ***out, size_t *n, struct kg_err *err) KG_MUST_USE;

const char *kg_dtype_name(enum kg_dtype t); /* "f32" ... */
size_t kg_dtype_bytes(enum kg_dtype t);
const char *kg_role_name(enum kg_role r); /* "in" ... */

/* --- at a shape --- */
void kg_shape_default(const struct kg_problem *p, struct kg_shape *s);
/* Derived dims from the free ones; false where a dim or extent is < 1, an expression fails, a range
 * is empty, the arrays pass KG_MAX_DATA_BYTES or `where` does not hold. */
bool kg_shape_complete(const struct kg_problem *p, struct kg_shape *s);
/* Elements (1 for a scalar); -1 where an extent is < 1 or fails: never at a complete shape. */
int64_t kg_arg_count(const struct kg_problem *p, int arg, const struct kg_shape *s);
/* K of the error bound: `reduce`, else the product of the input dims missing from the output. */
int64_t kg_problem_reduce(const struct kg_problem *p, const struct kg_shape *s);
/* Work at a shape, for limits and floors: flops and compulsory bytes (-1 where not declared; bytes
 * falls back to all inputs once plus all outputs once). */
double kg_problem_flops(const struct kg_problem *p, const struct kg_shape *s);
double kg_problem_bytes(const struct kg_problem *p, const struct kg_shape *s);
/* Value of a dim or param argument: integer in *i (floats truncated), floating in *f (both set), as
 * the argument's dtype holds it: an f32 param is rounded, so that float and oracle see one value.
 * False for other roles. */
bool kg_arg_scalar(const struct kg_problem *p, int arg, const struct kg_shape *s, int64_t *i,
                   double *f);
/* The same in a case: a param with a range is drawn from its key. A quarter of the keys keep its
 * value, and some have 0 or 1, where the range has them. A key of zeros keeps all values. */
bool kg_arg_scalar_of(const struct kg_problem *p, int arg, const struct kg_shape *s,
                      struct kg_key key, int64_t *i, double *f);
/* False without a declared range. */
bool kg_arg_range(const struct kg_problem *p, int arg, const struct kg_shape *s, double *lo,
                  double *hi);

#endif

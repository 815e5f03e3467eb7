/* One typed table per configuration struct: from it come YAML keys, flags, environment names,
 * help, --dump-config and docs/options.md, so none of them can drift from the parser.
 * Key `timing.pairs` is flag --timing-pairs N (or --set timing.pairs=N), environment
 * KGYM_TIMING_PAIRS, YAML `timing: {pairs: N}` (or `timing.pairs: N`). Booleans: true false yes no
 * on off 1 0, flags --x and --no-x. Unknown keys are errors with the nearest name. */
#ifndef KG_BASE_OPT_H
#define KG_BASE_OPT_H

#include "base/buf.h"

#define KG_OPT_KEY_MAX 64 /* bytes of a key, NUL included */

enum kg_opt_type { KG_OPT_BOOL, KG_OPT_INT, KG_OPT_REAL, KG_OPT_STRING, KG_OPT_ENUM };

struct kg_opt {
    const char *key;
    enum kg_opt_type type;
    size_t offset;            /* of the field in the configuration struct:
                                 bool, int64_t, double, char[size], int (enum) */
    size_t size;              /* of the field; strings: capacity */
    double lo, hi;            /* INT, REAL: inclusive range */
    const char *const *names; /* ENUM: NULL-terminated */
    const char *def;          /* default, as text */
    const char *unit;         /* "s", "MB", "" */
    const char *help;         /* one sentence */
    bool beside;              /* no part of what is asked for: where things lie, who is refused */
    bool client;              /* a client of the service may set it for its own job: it says what is
                                 judged or how well it is measured, and names no file, program,
                                 device or limit of the host */
};

/* Takes a key that is not in the table, such as one that is passed on: value number i of it, from
 * 0; a YAML list has several. *taken false: it is none of these keys either. */
typedef enum kg_code kg_opts_other(void *config, const char *key, size_t i, const char *value,
                                   const char *source, bool *taken, struct kg_err *err);

struct kg_opts {
    const struct kg_opt *table;
    size_t n;
    kg_opts_other *other; /* or NULL */
};

/* Every field := its default. Asserts that the table is well formed. */
void kg_opts_defaults(const struct kg_opts *o, void *config);
/* source: "command line", "environment KGYM_X", "file.yaml:3": where the value came from. */
enum kg_code kg_opts_set(const struct kg_opts *o, void *config, const char *key, const char *value,
                         const char *source, struct kg_err *err) KG_MUST_USE;
enum kg_code kg_opts_set_pair(const struct kg_opts *o, void *config, const char *key_eq_value,
                              const char *source, struct kg_err *err) KG_MUST_USE; /* "key=value" */
enum kg_code kg_opts_yaml(const struct kg_opts *o, void *config, const char *path,
                          struct kg_err *err) KG_MUST_USE;
/* Variables KGYM_X that are no option are left alone, unless X begins with a section of the table
 * (KGYM_TIMING_PARS): that is an unknown key. */
enum kg_code kg_opts_environ(const struct kg_opts *o, void *config, char **environ_list,
                             struct kg_err *err) KG_MUST_USE;
/* argv[at] is looked up as a flag of the table; *used = number of words taken (0: not one of
 * ours). KG_E_USAGE too where `false` or the like follows a boolean, which takes no word. */
enum kg_code kg_opts_flag(const struct kg_opts *o, void *config, int argc, char **argv, int at,
                          int *used, struct kg_err *err) KG_MUST_USE;
/* The flag of a key without its dashes: "timing.half_width" -> "timing-half-width". */
void kg_opt_flag_name(const struct kg_opt *opt, char out[KG_OPT_KEY_MAX]);
/* "timing.half_width" -> "KGYM_TIMING_HALF_WIDTH". */
void kg_opt_env_name(const struct kg_opt *opt, char out[KG_OPT_KEY_MAX + 8]);
/* For "did you mean": the flag ("--timing-pairs") nearest to word, "" when none is near. */
void kg_opts_nearest_flag(const struct kg_opts *o, const char *word, char *out, size_t cap);
/* YAML that kg_opts_yaml reads back to the same values; with comments when help is set. */
void kg_opts_dump(const struct kg_opts *o, const void *config, bool help, struct kg_buf *out);
/* Text as YAML reads it back: in quotes, with quotes and backslashes escaped. */
void kg_opts_dump_text(const char *text, struct kg_buf *out);
void kg_opts_help(const struct kg_opts *o, struct kg_buf *out);     /* for --help */
void kg_opts_markdown(const struct kg_opts *o, struct kg_buf *out); /* for docs/options.md */

#endif

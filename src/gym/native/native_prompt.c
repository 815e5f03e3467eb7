/* A C problem in the words of a first message. */
#include "gym/native/native_prompt.h"

#include <stdio.h>
#include <string.h>

#include "gym/native/operators.h"
#include "gym/problem/print.h"

#define COLUMNS 100

static const char *const c_type[] = {
    [KG_F32] = "float", [KG_F64] = "double", [KG_I32] = "int32_t", [KG_I64] = "int64_t"};

void kg_native_signature(const struct kg_problem *p, struct kg_buf *out)
{
    size_t line = out->len, indent = strlen("void (") + strlen(p->entry);
    kg_buf_addf(out, "void %s(", p->entry);
    for (int i = 0; i < p->nargs; i++) {
        const struct kg_arg *a = &p->args[i];
        char word[128];
        int n =
            snprintf(word, sizeof word, "%s%s %s%s%s", a->role == KG_ROLE_IN ? "const " : "",
                     c_type[a->dtype], a->rank ? "*" : "", a->name, i + 1 < p->nargs ? "," : ");");
        if (i > 0 && out->len - line + 1 + (size_t)n > COLUMNS) {
            kg_buf_addf(out, "\n%*s", (int)indent, "");
            line = out->len - indent;
        } else if (i > 0) {
            kg_buf_addc(out, ' ');
        }
        kg_buf_adds(out, word);
    }
}

static void expression(const struct kg_problem *p, const struct kg_expr *e, struct kg_buf *out)
{
    const char *names[KG_MAX_DIMS];
    for (int i = 0; i < p->ndims; i++) {
        names[i] = p->dims[i].name;
    }
    kg_expr_print(e, names, out);
}

static void range(const struct kg_problem *p, const struct kg_arg *a, struct kg_buf *out)
{
    kg_buf_adds(out, ", values from ");
    expression(p, a->lo, out);
    kg_buf_adds(out, " to below ");
    expression(p, a->hi, out);
}

static void array(const struct kg_problem *p, const struct kg_arg *a, struct kg_buf *out)
{
    for (int r = 0; r < a->rank; r++) {
        kg_buf_adds(out, r ? ", " : " [");
        expression(p, a->extent[r], out);
    }
    kg_buf_adds(out, a->role == KG_ROLE_OUT ? "], output" : "], input");
    if (a->has_range) {
        range(p, a, out);
    }
}

static void argument(const struct kg_problem *p, const struct kg_arg *a, struct kg_buf *out)
{
    kg_buf_addf(out, "- `%s`: %s", a->name, c_type[a->dtype]);
    if (a->rank) {
        array(p, a, out);
    } else if (a->role == KG_ROLE_DIM) {
        kg_buf_addf(out, ", a size; %lld in the timed call", (long long)p->dims[a->dim].def);
    } else if (a->has_range) {
        range(p, a, out);
    } else {
        kg_buf_adds(out, ", always ");
        expression(p, a->value, out);
    }
    kg_buf_addc(out, '\n');
}

static bool is_passed(const struct kg_problem *p, int dim)
{
    for (int i = 0; i < p->nargs; i++) {
        if (p->args[i].role == KG_ROLE_DIM && p->args[i].dim == dim) {
            return true;
        }
    }
    return false;
}

/* Sizes that no argument carries: those that follow from others, and those that are free. */
static void other_sizes(const struct kg_problem *p, struct kg_buf *out)
{
    for (int d = 0; d < p->ndims; d++) {
        const struct kg_dim *dim = &p->dims[d];
        if (dim->by) {
            kg_buf_addf(out, "- `%s` = ", dim->name);
            expression(p, dim->by, out);
            kg_buf_addf(out, "; %lld in the timed call\n", (long long)dim->def);
        } else if (!is_passed(p, d)) {
            kg_buf_addf(out, "- `%s`: a size that is not passed; %lld in the timed call\n",
                        dim->name, (long long)dim->def);
        }
    }
}

void kg_native_arguments(const struct kg_problem *p, struct kg_buf *out)
{
    for (int i = 0; i < p->nargs; i++) {
        argument(p, &p->args[i], out);
    }
    other_sizes(p, out);
    for (int i = 0; i < p->nwhere; i++) {
        kg_buf_adds(out, i ? ", and " : "- Always: ");
        expression(p, p->where[i], out);
    }
    kg_buf_adds(out, p->nwhere ? "\n" : "");
}

/* The word of a line of /proc/cpuinfo, between blanks. */
static bool has_word(const char *line, const char *word)
{
    size_t n = strlen(word);
    for (const char *s = line; (s = strstr(s, word)); s += n) {
        if (s > line && (s[-1] == ' ' || s[-1] == '\t') && strchr(" \n", s[n])) {
            return true;
        }
    }
    return false;
}

static void extensions(const char *line, struct kg_buf *out)
{
    static const char *const known[] = {"sse4_2",  "avx",      "avx2",     "fma",
                                        "avx512f", "avx512bw", "avx512vl", "avx512_bf16",
                                        "neon",    "asimd",    "sve",      "sve2"};
    size_t before = out->len;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (has_word(line, known[i])) {
            kg_buf_addf(out, "%s%s", out->len == before ? ", with " : ", ", known[i]);
        }
    }
}

void kg_native_hardware(struct kg_buf *out)
{
    char line[8192], name[200] = "";
    struct kg_buf with;
    FILE *f = fopen("/proc/cpuinfo", "re");
    kg_buf_init(&with, 1024);
    while (f && fgets(line, sizeof line, f)) {
        const char *value = strchr(line, ':');
        if (value && strncmp(line, "model name", 10) == 0 && !*name) {
            snprintf(name, sizeof name, "%.*s", (int)strcspn(value + 2, "\n"), value + 2);
        } else if (value && with.len == 0 &&
                   (strncmp(line, "flags", 5) == 0 || strncmp(line, "Features", 8) == 0)) {
            extensions(value, &with);
        }
    }
    if (f) {
        fclose(f);
    }
    kg_buf_addf(out, "one core of %s%s; compiled with -O3 -march=native", *name ? name : "a CPU",
                with.data);
    kg_buf_deinit(&with);
}

enum kg_code kg_native_prompt(const char *path, const struct kg_prompt_spec *spec,
                              struct kg_prompt_about *about, struct kg_buf *out, struct kg_err *err)
{
    struct kg_problem *p;
    struct kg_buf signature, arguments, operators, hardware;
    if (kg_problem_load(path, &p, err) != KG_OK) {
        return err->code;
    }
    const char *source = kg_prompt_after_block(p->source);
    size_t len = p->source_len - (size_t)(source - p->source);
    kg_buf_init(&signature, 1 << 16);
    kg_buf_init(&arguments, 1 << 20);
    kg_buf_init(&operators, 1 << 16);
    kg_buf_init(&hardware, 1 << 12);
    kg_native_signature(p, &signature);
    kg_native_arguments(p, &arguments);
    kg_operators_describe(source, len, &operators);
    kg_native_hardware(&hardware);
    struct kg_prompt_task task = {.lang = KG_LANG_C,
                                  .name = p->name,
                                  .entry = p->entry,
                                  .desc = p->desc,
                                  .signature = signature.data,
                                  .arguments = arguments.data,
                                  .operators = operators.data,
                                  .source = source,
                                  .source_len = len,
                                  .hardware = hardware.data};
    enum kg_code code = kg_prompt_render(&task, spec, out, err);
    kg_prompt_about_set(about, KG_LANG_C, p->name, p->sha256);
    kg_buf_deinit(&signature);
    kg_buf_deinit(&arguments);
    kg_buf_deinit(&operators);
    kg_buf_deinit(&hardware);
    kg_problem_destroy(p);
    return code;
}

/* Builds a reference with the prototype that its block implies, for the compiler to compare. */
#include "gym/native/reference_signature.h"

#include <stdlib.h>
#include <string.h>

#include "gym/native/native.h"

#define TYPE_CAP 2000
#define WORD     "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

/* For people, and for the compiler: the source need not know <stdint.h>, and `real` is its macro.
 */
static const char *const said[] = {
    [KG_F32] = "real", [KG_F64] = "double", [KG_I32] = "int32_t", [KG_I64] = "int64_t"};
static const char *const built[] = {[KG_F32] = "real",
                                    [KG_F64] = "double",
                                    [KG_I32] = "__INT32_TYPE__",
                                    [KG_I64] = "__INT64_TYPE__"};

static void prototype(const struct kg_problem *p, bool person, struct kg_buf *out)
{
    kg_buf_addf(out, "void %s(", p->entry);
    for (int i = 0; i < p->nargs; i++) {
        const struct kg_arg *a = &p->args[i];
        kg_buf_addf(out, "%s%s%s %s%s", i > 0 ? ", " : "", a->role == KG_ROLE_IN ? "const " : "",
                    person ? said[a->dtype] : built[a->dtype], a->rank > 0 ? "*" : "",
                    person ? a->name : "");
    }
    kg_buf_addc(out, ')');
}

static bool is_qualifier(const char *word, size_t n)
{
    return (n == 5 && memcmp(word, "const", 5) == 0) ||
           (n == 8 && memcmp(word, "restrict", 8) == 0);
}

/* The type that a line of the compiler names last, in quotes, without `const`, `restrict` and
 * spaces. */
static bool type_of(const char *line, char out[TYPE_CAP])
{
    const char *end = strchr(line, '\n'), *from = NULL, *to = NULL;
    size_t n = 0;
    end = end != NULL ? end : line + strlen(line);
    for (const char *p = line; p < end; p++) {
        if (*p == '\'') {
            from = to;
            to = p;
        }
    }
    if (from == NULL || to - from >= TYPE_CAP) {
        return false;
    }
    for (const char *p = from + 1; p < to; p++) {
        size_t word = strspn(p, WORD);
        if (is_qualifier(p, word)) {
            p += word - 1;
        } else if (word > 0) {
            memcpy(out + n, p, word);
            n += word;
            p += word - 1;
        } else if (*p != ' ') {
            out[n++] = *p;
        }
    }
    out[n] = '\0';
    return true;
}

/* False: it fits. line: of its definition; 0: unknown. */
static bool conflicts(const char *text, int *line)
{
    char want[TYPE_CAP], have[TYPE_CAP];
    const char *conflict = strstr(text, "conflicting types for");
    const char *defined = conflict ? strstr(conflict, "previous definition of") : NULL;
    *line = 0;
    if (defined == NULL) {
        return conflict != NULL;
    }
    const char *start = defined;
    while (start > text && start[-1] != '\n') {
        start--;
    }
    const char *colon = memchr(start, ':', (size_t)(defined - start));
    *line = colon != NULL ? atoi(colon + 1) : 0;
    return !type_of(conflict, want) || !type_of(defined, have) || strcmp(want, have) != 0;
}

static void add_check(const struct kg_problem *p, int line, struct kg_onboard *o)
{
    struct kg_onboard_check *c = kg_onboard_add(o, "signature");
    struct kg_buf wanted;
    char at[24] = "";
    kg_buf_init(&wanted, 1 << 16);
    prototype(p, true, &wanted);
    if (line > 0) {
        snprintf(at, sizeof at, ":%d", line);
    }
    snprintf(c->detail, sizeof c->detail, "%.200s%s: `%s` does not fit `args`; write `%s`", p->path,
             at, p->entry, wanted.data);
    kg_buf_deinit(&wanted);
}

enum kg_code kg_reference_signature(struct kg_worker *w, struct kg_onboard *o, struct kg_err *err)
{
    const struct kg_problem *p = kg_native_of(w)->problem;
    struct kg_cc_result res;
    struct kg_buf source;
    char dir[320];
    int line;
    kg_buf_init(&source, 1 << 20);
    kg_buf_add(&source, p->source, p->source_len);
    kg_buf_adds(&source, "\n");
    prototype(p, false, &source);
    kg_buf_adds(&source, ";\n");
    snprintf(dir, sizeof dir, "%s/signature", w->scratch.path);
    enum kg_code code =
        kg_native_build(w, KG_CC_REF_FLOAT, source.data, source.len, dir, &res, err);
    kg_buf_deinit(&source);
    if (code != KG_OK) {
        return code;
    }
    if (res.status == KG_CC_SYNTAX && conflicts(res.text.data, &line)) {
        add_check(p, line, o);
    }
    kg_buf_deinit(&res.text);
    return KG_OK;
}

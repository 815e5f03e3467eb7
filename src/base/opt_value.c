/* One value of an option: text to field, field to text. */
#include "base/opt_table.h"
#include "base/utf8.h"
#include "base/yaml.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum kg_code refuse(const struct kg_opt *opt, const char *value, const char *source,
                           const char *wanted, struct kg_err *err)
{
    return kg_fail(err, KG_E_USAGE, "%s: %s: `%.80s` is not %s", source, opt->key, value, wanted);
}

static enum kg_code out_of_range(const struct kg_opt *opt, const char *value, const char *source,
                                 struct kg_err *err)
{
    return kg_fail(err, KG_E_USAGE, "%s: %s: %.80s is outside %.15g..%.15g%s%s", source, opt->key,
                   value, opt->lo, opt->hi, opt->unit[0] ? " " : "", opt->unit);
}

static enum kg_code store_bool(const struct kg_opt *opt, bool *field, const char *value,
                               const char *source, struct kg_err *err)
{
    static const char *const words[] = {"false", "true", "no", "yes", "off", "on", "0", "1"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcasecmp(value, words[i]) == 0) {
            *field = i % 2 == 1;
            return KG_OK;
        }
    }
    return refuse(opt, value, source, "true or false", err);
}

static enum kg_code store_int(const struct kg_opt *opt, int64_t *field, const char *value,
                              const char *source, struct kg_err *err)
{
    char *end;
    errno = 0;
    long long v = strtoll(value, &end, 10);
    if (end == value || *end != '\0' || isspace((unsigned char)value[0])) {
        return refuse(opt, value, source, "a whole number", err);
    }
    if (errno == ERANGE || (double)v < opt->lo || (double)v > opt->hi) {
        return out_of_range(opt, value, source, err);
    }
    *field = v;
    return KG_OK;
}

static enum kg_code store_real(const struct kg_opt *opt, double *field, const char *value,
                               const char *source, struct kg_err *err)
{
    char *end;
    double v = strtod(value, &end);
    /* Digits only: strtod would also read hexadecimal, inf and nan. */
    if (end == value || *end != '\0' || strspn(value, "+-.0123456789eE") != strlen(value)) {
        return refuse(opt, value, source, "a number", err);
    }
    if (!isfinite(v) || v < opt->lo || v > opt->hi) {
        return out_of_range(opt, value, source, err);
    }
    *field = v;
    return KG_OK;
}

static enum kg_code store_string(const struct kg_opt *opt, char *field, const char *value,
                                 const char *source, struct kg_err *err)
{
    size_t len = strlen(value);
    if (len >= opt->size) {
        return kg_fail(err, KG_E_USAGE, "%s: %s: longer than %zu bytes", source, opt->key,
                       opt->size - 1);
    }
    for (size_t at = 0; at < len;) {
        uint32_t cp;
        bool ok;
        at += kg_utf8_next(value + at, len - at, &cp, &ok);
        if (!ok || !kg_utf8_in_line(cp)) {
            return kg_fail(err, KG_E_USAGE, "%s: %s: holds a control character or invalid UTF-8",
                           source, opt->key);
        }
    }
    snprintf(field, opt->size, "%s", value);
    return KG_OK;
}

static enum kg_code store_enum(const struct kg_opt *opt, int *field, const char *value,
                               const char *source, struct kg_err *err)
{
    struct kg_buf list;
    kg_buf_init(&list, 200);
    size_t n = 0;
    for (; opt->names[n] != NULL; n++) {
        if (strcmp(value, opt->names[n]) == 0) {
            *field = (int)n;
            kg_buf_deinit(&list);
            return KG_OK;
        }
        kg_buf_addf(&list, "%s%s", n == 0 ? "" : ", ", opt->names[n]);
    }
    const char *near = kg_nearest(value, opt->names, n);
    enum kg_code code =
        kg_fail(err, KG_E_USAGE, "%s: %s: `%.80s` is not one of %s%s%s%s", source, opt->key, value,
                list.data, near ? "; did you mean `" : "", near ? near : "", near ? "`?" : "");
    kg_buf_deinit(&list);
    return code;
}

enum kg_code kg_opt_store(const struct kg_opt *opt, void *config, const char *value,
                          const char *source, struct kg_err *err)
{
    void *field = (char *)config + opt->offset;
    switch (opt->type) {
    case KG_OPT_BOOL:
        return store_bool(opt, field, value, source, err);
    case KG_OPT_INT:
        return store_int(opt, field, value, source, err);
    case KG_OPT_REAL:
        return store_real(opt, field, value, source, err);
    case KG_OPT_STRING:
        return store_string(opt, field, value, source, err);
    case KG_OPT_ENUM:
        break;
    }
    return store_enum(opt, field, value, source, err);
}

void kg_opts_dump_text(const char *text, struct kg_buf *out)
{
    kg_buf_addc(out, '"');
    for (const char *p = text; *p != '\0'; p++) {
        if (*p == '"' || *p == '\\') {
            kg_buf_addc(out, '\\');
        }
        kg_buf_addc(out, *p);
    }
    kg_buf_addc(out, '"');
}

void kg_opt_show(const struct kg_opt *opt, const void *config, struct kg_buf *out)
{
    const void *field = (const char *)config + opt->offset;
    switch (opt->type) {
    case KG_OPT_BOOL:
        kg_buf_adds(out, *(const bool *)field ? "true" : "false");
        break;
    case KG_OPT_INT:
        kg_buf_addf(out, "%" PRId64, *(const int64_t *)field);
        break;
    case KG_OPT_REAL:
        kg_buf_add_real(out, *(const double *)field);
        break;
    case KG_OPT_STRING:
        kg_opts_dump_text(field, out);
        break;
    case KG_OPT_ENUM:
        kg_buf_adds(out, opt->names[*(const int *)field]);
        break;
    }
}

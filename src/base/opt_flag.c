/* Options on the command line: --timing-pairs 20, --timing-pairs=20, --staged, --no-staged. */
#include "base/opt_table.h"
#include "base/yaml.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* The option that the word names, "--" and "=value" apart. *no: it was "--no-NAME" of a boolean. */
static const struct kg_opt *find_flag(const struct kg_opts *o, const char *word, size_t len,
                                      bool *no)
{
    for (size_t i = 0; i < o->n; i++) {
        char name[KG_OPT_KEY_MAX];
        kg_opt_flag_name(&o->table[i], name);
        size_t n = strlen(name);
        *no = o->table[i].type == KG_OPT_BOOL && len == n + 3 && strncmp(word, "no-", 3) == 0 &&
              strncmp(word + 3, name, n) == 0;
        if (*no || (len == n && strncmp(word, name, n) == 0)) {
            return &o->table[i];
        }
    }
    return NULL;
}

/* A boolean says its value by its name. A word behind it that looks like a value would be taken for
 * an operand, and the option for `true`. */
static enum kg_code refuse_value(const struct kg_opt *opt, bool no, const char *next,
                                 struct kg_err *err)
{
    static const char *const words[] = {"false", "true", "no", "yes", "off", "on"};
    char name[KG_OPT_KEY_MAX];
    kg_opt_flag_name(opt, name);
    for (size_t i = 0; next != NULL && i < sizeof words / sizeof *words; i++) {
        if (strcasecmp(next, words[i]) == 0) {
            return kg_fail(err, KG_E_USAGE,
                           "command line: --%s%s takes no word after it (`%s`); write `--%s%s`",
                           no ? "no-" : "", name, next, (i % 2 == 1) != no ? "" : "no-", name);
        }
    }
    return KG_OK;
}

enum kg_code kg_opts_flag(const struct kg_opts *o, void *config, int argc, char **argv, int at,
                          int *used, struct kg_err *err)
{
    *used = 0;
    const char *word = argv[at];
    if (strncmp(word, "--", 2) != 0) {
        return KG_OK;
    }
    word += 2;
    size_t len = strcspn(word, "=");
    const char *value = word[len] == '=' ? word + len + 1 : NULL;
    bool no;
    const struct kg_opt *opt = find_flag(o, word, len, &no);
    if (opt == NULL) {
        return KG_OK;
    }
    if (no && value != NULL) {
        return kg_fail(err, KG_E_USAGE, "command line: --%.*s takes no value", (int)len, word);
    }
    if (opt->type == KG_OPT_BOOL && value == NULL &&
        refuse_value(opt, no, at + 1 < argc ? argv[at + 1] : NULL, err) != KG_OK) {
        return err->code;
    }
    *used = 1;
    if (opt->type == KG_OPT_BOOL && value == NULL) {
        value = no ? "false" : "true";
    } else if (value == NULL) {
        if (at + 1 >= argc) {
            *used = 0;
            return kg_fail(err, KG_E_USAGE, "command line: --%.*s needs a value", (int)len, word);
        }
        value = argv[at + 1];
        *used = 2;
    }
    return kg_opt_store(opt, config, value, "command line", err);
}

void kg_opts_nearest_flag(const struct kg_opts *o, const char *word, char *out, size_t cap)
{
    char plain[KG_OPT_KEY_MAX];
    snprintf(plain, sizeof plain, "%.*s", (int)strcspn(word, "="), word);
    const char *wanted = plain + strspn(plain, "-");
    const char *near = NULL;
    char best[KG_OPT_KEY_MAX] = "", name[KG_OPT_KEY_MAX];
    for (size_t i = 0; i < o->n; i++) {
        kg_opt_flag_name(&o->table[i], name);
        const char *pair[] = {name, best};
        near = kg_nearest(wanted, pair, best[0] != '\0' ? 2 : 1);
        if (near == name) {
            memcpy(best, name, sizeof best);
        }
    }
    snprintf(out, cap, "%s%s", best[0] != '\0' ? "--" : "", best);
}

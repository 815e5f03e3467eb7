/* Where values come from: a YAML file, the environment, the command line. */
#include "base/file.h"
#include "base/opt_table.h"
#include "base/yaml.h"

#include <stdio.h>
#include <string.h>

#define YAML_MAX_BYTES  (1u << 20)
#define YAML_MAX_MEMORY (8u << 20)
#define MAX_OPTIONS     256

struct yaml_walk {
    const struct kg_opts *o;
    void *config;
    const char *path;
    int *lines; /* [o->n] where each option was set, 0: not yet */
    struct kg_err *err;
};

/* A list of words for an option that holds text: its words with commas between. */
static enum kg_code join(const struct kg_yaml *list, const char *source, struct kg_buf *out,
                         struct kg_err *err)
{
    for (const struct kg_yaml *e = list->child; e != NULL; e = e->next) {
        if (e->kind != KG_YAML_SCALAR || strchr(e->text, ',') != NULL) {
            return kg_fail(err, KG_E_USAGE, "%s: a list here holds words without commas", source);
        }
        kg_buf_addf(out, "%s%s", e == list->child ? "" : ",", e->text);
    }
    return KG_OK;
}

/* A key that is not in the table: one value, or those of a list. */
static enum kg_code pass_on(struct yaml_walk *w, const char *key, const struct kg_yaml *node,
                            const char *source)
{
    if (node->kind == KG_YAML_SCALAR) {
        return kg_opt_pass_on(w->o, w->config, key, 0, node->text, source, w->err);
    }
    enum kg_code code = KG_OK;
    size_t i = 0;
    for (const struct kg_yaml *e = node->child; code == KG_OK && e != NULL; e = e->next) {
        code = e->kind == KG_YAML_SCALAR
                   ? kg_opt_pass_on(w->o, w->config, key, i++, e->text, source, w->err)
                   : kg_fail(w->err, KG_E_USAGE, "%s: %s: a list here holds words", source, key);
    }
    return code != KG_OK || i > 0
               ? code
               : kg_fail(w->err, KG_E_USAGE, "%s: %s: an empty list", source, key);
}

static enum kg_code set_value(struct yaml_walk *w, const char *key, const struct kg_yaml *node)
{
    char source[300];
    snprintf(source, sizeof source, "%s:%d", w->path, node->line);
    const struct kg_opt *opt = kg_opt_find(w->o, key);
    if (opt == NULL) {
        return pass_on(w, key, node, source);
    }
    int *line = &w->lines[opt - w->o->table];
    if (*line != 0) {
        return kg_fail(w->err, KG_E_USAGE, "%s: %s: set twice (first on line %d)", source, key,
                       *line);
    }
    *line = node->line;
    if (node->kind == KG_YAML_SCALAR) {
        return kg_opt_store(opt, w->config, node->text, source, w->err);
    }
    if (opt->type != KG_OPT_STRING) {
        return kg_fail(w->err, KG_E_USAGE, "%s: %s: a list, but one value is wanted", source, key);
    }
    struct kg_buf text;
    kg_buf_init(&text, opt->size); /* one byte too many, so that too long is seen as such */
    enum kg_code code = join(node, source, &text, w->err);
    if (code == KG_OK) {
        code = kg_opt_store(opt, w->config, text.data, source, w->err);
    }
    kg_buf_deinit(&text);
    return code;
}

static bool is_section(const struct kg_opts *o, const char *word)
{
    size_t len = strlen(word);
    for (size_t i = 0; i < o->n; i++) {
        if (strncmp(o->table[i].key, word, len) == 0 && o->table[i].key[len] == '.') {
            return true;
        }
    }
    return false;
}

/* Recursion is bounded by the depth that kg_yaml_parse accepts. */
static enum kg_code set_map(struct yaml_walk *w, const char *prefix, const struct kg_yaml *map)
{
    enum kg_code code = KG_OK;
    for (const struct kg_yaml *e = map->child; code == KG_OK && e != NULL; e = e->next) {
        char key[2 * KG_OPT_KEY_MAX];
        snprintf(key, sizeof key, "%s%s%s", prefix, prefix[0] != '\0' ? "." : "", e->key);
        if (e->kind == KG_YAML_MAP) {
            code = set_map(w, key, e);
        } else if (e->kind != KG_YAML_SCALAR || e->text[0] != '\0' || !is_section(w->o, key)) {
            code = set_value(w, key, e); /* `timing:` with nothing below it is fine */
        }
    }
    return code;
}

enum kg_code kg_opts_yaml(const struct kg_opts *o, void *config, const char *path,
                          struct kg_err *err)
{
    struct kg_buf text;
    struct kg_arena arena;
    struct kg_yaml *root = NULL;
    int lines[MAX_OPTIONS] = {0};
    KG_ASSERT(o->n <= MAX_OPTIONS);
    kg_buf_init(&text, YAML_MAX_BYTES);
    kg_arena_init(&arena, path, YAML_MAX_MEMORY);
    enum kg_code code = kg_file_read(path, &text, err);
    if (code == KG_OK) {
        code = kg_yaml_parse(text.data, text.len, path, 1, &arena, &root, err);
    }
    if (code == KG_OK && root->kind != KG_YAML_MAP) {
        code =
            kg_fail(err, KG_E_INPUT, "%s:%d: not a map of options (key: value)", path, root->line);
    }
    if (code == KG_OK) {
        struct yaml_walk w = {.o = o, .config = config, .path = path, .lines = lines, .err = err};
        code = set_map(&w, "", root);
    }
    kg_arena_deinit(&arena);
    kg_buf_deinit(&text);
    return code;
}

/* KGYM_TIMING_PARS is a mistake where there is a section `timing`; KGYM_LOG is somebody else's. */
static bool in_a_section(const struct kg_opts *o, const char *name, size_t len)
{
    for (size_t i = 0; i < o->n; i++) {
        char env[KG_OPT_KEY_MAX + 8];
        const char *dot = strchr(o->table[i].key, '.');
        if (dot == NULL) {
            continue;
        }
        kg_opt_env_name(&o->table[i], env);
        size_t section = strlen("KGYM_") + (size_t)(dot - o->table[i].key) + 1;
        if (len > section && strncmp(env, name, section) == 0) {
            return true;
        }
    }
    return false;
}

static enum kg_code unknown_variable(const struct kg_opts *o, const char *name, const char *source,
                                     struct kg_err *err)
{
    char env[MAX_OPTIONS][KG_OPT_KEY_MAX + 8];
    const char *names[MAX_OPTIONS];
    size_t n = o->n < MAX_OPTIONS ? o->n : MAX_OPTIONS;
    for (size_t i = 0; i < n; i++) {
        kg_opt_env_name(&o->table[i], env[i]);
        names[i] = env[i];
    }
    const char *near = kg_nearest(name, names, n);
    return kg_fail(err, KG_E_USAGE, "%s: no option of this name%s%s%s", source,
                   near ? ", did you mean `" : "", near ? near : "", near ? "`?" : "");
}

/* Index of the option whose environment variable is name; o->n where there is none. */
static size_t find_variable(const struct kg_opts *o, const char *name)
{
    char env[KG_OPT_KEY_MAX + 8];
    for (size_t i = 0; i < o->n; i++) {
        kg_opt_env_name(&o->table[i], env);
        if (strcmp(env, name) == 0) {
            return i;
        }
    }
    return o->n;
}

enum kg_code kg_opts_environ(const struct kg_opts *o, void *config, char **environ_list,
                             struct kg_err *err)
{
    for (char **e = environ_list; *e != NULL; e++) {
        const char *eq = strchr(*e, '=');
        if (strncmp(*e, "KGYM_", 5) != 0 || eq == NULL || eq - *e >= 2 * KG_OPT_KEY_MAX) {
            continue;
        }
        char name[2 * KG_OPT_KEY_MAX], source[3 * KG_OPT_KEY_MAX];
        snprintf(name, sizeof name, "%.*s", (int)(eq - *e), *e);
        snprintf(source, sizeof source, "environment %s", name);
        size_t at = find_variable(o, name);
        enum kg_code code = KG_OK;
        if (at < o->n) {
            code = kg_opt_store(&o->table[at], config, eq + 1, source, err);
        } else if (in_a_section(o, name, strlen(name))) {
            code = unknown_variable(o, name, source, err);
        }
        if (code != KG_OK) {
            return code;
        }
    }
    return KG_OK;
}

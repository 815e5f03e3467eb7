/* The gym as the service asks it: may a client set this, and which problems are there? */
#include <string.h>
#include <unistd.h>

#include "base/yaml.h"
#include "cli/gym/problems_set.h"
#include "cli/svc/serve.h"
#include "gym/eval/config.h"
#include "gym/eval/executor.h"

enum { KEYS_MAX = 256 };

enum { FOUND_MOST = 100000 }; /* names; a problem of a suite has several */

static struct kg_paths paths;
static json_t *listed;

static bool among(const char *const *list, const char *key, size_t n)
{
    for (; *list != NULL; list++) {
        if (strlen(*list) == n && memcmp(*list, key, n) == 0) {
            return true;
        }
    }
    return false;
}

/* What a preset and the environment say. Neither changes while the service runs, and reading them
 * takes about a millisecond, which a batch would pay for each line. preset: known, or NULL. */
static enum kg_code configuration_of(const char *preset, struct kg_config *out, struct kg_err *err)
{
    static struct kg_config kept;
    static char kept_preset[64];
    static bool there;
    const char *name = preset != NULL ? preset : "";
    if (!there || strcmp(kept_preset, name) != 0) {
        there = false;
        if (kg_config_load(&kept, preset, NULL, environ, err) != KG_OK) {
            return err->code;
        }
        snprintf(kept_preset, sizeof kept_preset, "%s", name);
        there = strlen(name) < sizeof kept_preset;
    }
    *out = kept;
    return KG_OK;
}

/* Is the key of this pair a client's? */
static enum kg_code may_set(const char *pair, struct kg_err *err)
{
    const struct kg_opts *o = kg_config_options();
    const char *keys[KEYS_MAX];
    char key[KG_OPT_KEY_MAX];
    size_t n = 0;
    snprintf(key, sizeof key, "%.*s", (int)strcspn(pair, "="), pair);
    for (size_t i = 0; i < o->n; i++) {
        if (o->table[i].client && strcmp(o->table[i].key, key) == 0) {
            return KG_OK;
        }
        if (o->table[i].client) {
            KG_ASSERT(n < KEYS_MAX);
            keys[n++] = o->table[i].key;
        }
    }
    const char *near = kg_nearest(key, keys, n);
    return kg_fail(err, KG_E_USAGE,
                   near != NULL ? "a client cannot set that; did you mean `%s`?"
                                : "a client cannot set that%s",
                   near != NULL ? near : "");
}

static enum kg_code no_preset(const char *name, struct kg_err *err)
{
    const char *const *all = kg_config_presets();
    size_t n = 0;
    while (all[n] != NULL) {
        n++;
    }
    const char *near = kg_nearest(name, all, n);
    return near != NULL ? kg_fail(err, KG_E_USAGE, "no such preset; did you mean `%s`?", near)
                        : kg_fail(err, KG_E_USAGE, "no such preset: docs/presets.md lists them");
}

static enum kg_code settings(void *ctx, const char *preset, const char *rewards,
                             const char *const *set, size_t nset, struct kg_err *err)
{
    struct kg_config c;
    (void)ctx;
    if (preset != NULL && !among(kg_config_presets(), preset, strlen(preset))) {
        return no_preset(preset, err);
    }
    if (configuration_of(preset, &c, err) != KG_OK) {
        return err->code;
    }
    for (size_t i = 0; i < nset; i++) {
        if (may_set(set[i], err) != KG_OK) {
            return err->code;
        }
        if (kg_opts_set_pair(kg_config_options(), &c, set[i], "set", err) != KG_OK) {
            return err->code;
        }
    }
    if (rewards != NULL && kg_config_check_rewards(rewards, err) != KG_OK) {
        return err->code;
    }
    return kg_config_check(&c, err);
}

static enum kg_code list_all(struct kg_err *err);

/* A row of a file: only one that is listed, since a file of that name may lie where the service was
 * started. */
static enum kg_code row(const char *name, const char **language, struct kg_err *err)
{
    size_t i;
    const json_t *p;
    if (list_all(err) != KG_OK) {
        return err->code;
    }
    json_array_foreach(listed, i, p)
    {
        if (strcmp(json_string_value(json_object_get(p, "problem")), name) == 0) {
            *language = json_string_value(json_object_get(p, "language"));
            return KG_OK;
        }
    }
    return kg_fail(err, KG_E_NOT_FOUND, "no problem '%.60s' in the suites", name);
}

static enum kg_code find(const char *name, const char **language, struct kg_err *err)
{
    const struct kg_executor *x;
    char path[1200];
    if (strchr(name, '#') != NULL) {
        return row(name, language, err);
    }
    enum kg_code code = kg_executor_find(&paths, name, &x, path, sizeof path, err);
    if (code == KG_OK) {
        *language = x->language;
    }
    return code;
}

/* Names that were found are kept: the suites do not change while the service runs, and a walk
 * through their folders takes about a millisecond. */
static enum kg_code problem(void *ctx, const char *name, char device[KG_SVC_DEVICE_MAX],
                            struct kg_err *err)
{
    static json_t *found;
    const char *language;
    (void)ctx;
    found = found != NULL ? found : json_object();
    const char *kept = json_string_value(json_object_get(found, name));
    if (kept != NULL) {
        snprintf(device, KG_SVC_DEVICE_MAX, "%s", kept);
        return KG_OK;
    }
    if (find(name, &language, err) != KG_OK) {
        return err->code;
    }
    snprintf(device, KG_SVC_DEVICE_MAX, "%s", strcmp(language, "c") == 0 ? "cpu" : "torch");
    if (json_object_size(found) < FOUND_MOST) {
        json_object_set_new(found, name, json_string(device));
    }
    return KG_OK;
}

static enum kg_code prompt(void *ctx, const char *name, const char *language, struct kg_buf *out,
                           struct kg_err *err)
{
    const struct kg_executor *x;
    struct kg_config c;
    struct kg_prompt_spec spec = {0};
    const char *its;
    char path[1200];
    (void)ctx;
    if (language != NULL && !kg_prompt_language_parse(language, &spec.language)) {
        return kg_fail(err, KG_E_USAGE, "`language` must be triton, cuda or pytorch");
    }
    if (kg_config_load(&c, NULL, NULL, environ, err) != KG_OK || find(name, &its, err) != KG_OK ||
        kg_executor_find(&paths, name, &x, path, sizeof path, err) != KG_OK) {
        return err->code;
    }
    spec.league = c.league;
    return x->prompt(path, &spec, NULL, out, err);
}

static void add(json_t *list, const struct kg_cli_item *it)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_problem_facts f;
    const struct kg_executor *x;
    char path[1200];
    if (kg_executor_find(&paths, it->path[0] ? it->path : it->word, &x, path, sizeof path, &err) !=
        KG_OK) {
        return;
    }
    if (x->facts(path, &f, &err) == KG_OK) {
        json_array_append_new(list, json_pack("{s:o, s:s, s:s, s:i, s:o}", "problem",
                                              kg_json_text(it->word, strlen(it->word)), "suite",
                                              f.suite, "language", x->language, "level", f.level,
                                              "desc", kg_json_text(f.desc, strlen(f.desc))));
    }
    kg_problem_facts_deinit(&f);
}

/* The suites do not change while the service runs, so they are read once. */
static enum kg_code list_all(struct kg_err *err)
{
    struct kg_cli_set set;
    struct kg_cli_item it;
    if (listed == NULL) {
        if (kg_cli_set_open(&paths, NULL, 0, &set, err) != KG_OK) {
            return err->code;
        }
        listed = json_array();
        while (kg_cli_set_next(&set, &it)) {
            add(listed, &it);
        }
        kg_cli_set_close(&set);
    }
    return KG_OK;
}

static enum kg_code problems(void *ctx, json_t *list, struct kg_err *err)
{
    (void)ctx;
    if (list_all(err) != KG_OK) {
        return err->code;
    }
    json_array_extend(list, listed);
    return KG_OK;
}

enum kg_code kg_serve_gym(struct kg_svc_gym *out, struct kg_err *err)
{
    struct kg_config c;
    if (kg_config_load(&c, NULL, NULL, environ, err) != KG_OK ||
        kg_paths_find(c.suites, &paths, err) != KG_OK) {
        return err->code;
    }
    static const char *reads[KG_MAX_SUITES + 1];
    memcpy(reads, paths.suites, paths.nsuites * sizeof *reads);
    *out = (struct kg_svc_gym){.settings = settings,
                               .problem = problem,
                               .prompt = prompt,
                               .problems = problems,
                               .reads = reads};
    return KG_OK;
}

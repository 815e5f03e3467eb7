/* From the options of a client to a service that takes its tasks. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gym/pool/settings.h"
#include "remote/remote_private.h"

enum { MOST_JOBS = 4096 };

extern char **environ;

/* --- the configuration --- */

/* What differs from the preset is asked of the service. What a service does not let its clients set
 * may differ only where this host's environment says so, which is no word about the service. */
static enum kg_code compare(struct kg_remote *r, const struct kg_config *plain,
                            const struct kg_config *here, struct kg_err *err)
{
    json_t *mine = kg_settings_of(&r->config), *theirs = kg_settings_of(plain),
           *local = kg_settings_of(here);
    const struct kg_opts *o = kg_config_options();
    enum kg_code code =
        mine && theirs && local ? KG_OK : kg_fail(err, KG_E_LIMIT, "no memory for settings");
    for (size_t i = 0; code == KG_OK && i < json_array_size(mine); i++) {
        const char *pair = json_string_value(json_array_get(mine, i));
        const char *key = o->table[i].key;
        bool named = strcmp(key, "preset") == 0 || strcmp(key, "rewards") == 0;
        if (named || strcmp(pair, json_string_value(json_array_get(theirs, i))) == 0) {
            continue;
        }
        if (o->table[i].client) {
            json_object_set_new(r->set, key, json_string(strchr(pair, '=') + 1));
        } else if (strcmp(pair, json_string_value(json_array_get(local, i))) != 0) {
            code = kg_fail(err, KG_E_USAGE, "%s: a service lets no client set this; leave it out",
                           key);
        }
    }
    json_decref(mine);
    json_decref(theirs);
    json_decref(local);
    return code;
}

static enum kg_code configure(struct kg_remote *r, const json_t *options, struct kg_err *err)
{
    struct kg_config plain, here;
    if (kg_config_load(&r->config, kg_frame_text(options, "preset"),
                       kg_frame_text(options, "config"), environ, err) != KG_OK ||
        kg_settings_apply(json_object_get(options, "settings"), &r->config, err) != KG_OK ||
        kg_config_check(&r->config, err) != KG_OK ||
        kg_config_load(&plain, r->config.preset, NULL, NULL, err) != KG_OK ||
        kg_config_load(&here, r->config.preset, NULL, environ, err) != KG_OK) {
        return err->code;
    }
    return compare(r, &plain, &here, err);
}

static bool is_name(const char *text)
{
    size_t n = strlen(text);
    return n > 0 && n <= KG_REMOTE_RUN_MAX &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz"
                        "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                        "0123456789._-") == n;
}

static enum kg_code read_run(struct kg_remote *r, const json_t *options, struct kg_err *err)
{
    const char *run = kg_frame_text(options, "run"), *own = kg_frame_text(options, "own_run");
    r->run_named = run != NULL;
    run = run != NULL ? run : own;
    if (run == NULL || !is_name(run)) {
        return kg_fail(err, KG_E_USAGE,
                       "run: 1 to %d letters, digits and `._-` are needed for a name",
                       KG_REMOTE_RUN_MAX);
    }
    snprintf(r->run, sizeof r->run, "%s", run);
    return KG_OK;
}

static enum kg_code refuse_local(const json_t *options, struct kg_err *err)
{
    static const char *const local[] = {"devices", "trace"};
    for (size_t i = 0; i < sizeof local / sizeof *local; i++) {
        if (kg_frame_text(options, local[i]) != NULL) {
            return kg_fail(err, KG_E_USAGE, "%s: a service does not let its clients choose that",
                           local[i]);
        }
    }
    return json_array_size(json_object_get(options, "cores")) == 0
               ? KG_OK
               : kg_fail(err, KG_E_USAGE, "cores: a service does not let its clients choose that");
}

enum kg_code kg_remote_open(struct kg_remote *r, const json_t *options, struct kg_err *err)
{
    const char *url = kg_frame_text(options, "gym");
    url = url != NULL ? url : "";
    int64_t workers = kg_frame_int(options, "workers");
    r->again = json_is_true(json_object_get(options, "again"));
    r->public_only = json_is_true(json_object_get(options, "public"));
    r->most = workers > 0 ? (int)workers : KG_REMOTE_MOST;
    if (workers < 0 || workers > MOST_JOBS) {
        return kg_fail(err, KG_E_USAGE, "workers: %lld is not between 1 and %d", (long long)workers,
                       MOST_JOBS);
    }
    snprintf(r->url, sizeof r->url, "%s", url);
    if (kg_svc_target_parse(url, &r->target, err) != KG_OK || refuse_local(options, err) != KG_OK ||
        kg_svc_token_find(kg_frame_text(options, "token_file"), r->token, err) != KG_OK ||
        read_run(r, options, err) != KG_OK || configure(r, options, err) != KG_OK) {
        return err->code;
    }
    r->target.token = r->token[0] != '\0' ? r->token : NULL;
    return kg_remote_connect(r, err);
}

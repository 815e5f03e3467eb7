/* kgym doctor --store: is this store of the service whole, and does it keep what it has accepted?
 */
#include <string.h>

#include "cli/cli.h"
#include "svc/store.h"
#include "svc/store_backup.h"

static bool is_redis(const char *place)
{
    return strncmp(place, "redis", 5) == 0 && strstr(place, "://") != NULL;
}

/* A server that may lose what it has accepted is shown as one, with the setting that is wrong. */
static enum kg_code look_at_redis(const char *place, json_t *out, struct kg_err *err)
{
    struct kg_svc_store *s = NULL;
    struct kg_err why = KG_ERR_INIT;
    struct kg_svc_stats stats;
    bool safe = kg_svc_store_redis.open(place, &s, &why) == KG_OK;
    if (!safe &&
        (why.code != KG_E_USAGE || kg_svc_store_redis_relaxed.open(place, &s, err) != KG_OK)) {
        *err = why;
        return err->code;
    }
    enum kg_code code = s->kind->stats(s, &stats, err);
    s->kind->close(s);
    if (code == KG_OK) {
        int64_t jobs = 0;
        for (int i = 0; i < KG_SVC_STATES; i++) {
            jobs += stats.jobs[i];
        }
        json_object_update_new(
            out, json_pack("{s:s, s:b, s:o, s:I, s:I}", "kind", "redis", "keeps", safe, "why",
                           safe ? json_null() : json_string(why.message), "jobs", (json_int_t)jobs,
                           "waiting", (json_int_t)stats.jobs[KG_SVC_WAITING]));
    }
    return code;
}

static enum kg_code look_at_folder(const char *place, json_t *out, struct kg_err *err)
{
    struct kg_svc_inventory v;
    enum kg_code code = kg_svc_store_check(place, &v, err);
    if (code == KG_OK) {
        json_object_update_new(
            out, json_pack("{s:s, s:b, s:o, s:i, s:I, s:I, s:I, s:I}", "kind", "sqlite", "keeps",
                           v.damaged == 0, "why",
                           v.damaged == 0 ? json_null()
                                          : json_sprintf("%lld records are damaged, that of %s "
                                                         "first: restore a backup",
                                                         (long long)v.damaged, v.first_damaged),
                           "schema", v.schema, "jobs", (json_int_t)v.jobs, "records",
                           (json_int_t)v.records, "bytes", (json_int_t)v.bytes, "damaged",
                           (json_int_t)v.damaged));
    }
    return code;
}

enum kg_code kg_cli_look_at_store(const char *place, json_t *out, struct kg_err *err)
{
    return is_redis(place) ? look_at_redis(place, out, err) : look_at_folder(place, out, err);
}

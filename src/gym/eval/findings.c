/* Keeps what `kgym problems check` found, and refuses problems that it put aside. */
#include "gym/eval/findings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "gym/build/cache.h"
#include "gym/eval/context.h"
#include "gym/eval/worker.h"

#define SCHEMA "kgym.card/1"

static bool folder(const struct kg_config *c, char *out, size_t cap)
{
    char cache[512];
    kg_worker_cache(c, cache, sizeof cache);
    return cache[0] && (size_t)snprintf(out, cap, "%s/cards", cache) < cap;
}

/* A hash may come from a record that is read: nothing else becomes a path. */
static bool path_of(const struct kg_config *c, const char *sha256, char *out, size_t cap)
{
    char dir[540];
    size_t n = strspn(sha256, "0123456789abcdef");
    return n == KG_SHA256_HEX - 1 && sha256[n] == 0 && folder(c, dir, sizeof dir) &&
           kg_cache_path(dir, sha256, "card", out, cap);
}

static const char *text(const json_t *j, const char *key)
{
    const char *s = json_string_value(json_object_get(j, key));
    return s ? s : "";
}

json_t *kg_findings_find(const struct kg_config *c, const char *sha256)
{
    struct kg_err ignored = KG_ERR_INIT;
    json_t *card = NULL;
    char path[640];
    size_t n;
    char *bytes = path_of(c, sha256, path, sizeof path) ? kg_cache_get(path, sha256, &n) : NULL;
    if (!bytes || kg_json_parse(bytes, n, "card", &card, &ignored) != KG_OK) {
        free(bytes);
        return NULL;
    }
    free(bytes);
    bool ours = strcmp(text(card, "schema"), SCHEMA) == 0 &&
                strcmp(text(card, "kgym"), KG_VERSION) == 0 &&
                json_integer_value(json_object_get(card, "edition")) == KG_FINDINGS_EDITION;
    if (!ours) {
        json_decref(card);
        card = NULL;
    }
    return card;
}

void kg_findings_keep(const struct kg_config *c, const char *sha256, const char *device,
                      const json_t *check)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_buf b;
    char path[640];
    if (!path_of(c, sha256, path, sizeof path)) {
        return;
    }
    json_t *card = json_pack("{s:s, s:s, s:i, s:s, s:O}", "schema", SCHEMA, "kgym", KG_VERSION,
                             "edition", KG_FINDINGS_EDITION, "device", device, "check", check);
    kg_buf_init(&b, 1 << 20);
    kg_json_dump(card, &b);
    json_decref(card);
    if (kg_buf_ok(&b) && kg_cache_put(path, sha256, b.data, b.len, &err) != KG_OK) {
        kg_log_once(KG_LOG_NO_FINDINGS, KG_LOG_WARN,
                    "what was found out of a problem is not kept: %s", err.message);
    }
    kg_buf_deinit(&b);
}

void kg_findings_trim(const struct kg_config *c)
{
    char dir[540];
    if (folder(c, dir, sizeof dir)) {
        kg_cache_trim(dir, KG_FINDINGS_BYTES);
    }
}

bool kg_findings_made_on(const json_t *card, const char *device)
{
    const char *made = text(card, "device");
    size_t n = strcspn(made, ":");
    return n == strcspn(device, ":") && strncmp(made, device, n) == 0;
}

bool kg_findings_first_look(const json_t *card)
{
    return json_is_true(json_object_get(json_object_get(card, "check"), KG_FINDINGS_FIRST_LOOK));
}

static bool of_device(const char *check)
{
    static const char *const names[] = {"builds", "deterministic", "oracle", "reference"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(check, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* The checks that it failed, as far as they count there: "zeros, mean"; "" none. */
static void reasons(const json_t *card, const char *device, struct kg_buf *out)
{
    const json_t *checks = json_object_get(json_object_get(card, "check"), "checks");
    bool same = kg_findings_made_on(card, device);
    size_t i;
    json_t *c;
    json_array_foreach((json_t *)(uintptr_t)checks, i, c)
    {
        if (json_is_false(json_object_get(c, "pass")) && (same || !of_device(text(c, "check")))) {
            kg_buf_addf(out, "%s%s", out->len ? ", " : "", text(c, "check"));
        }
    }
}

enum kg_code kg_findings_admit(const struct kg_config *c, const char *problem, const char *sha256,
                               const char *device, struct kg_err *err)
{
    json_t *card = c->quarantine == KG_QUARANTINE_IGNORE ? NULL : kg_findings_find(c, sha256);
    struct kg_buf why;
    enum kg_code code = KG_OK;
    if (!card) {
        return KG_OK;
    }
    kg_buf_init(&why, 200);
    reasons(card, device, &why);
    if (why.len > 0) {
        code = kg_fail(
            err, KG_E_PROBLEM,
            "%.150s: put aside %s: %s (`--quarantine ignore` judges it all the same)", problem,
            kg_findings_first_look(card) ? "at its first evaluation" : "by `kgym problems check`",
            why.data);
    }
    kg_buf_deinit(&why);
    json_decref(card);
    return code;
}

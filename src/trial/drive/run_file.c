/* Writes run.json, and compares what a run is asked for with what it was. */
#include "trial/drive/run_file.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/version.h"

enum { MAX_BYTES = 64 << 20, SHOWN = 80 };

static bool is_own(const char *name)
{
    return strcmp(name, "id") == 0 || strcmp(name, "created") == 0 || strcmp(name, "version") == 0;
}

/* It follows from the problems, and runs of earlier versions lack it. */
static bool follows(const char *name)
{
    return strcmp(name, "kernelbench_hashes") == 0;
}

static enum kg_code write_file(const char *path, const json_t *run, struct kg_err *err)
{
    json_t *all = json_copy((json_t *)(uintptr_t)run);
    struct kg_buf text;
    char now[32];
    time_t s = (time_t)(kg_clock_wall_ms() / 1000);
    struct tm tm;
    strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&s, &tm));
    if (json_object_get(all, "created") == NULL) {
        json_object_set_new(all, "created", json_string(now));
    }
    if (json_object_get(all, "version") == NULL) {
        json_object_set_new(all, "version", json_string(KG_VERSION));
    }
    kg_buf_init(&text, MAX_BYTES);
    kg_json_dump_pretty(all, &text);
    kg_buf_addc(&text, '\n');
    json_decref(all);
    enum kg_code code = kg_buf_ok(&text)
                            ? kg_file_write_atomic(path, text.data, text.len, err)
                            : kg_fail(err, KG_E_LIMIT, "%s: more than %d bytes", path, MAX_BYTES);
    kg_buf_deinit(&text);
    return code;
}

static void show(const json_t *value, char out[SHOWN])
{
    struct kg_buf text;
    if (value == NULL) {
        snprintf(out, SHOWN, "nothing");
        return;
    }
    kg_buf_init(&text, MAX_BYTES);
    kg_json_dump(value, &text);
    snprintf(out, SHOWN, "%.70s%s", text.data, text.len > 70 ? "..." : "");
    kg_buf_deinit(&text);
}

static enum kg_code differs(const char *path, const char *name, const json_t *was, const json_t *is,
                            const char *more, struct kg_err *err)
{
    char old[SHOWN], new[SHOWN];
    show(was, old);
    show(is, new);
    return kg_fail(err, KG_E_USAGE,
                   "%s: this run has `%s` %s, and %s is asked for: %s, or name another folder",
                   path, name, old, new, more);
}

/* Both ways, so that a member which only one side has differs as well. Objects are compared member
 * by member, so that the message names the one. */
static enum kg_code compare(const char *path, const char *within, const json_t *was,
                            const json_t *is, struct kg_err *err)
{
    const char *name;
    const json_t *value;
    char full[200];
    const json_t *const side[2] = {was, is};
    for (int i = 0; i < 2; i++) {
        json_object_foreach((json_t *)(uintptr_t)side[i], name, value)
        {
            const json_t *a = json_object_get(was, name), *b = json_object_get(is, name);
            if ((within[0] == '\0' && is_own(name)) || follows(name) || json_equal(a, b)) {
                continue;
            }
            snprintf(full, sizeof full, "%s%s%.100s", within, within[0] != '\0' ? "." : "", name);
            return json_is_object(a) && json_is_object(b)
                       ? compare(path, full, a, b, err)
                       : differs(path, full, a, b, "a run that goes on asks for the same", err);
        }
    }
    return KG_OK;
}

/* Numbers that grew take their new value in *was. */
static enum kg_code grow(const char *path, json_t *was, const json_t *is,
                         const char *const *may_grow, bool *grew, struct kg_err *err)
{
    *grew = false;
    for (const char *const *name = may_grow; name != NULL && *name != NULL; name++) {
        const json_t *a = json_object_get(was, *name), *b = json_object_get(is, *name);
        if (!json_is_number(a) || !json_is_number(b) ||
            json_number_value(a) == json_number_value(b)) {
            continue;
        }
        if (json_number_value(b) < json_number_value(a)) {
            return differs(path, *name, a, b, "it can only grow", err);
        }
        json_object_set(was, *name, (json_t *)(uintptr_t)b);
        *grew = true;
    }
    return KG_OK;
}

static enum kg_code check(const char *path, json_t *was, const json_t *run,
                          const char *const *may_grow, struct kg_err *err)
{
    bool grew = false;
    const char *schema = json_string_value(json_object_get(was, "schema"));
    const char *ours = json_string_value(json_object_get(run, "schema"));
    if (schema == NULL || ours == NULL || strcmp(schema, ours) != 0) {
        return kg_fail(err, KG_E_INPUT, "%s: its `schema` is not %s", path, ours ? ours : "known");
    }
    enum kg_code code = grow(path, was, run, may_grow, &grew, err);
    code = code == KG_OK ? compare(path, "", was, run, err) : code;
    return code == KG_OK && grew ? write_file(path, was, err) : code;
}

enum kg_code tr_run_file(const char *path, const json_t *run, const char *const *may_grow,
                         struct kg_err *err)
{
    struct kg_buf text;
    json_t *was = NULL;
    if (!kg_file_exists(path)) {
        return write_file(path, run, err);
    }
    kg_buf_init(&text, MAX_BYTES);
    enum kg_code code = kg_file_read(path, &text, err);
    code = code == KG_OK ? kg_json_parse(text.data, text.len, path, &was, err) : code;
    code = code == KG_OK ? check(path, was, run, may_grow, err) : code;
    json_decref(was);
    kg_buf_deinit(&text);
    return code;
}

enum kg_code tr_run_file_id(const char *path, char out[KG_ULID_LEN], struct kg_err *err)
{
    struct kg_err ignored = KG_ERR_INIT;
    struct kg_buf text;
    json_t *was = NULL;
    kg_buf_init(&text, MAX_BYTES);
    bool read = kg_file_exists(path) && kg_file_read(path, &text, &ignored) == KG_OK &&
                kg_json_parse(text.data, text.len, path, &was, &ignored) == KG_OK;
    const char *id = read ? json_string_value(json_object_get(was, "id")) : NULL;
    bool good = id != NULL && kg_ulid_is(id);
    if (good) {
        memcpy(out, id, KG_ULID_LEN);
    }
    json_decref(was);
    kg_buf_deinit(&text);
    return good ? KG_OK : kg_ulid_new(out, err);
}

/* Builds `metadata`: what was asked, where it ran, what went wrong. */
#include "svc/kernelgym_metadata.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

enum {
    SHORT = 200,     /* bytes of a name or a text that is repeated */
    LOG_MOST = 4096, /* of an exception or a compiler's text: written out it may double */
};

static const json_t *get(const json_t *j, const char *key)
{
    return json_object_get(j, key);
}

static const char *text(const json_t *j, const char *key)
{
    const char *s = json_string_value(get(j, key));
    return s ? s : "";
}

/* --- texts --- */

static bool is_harmless(uint32_t cp)
{
    return cp == '\n' || cp == '\t' || kg_utf8_in_line(cp);
}

/* The bytes of the folders before a file's name, where a path begins at s; else 0. */
static size_t folders(const char *s, size_t n)
{
    size_t last = 0;
    for (size_t i = 0;
         i < n && s[0] == '/' && (isalnum((unsigned char)s[i]) || strchr("/._+-", s[i])); i++) {
        last = s[i] == '/' ? i + 1 : last;
    }
    return last > 1 ? last : 0;
}

/* Control characters become `?`, paths of the host lose their folders. */
static void add_harmless(struct kg_buf *out, const char *s, size_t n)
{
    for (size_t at = 0; at < n;) {
        bool begins = at == 0 || strchr(" \t\n'\"`(", s[at - 1]) != NULL;
        at += begins ? folders(s + at, n - at) : 0;
        if (at >= n) {
            break;
        }
        uint32_t cp;
        bool ok;
        size_t took = kg_utf8_next(s + at, n - at, &cp, &ok);
        if (ok && is_harmless(cp)) {
            kg_buf_add(out, s + at, took);
        } else {
            kg_buf_adds(out, "?");
        }
        at += took;
    }
}

static size_t back_to_character(const char *s, size_t n)
{
    while (n > 0 && ((unsigned char)s[n] & 0xC0) == 0x80) {
        n--;
    }
    return n;
}

json_t *kg_kernelgym_text(const char *s, size_t most)
{
    static const char gap[] = "\n...\n";
    size_t n = strlen(s);
    struct kg_buf b;
    kg_buf_init(&b, most + 8);
    if (n <= most) {
        add_harmless(&b, s, n);
    } else {
        size_t half = (most - strlen(gap)) / 2;
        size_t tail = n - half;
        while (((unsigned char)s[tail] & 0xC0) == 0x80) {
            tail++;
        }
        add_harmless(&b, s, back_to_character(s, half));
        kg_buf_adds(&b, gap);
        add_harmless(&b, s + tail, n - tail);
    }
    json_t *j = kg_json_text(b.data, b.len);
    kg_buf_deinit(&b);
    return j;
}

const json_t *kg_kernelgym_evidence(const json_t *record, const char *check)
{
    const json_t *list = get(record, "evidence");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *e = json_array_get(list, i);
        if (strcmp(text(e, "check"), check) == 0) {
            return e;
        }
    }
    return NULL;
}

static void put(json_t *m, const char *key, json_t *value)
{
    json_object_set_new(m, key, value);
}

static void put_text(json_t *m, const char *key, const char *s, size_t most)
{
    if (*s) {
        put(m, key, kg_kernelgym_text(s, most));
    }
}

/* The record's own line would tell shapes and kinds of inputs that are not public. */
json_t *kg_kernelgym_mistake(const json_t *record)
{
    static const char *const open[] = {"shape", "dtype", "structure", "params"};
    const char *reason = text(record, "reason");
    const char *share = text(kg_kernelgym_evidence(record, "mismatch"), "share");
    for (size_t i = 0; i < sizeof open / sizeof *open; i++) {
        if (strcmp(reason, open[i]) == 0) {
            return kg_kernelgym_text(text(record, "message"), LOG_MOST);
        }
    }
    char line[SHORT];
    snprintf(line, sizeof line, "%.60s%s%.20s", *reason ? reason : "wrong",
             *share ? ", share of elements: " : "", share);
    return kg_json_text(line, strlen(line));
}

/* --- what was asked --- */

static void put_request(json_t *m, const struct kg_kernelgym_task *t)
{
    static const char *const same[] = {"backend", "num_correct_trials", "uuid", "content_key"};
    const char *compiled = text(t->echo, "reference_backend");
    char part[440];
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        const json_t *v = get(t->echo, same[i]);
        if (v && !json_is_null(v)) {
            put(m, same[i], json_copy((json_t *)(uintptr_t)v));
        }
    }
    if (*compiled) {
        put_text(m, "reference_backend", compiled, SHORT);
        put(m, "reference_backend_compiled", json_false());
        put(m, "reference_backend_error",
            json_string("the reference runs as it is written: kgym times no compiled reference"));
    }
    if (json_is_string(get(t->echo, "cache_type"))) {
        put(m, "cached", json_false());
        put_text(m, "cache_type", text(t->echo, "cache_type"), SHORT);
    }
    snprintf(part, sizeof part, "%.400s_ref", t->id);
    put(m, "reference_task_id", kg_json_text(part, strlen(part)));
    snprintf(part, sizeof part, "%.400s_kernel", t->id);
    put(m, "kernel_task_id", kg_json_text(part, strlen(part)));
    if (t->attempts > 0) {
        put(m, "attempts", json_integer(t->attempts));
    }
    put(m, "cancelled", json_boolean(t->cancelled));
    put(m, "cache", json_pack("{s:b, s:b}", "result", t->cached, "reference", 0));
}

/* --- where it ran --- */

static void put_place(json_t *m, const json_t *record)
{
    const json_t *where = get(record, "environment");
    const char *name = text(where, "device_name");
    put_text(m, "hardware", *name ? name : text(where, "cpu"), SHORT);
    put_text(m, "gpu_name", strncmp(text(where, "device"), "cuda", 4) == 0 ? name : "", SHORT);
    put_text(m, "device", text(where, "device"), SHORT);
    put_text(m, "sandbox", text(get(record, "isolation"), "level"), SHORT);
    put_text(m, "league", text(get(record, "league"), "name"), SHORT);
    put_text(m, "precision", text(get(record, "config"), "precision"), SHORT);
    if (json_is_integer(get(record, "peak_bytes"))) {
        put(m, "peak_memory_bytes", json_integer(json_integer_value(get(record, "peak_bytes"))));
    }
}

/* --- what went wrong --- */

static void put_exception(json_t *m, const json_t *record, bool brief)
{
    const json_t *e = kg_kernelgym_evidence(record, "exception");
    const char *type = text(e, "type");
    bool call = strcmp(text(e, "during"), "its call") == 0;
    const char *key = call ? "runtime_error" : "model_load_error";
    char name[64];
    struct kg_buf b;
    if (!e) {
        return;
    }
    snprintf(name, sizeof name, "%s_name", key);
    put_text(m, name, *type ? type : "Exception", SHORT);
    kg_buf_init(&b, 1 << 20);
    kg_buf_addf(&b, "%s: %s", *type ? type : "Exception", text(e, "message"));
    if (*text(e, "where")) {
        kg_buf_addf(&b, "\nat %s", text(e, "where"));
    }
    put_text(m, key, b.data, brief ? SHORT : LOG_MOST);
    kg_buf_deinit(&b);
}

static void put_failure(json_t *m, const json_t *record, const struct kg_kernelgym_task *t)
{
    bool brief = json_is_false(get(t->echo, "verbose"));
    const char *verdict = text(record, "verdict"), *reason = text(record, "reason");
    const char *log = text(kg_kernelgym_evidence(record, "compiler"), "text");
    const char *during = text(kg_kernelgym_evidence(record, "exception"), "during");
    bool import = strcmp(during, "importing it") == 0;
    put_exception(m, record, brief);
    bool built = json_object_get(m, "model_load_error") && !import;
    if ((strcmp(verdict, "compile_error") == 0 && !built) || strcmp(verdict, "rejected") == 0) {
        put_text(m, "compilation_error", *log && !brief ? log : text(record, "message"),
                 brief ? SHORT : LOG_MOST);
        put_text(m, "compilation_error_name", *reason ? reason : verdict, SHORT);
    } else if (strcmp(verdict, "no_code") == 0) {
        put_text(m, "validation_error", text(record, "message"), SHORT);
    } else if (strcmp(verdict, "wrong") == 0) {
        json_object_set_new(m, "correctness_issue", kg_kernelgym_mistake(record));
        put_text(m, "correctness_issue_name", reason, SHORT);
    }
    if (json_is_object(get(record, "error"))) {
        put_text(m, "error", text(get(record, "error"), "message"), brief ? SHORT : LOG_MOST);
    }
    if (json_is_false(get(t->echo, "correctness")) && !*verdict) {
        put(m, "correctness_skipped", json_true());
    }
}

/* {ok, reasons}: did it try to gain what it had not earned, or leave its league? */
static void put_integrity(json_t *m, const json_t *record)
{
    const json_t *findings = get(get(record, "league"), "findings");
    json_t *reasons = json_array();
    bool hack = strcmp(text(record, "verdict"), "hack") == 0;
    if (hack) {
        char why[SHORT];
        snprintf(why, sizeof why, "hack.%.60s", text(record, "reason"));
        json_array_append_new(reasons, kg_json_text(why, strlen(why)));
    }
    for (size_t i = 0; i < json_array_size(findings) && i < 8; i++) {
        json_array_append_new(reasons,
                              kg_kernelgym_text(text(json_array_get(findings, i), "rule"), SHORT));
    }
    bool unowned = strcmp(text(record, "verdict"), "ok") == 0 && kg_kernelgym_unowned(record);
    if (unowned) {
        json_array_append_new(reasons, json_string("no_own_kernel"));
    }
    bool eligible = !json_is_false(get(get(record, "league"), "eligible"));
    put(m, "integrity",
        json_pack("{s:b, s:o}", "ok", !hack && !unowned && eligible, "reasons", reasons));
}

json_t *kg_kernelgym_metadata(const json_t *record, const struct kg_kernelgym_task *t,
                              const char *fault)
{
    json_t *m = json_object();
    put_request(m, t);
    if (fault) {
        put(m, "fault", json_string(fault));
    }
    if (record) {
        put_place(m, record);
        put_failure(m, record, t);
        put_integrity(m, record);
        kg_kernelgym_put_numbers(m, record, t);
    }
    return m;
}

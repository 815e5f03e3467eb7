/* What is asked of the service for one task. */
#include <string.h>

#include "base/hash.h"
#include "gym/eval/executor.h"
#include "gym/kgym.h"
#include "remote/remote_private.h"

enum { HEX_OF_KEY = 32, SOURCE_MAX = 64 << 20 };

/* bytes [n] as a member; JSON has UTF-8 only. */
static enum kg_code add_text(json_t *body, const char *name, const char *bytes, size_t n,
                             struct kg_err *err)
{
    json_t *text = json_stringn(bytes, n);
    return json_object_set_new(body, name, text) == 0
               ? KG_OK
               : kg_fail(err, KG_E_INPUT, "%s: it is not UTF-8, and a service takes nothing else",
                         name);
}

/* The last part of a path; a row FILE.jsonl#3 of PyTorch's is a file of its own there. */
static void file_name(const char *path, const char *suffix, char out[128])
{
    const char *slash = strrchr(path, '/'), *base = slash != NULL ? slash + 1 : path;
    size_t n = 0;
    for (; *base != '\0' && n < 100; base++) {
        bool plain = strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-",
                            *base) != NULL;
        out[n++] = plain ? *base : '_';
    }
    out[n] = '\0';
    size_t end = strlen(suffix);
    if (n < end || strcmp(out + n - end, suffix) != 0) {
        snprintf(out + n, 128 - n, "%s", suffix);
    }
}

/* A problem that is a file of this host is sent along. */
static enum kg_code add_path(struct kg_remote *r, const char *problem, json_t *body,
                             struct kg_err *err)
{
    struct kg_paths paths;
    const struct kg_executor *x;
    struct kg_buf source;
    char path[1200], name[128];
    if (kg_paths_find(r->config.suites, &paths, err) != KG_OK ||
        kg_executor_find(&paths, problem, &x, path, sizeof path, err) != KG_OK) {
        return err->code;
    }
    kg_buf_init(&source, SOURCE_MAX);
    enum kg_code code = x->read(path, &source, err);
    if (code == KG_OK) {
        file_name(path, x->suffix, name);
        json_object_set_new(body, "problem_file", json_string(name));
        code = add_text(body, "problem_source", source.data, source.len, err);
    }
    kg_buf_deinit(&source);
    return code;
}

static enum kg_code add_problem(struct kg_remote *r, const struct kg_remote_task *t, json_t *body,
                                struct kg_err *err)
{
    const char *problem = kg_frame_text(t->head, "problem");
    size_t given = (size_t)kg_frame_int(t->head, "problem_len");
    char name[128];
    if (problem == NULL) {
        return kg_fail(err, KG_E_USAGE, "task: a problem is needed");
    }
    if (given > 0) {
        const struct kg_executor *x = kg_executor_of_path(problem);
        file_name(problem, x != NULL ? x->suffix : ".c", name);
        json_object_set_new(body, "problem_file", json_string(name));
        return add_text(body, "problem_source", t->body, given, err);
    }
    if (strchr(problem, '/') != NULL || kg_executor_of_path(problem) != NULL) {
        return add_path(r, problem, body, err);
    }
    json_object_set_new(body, "problem", json_string(problem));
    return KG_OK;
}

static void add_rest(const struct kg_remote *r, const struct kg_remote_task *t, json_t *body)
{
    const char *rewards = kg_frame_text(t->head, "rewards");
    const char *tag = kg_frame_text(t->head, "tag"), *stop = kg_frame_text(t->head, "stop_after");
    rewards = rewards != NULL && *rewards != '\0' ? rewards : r->config.rewards;
    json_object_set_new(body, "preset", json_string(r->config.preset));
    json_object_set_new(body, "set", json_deep_copy(r->set));
    if (*rewards != '\0') {
        json_object_set_new(body, "rewards", json_string(rewards));
    }
    if (tag != NULL && *tag != '\0') {
        json_object_set_new(body, "tag", json_string(tag));
    }
    if (stop != NULL) {
        json_object_set_new(body, "stop_after", json_string(stop));
    }
}

static void make_key(const struct kg_remote *r, struct kg_remote_task *t, const json_t *body)
{
    struct kg_buf text;
    char hex[KG_SHA256_HEX];
    if (!r->run_named) {
        snprintf(t->key, sizeof t->key, "%s-%llu", r->run, (unsigned long long)t->id);
        return;
    }
    kg_buf_init(&text, KG_FRAME_MAX);
    kg_json_dump(body, &text);
    kg_sha256_hex(text.data, text.len, hex);
    snprintf(t->key, sizeof t->key, "%s-%.*s", r->run, HEX_OF_KEY, hex);
    kg_buf_deinit(&text);
}

enum kg_code kg_remote_body(struct kg_remote *r, struct kg_remote_task *t, struct kg_buf *out,
                            struct kg_err *err)
{
    size_t given = (size_t)kg_frame_int(t->head, "problem_len");
    size_t replay = (size_t)kg_frame_int(t->head, "replay_len");
    bool source = json_is_true(json_object_get(t->head, "source"));
    char key[KG_REMOTE_KEY_MAX + 16];
    if (kg_frame_int(t->head, "kind") != KGYM_EVALUATE) {
        return kg_fail(err, KG_E_USAGE, "a service checks no problems: use a pool of this host");
    }
    if (given > t->len || replay > t->len - given) {
        return kg_fail(err, KG_E_GYM, "the task's frame is not whole");
    }
    json_t *body = json_object();
    enum kg_code code = add_problem(r, t, body, err);
    code = code != KG_OK ? code
                         : add_text(body, source ? "source" : "reply", t->body + given,
                                    t->len - given - replay, err);
    if (code == KG_OK && replay > 0) {
        code = add_text(body, "replay", t->body + t->len - replay, replay, err);
    }
    if (code == KG_OK) {
        add_rest(r, t, body);
        if (t->key[0] == '\0') {
            make_key(r, t, body);
        }
        int n = snprintf(key, sizeof key, "%s", t->key);
        if (t->lost > 0) {
            snprintf(key + n, sizeof key - (size_t)n, ".%d", t->lost + 1);
        }
        json_object_set_new(body, "key", json_string(key));
        kg_json_dump(body, out);
        code = kg_buf_ok(out) ? KG_OK : kg_fail(err, KG_E_LIMIT, "the task is too large");
    }
    json_decref(body);
    return code;
}

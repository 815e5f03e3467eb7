/* Keeps descriptions of tasks in files. */
#include "gym/torch/runner/descriptions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "gym/build/cache.h"
#include "gym/eval/context.h"
#include "gym/torch/runner/torch_device.h"

#define FORMAT     "kgym.task/1, kgym " KG_VERSION
#define TEXT_BYTES (8u << 20)
#define MOST_BYTES ((int64_t)256 << 20) /* of all files together */

static void add(struct kg_sha256 *h, const json_t *v)
{
    struct kg_buf b;
    kg_buf_init(&b, 1u << 20);
    if (v != NULL) {
        kg_json_dump(v, &b);
    }
    kg_sha256_part(h, b.data, b.len);
    kg_buf_deinit(&b);
}

static void add_text(struct kg_sha256 *h, const char *s)
{
    kg_sha256_part(h, s, strlen(s));
}

/* All that a description depends on. */
static void make_key(const struct kg_worker *w, const json_t *request, char out[KG_SHA256_HEX])
{
    static const char *const of_python[] = {"python", "executable", "torch",
                                            "triton", "cuda_built", "harness"};
    const struct kg_torch *t = kg_torch_of(w);
    const struct kg_torch_protocol *p = kg_torch_protocol(w);
    struct kg_sha256 h;
    kg_sha256_begin(&h);
    add_text(&h, FORMAT);
    add_text(&h, t->problem->sha256);
    add_text(&h, t->device);
    add_text(&h, t->judge.facts.name);
    add_text(&h, t->judge.facts.driver);
    add_text(&h, w->config.precision);
    kg_sha256_part(&h, &p->as_there, sizeof p->as_there);
    kg_sha256_part(&h, &p->seed, sizeof p->seed);
    for (size_t i = 0; i < sizeof of_python / sizeof *of_python; i++) {
        add(&h, json_object_get(t->zygote[0].facts, of_python[i]));
    }
    add(&h, request);
    kg_sha256_end(&h, out);
}

static bool folder(const struct kg_worker *w, char *out, size_t cap)
{
    char cache[512];
    kg_worker_cache(&w->config, cache, sizeof cache);
    return cache[0] && (size_t)snprintf(out, cap, "%s/tasks", cache) < cap;
}

static bool path_of(const struct kg_worker *w, const json_t *request, char key[KG_SHA256_HEX],
                    char *out, size_t cap)
{
    char dir[540];
    make_key(w, request, key);
    return folder(w, dir, sizeof dir) && kg_cache_path(dir, key, "task", out, cap);
}

/* Inputs may be drawn on a GPU where that is shown to be the same. */
json_t *kg_tdescriptions_request(const struct kg_worker *w, const json_t *consts, bool run)
{
    bool fast = !kg_torch_on_cpu(w) || kg_torch_of(w)->test.draws_anywhere;
    json_t *request = json_pack("{s:b, s:b}", "run", run, "fast", fast);
    if (consts) {
        json_object_set(request, "consts", (json_t *)(uintptr_t)consts);
    }
    return request;
}

json_t *kg_tdescriptions_find(const struct kg_worker *w, const json_t *request)
{
    struct kg_err ignored = KG_ERR_INIT;
    char key[KG_SHA256_HEX], path[640];
    json_t *found = NULL;
    size_t n = 0;
    char *bytes = path_of(w, request, key, path, sizeof path) ? kg_cache_get(path, key, &n) : NULL;
    if (bytes && kg_json_parse(bytes, n, "description", &found, &ignored) != KG_OK) {
        found = NULL;
    }
    free(bytes);
    return found;
}

void kg_tdescriptions_keep(const struct kg_worker *w, const json_t *request,
                           const json_t *description)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_buf text;
    char key[KG_SHA256_HEX], path[640], dir[540];
    if (kg_torch_of(w)->beside || !json_is_true(json_object_get(description, "complete")) ||
        !path_of(w, request, key, path, sizeof path)) {
        return;
    }
    kg_buf_init(&text, TEXT_BYTES);
    kg_json_dump(description, &text);
    if (kg_buf_ok(&text)) {
        if (kg_cache_put(path, key, text.data, text.len, &err) != KG_OK) {
            kg_log(KG_LOG_INFO, "a description is not kept: %s", err.message);
        }
        if (folder(w, dir, sizeof dir)) {
            kg_cache_trim(dir, MOST_BYTES);
        }
    }
    kg_buf_deinit(&text);
}

/* Opens a checkpoint: its shape, its tokenizer, memory, the engine. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rl/run/memory.h"
#include "trial/policy/checkpoint_parts.h"

#define MAX_ROWS 512

static enum kg_code copy_options(struct tr_checkpoint *c, const char *dir,
                                 const struct tr_policy_options *o, struct kg_err *err)
{
    c->sampling = o->sampling;
    c->dir = strdup(dir);
    c->adapter = strdup(o->adapter != NULL ? o->adapter : "");
    bool ok = c->dir != NULL && c->adapter != NULL;
    for (int i = 0; i < o->sampling.nstop; i++) {
        c->stop[i] = strdup(o->sampling.stop[i]);
        ok = ok && c->stop[i] != NULL;
    }
    return ok ? KG_OK : kg_fail_memory(err, KG_E_HOST, "checkpoint: no memory");
}

/* As many conversations at once as fit into three quarters of what is free, o->parallel at most. */
static enum kg_code choose_size(struct tr_checkpoint *c, const struct tr_policy_options *o,
                                struct kg_err *err)
{
    char what[120];
    int64_t asked = o->sampling.context;
    uint64_t spare = rl_memory_free() / 4 * 3, model = rl_memory_model(&c->shape);
    c->context = asked > 0 && asked < c->shape.max_pos ? (int)asked : c->shape.max_pos;
    c->parallel = o->parallel;
    while (spare > 0 && c->parallel > 1 &&
           model + rl_memory_engine(&c->shape, c->parallel, c->context, MAX_ROWS) > spare) {
        c->parallel--;
    }
    snprintf(what, sizeof what, "sampling (%.2fM parameters, %d replies of %d tokens)",
             (double)rl_memory_parameters(&c->shape) / 1e6, c->parallel, c->context);
    return rl_memory_check(model + rl_memory_engine(&c->shape, c->parallel, c->context, MAX_ROWS),
                           what, err);
}

static enum kg_code open_engine(struct tr_checkpoint *c, const struct tr_policy_options *o,
                                const struct rl_source *source, struct kg_err *err)
{
    const struct lm_engine_options size = {.max_seqs = c->parallel, .max_tokens = c->context};
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int threads = o->threads > 0 ? o->threads : cores > 0 ? (int)cores : 1;
    c->seat = calloc((size_t)c->parallel, sizeof *c->seat);
    if (c->seat == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "checkpoint: no memory");
    }
    for (int i = 0; i < c->parallel; i++) {
        lm_ids_init(&c->seat[i].ids);
        kg_buf_init(&c->seat[i].text, TR_SEAT_TEXT_MAX);
    }
    enum kg_code code = lm_threads_create(threads, &c->threads, err);
    code = code != KG_OK ? code : rl_source_model(source, &c->model, err);
    return code != KG_OK ? code : lm_engine_create(c->model, c->threads, &size, &c->engine, err);
}

enum kg_code tr_checkpoint_open(const char *dir, const struct tr_policy_options *o,
                                struct tr_policy *out, struct kg_err *err)
{
    struct tr_checkpoint *c = calloc(1, sizeof *c);
    if (c == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "checkpoint: no memory");
    }
    const struct rl_source source = {
        .model = dir,
        .adapter = o->adapter != NULL ? o->adapter : "",
        .tokenizer = o->tokenizer != NULL ? o->tokenizer : "",
        .template = o->template != NULL && o->template[0] != '\0' ? o->template : "auto"};
    enum kg_code code = copy_options(c, dir, o, err);
    code = code != KG_OK ? code : rl_source_config(&source, &c->shape, err);
    code = code != KG_OK ? code : rl_source_talker(&source, &c->shape, 0, &c->talker, err);
    code = code != KG_OK ? code : choose_size(c, o, err);
    code = code != KG_OK ? code : open_engine(c, o, &source, err);
    if (code != KG_OK) {
        tr_checkpoint_close(c);
        return code;
    }
    *out = tr_checkpoint_policy(c);
    return KG_OK;
}

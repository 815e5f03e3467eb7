/* Samples from a model and prints: text as it comes, or JSON lines. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/term.h"
#include "cli/cli.h"
#include "cli/learn/generate.h"
#include "lm/lm.h"
#include "rl/run/memory.h"

#define MAX_TEXT (64u << 20)

struct sample {
    struct lm_ids ids;
    float *logp; /* [max_tokens] */
    struct kg_buf text;
    struct lm_bpe_stream stream;
    enum lm_finish finish;
};

struct work {
    const struct kg_generate *g;
    struct rl_talker talker;
    struct lm_config shape;
    struct lm_ids prompt;
    int max_tokens; /* of a reply */
    struct lm_threads *threads;
    struct lm_model *model;
    struct lm_engine *engine;
    struct sample *sample; /* [samples] */
    bool tty;
    size_t shown; /* bytes of the first sample that are printed */
    char last;    /* of what was printed */
    double prompt_seconds, seconds;
    uint64_t drawn;
};

/* --- printing --- */

/* A terminal gets no control characters of a model. */
static void print(struct work *w, const char *text, size_t n)
{
    struct kg_buf safe;
    if (n == 0) {
        return;
    }
    w->last = text[n - 1];
    if (!w->tty) {
        fwrite(text, 1, n, stdout);
        return;
    }
    kg_buf_init(&safe, MAX_TEXT);
    kg_term_add(&safe, false, KG_PLAIN, text);
    fwrite(safe.data, 1, safe.len, stdout);
    kg_buf_deinit(&safe);
}

static void end_line(struct work *w)
{
    if (w->last != '\n') {
        print(w, "\n", 1);
    }
}

/* What the first sample has new; the others are printed when all have ended. */
static void show_new(struct work *w)
{
    const struct kg_buf *text = &w->sample[0].text;
    if (w->g->json || text->len == w->shown) {
        return;
    }
    print(w, text->data + w->shown, text->len - w->shown);
    w->shown = text->len;
    fflush(stdout);
}

static const char *finish_name(enum lm_finish f)
{
    return f == LM_STOP     ? "stop"
           : f == LM_LENGTH ? "length"
           : f == LM_FULL   ? "full"
                            : "interrupted";
}

static void print_json(const struct work *w, int i)
{
    const struct sample *s = &w->sample[i];
    struct kg_buf line;
    json_t *j =
        json_pack("{s:i,s:o,s:s}", "sample", i, "text", kg_json_text(s->text.data, s->text.len),
                  "finish", finish_name(s->finish));
    json_t *ids = json_array(), *logp = json_array(), *prompt = json_array();
    for (size_t k = 0; k < s->ids.n; k++) {
        json_array_append_new(ids, json_integer(s->ids.id[k]));
        json_array_append_new(logp, json_real((double)s->logp[k]));
    }
    for (size_t k = 0; k < w->prompt.n; k++) {
        json_array_append_new(prompt, json_integer(w->prompt.id[k]));
    }
    json_object_set_new(j, "ids", ids);
    json_object_set_new(j, "logp", logp);
    json_object_set_new(j, "prompt_ids", prompt);
    kg_buf_init(&line, 1u << 30);
    kg_json_dump(j, &line);
    puts(line.data);
    kg_buf_deinit(&line);
    json_decref(j);
}

static void print_rest(struct work *w)
{
    for (int i = 0; i < w->g->samples; i++) {
        if (w->g->json) {
            print_json(w, i);
            continue;
        }
        if (i > 0) {
            char head[40];
            snprintf(head, sizeof head, "--- %d ---\n", i + 1);
            print(w, head, strlen(head));
            print(w, w->sample[i].text.data, w->sample[i].text.len);
        }
        end_line(w);
    }
}

/* --- sampling --- */

static void take(struct work *w, const struct lm_event *e)
{
    struct sample *s = &w->sample[e->request];
    s->logp[s->ids.n] = (float)e->logp;
    lm_ids_add(&s->ids, &e->token, 1);
    lm_bpe_stream_push(w->talker.bpe, &s->stream, e->token, true, &s->text);
    s->finish = e->finish;
    if (e->finish != LM_GOING) {
        lm_bpe_stream_end(&s->stream, &s->text);
    }
    w->drawn++;
}

static enum kg_code submit(struct work *w, struct kg_err *err)
{
    const struct kg_generate *g = w->g;
    struct lm_turn turn = {.sampling = g->sampling, .max_tokens = w->max_tokens};
    uint64_t requests[KG_GENERATE_SAMPLES];
    int handles[KG_GENERATE_SAMPLES];
    turn.sampling.n_ids = w->talker.vocab;
    turn.n_stop = rl_source_stops(&w->talker, turn.stop);
    for (int i = 0; i < KG_GENERATE_SAMPLES; i++) {
        requests[i] = (uint64_t)i;
    }
    return lm_engine_submit(w->engine, w->prompt.id, (int)w->prompt.n, &turn, (int)g->samples,
                            requests, handles, err);
}

static enum kg_code sample_all(struct work *w, struct kg_err *err)
{
    struct lm_event events[64];
    int64_t began = kg_clock_ns();
    if (submit(w, err) != KG_OK) {
        return err->code;
    }
    while (lm_engine_busy(w->engine) && !kg_cli_cancelled) {
        int n = lm_engine_step(w->engine, events, 64);
        for (int i = 0; i < n; i++) {
            take(w, &events[i]);
        }
        show_new(w);
        if (w->drawn <= (uint64_t)n) { /* up to the first token */
            w->prompt_seconds = (double)(kg_clock_ns() - began) * 1e-9;
        }
    }
    w->seconds = (double)(kg_clock_ns() - began) * 1e-9 - w->prompt_seconds;
    print_rest(w);
    return kg_cli_cancelled ? kg_fail(err, KG_E_CANCELLED, "interrupted") : KG_OK;
}

static void say_rates(const struct work *w)
{
    uint64_t later =
        w->drawn - (w->drawn < (uint64_t)w->g->samples ? w->drawn : (uint64_t)w->g->samples);
    fprintf(stderr, "prompt: %zu tokens, %.2f s; reply: %llu tokens", w->prompt.n,
            w->prompt_seconds, (unsigned long long)w->drawn);
    if (w->seconds > 0 && later > 0) {
        fprintf(stderr, ", %.1f tokens/s", (double)later / w->seconds);
    }
    fprintf(stderr, "\n");
}

/* --- the parts --- */

static int threads_of(const struct kg_generate *g)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return g->threads > 0 ? (int)g->threads : cores > 0 ? (int)cores : 1;
}

/* Lengths, and memory before it is allocated. */
static enum kg_code check_size(struct work *w, struct kg_err *err)
{
    const struct kg_generate *g = w->g;
    char what[120];
    int64_t room = (int64_t)w->shape.max_pos - (int64_t)w->prompt.n;
    if (room < 1) {
        return kg_fail(err, KG_E_INPUT, "the prompt has %zu tokens, the model takes %d",
                       w->prompt.n, w->shape.max_pos);
    }
    w->max_tokens = (int)(g->max_tokens < room ? g->max_tokens : room);
    int tokens = (int)w->prompt.n + w->max_tokens;
    uint64_t need =
        rl_memory_model(&w->shape) + rl_memory_engine(&w->shape, (int)g->samples, tokens, 512);
    snprintf(what, sizeof what, "%s (%.2fM parameters, %d samples of %d tokens)", "sampling",
             (double)rl_memory_parameters(&w->shape) / 1e6, (int)g->samples, tokens);
    return rl_memory_check(need, what, err);
}

static enum kg_code open_engine(struct work *w, struct kg_err *err)
{
    const struct lm_engine_options o = {.max_seqs = (int)w->g->samples,
                                        .max_tokens = (int)w->prompt.n + w->max_tokens + 1};
    struct lm_engine_options fit = o;
    fit.max_tokens = o.max_tokens < w->shape.max_pos ? o.max_tokens : w->shape.max_pos;
    enum kg_code code = lm_threads_create(threads_of(w->g), &w->threads, err);
    code = code != KG_OK ? code : rl_source_model(&w->g->source, &w->model, err);
    return code != KG_OK ? code : lm_engine_create(w->model, w->threads, &fit, &w->engine, err);
}

static enum kg_code open_samples(struct work *w, struct kg_err *err)
{
    w->sample = calloc((size_t)w->g->samples, sizeof *w->sample);
    bool ok = w->sample != NULL;
    for (int i = 0; ok && i < w->g->samples; i++) {
        struct sample *s = &w->sample[i];
        lm_ids_init(&s->ids);
        kg_buf_init(&s->text, MAX_TEXT);
        s->logp = calloc((size_t)w->max_tokens, sizeof *s->logp);
        ok = s->logp != NULL;
    }
    return ok ? KG_OK
              : kg_fail_memory(err, KG_E_HOST, "no memory for %d samples", (int)w->g->samples);
}

static void close_work(struct work *w)
{
    for (int i = 0; w->sample != NULL && i < w->g->samples; i++) {
        lm_ids_deinit(&w->sample[i].ids);
        kg_buf_deinit(&w->sample[i].text);
        free(w->sample[i].logp);
    }
    free(w->sample);
    lm_engine_destroy(w->engine);
    lm_model_destroy(w->model);
    lm_threads_destroy(w->threads);
    lm_ids_deinit(&w->prompt);
    rl_talker_close(&w->talker);
}

enum kg_code kg_generate_run(const struct kg_generate *g, struct kg_err *err)
{
    struct work w = {.g = g, .tty = kg_term_tty(stdout), .last = '\n'};
    lm_ids_init(&w.prompt);
    enum kg_code code = rl_source_config(&g->source, &w.shape, err);
    code = code != KG_OK ? code : rl_source_talker(&g->source, &w.shape, 0, &w.talker, err);
    code = code != KG_OK ? code : kg_generate_prompt(g, &w.talker, &w.prompt, err);
    code = code != KG_OK ? code : check_size(&w, err);
    code = code != KG_OK ? code : open_engine(&w, err);
    code = code != KG_OK ? code : open_samples(&w, err);
    code = code != KG_OK ? code : sample_all(&w, err);
    if (code == KG_OK || code == KG_E_CANCELLED) {
        fflush(stdout);
        say_rates(&w);
    }
    close_work(&w);
    return code;
}

/* The folder of a run that never was: two evaluations of chains, steps of RL whose replies get
 * faster, metrics and a configuration, all by a seed. Hostile text is in one reply. */
#ifndef SAMPLE_RUN_H
#define SAMPLE_RUN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/rng.h"
#include "rl/chains/chains.h"

#define SAMPLE_HOSTILE "</pre><script>alert(1)</script><img src=x onerror=\"y\"> & 'q' \x1b[31m"

struct sample_run {
    int pairs, triples, samples, steps, turns;
    const char *idle; /* of the line `end`; NULL: none */
    bool end;         /* the run ended */
    bool same;        /* RL changed nothing */
};

static inline void sample_line(FILE *f, json_t *o)
{
    char *s = json_dumps(o, JSON_COMPACT);
    fprintf(f, "%s\n", s);
    free(s);
    json_decref(o);
}

/* skill 0 .. 1 raises what a reply comes to. */
static inline json_t *sample_turn(const struct rl_chain *c, int turn, int turns, double skill,
                                  struct kg_rng *rng, struct rl_style *style)
{
    struct kg_buf code;
    double u = kg_rng_unit(rng), x = kg_rng_unit(rng);
    const char *verdict = u < .05                 ? "no_code"
                          : u < .12 - .05 * skill ? "compile_error"
                          : u < .14               ? "hack"
                          : u < .35 - .15 * skill ? "wrong"
                                                  : "ok";
    bool ok = strcmp(verdict, "ok") == 0;
    double speedup = x < .3 + .5 * skill ? 1.2 + 2 * kg_rng_unit(rng) : .8 + .3 * kg_rng_unit(rng);
    kg_buf_init(&code, 1u << 16);
    *style = rl_style_draw(c, &rl_mix_rich, rng);
    rl_chain_code(c, *style, &code);
    if (strcmp(verdict, "hack") == 0) {
        kg_buf_adds(&code, SAMPLE_HOSTILE);
    }
    json_t *t = json_pack(
        "{s:i,s:o,s:s,s:s,s:s,s:s,s:o,s:o,s:o,s:{s:f},s:o,s:b,s:{s:i,s:i,s:[i,i],s:[f,f],s:i,s:i,"
        "s:{s:f},s:f,s:f,s:b,s:b,s:[],s:f}}",
        "turn", turn, "reply", kg_json_text(code.data, code.len), "finish", "stop", "record",
        "0000", "verdict", verdict, "reason", ok ? "" : "value", "speedup",
        ok ? json_real(speedup) : json_null(), "speedup_lo",
        ok ? json_real(speedup * .95) : json_null(), "coverage",
        ok ? json_real(style->form <= RL_LIBRARY_ROWS ? .1 : 1) : json_null(), "rewards",
        "dr-kernel", ok ? 1 + speedup : 0., "feedback",
        turn < turns ? json_string(ok ? "ok: make it faster" : "failed: mend it") : json_null(),
        "shared", 0, "extra", "row", 1, "context", 10, "ids", 1, 2, "logp", -.1, -.2, "version", 1,
        "correct", ok, "terms", "speed", ok ? speedup : 0., "return", 1., "advantage", .5, "live",
        1, "kept", 1, "why", "diff", 0.);
    kg_buf_deinit(&code);
    return t;
}

static inline json_t *sample_walk(const struct rl_chain *c, const char *phase, int step,
                                  const char *id, const struct sample_run *o, double skill,
                                  struct kg_rng *rng)
{
    char name[RL_CHAIN_NAME], words[48];
    struct kg_buf prompt;
    struct rl_style style;
    json_t *turns = json_array();
    kg_buf_init(&prompt, 1u << 12);
    rl_chain_name(c, name);
    rl_chain_prompt(c, &prompt);
    for (int t = 1; t <= o->turns; t++) {
        json_array_append_new(turns, sample_turn(c, t, o->turns, skill, rng, &style));
    }
    if (strcmp(phase, "rl") == 0 && kg_rng_unit(rng) < .2) {
        json_t *extra = json_object_get(json_array_get(turns, 0), "extra");
        json_array_append_new(json_object_get(extra, "why"), json_string("prs"));
    }
    rl_style_name(style, words);
    json_t *o2 =
        json_pack("{s:s,s:s,s:s,s:{s:s,s:s,s:i},s:s,s:s,s:n,s:s,s:o,s:s,s:{s:s,s:i,s:i,s:s}}",
                  "schema", "kgym.trajectory/1", "id", id, "group", id, "problem", "name", name,
                  "hash", "00", "level", c->n == 1 ? 1 : 2, "configuration", "00", "source",
                  "train", "system", "prompt", prompt.data, "turns", turns, "end", "done", "extra",
                  "phase", phase, "step", step, "turns", o->turns, "style", words);
    kg_buf_deinit(&prompt);
    return o2;
}

static inline void sample_evaluation(FILE *f, const char *phase, const struct sample_run *o,
                                     double skill, struct kg_rng *rng)
{
    struct rl_split split;
    struct rl_chain chain[400];
    rl_split_init(&split, 1, 0);
    size_t pairs = rl_split_list(&split, 2, true, chain, (size_t)o->pairs);
    pairs = pairs < (size_t)o->pairs ? pairs : (size_t)o->pairs;
    size_t n = rl_split_list(&split, 3, true, chain + pairs, (size_t)o->triples);
    n = pairs + (n < (size_t)o->triples ? n : (size_t)o->triples);
    for (size_t i = 0; i < n; i++) {
        for (int s = 0; s < o->samples; s++) {
            sample_line(f, sample_walk(&chain[i], phase, -1, phase, o, skill, rng));
        }
    }
}

static inline void sample_steps(FILE *metrics, FILE *walks, const struct sample_run *o,
                                struct kg_rng *rng)
{
    struct rl_split split;
    struct rl_chain chain[64];
    rl_split_init(&split, 1, 0);
    size_t n = rl_split_list(&split, 2, false, chain, 64);
    n = n < 64 ? n : 64;
    for (int i = 0; i < o->steps; i++) {
        double skill = (double)i / o->steps, noise = kg_rng_unit(rng) - .5;
        sample_line(metrics,
                    json_pack("{s:s,s:i,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:i,"
                              "s:i,s:i,s:b}",
                              "phase", "rl", "step", i, "seconds", 2.1 * i, "rollout_s", 1.8,
                              "judge_wait_s", 1.4, "learn_s", .2, "reward", 1 + skill + .3 * noise,
                              "correct", .7 + .1 * skill + .1 * noise, "fast_1.2",
                              .3 + .4 * skill + .2 * noise, "hack", .02, "coverage",
                              .6 + .3 * skill + .1 * noise, "length", 60 + 10 * noise, "entropy",
                              .9 - .5 * skill + .1 * noise, "norm", .4 + .2 * noise, "mismatch", 0.,
                              "kept", 56, "sampled", 4000, "evaluations", 40 * (i + 1), "skipped",
                              0));
        for (int w = 0; w < 16; w++) {
            char id[40];
            snprintf(id, sizeof id, "rl-%d-%d", i, w / 8);
            sample_line(walks,
                        sample_walk(&chain[(size_t)(i + w / 8) % n], "rl", i, id, o, skill, rng));
        }
    }
}

/* folder must be there. */
static inline void sample_run_write(const char *folder, const struct sample_run *o)
{
    char path[4096];
    const struct kg_key key = {{7, 7}};
    struct kg_rng rng;
    kg_rng_init(&rng, key, 0);
    snprintf(path, sizeof path, "%s/metrics.jsonl", folder);
    FILE *metrics = fopen(path, "we");
    snprintf(path, sizeof path, "%s/trajectories.jsonl", folder);
    FILE *walks = fopen(path, "we");
    snprintf(path, sizeof path, "%s/config.yaml", folder);
    FILE *config = fopen(path, "we");
    KG_ASSERT(metrics && walks && config);
    fputs("seed: 1\nadv: trloo\n# " SAMPLE_HOSTILE "\n", config);
    for (int i = 0; i < 30; i++) {
        sample_line(metrics, json_pack("{s:s,s:i,s:f,s:f}", "phase", "sft", "step", 10 * i,
                                       "seconds", .5 * i, "loss", 3. / (1 + i)));
    }
    sample_evaluation(walks, "eval-before", o, 0, &rng);
    sample_steps(metrics, walks, o, &rng);
    sample_evaluation(walks, "eval-after", o, o->same ? 0 : 1, &rng);
    if (o->end) {
        sample_line(metrics,
                    json_pack("{s:s,s:f,s:f,s:f,s:f,s:f,s:i,s:{s:[i,i],s:[i,i],s:[i,i]},s:o}",
                              "phase", "end", "corpus", 3., "sft", 65., "eval-before", 38., "rl",
                              130., "eval-after", 37., "updates", o->steps, "components", "prs",
                              900, 120, "mrs", 0, 0, "advantage", 3000, 2100, "idle",
                              o->idle ? json_string(o->idle) : json_null()));
    }
    fclose(metrics);
    fclose(walks);
    fclose(config);
    kg_rng_deinit(&rng);
}

#endif

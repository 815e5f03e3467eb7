/* Folders of `kgym bench` and `kgym refine` that never were, by a seed: for tests of reports. Later
 * turns are better. Hostile text is in replies, names of kernels and messages. */
#ifndef SAMPLE_TRIAL_H
#define SAMPLE_TRIAL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json.h"
#include "base/rng.h"

#define TRIAL_HOSTILE                                                                              \
    "</pre><img src=x onerror=\"alert(1)\"><script>alert(2)</script> & 'q' \x1b[31m"

struct sample_trial {
    int problems, samples, turns; /* refine: one problem; turns are rounds */
    uint64_t seed;
    bool under_way;   /* the last problem has no records, and no conversation has ended */
    const char *name; /* of the first problem; NULL: one of its own */
};

static inline void trial_line(FILE *f, json_t *o)
{
    char *s = json_dumps(o, JSON_COMPACT);
    KG_ASSERT(s != NULL);
    fprintf(f, "%s\n", s);
    free(s);
    json_decref(o);
}

static inline FILE *trial_open(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "we");
    KG_ASSERT(f != NULL);
    return f;
}

struct trial_turn {
    const char *verdict, *reason;
    double speedup; /* 0: none */
    bool untimed;   /* correct, and its time is not known */
    char key[160], code[4096];
};

/* Code whose lines change a little from turn to turn, as a model's do. */
static inline void trial_code(struct trial_turn *t, const char *problem, int turn, double speed)
{
    snprintf(
        t->code, sizeof t->code,
        "import torch\nimport triton\nimport triton.language as tl\n\n\n@triton.jit\n"
        "def kernel_%d(x, y, n, BLOCK: tl.constexpr):\n    at = tl.program_id(0) * BLOCK + "
        "tl.arange(0, BLOCK)\n    inside = at < n\n    v = tl.load(x + at, mask=inside)\n"
        "%s    tl.store(y + at, v * %.2f, mask=inside)\n\n\nclass ModelNew(torch.nn.Module):\n"
        "    def forward(self, x):\n        y = torch.empty_like(x)\n        n = x.numel()\n"
        "        kernel_%d[(triton.cdiv(n, %d),)](x, y, n, BLOCK=%d)\n        return y  # %s\n",
        turn, turn > 2 ? "    v = tl.where(v > 0, v, 0.)\n" : "", speed, turn, 128 << turn % 5,
        128 << turn % 5, problem);
}

/* skill 0 .. 1. */
static inline void trial_draw(struct trial_turn *t, const char *problem, int turn, double skill,
                              struct kg_rng *rng)
{
    static const struct {
        const char *verdict, *reason;
        double share;
    } kind[] = {{"no_code", "no_block", .04}, {"compile_error", "syntax", .14},
                {"crash", "exception", .06},  {"wrong", "value", .2},
                {"wrong", "precision", .06},  {"hack", "replay", .03}};
    double u = kg_rng_unit(rng) / (1 - .6 * skill);
    t->verdict = "ok";
    t->reason = "";
    for (size_t i = 0; i < sizeof kind / sizeof *kind && u >= 0; i++) {
        u -= kind[i].share;
        t->verdict = u < 0 ? kind[i].verdict : t->verdict;
        t->reason = u < 0 ? kind[i].reason : t->reason;
    }
    double speed = (.6 + 1.4 * skill) * (.7 + kg_rng_unit(rng));
    t->speedup = strcmp(t->verdict, "ok") == 0 ? speed : 0;
    t->untimed = (int)(speed * 1000) % 7 == 0;
    trial_code(t, problem, turn, speed);
}

static inline json_t *trial_stages(const char *verdict)
{
    static const char *const name[] = {"extract", "static", "compile", "tiny",
                                       "full",    "timing", "profile"};
    static const char *const fails[] = {"no_code", "rejected", "compile_error", "crash", "wrong"};
    int end = strcmp(verdict, "hack") == 0 ? 4 : 99;
    json_t *all = json_array();
    for (int i = 0; i < 5; i++) {
        end = strcmp(verdict, fails[i]) == 0 ? i : end;
    }
    for (int i = 0; i < 7; i++) {
        json_array_append_new(all, json_pack("{s:s,s:s,s:i}", "name", name[i], "status",
                                             i < end    ? "pass"
                                             : i == end ? "fail"
                                                        : "skip",
                                             "ns", 1000000));
    }
    return all;
}

static inline json_t *trial_evidence(void)
{
    return json_pack("[{s:s,s:s,s:f,s:i,s:b,s:s,s:b},{s:s,s:s,s:f,s:i,s:b,s:s,s:b}]", "check",
                     "kernel", "name", "kernel_0 <img src=x>", "share", .71, "calls", 1, "own", 1,
                     "class", "own", "dead", 0, "check", "kernel", "name",
                     "void at::native::vectorized_elementwise_kernel<4>", "share", .29, "calls", 2,
                     "own", 0, "class", "library", "dead", 1);
}

static inline json_t *trial_record(const struct trial_turn *t, const char *problem)
{
    bool ok = strcmp(t->verdict, "ok") == 0;
    json_t *speed = ok ? json_pack("{s:f,s:f,s:f,s:i}", "ratio", t->speedup, "lo", t->speedup * .96,
                                   "hi", t->speedup * 1.05, "pairs", 100)
                       : json_null();
    return json_pack(
        "{s:s,s:s,s:{s:s},s:{s:s},s:s,s:o,s:s,s:n,s:s,s:o,s:b,s:b,s:o,s:{s:s,s:i,s:i,s:i},s:o,"
        "s:{s:s,s:b},s:o,s:{s:s,s:s,s:s,s:s}}",
        "schema", "kgym.record/1", "batch_id", t->key, "problem", "name", problem, "candidate",
        "code", strcmp(t->verdict, "no_code") == 0 ? "" : t->code, "verdict", t->verdict, "reason",
        ok ? json_null() : json_string(t->reason), "message",
        ok ? "right on every input" : "output 0: 12 of 4096 values differ " TRIAL_HOSTILE, "error",
        "stage", ok ? "timing" : "full", "stages", trial_stages(t->verdict), "compiled",
        strcmp(t->verdict, "compile_error") != 0, "correct", ok, "speedup", speed, "timing",
        "status", ok && !t->untimed ? "measured" : "not_measured", "candidate_ns",
        (int)(1e6 / (.1 + t->speedup)), "reference_ns", 1000000, "overhead_ns", 4100, "coverage",
        ok ? json_real(.71) : json_null(), "league", "name", "fp32", "eligible", 1, "evidence",
        ok ? trial_evidence() : json_array(), "environment", "kgym", "0.1.0", "cpu", "a CPU",
        "device_name", "a GPU", "torch", "2.4");
}

static inline json_t *trial_reply(const struct trial_turn *t, struct kg_rng *rng)
{
    char text[6000];
    snprintf(text, sizeof text, "I fuse it. %s\n```python\n%s```\n",
             kg_rng_unit(rng) < .3 ? TRIAL_HOSTILE : "", t->code);
    return json_pack("{s:s,s:o,s:s,s:s,s:i,s:i,s:f,s:s}", "key", t->key, "text",
                     kg_json_text(text, strlen(text)), "reasoning",
                     kg_rng_unit(rng) < .3 ? "The load is not coalesced." : "", "finish",
                     kg_rng_unit(rng) < .03 ? "length" : "stop", "tokens_in",
                     1500 + (int)(2000 * kg_rng_unit(rng)), "tokens_out",
                     800 + (int)(900 * kg_rng_unit(rng)), "seconds", 12.5, "model", "tiny-32b");
}

static inline json_t *trial_end(const char *problem, const char *id, const struct trial_turn *turn,
                                int n)
{
    json_t *turns = json_array();
    for (int i = 0; i < n; i++) {
        json_array_append_new(
            turns,
            json_pack("{s:i,s:s,s:s,s:s,s:s,s:o}", "turn", i + 1, "reply", "as above", "finish",
                      "stop", "verdict", turn[i].verdict, "reason", turn[i].reason, "feedback",
                      i + 1 < n ? json_string("The kernel was judged: " TRIAL_HOSTILE)
                                : json_null()));
    }
    return json_pack("{s:s,s:s,s:s,s:{s:s},s:s,s:n,s:s,s:o,s:s}", "schema", "kgym.trajectory/1",
                     "id", id, "group", id, "problem", "name", problem, "source", "bench", "system",
                     "prompt", "Write a Triton kernel for this module.\n" TRIAL_HOSTILE, "turns",
                     turns, "end", "done");
}

static inline void trial_name(const struct sample_trial *o, int i, char out[80])
{
    static const char *const op[] = {
        "Gemm_Multiply_LeakyReLU", "Softmax", "LayerNorm",   "Conv2d_Tanh",
        "Matmul_Swish_Sum",        "GELU",    "CrossEntropy"};
    if (i == 0 && o->name != NULL) {
        snprintf(out, 80, "%s", o->name);
    } else {
        snprintf(out, 80, "%d_%s", i + 1, op[i % 7]);
    }
}

static inline void trial_run(const char *folder, const struct sample_trial *o, const char *kind)
{
    json_t *problems = json_array();
    for (int i = 0; i < o->problems; i++) {
        char name[80];
        trial_name(o, i, name);
        json_array_append_new(problems,
                              json_pack("{s:s,s:i,s:i,s:s}", "name", name, "level",
                                        1 + (3 * i) / o->problems, "id", i + 1, "hash", "00"));
    }
    FILE *f = trial_open(folder, "run.json");
    trial_line(f,
               json_pack("{s:s,s:s,s:s,s:{s:s,s:b,s:i,s:s,s:o},s:i,s:i,s:i,s:{s:f,s:f},s:{s:s,s:"
                         "s,s:s,s:f},s:{s:s},s:{s:s,s:i}}",
                         "schema", "kgym.run/1", "kind", kind, "command", "kgym", "suite", "name",
                         "KernelBench", "kernelbench", 1, "of", o->problems, "subset", "",
                         "problems", problems, "samples", o->samples, "turns", o->turns, "seed", 1,
                         "prices", "in", .5, "out", 1.5, "policy", "kind", "endpoint", "url",
                         "http://localhost:8000/v1", "model", "tiny-32b", "temperature", 1., "gym",
                         "preset", "default", "options", "strategy", "top-w", "w", 4));
    fclose(f);
}

/* folder must be there. */
static inline void sample_bench_write(const char *folder, const struct sample_trial *o)
{
    const struct kg_key key = {{7, o->seed}};
    struct kg_rng rng;
    struct trial_turn *turn = calloc((size_t)o->turns, sizeof *turn);
    KG_ASSERT(turn != NULL);
    kg_rng_init(&rng, key, 0);
    trial_run(folder, o, "bench");
    FILE *replies = trial_open(folder, "replies.jsonl");
    FILE *records = trial_open(folder, "records.jsonl");
    FILE *ended = trial_open(folder, "trajectories.jsonl");
    for (int p = 0; p < o->problems; p++) {
        char name[80], id[120];
        trial_name(o, p, name);
        double hard = kg_rng_unit(&rng);
        for (int s = 1; s <= o->samples; s++) {
            snprintf(id, sizeof id, "%s/s%d", name, s);
            for (int t = 0; t < o->turns; t++) {
                double skill = hard * (t + 1) / o->turns;
                trial_draw(&turn[t], name, t, skill, &rng);
                snprintf(turn[t].key, sizeof turn[t].key, "%s/t%d", id, t + 1);
                trial_line(replies, trial_reply(&turn[t], &rng));
                if (!o->under_way || p + 1 < o->problems) {
                    trial_line(records, trial_record(&turn[t], name));
                }
            }
            if (!o->under_way) {
                trial_line(ended, trial_end(name, id, turn, o->turns));
            }
        }
    }
    fclose(replies);
    fclose(records);
    fclose(ended);
    free(turn);
    kg_rng_deinit(&rng);
}

static inline json_t *trial_round(const struct trial_turn *t, int round, bool best,
                                  double best_speed, int best_round)
{
    bool ok = t->speedup > 0;
    json_t *context = json_array();
    for (int i = round > 4 ? round - 4 : 1; i < round; i++) {
        json_array_append_new(context, json_integer(i));
    }
    return json_pack(
        "{s:i,s:i,s:i,s:s,s:o,s:b,s:i,s:i,s:i,s:s,s:s,s:s,s:b,s:o,s:o,s:o,s:o,s:o,s:b,s:i,s:f,s:s}",
        "round", round, "sample", 1, "turn", round, "key", t->key, "context", context, "shrunk",
        round == 7, "tokens_context", 2000 + 700 * (round > 4 ? 4 : round), "tokens_in",
        2000 + 700 * (round > 4 ? 4 : round), "tokens_out", 900 + 30 * round, "state", "judged",
        "verdict", t->verdict, "reason", t->reason, "correct", ok, "speedup",
        ok ? json_real(t->speedup) : json_null(), "speedup_lo",
        ok ? json_real(t->speedup * .96) : json_null(), "speedup_hi",
        ok ? json_real(t->speedup * 1.05) : json_null(), "coverage",
        ok ? json_real(.4 + .02 * round) : json_null(), "again",
        best ? json_pack("{s:s,s:b,s:f,s:f,s:f}", "verdict", "ok", "correct", 1, "speedup",
                         t->speedup * .99, "speedup_lo", t->speedup * .95, "speedup_hi",
                         t->speedup * 1.03)
             : json_null(),
        "new_best", best, "best_round", best_round, "best_speedup", best_speed, "message",
        ok ? "" : "12 of 4096 values differ " TRIAL_HOSTILE);
}

/* One problem and o->turns rounds in one conversation; folder must be there. */
static inline void sample_refine_write(const char *folder, const struct sample_trial *o)
{
    const struct kg_key key = {{7, o->seed}};
    struct kg_rng rng;
    char name[80];
    double best = 0;
    int best_round = 0;
    kg_rng_init(&rng, key, 0);
    trial_run(folder, o, "refine");
    trial_name(o, 0, name);
    FILE *replies = trial_open(folder, "replies.jsonl");
    FILE *records = trial_open(folder, "records.jsonl");
    FILE *rounds = trial_open(folder, "rounds.jsonl");
    for (int t = 0; t < o->turns; t++) {
        struct trial_turn turn;
        trial_draw(&turn, name, t, (double)t / o->turns, &rng);
        snprintf(turn.key, sizeof turn.key, "%s/s1/t%d", name, t + 1);
        bool new = turn.speedup > best;
        best = new ? turn.speedup : best;
        best_round = new ? t + 1 : best_round;
        trial_line(replies, trial_reply(&turn, &rng));
        trial_line(records, trial_record(&turn, name));
        trial_line(rounds, trial_round(&turn, t + 1, new, best, best_round));
        if (new) {
            FILE *f = trial_open(folder, "best.record.json");
            trial_line(f, trial_record(&turn, name));
            fclose(f);
        }
    }
    fclose(replies);
    fclose(records);
    fclose(rounds);
    if (!o->under_way) {
        FILE *f = trial_open(folder, "summary.json");
        trial_line(f, json_pack("{s:s,s:s,s:s,s:s,s:s,s:i,s:f}", "schema", "kgym.refine/1",
                                "problem", name, "strategy", "top-w", "ending", "turns", "why",
                                "14 rounds", "rounds", o->turns, "money", .35));
        fclose(f);
        f = trial_open(folder, "trajectories.jsonl");
        snprintf(name + strlen(name), sizeof name - strlen(name), "/s1");
        trial_line(f, trial_end("the problem", name, NULL, 0));
        fclose(f);
    }
    kg_rng_deinit(&rng);
}

#endif

/* The strategies of refinement at one budget of turns: generated chains that a split holds out, the
 * scripted policy (trial/policy/scripted.h), and the gym with the preset `train`. A new best is
 * judged again in a second pool. Equal replies to a problem share one evaluation, and so do equal
 * bests in the second pool: two independent measurements of each distinct kernel decide all.
 *   build/release/bench/bench_refine [chains=24] [seeds=3] [turns=14] [workers=1] [folder]
 * About 1500 distinct kernels: some ten minutes of a core. A folder is kept, and goes on.
 * Table: by strategy, the geometric mean of the best kernel's speed-up, where none counts as 1, and
 * of the last turn's; the share above 2; what it took. Intervals: 95 %, by seeds and problems;
 * `to top-w`: the ratio of the means, of the same chains and seeds. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/term.h"
#include "bench/common/host.h"
#include "rl/chains/chains.h"
#include "rl/methods/bootstrap.h"
#include "trial/policy/scripted.h"
#include "trial/refine/drive_maker.h"

enum { CHAINS_MAX = 100, SEEDS_MAX = 10, STRIDE = 1000, KEPT = 16384 };
#define CONTEXT 3400 /* tokens: vanilla has room for about seven turns */
#define REPLY   1024
#define FAST    2

/* What judging again gave for a distinct (problem, reply). */
struct kept {
    char hash[KG_SHA256_HEX];
    struct tr_again again;
};

static struct world {
    int chains, seeds, rounds;
    char name[CHAINS_MAX][RL_CHAIN_NAME], path[CHAINS_MAX][600];
    struct tr_problem problem[CHAINS_MAX];
    struct tr_policy policy;
    struct kgym_pool *pool, *second;
    struct tr_folder *folder;
    struct tr_drive *drive;
    struct kept kept[KEPT];
    int nkept;
} w;

/* Of all runs of a strategy: [seeds * chains]. */
static struct result {
    double log_best[SEEDS_MAX * CHAINS_MAX], log_last[SEEDS_MAX * CHAINS_MAX];
    double fast[SEEDS_MAX * CHAINS_MAX], some[SEEDS_MAX * CHAINS_MAX];
    double turns, in, out;
} result[TR_STRATEGIES];

/* --- turns of one run: the drive's, under samples of its own --- */

struct run {
    struct tr_drive_maker m; /* first: the drive's functions get it */
    uint32_t first;          /* sample 1 of the run is sample `first` of the drive */
};

static enum kg_code begin(void *self, uint32_t sample, uint32_t turn,
                          const struct tr_message *message, int n, struct kg_err *err)
{
    struct run *r = self;
    return tr_drive_begin(w.drive, r->m.problem, r->first + sample - 1, turn, message, n, err);
}

static enum kg_code next(void *self, int timeout_ms, struct tr_turn **out, struct kg_err *err)
{
    struct run *r = self;
    enum kg_code code = tr_drive_next(w.drive, timeout_ms, out, err);
    if (code == KG_OK && *out != NULL) {
        (*out)->sample -= r->first - 1;
    }
    return code;
}

static enum kg_code again(void *self, const struct tr_turn *t, struct tr_again *out,
                          struct kg_err *err)
{
    struct run *r = self;
    struct kg_sha256 h;
    char *record = NULL, hash[KG_SHA256_HEX];
    kg_sha256_begin(&h);
    kg_sha256_part(&h, r->m.problem->name, strlen(r->m.problem->name));
    kg_sha256_part(&h, t->reply->text, t->reply->len);
    kg_sha256_end(&h, hash);
    for (int i = 0; i < w.nkept; i++) {
        if (strcmp(w.kept[i].hash, hash) == 0) {
            *out = w.kept[i].again;
            return KG_OK;
        }
    }
    if (tr_drive_again(w.second, r->m.problem, t->reply->text, t->reply->len, &record, err) !=
        KG_OK) {
        return err->code;
    }
    tr_again_read(record, strlen(record), out);
    free(out->record);
    out->record = NULL;
    if (w.nkept < KEPT) {
        struct kept *k = &w.kept[w.nkept++];
        memcpy(k->hash, hash, sizeof k->hash);
        k->again = *out;
    }
    return KG_OK;
}

/* --- one run --- */

static double gain(double speedup)
{
    return speedup > 1 ? log(speedup) : 0;
}

static void add(struct result *s, int at, const struct tr_round *x, int n)
{
    double best = 0, last = 0;
    bool some = false;
    for (int i = 0; i < n; i++) {
        const struct tr_turn *t = x[i].result;
        if (x[i].new_best) {
            some = true;
            best = x[i].best_speedup;
        }
        if (t != NULL && t->reply != NULL) {
            s->turns++;
            s->in += (double)t->reply->usage.tokens_in;
            s->out += (double)t->reply->usage.tokens_out;
            last = t->correct && isfinite(t->speedup) ? t->speedup : 0;
        }
    }
    s->log_best[at] = gain(best);
    s->log_last[at] = gain(last);
    s->fast[at] = best > FAST;
    s->some[at] = some;
}

static void refine(enum tr_strategy strategy, int seed, int chain)
{
    struct kg_err err = KG_ERR_INIT;
    struct tr_rounds *rounds = NULL;
    const struct tr_round *x;
    const char *prompt = NULL;
    int n;
    struct run run = {.m = {.drive = w.drive, .policy = &w.policy, .problem = &w.problem[chain]},
                      .first = (uint32_t)((int)strategy * SEEDS_MAX + seed) * STRIDE + 1};
    struct tr_maker maker = tr_drive_maker_table(&run.m);
    maker.self = &run;
    maker.begin = begin;
    maker.kept = NULL;
    maker.next = next;
    maker.again = again;
    kg_bench_need(tr_drive_prompt(w.drive, &w.problem[chain], &prompt, &err) == KG_OK, "%s",
                  err.message);
    const struct tr_rounds_options o = {
        .plan = {.strategy = strategy,
                 .metric = TR_BY_REWARD,
                 .w = 4,
                 .depth = 3,
                 .rounds = w.rounds,
                 .prompt = (int64_t)w.policy.count(w.policy.self, prompt, strlen(prompt)),
                 .reply = REPLY,
                 .context = CONTEXT},
        .prompt = prompt};
    kg_bench_need(tr_rounds_create(&o, &maker, &rounds, &err) == KG_OK &&
                      tr_rounds_run(rounds, &err) == KG_OK,
                  "%s", err.message);
    x = tr_rounds_list(rounds, &n);
    kg_bench_need(n > 0 && tr_rounds_ending(rounds) <= TR_END_FULL, "%s: ended as %s: %s",
                  w.name[chain], tr_ending_name(tr_rounds_ending(rounds)), tr_rounds_why(rounds));
    add(&result[strategy], seed * w.chains + chain, x, n);
    tr_rounds_destroy(rounds);
}

/* --- the world --- */

static void write_problems(const char *folder, int seed)
{
    struct rl_split split;
    struct rl_chain c[CHAINS_MAX];
    struct kg_err err = KG_ERR_INIT;
    struct kg_buf text;
    size_t pairs = (size_t)w.chains / 2;
    rl_split_init(&split, (uint64_t)seed, 0);
    rl_split_list(&split, 2, true, c, pairs);
    rl_split_list(&split, 3, true, c + pairs, (size_t)w.chains - pairs);
    kg_buf_init(&text, RL_CHAIN_BYTES);
    for (int i = 0; i < w.chains; i++) {
        rl_chain_name(&c[i], w.name[i]);
        snprintf(w.path[i], sizeof w.path[i], "%s/%s.c", folder, w.name[i]);
        kg_buf_reset(&text);
        rl_chain_problem(&c[i], &text);
        kg_bench_need(kg_file_write_atomic(w.path[i], text.data, text.len, &err) == KG_OK, "%s",
                      err.message);
        w.problem[i] =
            (struct tr_problem){.name = w.name[i], .problem = w.path[i], .level = 2, .id = i + 1};
    }
    kg_buf_deinit(&text);
}

static void open_all(const char *folder, int workers)
{
    struct kg_err err = KG_ERR_INIT;
    struct kgym_error e = {.code = KGYM_OK};
    char run[512], problems[512];
    const struct kgym_options o = {.size = sizeof o, .preset = "train", .workers = workers};
    const struct kgym_options second = {.size = sizeof o, .preset = "train", .workers = 1};
    const struct tr_policy_options po = {.parallel = 16,
                                         .sampling = {.max_tokens = REPLY, .context = CONTEXT}};
    snprintf(run, sizeof run, "%s/run", folder);
    snprintf(problems, sizeof problems, "%s/problems", folder);
    kg_bench_need(kg_file_mkdirs(problems, 0777, &err) == KG_OK, "%s", err.message);
    write_problems(problems, 7);
    json_t *what = json_pack("{s:s, s:s, s:i}", "schema", "kgym.run/1", "kind", "bench-refine",
                             "turns", w.rounds);
    kg_bench_need(kgym_open(&o, &w.pool, &e) == KGYM_OK &&
                      kgym_open(&second, &w.second, &e) == KGYM_OK,
                  "%s", e.message);
    kg_bench_need(tr_scripted_open("", &po, &w.policy, &err) == KG_OK &&
                      tr_folder_open(run, what, NULL, &w.folder, &err) == KG_OK,
                  "%s", err.message);
    json_decref(what);
    const struct tr_drive_options d = {.policy = &w.policy,
                                       .pool = w.pool,
                                       .folder = w.folder,
                                       .rewards = "dr-kernel",
                                       .feedback = 600,
                                       .max_tokens = REPLY,
                                       .seed = 11};
    kg_bench_need(tr_drive_create(&d, &w.drive, &err) == KG_OK, "%s", err.message);
}

static void close_all(void)
{
    tr_drive_destroy(w.drive);
    tr_folder_close(w.folder);
    w.policy.close(w.policy.self);
    kgym_close(w.pool);
    kgym_close(w.second);
}

/* --- the table --- */

static double work[RL_BOOTSTRAP_RESAMPLES];

static struct rl_interval mean(const double *value)
{
    return rl_bootstrap_seeds(value, (size_t)w.seeds, (size_t)w.chains, 1, RL_BOOTSTRAP_RESAMPLES,
                              work);
}

static json_t *three(struct rl_interval x, bool exps)
{
    return json_pack("[f, f, f]", exps ? exp(x.value) : x.value, exps ? exp(x.lo) : x.lo,
                     exps ? exp(x.hi) : x.hi);
}

static json_t *row(enum tr_strategy s)
{
    const struct result *r = &result[s], *top = &result[TR_TOP_W];
    double n = (double)(w.seeds * w.chains), ratio[SEEDS_MAX * CHAINS_MAX];
    for (int i = 0; i < w.seeds * w.chains; i++) {
        ratio[i] = r->log_best[i] - top->log_best[i];
    }
    struct rl_interval best = mean(r->log_best), last = mean(r->log_last), fast = mean(r->fast),
                       to = mean(ratio);
    printf("%-25s %5.2f %4.2f-%-5.2f %5.2f %4.2f-%-5.2f %4.0f %3.0f-%-4.0f %5.2f %4.2f-%-5.2f "
           "%5.1f %6.0f %6.0f\n",
           tr_strategy_name(s), exp(best.value), exp(best.lo), exp(best.hi), exp(last.value),
           exp(last.lo), exp(last.hi), 100 * fast.value, 100 * fast.lo, 100 * fast.hi,
           exp(to.value), exp(to.lo), exp(to.hi), r->turns / n, r->out / n, r->in / n);
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:f, s:f, s:f}", "strategy",
                     tr_strategy_name(s), "best", three(best, true), "last", three(last, true),
                     "fast_2", three(fast, false), "to_top_w", three(to, true), "correct",
                     three(mean(r->some), false), "turns", r->turns / n, "tokens_out", r->out / n,
                     "tokens_in", r->in / n);
}

static void show(void)
{
    struct tr_counts c = tr_drive_counts(w.drive);
    json_t *rows = json_array(), *line = json_object();
    printf("%d chains, %d seeds, %d turns, context %d, w 4; %llu evaluations for %llu turns, %d "
           "kernels judged again\n\n",
           w.chains, w.seeds, w.rounds, CONTEXT, (unsigned long long)c.sent,
           (unsigned long long)(c.replied + c.replayed), w.nkept);
    printf("%-25s %-16s %-16s %-13s %-16s %5s %6s %6s\n", "strategy", "best", "last turn",
           "best > 2, %", "best to top-w", "turns", "tokens", "read");
    for (int s = 0; s < TR_STRATEGIES; s++) {
        json_array_append_new(rows, row((enum tr_strategy)s));
    }
    json_object_set_new(line, "chains", json_integer(w.chains));
    json_object_set_new(line, "seeds", json_integer(w.seeds));
    json_object_set_new(line, "turns", json_integer(w.rounds));
    json_object_set_new(line, "evaluations", json_integer((json_int_t)c.sent));
    json_object_set_new(line, "again", json_integer(w.nkept));
    json_object_set_new(line, "strategies", rows);
    kg_bench_json("refine", line);
}

int main(int argc, char **argv)
{
    struct kg_progress progress;
    int64_t done = 0;
    w.chains = kg_bench_count(argc, argv, 1, 2, CHAINS_MAX, 24);
    w.seeds = kg_bench_count(argc, argv, 2, 1, SEEDS_MAX, 3);
    w.rounds = kg_bench_count(argc, argv, 3, 1, STRIDE, 14);
    setenv("KGYM_HOME", kg_bench_build(), 1);
    open_all(argc > 5 ? argv[5] : kg_bench_folder(), kg_bench_count(argc, argv, 4, 1, 256, 1));
    kg_progress_init(&progress, stderr, "refine",
                     (int64_t)w.chains * (int64_t)w.seeds * TR_STRATEGIES);
    for (int chain = 0; chain < w.chains; chain++) {
        for (int s = 0; s < TR_STRATEGIES * w.seeds; s++) {
            refine((enum tr_strategy)(s / w.seeds), s % w.seeds, chain);
            kg_progress_step(&progress, ++done, "");
        }
    }
    kg_progress_end(&progress);
    show();
    close_all();
    return 0;
}

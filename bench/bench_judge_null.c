/* The trusted clock of the GPU judge: what a null call costs, how far apart two equal runners are,
 * and what the quiet check and the digests see of a runner that cheats.
 *   build/release/bench/bench_judge_null [repetitions=20] [device=cuda:0] [MB=64] [pin=0]
 * One repetition is 48 pairs in random order, balanced in blocks of 4, on fresh values each; its
 * ratio is the median log ratio per order, averaged (timing/stats.h). True ratio: 1. K: the median
 * window of a null kernel on the same buffers; own K: each runner's, taken among the pairs. pin 1:
 * judge and runners each on a core of their own. Ends with one JSON line. Exit status 1: of the
 * instances one gained something or was not seen (verdict_of_scenes). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/common/gpu_runner.h"
#include "bench/common/host.h"
#include "gym/timing/stats.h"

#define PAIRS  48
#define NULLS  100
#define MOST   200
#define TRIALS 20
#define EVERY  8 /* pairs per null of each runner */
/* An early reply spares the runner's way out of its wait, and no more: its window may be shorter
 * than the honest one by this share of it, or by so much. */
#define EARLY_SHARE 0.05
#define EARLY_US    30.0
#define MB          ((uint64_t)1 << 20)

static struct kg_dj judge;
static struct kg_gpu_runner runners[2];
static struct kg_rng rng;
static struct kg_err err;
static uint64_t stream, megabytes; /* of the input, and of the answer */

static struct kg_dj_report run(const struct kg_gpu_runner *r, uint32_t command, uint64_t seed,
                               enum kg_dj_side keep, bool timed)
{
    struct kg_dj_report rep;
    struct kg_dj_call c = {.port = r->port,
                           .id = 0,
                           .command = command,
                           .seed = seed,
                           .keep = keep,
                           .timed = timed,
                           .deadline_ns = kg_clock_ns() + 20000000000};
    kg_bench_need_ok(kg_dj_run(&judge, &c, &rep, &err), &err);
    kg_bench_need(rep.status == KG_DJ_ANSWERED && rep.said == KG_TA_OK,
                  "a runner did not answer command %u: status %d", command, (int)rep.status);
    return rep;
}

static void fresh_values(void)
{
    struct kg_dj_law law = {
        .kind = KG_DJ_UNIFORM, .key = {{7, 9}}, .stream = ++stream, .a = -1, .b = 1};
    kg_bench_need_ok(kg_dj_case_fill(&judge, 0, 0, &law, &err), &err);
}

static void begin(uint64_t bytes)
{
    struct kg_tleaf leaf = {.dtype = KG_TD_F32, .rank = 1, .shape = {(int64_t)(bytes / 4)}};
    kg_bench_need_ok(kg_dj_case_begin(&judge, 0, &leaf, 1, &err), &err);
    fresh_values();
    for (int i = 0; i < 2; i++) {
        run(&runners[i], KG_TC_BIND, 0, KG_DJ_NONE, false);
        for (int k = 0; k < 3; k++) {
            run(&runners[i], KG_TC_CALL, kg_gpu_seed(1, KG_GPU_HONEST),
                i == 0 ? KG_DJ_FLOAT : KG_DJ_CANDIDATE, true);
        }
    }
}

static double window(const struct kg_gpu_runner *r, uint32_t command, uint32_t rounds,
                     enum kg_dj_side keep)
{
    struct kg_dj_report rep = run(r, command, kg_gpu_seed(rounds, KG_GPU_HONEST), keep, true);
    bool clean = !rep.late_write && !rep.unwritten && !rep.guard_hit && !rep.input_modified;
    kg_bench_need(clean,
                  "an honest runner was found out: late %d, unwritten %d, guard %d, input %d",
                  rep.late_write, rep.unwritten, rep.guard_hit, rep.input_modified);
    return (double)rep.window_ns;
}

static double median_window(uint32_t command, uint32_t rounds, int n)
{
    double x[MOST];
    for (int i = 0; i < n; i++) {
        x[i] = window(&runners[i % 2], command, rounds, KG_DJ_NONE);
    }
    return kg_median(x, (size_t)n);
}

/* What the windows of one kernel length look like. */
struct row {
    double target_us, per_round_us, k[4]; /* K: median, p10, p90, p99, us */
    double k_own[2];                      /* medians of each runner */
    double call_us, spread_us;            /* median after K; p90 - p10 */
    double own_us[2];                     /* medians of each runner's calls */
    double log_ratio[MOST], log_own[MOST], seconds;
    uint32_t rounds;
    int n;
};

static void measure_k(struct row *r)
{
    double x[NULLS];
    for (int i = 0; i < NULLS; i++) {
        x[i] = window(&runners[i % 2], KG_TC_NULL, 0, KG_DJ_NONE) * 1e-3;
    }
    static const double at[4] = {0.5, 0.1, 0.9, 0.99};
    for (int i = 0; i < 4; i++) {
        r->k[i] = kg_quantile(x, NULLS, at[i]);
    }
}

static void choose_rounds(struct row *r)
{
    double one = median_window(KG_TC_CALL, 1, 20) * 1e-3 - r->k[0];
    double nine = median_window(KG_TC_CALL, 9, 20) * 1e-3 - r->k[0];
    r->per_round_us = (nine - one) / 8;
    double more = r->per_round_us > 0 ? (r->target_us - one) / r->per_round_us : 0;
    r->rounds = more > 0 && more < 1e6 ? 1 + (uint32_t)(more + 0.5) : 1;
}

static uint64_t random_bits(void *ctx)
{
    return kg_rng_u64(ctx);
}

/* Pairs of all repetitions of a row, and nulls taken among them. */
static struct kg_pair pairs[MOST][PAIRS];
static double nulls[2][MOST * PAIRS / EVERY];

static void one_pair(const struct row *r, struct kg_pair *out, bool first)
{
    double w[2];
    fresh_values();
    for (int k = 0; k < 2; k++) {
        int who = first ? 1 - k : k;
        w[who] =
            window(&runners[who], KG_TC_CALL, r->rounds, who == 0 ? KG_DJ_FLOAT : KG_DJ_CANDIDATE);
    }
    *out = (struct kg_pair){(int64_t)w[0], (int64_t)w[1], first};
}

/* With K taken from each window: that of both runners, or each one's own, taken among the pairs. */
static void estimate(struct row *r)
{
    static double us[2][MOST * PAIRS];
    double all[2 * PAIRS];
    for (int who = 0; who < 2; who++) {
        r->k_own[who] = kg_median(nulls[who], (size_t)r->n * PAIRS / EVERY);
    }
    for (int i = 0; i < r->n; i++) {
        struct kg_pair own[PAIRS];
        for (int p = 0; p < PAIRS; p++) {
            own[p] = pairs[i][p];
            us[0][i * PAIRS + p] = all[2 * p] = (double)own[p].ref_ns * 1e-3 - r->k[0];
            us[1][i * PAIRS + p] = all[2 * p + 1] = (double)own[p].cand_ns * 1e-3 - r->k[0];
            own[p].ref_ns -= (int64_t)(r->k_own[0] * 1e3);
            own[p].cand_ns -= (int64_t)(r->k_own[1] * 1e3);
        }
        r->log_ratio[i] = kg_pairs_log_ratio(pairs[i], PAIRS, (int64_t)(r->k[0] * 1e3));
        r->log_own[i] = kg_pairs_log_ratio(own, PAIRS, 0);
    }
    r->own_us[0] = kg_median(us[0], (size_t)r->n * PAIRS);
    r->own_us[1] = kg_median(us[1], (size_t)r->n * PAIRS);
    r->call_us = kg_median(all, 2 * PAIRS); /* of the last repetition, as the spread */
    r->spread_us = kg_quantile(all, 2 * PAIRS, 0.9) - kg_quantile(all, 2 * PAIRS, 0.1);
}

static void repeat(struct row *r, int repetitions)
{
    r->n = repetitions;
    for (int i = 0; i < repetitions; i++) {
        bool first[PAIRS];
        int64_t t = kg_clock_ns();
        kg_balanced_order(random_bits, &rng, first, PAIRS);
        for (int p = 0; p < PAIRS; p++) {
            one_pair(r, &pairs[i][p], first[p]);
            for (int who = 0; who < 2 && p % EVERY == 0; who++) {
                nulls[who][(i * PAIRS + p) / EVERY] =
                    window(&runners[who], KG_TC_NULL, 0, KG_DJ_NONE) * 1e-3;
            }
        }
        r->seconds += (double)(kg_clock_ns() - t) * 1e-9 / repetitions;
    }
    estimate(r);
}

static double within(const double *log_ratio, int n, double share)
{
    int good = 0;
    for (int i = 0; i < n; i++) {
        good += fabs(expm1(log_ratio[i])) <= share;
    }
    return 100.0 * good / n;
}

static void print_head(const char *title)
{
    printf("\n%s\n%8s %9s %7s %7s %7s %7s %8s | within %% %23s | own K %16s\n", title, "target",
           "call", "p10-90", "K", "K p10", "K p90", "K p99", "", "");
    printf("%63s %6s %6s %6s %6s | %6s %6s %6s %5s %6s\n", "|", "0.5", "1", "2", "5", "0.5", "1",
           "2", "reps", "s");
}

static json_t *json_of(const double *x, int n)
{
    json_t *all = json_array();
    for (int i = 0; i < n; i++) {
        json_array_append_new(all, json_real(x[i]));
    }
    return all;
}

static json_t *print_row(const struct row *r)
{
    static const double share[4] = {0.005, 0.01, 0.02, 0.05};
    double in[4], own[4];
    for (int i = 0; i < 4; i++) {
        in[i] = within(r->log_ratio, r->n, share[i]);
        own[i] = within(r->log_own, r->n, share[i]);
    }
    printf("%6.0fus %7.1fus %7.1f %7.1f %7.1f %7.1f %8.1f | %6.0f %6.0f %6.0f %6.0f | ",
           r->target_us, r->call_us, r->spread_us, r->k[0], r->k[1], r->k[2], r->k[3], in[0], in[1],
           in[2], in[3]);
    printf("%6.0f %6.0f %6.0f %5d %6.3f\n", own[0], own[1], own[2], r->n, r->seconds);
    fflush(stdout);
    return json_pack("{s:f, s:f, s:f, s:i, s:o, s:o, s:o, s:o, s:o, s:f, s:o, s:o}", "target_us",
                     r->target_us, "call_us", r->call_us, "spread_us", r->spread_us, "rounds",
                     (int)r->rounds, "call_us_of_each", json_of(r->own_us, 2), "k_us_of_each",
                     json_of(r->k_own, 2), "k_us_median_p10_p90_p99", json_of(r->k, 4),
                     "within_pct_0.5_1_2_5", json_of(in, 4), "own_k_within_pct_0.5_1_2_5",
                     json_of(own, 4), "seconds_per_48_pairs", r->seconds, "log_ratios",
                     json_of(r->log_ratio, r->n), "own_k_log_ratios", json_of(r->log_own, r->n));
}

static json_t *null_test(const char *title, int repetitions, const double *targets, size_t n)
{
    json_t *all = json_array();
    print_head(title);
    for (size_t i = 0; i < n; i++) {
        struct row r = {.target_us = targets[i]};
        begin(targets[i] < 40 ? (megabytes + 1) / 2 * MB : megabytes * MB);
        measure_k(&r);
        choose_rounds(&r);
        repeat(&r, targets[i] > 5000 ? (repetitions + 1) / 2 : repetitions);
        json_array_append_new(all, print_row(&r));
    }
    return all;
}

/* Set-ups and windows of a behaviour of the candidate, in medians. */
struct instance {
    double setup_us, window_us;
    int loud, late, unwritten, found; /* calls; found: late or unwritten */
};
enum { HONEST, RUNS_ON, EARLY, LATE, SCENES };

static struct instance play(enum kg_gpu_how before, enum kg_gpu_how how, uint32_t rounds)
{
    struct instance s = {0};
    double setup[TRIALS], win[TRIALS];
    for (int i = 0; i < TRIALS; i++) {
        fresh_values();
        if (before != KG_GPU_HONEST) {
            run(&runners[0], KG_TC_CALL, kg_gpu_seed(1, before), KG_DJ_NONE, false);
        }
        struct kg_dj_report rep =
            run(&runners[1], KG_TC_CALL, kg_gpu_seed(rounds, how), KG_DJ_CANDIDATE, true);
        setup[i] = (double)rep.setup_ns * 1e-3;
        win[i] = (double)rep.window_ns * 1e-3;
        s.loud += rep.loud;
        s.late += rep.late_write;
        s.unwritten += rep.unwritten;
        s.found += rep.late_write || rep.unwritten;
        usleep(before != KG_GPU_HONEST || how != KG_GPU_HONEST ? 100000 : 1000);
    }
    s.setup_us = kg_median(setup, TRIALS);
    s.window_us = kg_median(win, TRIALS);
    return s;
}

static bool held(bool so, const char *what)
{
    if (!so) {
        printf("judge_null: FAILED: %s\n", what);
    }
    return so;
}

/* Nobody may gain by a reply that comes too early, and what goes on must be seen, in every call. */
static bool verdict_of_scenes(const struct instance s[SCENES])
{
    double bound = fmax(EARLY_US, EARLY_SHARE * s[HONEST].window_us);
    bool good = held(s[HONEST].found == 0, "an honest runner is found out");
    good &= held(s[RUNS_ON].loud == TRIALS, "a kernel that runs on is not loud in every call");
    good &= held(s[LATE].found == TRIALS, "a write after the reply is not seen in every call");
    good &= held(s[EARLY].window_us >= s[HONEST].window_us - bound,
                 "an early reply makes the window shorter than the bound allows");
    return good;
}

static json_t *instances(uint32_t rounds, bool *good)
{
    static const struct {
        const char *what;
        enum kg_gpu_how before, how;
    } list[SCENES] = {
        [HONEST] = {"honest", KG_GPU_HONEST, KG_GPU_HONEST},
        [RUNS_ON] = {"somebody's kernel runs on", KG_GPU_PERSISTENT, KG_GPU_HONEST},
        [EARLY] = {"reply before the kernel ends", KG_GPU_HONEST, KG_GPU_EARLY},
        [LATE] = {"reply, and write 3 ms later", KG_GPU_HONEST, KG_GPU_LATE},
    };
    struct instance all_of[SCENES];
    json_t *all = json_array();
    printf("\nof %d calls of %u rounds   %10s %10s %6s %6s %10s\n", TRIALS, rounds, "set-up us",
           "window us", "loud", "late", "unwritten");
    for (size_t i = 0; i < SCENES; i++) {
        struct instance s = all_of[i] = play(list[i].before, list[i].how, rounds);
        printf("%-30s %10.1f %10.1f %6d %6d %10d\n", list[i].what, s.setup_us, s.window_us, s.loud,
               s.late, s.unwritten);
        fflush(stdout);
        json_array_append_new(all, json_pack("{s:s, s:f, s:f, s:i, s:i, s:i, s:i}", "what",
                                             list[i].what, "setup_us", s.setup_us, "window_us",
                                             s.window_us, "loud", s.loud, "late_write", s.late,
                                             "unwritten", s.unwritten, "of", TRIALS));
    }
    *good = verdict_of_scenes(all_of);
    return all;
}

int main(int argc, char **argv)
{
    static const double targets[] = {20, 100, 1000, 10000};
    int repetitions = kg_bench_count(argc, argv, 1, 1, MOST, 20);
    megabytes = (uint64_t)kg_bench_count(argc, argv, 3, 1, 4096, 64);
    bool pin = kg_bench_count(argc, argv, 4, 0, 1, 0) == 1;
    struct kg_dj_spec spec = {.device = argc > 2 ? argv[2] : "cuda:0", .cpu = pin ? 2 : -1};
    kg_bench_need_ok(kg_dj_start(&spec, &judge, &err), &err);
    printf("%s, %s: L2 %.0f MB, copies at %.2f TB/s\n", judge.facts.name, judge.facts.driver,
           (double)judge.facts.l2_bytes / 1e6, judge.facts.bandwidth * 1e-12);
    kg_rng_init(&rng, (struct kg_key){{1, 2}}, 3);
    for (int i = 0; i < 2; i++) {
        kg_gpu_runner_start(&judge, (megabytes + 16) * MB, pin ? 4 + 2 * i : -1, &runners[i]);
    }
    json_t *alone = null_test("alone", repetitions, targets, 4);
    pid_t maker = kg_gpu_contexts_start();
    json_t *beside =
        null_test("while another process makes contexts", (repetitions + 1) / 2, targets + 1, 2);
    kg_gpu_contexts_stop(maker);
    begin(megabytes * MB);
    bool good;
    json_t *seen = instances(20, &good);
    kg_bench_json("judge_null", json_pack("{s:s, s:f, s:o, s:o, s:o}", "device", judge.facts.name,
                                          "copy_bytes_per_s", judge.facts.bandwidth, "alone", alone,
                                          "beside_contexts", beside, "scenes", seen));
    for (int i = 0; i < 2; i++) {
        kg_gpu_runner_stop(&judge, &runners[i]);
    }
    kg_rng_deinit(&rng);
    kg_dj_stop(&judge);
    return good ? 0 : 1;
}

/* Where the time of RL goes: the share of its steps that is neither generation, evaluation nor
 * update. A short run of configs/demo.yaml with the real gym; the sums are those of metrics.jsonl.
 *   build/release/bench/bench_train_share [SFT seconds=25] [RL seconds=30] [key=value ...]
 * generation: the engine draws (the gym judges meanwhile). evaluation: nothing is left to draw, and
 * a verdict is waited for. update: rows, advantages, loss, gradient, weights. outside: the rest of
 * the phase: prompts, feedback, the way to the gym and back, problems, metrics. */
#include <stdio.h>
#include <string.h>

#include "bench/common/host.h"
#include "bench/common/train_run.h"

#define MOST_SETTINGS 30

struct sums {
    int steps;
    double draw, wait, learn, sampled, evaluations, reward;
    double phase; /* all of RL, from the last line */
};

static void look(const json_t *line, long rss_kb, void *ctx)
{
    struct sums *s = ctx;
    const char *phase = json_string_value(json_object_get(line, "phase"));
    (void)rss_kb;
    if (phase != NULL && strcmp(phase, "rl") == 0) {
        kg_bench_need(json_object_get(line, "draw_s") != NULL, "metrics.jsonl lacks draw_s");
        s->steps++;
        s->draw += kg_bench_train_number(line, "draw_s");
        s->wait += kg_bench_train_number(line, "judge_wait_s");
        s->learn += kg_bench_train_number(line, "learn_s");
        s->sampled += kg_bench_train_number(line, "sampled");
        s->evaluations = kg_bench_train_number(line, "evaluations");
        s->reward = kg_bench_train_number(line, "reward");
    } else if (phase != NULL && strcmp(phase, "end") == 0) {
        s->phase = kg_bench_train_number(line, "rl");
    }
}

static void print_part(const char *name, double seconds, const struct sums *s)
{
    printf("%-12s %9.2f %9.1f %8.1f %%\n", name, seconds, 1e3 * seconds / s->steps,
           100 * seconds / s->phase);
}

int main(int argc, char **argv)
{
    char sft[32], rl[32];
    const char *set[MOST_SETTINGS + 8] = {sft, rl, "eval.pairs=1", "eval.triples=0",
                                          "eval.samples=1"};
    struct sums s = {0};
    snprintf(sft, sizeof sft, "sft.seconds=%d", kg_bench_count(argc, argv, 1, 0, 10000, 25));
    snprintf(rl, sizeof rl, "rl.seconds=%d", kg_bench_count(argc, argv, 2, 1, 10000, 30));
    kg_bench_need(argc <= 3 + MOST_SETTINGS, "too many settings");
    for (int i = 3; i < argc; i++) {
        set[2 + i] = argv[i];
    }
    kg_bench_train_run(&(struct kg_bench_train){"share", "configs/demo.yaml", set, look, &s});
    kg_bench_need(s.steps > 0 && s.phase > 0, "the run made no step");
    double outside = s.phase - s.draw - s.wait - s.learn;
    printf("%d steps of RL in %.1f s: %.0f tokens and %.1f evaluations a second\n", s.steps,
           s.phase, s.sampled / s.phase, s.evaluations / s.phase);
    printf("%-12s %9s %9s %10s\n", "", "seconds", "ms a step", "share");
    print_part("generation", s.draw, &s);
    print_part("evaluation", s.wait, &s);
    print_part("update", s.learn, &s);
    print_part("outside", outside, &s);
    kg_bench_json("train_share",
                  json_pack("{s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "steps", s.steps,
                            "seconds", s.phase, "generation_s", s.draw, "evaluation_s", s.wait,
                            "update_s", s.learn, "outside_s", outside, "outside_share",
                            outside / s.phase, "tokens_per_s", s.sampled / s.phase,
                            "evaluations_per_s", s.evaluations / s.phase));
    return 0;
}

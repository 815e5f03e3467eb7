/* Is the memory of `kgym train` flat over many steps? The model is nearly untrained, so its replies
 * are no kernels and cost the gym nothing; all else of a step is real: draws, the way to the gym,
 * log-probs, loss (an entropy bonus gives every row a gradient), update, metrics.
 *   build/release/bench/bench_train_memory [steps=500] [first=50] [key=value ...]
 * Resident memory of the process at step `first` and at the last one. The journal of verdicts keeps
 * a key and a place in the file for every distinct reply of a run (rl/judge/journal.h: about 120
 * bytes), so the growth is also given by reply: what is far above that number leaks. The gym's own
 * processes: bench_memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/host.h"
#include "bench/common/train_run.h"

#define MOST          10000
#define MOST_SETTINGS 20

struct watch {
    long kb[MOST];
    double replies[MOST]; /* distinct ones so far */
    int n;
};

static void look(const json_t *line, long rss_kb, void *ctx)
{
    struct watch *w = ctx;
    const char *phase = json_string_value(json_object_get(line, "phase"));
    if (phase != NULL && strcmp(phase, "rl") == 0 && w->n < MOST && rss_kb > 0) {
        w->replies[w->n] = kg_bench_train_number(line, "evaluations");
        w->kb[w->n++] = rss_kb;
    }
}

/* KB a step, least squares over the steps from `first`. */
static double slope(const struct watch *w, int first)
{
    double n = w->n - first, mx = (n - 1) / 2, my = 0, xy = 0, xx = 0;
    for (int i = first; i < w->n; i++) {
        my += (double)w->kb[i] / n;
    }
    for (int i = first; i < w->n; i++) {
        double x = i - first - mx;
        xy += x * ((double)w->kb[i] - my);
        xx += x * x;
    }
    return xx > 0 ? xy / xx : 0;
}

int main(int argc, char **argv)
{
    static struct watch w;
    char steps_text[32];
    int steps = kg_bench_count(argc, argv, 1, 10, MOST, 500);
    int first = kg_bench_count(argc, argv, 2, 1, steps - 1, steps / 10);
    const char *set[MOST_SETTINGS + 16] = {
        steps_text,     "rl.seconds=0", "rl.groups=2",          "rl.rollouts=4",
        "resp_max=32",  "sft.steps=1",  "corpus.documents=500", "zero_var=off",
        "entropy=0.01", "eval.pairs=1", "eval.triples=0",       "eval.samples=1"};
    int n = 12;
    snprintf(steps_text, sizeof steps_text, "rl.steps=%d", steps);
    for (int i = 3; i < argc && n < MOST_SETTINGS + 12; i++) {
        set[n++] = argv[i];
    }
    kg_bench_train_run(&(struct kg_bench_train){"memory", "configs/demo.yaml", set, look, &w});
    kg_bench_need(w.n == steps, "%d of %d steps were seen", w.n, steps);
    printf("%-10s %12s\n", "step", "resident KB");
    for (int i = 0; i < 10; i++) {
        int at = first + (steps - first) * i / 9;
        printf("%-10d %12ld\n", at, w.kb[at - 1]);
    }
    long grown = w.kb[steps - 1] - w.kb[first - 1];
    double replies = w.replies[steps - 1] - w.replies[first - 1];
    double each = replies > 0 ? 1024. * (double)grown / replies : 0;
    printf("from step %d to %d: %+ld KB (%+.2f %%), %.2f KB a step, %.0f bytes a distinct reply\n",
           first, steps, grown, 100. * (double)grown / (double)w.kb[first - 1],
           slope(&w, first - 1), each);
    kg_bench_json("train_memory", json_pack("{s:i, s:i, s:I, s:I, s:f, s:f}", "steps", steps,
                                            "first", first, "first_kb", (json_int_t)w.kb[first - 1],
                                            "last_kb", (json_int_t)w.kb[steps - 1], "slope_kb",
                                            slope(&w, first - 1), "bytes_a_reply", each));
    return 0;
}

/* What staged evaluation gains: the presets `default` and `unstaged` on what a model that learns
 * sends: 10 % no code, 10 % refused by the static check, 30 % compile errors, 10 % crashes and
 * 10 % wrong answers at the first small input, 30 % correct. Groups of 20 replies to one problem,
 * as samples of one prompt come; distinct candidates, no cache.
 *   build/release/bench/bench_staged [replies=80] [jobs=2]
 * With timing on as many, with timing off three times as many (they are quicker). Times are those
 * of the whole command, start-up and the building of references included: that is the same on both
 * sides and makes the gain look smaller. */
#include <stdio.h>
#include <string.h>

#include "bench/common/candidates.h"
#include "bench/common/host.h"

enum kind { PROSE, NO_ENTRY, STRAY, COMPILE, CRASH, WRONG, CORRECT };

#define GROUP 20
static const enum kind mix[GROUP] = {CORRECT, COMPILE, PROSE,   CRASH,   CORRECT,  COMPILE, WRONG,
                                     STRAY,   COMPILE, CORRECT, COMPILE, NO_ENTRY, CRASH,   CORRECT,
                                     COMPILE, STRAY,   CORRECT, WRONG,   COMPILE,  CORRECT};
static const int expected[KG_V_COUNT] =
    {/* of a group */
     [KG_V_NO_CODE] = 2, [KG_V_REJECTED] = 2, [KG_V_COMPILE_ERROR] = 6,
     [KG_V_CRASH] = 2,   [KG_V_WRONG] = 2,    [KG_V_OK] = 6};

/* What makes each correct candidate wrong. */
static const struct {
    const char *problem, *from, *to;
} mistakes[] = {{"axpby", "alpha * x[i]", "x[i]"},
                {"softmax", "y[j] /= s", "y[j] /= s + 1"},
                {"rms_norm_linear", " * gain[p]", ""},
                {"attention_head", "scale * dot", "dot"}};

static void replace(struct kg_buf *b, const char *from, const char *to)
{
    char *at = strstr(b->data, from);
    kg_bench_need(at != NULL, "a candidate has no `%s`", from);
    struct kg_buf out;
    kg_buf_init(&out, b->max);
    kg_buf_addf(&out, "%.*s%s%s", (int)(at - b->data), b->data, to, at + strlen(from));
    kg_buf_deinit(b);
    *b = out;
}

/* As the first thing that the entry does. */
static void crash(struct kg_buf *b, const char *problem)
{
    char *body = strstr(b->data, problem);
    body = body != NULL ? strstr(body, "\n{\n") : NULL;
    kg_bench_need(body != NULL, "a candidate for `%s` has no body", problem);
    struct kg_buf out;
    kg_buf_init(&out, b->max);
    kg_buf_addf(&out, "%.*s    *(volatile int *)8 = candidate();\n%s", (int)(body + 3 - b->data),
                b->data, body + 3);
    kg_buf_deinit(b);
    *b = out;
}

static void add_code(struct kg_buf *reply, int i, int which, enum kind kind)
{
    const struct kg_bench_candidate *c = &kg_bench_candidates[which];
    const char *at = strstr(c->text, "%d");
    struct kg_buf b;
    kg_buf_init(&b, 64u << 10);
    kg_buf_addf(&b, "%.*s%d%s", (int)(at - c->text), c->text, i + 1, at + 2);
    if (kind == STRAY) {
        kg_buf_adds(&b, "}\n");
    } else if (kind == COMPILE) {
        kg_buf_addf(&b, "\nstatic int total_%d = undeclared_%d;\n", i, i);
    } else if (kind == CRASH) {
        crash(&b, c->problem);
    } else if (kind == WRONG) {
        for (size_t m = 0; m < sizeof mistakes / sizeof *mistakes; m++) {
            if (strcmp(mistakes[m].problem, c->problem) == 0) {
                replace(&b, mistakes[m].from, mistakes[m].to);
            }
        }
    }
    kg_buf_addf(reply, "This version reads each value once.\n\n```c\n%s```\n", b.data);
    kg_buf_deinit(&b);
}

static void make_replies(int n, const char *name)
{
    struct kg_buf lines, reply;
    kg_buf_init(&lines, 64u << 20);
    kg_buf_init(&reply, 64u << 10);
    for (int i = 0; i < n; i++) {
        int which = i / GROUP % KG_BENCH_CANDIDATES;
        enum kind kind = mix[i % GROUP];
        kg_buf_reset(&reply);
        if (kind == PROSE) {
            kg_buf_addf(&reply, "%d. One would tile the loops and use vector instructions.\n", i);
        } else if (kind == NO_ENTRY) {
            kg_buf_addf(&reply, "```c\nstatic int helper_%d(int a)\n{\n    return a;\n}\n```\n", i);
        } else {
            add_code(&reply, i, which, kind);
        }
        kg_bench_line(&lines, i, kg_bench_candidates[which].problem, "reply", reply.data);
    }
    kg_bench_write(name, lines.data, lines.len);
    kg_buf_deinit(&reply);
    kg_buf_deinit(&lines);
}

struct run {
    double seconds;
    struct kg_bench_tally tally;
};

static void judge(const char *in, int n, int jobs, bool staged, bool timing, struct run *r)
{
    const char *const set[] = {staged ? "staged=true" : "staged=false",
                               timing ? "stage.timing=true" : "stage.timing=false", NULL};
    const struct kg_bench_batch batch = {in, "out.jsonl", jobs, set};
    r->seconds = kg_bench_batch_run(&batch);
    kg_bench_tally("out.jsonl", &r->tally);
    for (int v = 0; v < KG_V_COUNT; v++) {
        const char *name = kg_verdict_name((enum kg_verdict)v);
        kg_bench_need(r->tally.verdict[v] * GROUP == expected[v] * n,
                      "%s: %d of %d replies are `%s`, not %d in %d", staged ? "staged" : "unstaged",
                      r->tally.verdict[v], n, name ? name : "errors", expected[v], GROUP);
    }
}

static double rest_ms(const struct run *r, int n, int jobs)
{
    double ms = 1e3 * jobs * r->seconds / n;
    for (int s = 0; s < KG_ST_COUNT; s++) {
        ms -= r->tally.stage_ms[s];
    }
    return ms > 0 ? ms : 0;
}

/* One comparison: printed, and as JSON. */
static json_t *compare(int n, int jobs, bool timing)
{
    static const char *const head[] = {"staged", "unstaged"};
    struct run run[2];
    make_replies(n, "in.jsonl");
    judge("in.jsonl", n, jobs, true, timing, &run[0]);
    judge("in.jsonl", n, jobs, false, timing, &run[1]);
    double per_s[2] = {n / run[0].seconds, n / run[1].seconds};
    double rest[2] = {rest_ms(&run[0], n, jobs), rest_ms(&run[1], n, jobs)};
    const struct kg_bench_tally tally[2] = {run[0].tally, run[1].tally};
    printf("timing %s, %d replies, %d jobs: staged %.2f /s, unstaged %.2f /s: %.2f times as many "
           "(%+.0f %%)\n",
           timing ? "on" : "off", n, jobs, per_s[0], per_s[1], per_s[0] / per_s[1],
           100 * (per_s[0] / per_s[1] - 1));
    kg_bench_print_stages(head, tally, rest, 2);
    fflush(stdout);
    return json_pack("{s:b, s:i, s:f, s:f, s:f, s:o, s:f, s:o, s:f}", "timing", timing, "replies",
                     n, "staged_per_s", per_s[0], "unstaged_per_s", per_s[1], "gain",
                     per_s[0] / per_s[1], "stage_ms_staged", kg_bench_stages(&tally[0]),
                     "rest_ms_staged", rest[0], "stage_ms_unstaged", kg_bench_stages(&tally[1]),
                     "rest_ms_unstaged", rest[1]);
}

int main(int argc, char **argv)
{
    int n = kg_bench_count(argc, argv, 1, GROUP, 10000, 4 * GROUP);
    int jobs = kg_bench_count(argc, argv, 2, 1, 64, 2);
    bool quick = n == GROUP; /* a smoke test: without timing */
    n -= n % GROUP;
    json_t *rows = json_array();
    printf("20 %% no code or refused, 30 %% compile errors, 20 %% crash or wrong at tiny size, 30 "
           "%% correct\n");
    json_array_append_new(rows, compare(quick ? n : 3 * n, jobs, false));
    if (!quick) {
        json_array_append_new(rows, compare(n, jobs, true));
    }
    kg_bench_json("staged", json_pack("{s:i, s:o}", "jobs", jobs, "rows", rows));
    return 0;
}

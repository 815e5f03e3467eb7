/* Opens what a refinement needs beside the drive, runs its rounds, and writes its files. */
#include "trial/refine/refine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "trial/refine/bests.h"
#include "trial/refine/drive_maker.h"
#include "trial/refine/round_talk.h"

struct run {
    const struct tr_refine_options *o;
    struct tr_round_log *log;
    struct tr_bests *bests;
    struct tr_rounds *rounds;
    const char *prompt;
    int before;   /* rounds that the folder had */
    bool unsaved; /* a new best that the folder lacks */
};

static enum kg_code seen(void *user, const struct tr_round *r, struct kg_err *err)
{
    struct run *run = user;
    const char *name = run->o->problem->name;
    run->unsaved |= r->new_best && !tr_round_log_has(run->log, r->round);
    if (r->new_best && tr_bests_add(run->bests, r, err) != KG_OK) {
        return err->code;
    }
    /* A late verdict may make a round the best for the moment only: a later one decides. */
    if (run->unsaved && r->round >= tr_round_log_last_best(run->log)) {
        if (tr_bests_write(run->bests, run->o->folder, err) != KG_OK) {
            return err->code;
        }
        run->unsaved = false;
    }
    if (tr_round_log_add(run->log, name, r, err) != KG_OK ||
        tr_round_log_follow(run->log, name, r, err) != KG_OK) {
        return err->code;
    }
    if (run->o->seen != NULL) {
        run->o->seen(run->o->user, r);
    }
    return KG_OK;
}

static void waits(void *user)
{
    const struct run *run = user;
    if (run->o->waits != NULL) {
        run->o->waits(run->o->user);
    }
}

static int64_t window_of(void *user, int round)
{
    return tr_round_log_window_of(((struct run *)user)->log, round);
}

static void report(const struct run *run, struct tr_refine_outcome *out)
{
    int n = 0;
    const struct tr_round *r = tr_rounds_list(run->rounds, &n);
    out->ending = tr_rounds_ending(run->rounds);
    snprintf(out->why, sizeof out->why, "%s", tr_rounds_why(run->rounds));
    out->rounds = n;
    out->before = run->before;
    for (int i = 0; i < n; i++) {
        out->correct += r[i].result != NULL && r[i].result->correct;
        out->again += r[i].tried;
        if (r[i].new_best) {
            out->best = r[i].round;
            out->verified = r[i].again;
            out->verified.record = NULL;
        }
    }
    snprintf(out->file, sizeof out->file, "%s", tr_bests_file(run->bests));
}

static json_t *summary_of(const struct run *run, const struct tr_refine_outcome *out)
{
    const struct tr_again *a = &out->verified;
    struct tr_counts c = tr_drive_counts(run->o->drive);
    json_t *best = json_null();
    if (out->best > 0) {
        best = json_pack("{s:i, s:o, s:o, s:o, s:s}", "round", out->best, "speedup",
                         kg_json_real(a->speedup), "speedup_lo", kg_json_real(a->speedup_lo),
                         "speedup_hi", kg_json_real(a->speedup_hi), "file", out->file);
    }
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:i, s:i, s:i, s:o, s:{s:I, s:I}, s:f}",
                     "schema", "kgym.refine/1", "problem", run->o->problem->name, "strategy",
                     tr_strategy_name(run->o->plan.strategy), "metric",
                     tr_by_name(run->o->plan.metric), "ending", tr_ending_name(out->ending), "why",
                     kg_json_text(out->why, strlen(out->why)), "rounds", out->rounds, "correct",
                     out->correct, "judged_again", out->again, "best", best, "tokens", "in",
                     (json_int_t)c.totals.tokens_in, "out", (json_int_t)c.totals.tokens_out,
                     "money", c.money);
}

/* Best kernel, conversations and summary, as far as the run came. Where an earlier command came
 * further, its own stay. */
static enum kg_code write_all(const struct run *run, const struct tr_refine_outcome *out,
                              struct kg_err *err)
{
    int n = 0;
    const struct tr_round *r = tr_rounds_list(run->rounds, &n);
    struct tr_folder *f = run->o->folder;
    struct kg_buf text;
    if (n < run->before) {
        return KG_OK;
    }
    if (tr_bests_write(run->bests, f, err) != KG_OK ||
        tr_round_talks(f, run->o->problem, run->prompt, run->o->plan.strategy, r, n,
                       out->ending != TR_END_NONE && out->ending != TR_END_SPENT, err) != KG_OK) {
        return err->code;
    }
    json_t *summary = summary_of(run, out);
    kg_buf_init(&text, 1 << 20);
    kg_json_dump_pretty(summary, &text);
    kg_buf_addc(&text, '\n');
    enum kg_code code = tr_folder_write(f, "summary.json", text.data, text.len, err);
    kg_buf_deinit(&text);
    json_decref(summary);
    return code;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a == 0 || (b > 0 && b < a) ? b : a;
}

static enum kg_code go(struct run *run, const struct tr_maker *maker, struct tr_refine_outcome *out,
                       struct kg_err *err)
{
    const struct tr_refine_options *o = run->o;
    struct tr_policy *p = o->policy;
    struct tr_rounds_options r = {.plan = o->plan,
                                  .prompt = run->prompt,
                                  .target = o->target,
                                  .patience = o->patience,
                                  .before = run->before,
                                  .window_of = window_of,
                                  .seen = seen,
                                  .waits = waits,
                                  .user = run};
    struct kg_err first = KG_ERR_INIT;
    r.plan.prompt = (int64_t)p->count(p->self, run->prompt, strlen(run->prompt));
    r.plan.context =
        smaller(smaller(o->plan.context, p->context(p->self)), tr_round_log_window(run->log));
    if (tr_rounds_create(&r, maker, &run->rounds, err) != KG_OK) {
        return err->code;
    }
    enum kg_code code = tr_rounds_run(run->rounds, &first);
    report(run, out);
    enum kg_code written = write_all(run, out, err);
    if (code != KG_OK) { /* the first error says more */
        *err = first;
        return code;
    }
    return written;
}

enum kg_code tr_refine_run(const struct tr_refine_options *o, struct tr_refine_outcome *out,
                           struct kg_err *err)
{
    struct run run = {.o = o};
    *out = (struct tr_refine_outcome){.best = 0};
    struct tr_drive_maker m = {.drive = o->drive,
                               .folder = o->folder,
                               .policy = o->policy,
                               .problem = o->problem,
                               .again = o->again};
    const struct tr_maker maker = tr_drive_maker_table(&m);
    enum kg_code code = tr_drive_prompt(o->drive, o->problem, &run.prompt, err);
    code = code != KG_OK ? code : tr_bests_create(&run.bests, err);
    code = code != KG_OK ? code : tr_round_log_open(tr_folder_path(o->folder), &run.log, err);
    if (code == KG_OK) {
        m.log = run.log;
        run.before = tr_round_log_last(run.log);
        code = go(&run, &maker, out, err);
    }
    tr_rounds_destroy(run.rounds);
    tr_round_log_close(run.log);
    tr_bests_destroy(run.bests);
    return code;
}

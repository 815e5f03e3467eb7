/* A run of `kgym bench`: opens suite, gym, model and folder, leads all conversations under a bar,
 * then makes tables and result files out of the folder. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/term.h"
#include "cli/cli.h"
#include "cli/trial/bench.h"
#include "cli/trial/bench_parts.h"
#include "trial/bench/tables.h"
#include "trial/drive/samples.h"

/* All that a run holds open. */
struct run {
    const struct kg_bench *b;
    struct tr_suite suite;
    struct kgym_pool *pool;
    struct tr_policy policy;
    struct tr_folder *folder;
    struct tr_drive *drive;
    struct kg_progress bar;
    struct tr_samples end;
};

static void close_run(struct run *r)
{
    tr_drive_destroy(r->drive);
    tr_folder_close(r->folder);
    if (r->policy.close != NULL) {
        r->policy.close(r->policy.self);
    }
    kgym_close(r->pool);
    tr_suite_close(&r->suite);
}

static void tell_aside(const struct tr_suite *s)
{
    for (size_t i = 0; i < s->naside; i++) {
        const struct tr_aside *a = &s->aside[i];
        char before[200] = "left out: ";
        struct kg_buf name;
        kg_buf_init(&name, 160);
        kg_term_add_line(&name, a->name);
        if (strncmp(a->why, a->name, strlen(a->name)) != 0) { /* else the message names it */
            snprintf(before, sizeof before, "left out: %s: ", name.data);
        }
        kg_cli_line(stderr, before, a->why);
        kg_buf_deinit(&name);
    }
}

static enum kg_code open_run(struct run *r, struct kg_err *err)
{
    static const char *const may_grow[] = {"samples", NULL};
    const struct tr_args *a = &r->b->args;
    char id[KG_ULID_LEN];
    if (tr_suite_open(r->b->suite, &r->suite, err) != KG_OK ||
        tr_suite_subset(&r->suite, r->b->subset, err) != KG_OK ||
        tr_folder_id(a->out, id, err) != KG_OK || tr_args_pool(a, id, &r->pool, err) != KG_OK ||
        tr_suite_weed(&r->suite, r->pool, a->language, err) != KG_OK ||
        tr_policy_open(&a->policy, &r->policy, err) != KG_OK) {
        return err->code;
    }
    tell_aside(&r->suite);
    json_t *about = tr_args_run(a, &r->policy, "bench", id);
    json_object_set_new(about, "suite", tr_args_suite(&r->suite, r->b->subset));
    json_object_set_new(about, "samples", json_integer(r->b->samples));
    json_object_set_new(about, "turns", json_integer(r->b->turns));
    enum kg_code code = tr_folder_open(a->out, about, may_grow, &r->folder, err);
    json_decref(about);
    if (code != KG_OK) {
        return code;
    }
    struct tr_drive_options o = tr_args_drive(a);
    o.policy = &r->policy;
    o.pool = r->pool;
    o.folder = r->folder;
    o.cancel = &kg_cli_cancelled;
    return tr_drive_create(&o, &r->drive, err);
}

static void show(void *user, const struct tr_samples *so_far, const struct tr_turn *turn)
{
    struct run *r = user;
    const struct tr_counts c = tr_drive_counts(r->drive);
    char note[120], tokens[24], money[40] = "";
    (void)turn;
    if (c.money > 0) {
        snprintf(money, sizeof money, ", money %.4g", c.money);
    }
    tr_text_quantity(tokens, (double)(c.totals.tokens_in + c.totals.tokens_out));
    snprintf(note, sizeof note, "%llu correct, %s tokens%s", (unsigned long long)so_far->correct,
             tokens, money);
    r->bar.total = (int64_t)so_far->planned;
    r->bar.kept = (int64_t)c.replayed;
    kg_progress_step(&r->bar, (int64_t)so_far->turns, note);
}

static enum kg_code lead(struct run *r, struct kg_err *err)
{
    const struct tr_samples_options o = {.drive = r->drive,
                                         .folder = r->folder,
                                         .suite = &r->suite,
                                         .samples = (uint32_t)r->b->samples,
                                         .turns = (uint32_t)r->b->turns,
                                         .seen = show,
                                         .user = r};
    kg_progress_init(&r->bar, stderr, "bench", (int64_t)r->suite.n * r->b->samples * r->b->turns);
    enum kg_code code = tr_samples_run(&o, &r->end, err);
    kg_progress_end(&r->bar);
    return code;
}

/* --- the end --- */

/* Without a single reply there is nothing to make tables of: the reason is the whole result. */
static enum kg_code check_replies(const struct run *r, struct kg_err *err)
{
    const struct tr_samples *e = &r->end;
    if (tr_folder_totals(r->folder).replies > 0 || e->lost + e->full == 0) {
        return KG_OK;
    }
    return kg_fail(err, e->lost > 0 ? KG_E_IO : KG_E_LIMIT, "%s: %s",
                   e->lost > 0 ? "no reply came" : "the model has no room for a first message",
                   e->lost > 0 ? e->why_lost : e->why_full);
}

/* summary.json, and what is printed of it. */
static enum kg_code summarise(struct run *r, struct kg_err *err)
{
    struct tr_bench bench;
    struct tr_tables tables;
    double p[TR_MORE_P];
    struct tr_tables_options o = {.p = p, .seed = (uint64_t)r->b->args.seed};
    struct kg_buf text;
    if ((r->b->p != NULL && tr_tables_parse_p(r->b->p, p, &o.np, err) != KG_OK) ||
        tr_bench_read(tr_folder_path(r->folder), &bench, err) != KG_OK) {
        return err->code;
    }
    enum kg_code code = tr_tables_make(&bench, &o, &tables, err);
    if (code == KG_OK) {
        json_t *all = tr_tables_json(&tables);
        kg_buf_init(&text, 64u << 20);
        kg_json_dump(all, &text);
        kg_buf_addc(&text, '\n');
        json_decref(all);
        code = tr_folder_write(r->folder, "summary.json", text.data, text.len, err);
        if (!r->b->args.json) {
            kg_buf_reset(&text);
            tr_tables_text(&tables, kg_term_colour(stdout), &text);
        }
        fwrite(text.data, 1, text.len, stdout);
        fflush(stdout); /* what is said of it comes behind it */
        kg_buf_deinit(&text);
        tr_tables_deinit(&tables);
    }
    tr_bench_deinit(&bench);
    return code;
}

static void tell_end(const struct run *r)
{
    const struct tr_samples *e = &r->end;
    const struct tr_counts c = tr_drive_counts(r->drive);
    char before[120];
    if (e->spent[0] != '\0') {
        fprintf(stderr, "the budget is used up: %s; the same command with a larger one goes on\n",
                e->spent);
    }
    if (e->lost > 0) {
        snprintf(before, sizeof before,
                 "%llu turns have no verdict, the first since: ", (unsigned long long)e->lost);
        kg_cli_line(stderr, before, e->why_lost);
        fputs("the same command tries them again\n", stderr);
    }
    if (e->full > 0) {
        snprintf(before, sizeof before,
                 "%llu conversations ended early, the model has no room for a turn: ",
                 (unsigned long long)e->full);
        kg_cli_line(stderr, before, e->why_full);
    }
    if (c.asked > 0) {
        fprintf(stderr, "%llu %s asked for, %llu %s", (unsigned long long)c.asked,
                c.asked == 1 ? "reply" : "replies", (unsigned long long)c.sent,
                c.sent == 1 ? "evaluation" : "evaluations");
        if (c.pool_busy > 0) {
            fprintf(stderr, ", workers busy for %.0f %% of the time", 100 * c.pool_busy);
        }
        fputs("\n", stderr);
    }
    kg_cli_line(stderr, "kept; for its page: kgym report ", tr_folder_path(r->folder));
}

static enum kg_code finish(struct run *r, struct kg_err *err)
{
    enum kg_code code = summarise(r, err);
    if (code == KG_OK && r->suite.kernelbench) {
        struct kg_cli_exported exported;
        code = kg_cli_bench_export(tr_folder_path(r->folder), &exported, err);
    }
    if (code == KG_OK) {
        tell_end(r);
    }
    return code;
}

/* Why a run ended before its end; how much of it is kept. */
static int fail_run(const struct run *r, const struct kg_err *err)
{
    int status = kg_cli_fail("bench", err);
    if (r->folder != NULL && r->drive != NULL) {
        fprintf(stderr, "%lld replies are kept; ",
                (long long)tr_drive_counts(r->drive).totals.replies);
        kg_cli_line(stderr, "the same command goes on with ", tr_folder_path(r->folder));
    }
    return status;
}

int kg_bench_run(const struct kg_bench *b)
{
    struct run r = {.b = b};
    struct kg_err err = KG_ERR_INIT;
    kg_cli_signals();
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error with a name */
    enum kg_code code = open_run(&r, &err);
    code = code == KG_OK ? lead(&r, &err) : code;
    code = code == KG_OK ? check_replies(&r, &err) : code;
    code = code == KG_OK ? finish(&r, &err) : code;
    int status = code != KG_OK                              ? fail_run(&r, &err)
                 : r.end.lost > 0 || r.end.spent[0] != '\0' ? KG_STATUS_BAD
                                                            : KG_STATUS_GOOD;
    close_run(&r);
    return status;
}

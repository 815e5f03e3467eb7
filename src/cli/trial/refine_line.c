/* Lines for a person: what a round brought, and what a refinement ended with. */
#include "cli/trial/refine_line.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/term.h"
#include "trial/refine/round_log.h"

#define WHY_BYTES 240

static void add_speed(struct kg_buf *out, double s, double lo, double hi)
{
    if (!isfinite(s)) {
        kg_buf_adds(out, "no time");
        return;
    }
    kg_buf_addf(out, "%.3gx", s);
    if (isfinite(lo) && isfinite(hi)) {
        kg_buf_addf(out, " [%.3g, %.3g]", lo, hi);
    }
}

/* The speed-up; of a kernel that was judged twice that of the second time, with its interval. */
static void add_speeds(const struct tr_round *r, struct kg_buf *out)
{
    const struct tr_turn *t = r->result;
    const struct tr_again *a = &r->again;
    if (!r->tried || !a->judged || !a->correct) {
        add_speed(out, t->speedup, t->speedup_lo, t->speedup_hi);
    } else if (isfinite(t->speedup) || isfinite(a->speedup)) {
        add_speed(out, t->speedup, NAN, NAN);
        kg_buf_adds(out, ", again ");
        add_speed(out, a->speedup, a->speedup_lo, a->speedup_hi);
    } else {
        kg_buf_adds(out, "no time, judged twice");
    }
}

/* So many columns: what is longer ends in an ellipsis. */
static void add_column(const char *text, int columns, struct kg_buf *out)
{
    size_t n = strlen(text), width = kg_term_columns(text), room = (size_t)columns;
    struct kg_buf cut;
    kg_buf_init(&cut, 4096);
    kg_buf_adds(&cut, text);
    while (n > 0 && width > room) {
        do {
            n--;
        } while (n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80);
        cut.len = n;
        cut.data[n] = '\0';
        kg_buf_adds(&cut, "…");
        width = kg_term_columns(cut.data);
    }
    kg_buf_adds(out, cut.data);
    kg_buf_addf(out, "%*s", (int)(room - width), "");
    kg_buf_deinit(&cut);
}

static void add_verdict(const struct tr_round *r, bool colour, struct kg_buf *out)
{
    static const char *const names[] = {"", "no verdict", "defect", "no reply"};
    const struct tr_turn *t = r->result;
    const char *word = t == NULL ? "no room" : t->state == TR_JUDGED ? t->verdict : names[t->state];
    char padded[24];
    snprintf(padded, sizeof padded, "%-13s ", word);
    kg_term_add(out, colour, t != NULL && t->correct ? KG_GREEN : KG_YELLOW, padded);
}

void kg_refine_line(const struct tr_round *r, int rounds, int columns, bool colour,
                    struct kg_buf *out)
{
    const struct tr_turn *t = r->result;
    char why[WHY_BYTES];
    struct kg_buf middle;
    kg_buf_init(&middle, 4096);
    kg_buf_addf(out, "%3d/%d  ", r->round, rounds);
    add_verdict(r, colour, out);
    tr_round_why(r, why, sizeof why);
    if (t != NULL && t->correct) {
        add_speeds(r, &middle);
    }
    if (why[0] != '\0' && (middle.len == 0 || !r->again.judged || !r->again.correct)) {
        kg_buf_adds(&middle, middle.len > 0 ? "; " : "");
        kg_term_add_line(&middle, why);
    }
    add_column(middle.data, columns, out);
    kg_buf_deinit(&middle);
    if (r->new_best) {
        kg_term_add(out, colour, KG_BOLD, "  new best");
    } else if (r->best > 0 && r->best_speedup > 0) {
        kg_buf_addf(out, "  best %.3gx", r->best_speedup);
    } else if (r->best > 0) {
        kg_buf_addf(out, "  best: round %d", r->best);
    } else {
        kg_buf_adds(out, "  no best yet");
    }
    if (t != NULL && t->reply != NULL) {
        kg_buf_addf(out, t->replayed ? "  kept" : "  %lld tokens",
                    (long long)t->reply->usage.tokens_out);
    }
    kg_buf_addc(out, '\n');
}

static void add_ending(const struct tr_refine_outcome *o, struct kg_buf *out)
{
    static const char *const words[] = {"stopped",
                                        "all turns are done",
                                        "the target is reached",
                                        "--patience is used up",
                                        "the budget is used up",
                                        "the context is full",
                                        "the gym has no verdict, three times in a row",
                                        "the problem is at fault",
                                        "the policy gives no reply"};
    kg_buf_addf(out, "\n%s", words[o->ending]);
    if (o->why[0] != '\0') {
        kg_buf_adds(out, ": ");
        kg_term_add_line(out, o->why);
    }
    kg_buf_addc(out, '\n');
}

void kg_refine_end(const struct tr_refine_outcome *o, const struct tr_counts *c, const char *folder,
                   bool colour, struct kg_buf *out)
{
    add_ending(o, out);
    if (o->rounds < o->before) {
        kg_buf_addf(out, "%d of the %d rounds in ", o->rounds, o->before);
        kg_term_add_line(out, folder);
        kg_buf_adds(out, " were replayed; its files of the best kernel stay\n");
    } else if (o->best > 0) {
        char round[40];
        snprintf(round, sizeof round, "best: round %d, ", o->best);
        kg_term_add(out, colour, KG_BOLD, round);
        add_speed(out, o->verified.speedup, o->verified.speedup_lo, o->verified.speedup_hi);
        kg_buf_adds(out, " when it was judged again; ");
        kg_term_add_line(out, folder);
        kg_buf_addf(out, "/%s\n", o->file);
    } else {
        kg_buf_adds(out, "no kernel was correct when it was judged again\n");
    }
    kg_buf_addf(out, "%d round%s, %d correct, %d judged again; %lld tokens in, %lld out", o->rounds,
                o->rounds == 1 ? "" : "s", o->correct, o->again, (long long)c->totals.tokens_in,
                (long long)c->totals.tokens_out);
    if (c->money > 0) {
        kg_buf_addf(out, ", money %.4g", c->money);
    }
    kg_buf_adds(out, "\n`kgym report ");
    kg_term_add_line(out, folder);
    kg_buf_adds(out, "` makes the page\n");
}

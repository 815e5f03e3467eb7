/* Judges random correct kernels, and the best ones, again, and keeps what came out. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "rl/judge/recheck.h"
#include "rl/report/parts.h"

struct list {
    struct rl_recheck_item item[RL_RECHECK_MOST + RL_REPORT_BEST];
    const struct rl_kernel *of[RL_RECHECK_MOST + RL_REPORT_BEST];
    size_t n, random;
};

/* A kernel whose problem is no chain cannot be judged again: its text is not in the run. */
static void add(struct list *l, const struct rl_kernel *k)
{
    struct kg_err err = KG_ERR_INIT;
    struct rl_chain chain;
    if (rl_chain_parse(k->problem, &chain, &err) != KG_OK) {
        return;
    }
    l->item[l->n] =
        (struct rl_recheck_item){.index = (uint32_t)l->n,
                                 .chain = chain,
                                 .text = k->reply,
                                 .len = strlen(k->reply),
                                 .first_speedup = isfinite(k->speedup) ? k->speedup : 0};
    l->of[l->n++] = k;
}

static json_t *item_json(const struct list *l, size_t i)
{
    const struct rl_recheck_item *x = &l->item[i];
    json_t *o = json_object();
    json_object_set_new(o, "problem", json_string(l->of[i]->problem));
    json_object_set_new(o, "best", json_boolean(i >= l->random));
    json_object_set_new(o, "first", json_real(x->first_speedup));
    json_object_set_new(o, "state", json_string(rl_recheck_state_name(x->state)));
    json_object_set_new(o, "verdict", json_string(x->name));
    json_object_set_new(o, "speedup", json_real(x->speedup));
    json_object_set_new(o, "lo", json_real(isfinite(x->speedup_lo) ? x->speedup_lo : 0));
    json_object_set_new(o, "hi", json_real(isfinite(x->speedup_hi) ? x->speedup_hi : 0));
    return o;
}

/* Only the random ones count: the best were chosen by their first time. */
static json_t *result_of(const struct list *l, const char *preset)
{
    json_t *o = json_object(), *items = json_array();
    long held = 0, n = 0;
    for (size_t i = 0; i < l->n; i++) {
        bool judged = rl_recheck_counts_in(l->item[i].state);
        n += i < l->random && judged;
        held += i < l->random && l->item[i].state == RL_RECHECK_HELD;
        json_array_append_new(items, item_json(l, i));
    }
    json_object_set_new(o, "phase", json_string("recheck"));
    json_object_set_new(o, "preset", json_string(preset));
    json_object_set_new(o, "n", json_integer(n));
    json_object_set_new(o, "held", json_integer(held));
    json_object_set_new(o, "items", items);
    return o;
}

static enum kg_code write_result(const struct rl_report *r, struct kg_err *err)
{
    char path[4096];
    struct kg_buf text;
    kg_buf_init(&text, 1u << 20);
    kg_json_dump(r->recheck, &text);
    kg_buf_addc(&text, '\n');
    snprintf(path, sizeof path, "%s/recheck.json", r->folder);
    enum kg_code code = kg_file_write_atomic(path, text.data, text.len, err);
    kg_buf_deinit(&text);
    return code;
}

enum kg_code rl_report_recheck(struct rl_report *r, const char *preset, int n, FILE *progress,
                               volatile int *cancel, struct kg_err *err)
{
    const struct rl_recheck_options o = {.preset = preset, .cancel = cancel};
    struct rl_recheck_counts counts;
    struct list *l = calloc(1, sizeof *l);
    if (l == NULL) {
        return kg_fail(err, KG_E_HOST, "report: no memory");
    }
    for (int i = 0; i < n && i < r->kernels.n_some; i++) {
        add(l, &r->kernels.some[i]);
    }
    l->random = l->n;
    if (l->random == 0) {
        rl_note(&r->notes, "no kernel was judged again: the evaluation after RL has no correct "
                           "reply to a chain");
        free(l);
        return KG_OK;
    }
    for (int i = 0; i < r->kernels.n_best; i++) {
        add(l, &r->kernels.best[i]);
    }
    if (progress != NULL) {
        fprintf(progress, "judging %zu random correct kernels and the %zu best again by %s\n",
                l->random, l->n - l->random, preset);
        fflush(progress);
    }
    enum kg_code code = rl_recheck_list(&o, l->item, l->n, &counts, err);
    if (code == KG_OK) {
        json_decref(r->recheck);
        r->recheck = result_of(l, preset);
        code = write_result(r, err);
    }
    free(l);
    return code;
}

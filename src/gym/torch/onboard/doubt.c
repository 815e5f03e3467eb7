/* What a problem's own run leaves in doubt at its first evaluation, and the few made candidates
 * that settle it. A problem without doubt costs nothing. */
#include <math.h>

#include "gym/torch/onboard/panel_source.h"
#include "gym/torch/onboard/torch_onboard.h"

#define NEAR 0.02 /* to 1: more than any bound allows */

struct doubts {
    bool reference; /* is it right at all, since it does not repeat itself? */
    bool zeros, ones;
};

static bool all_near(const struct kg_task_desc *d, double v, double off)
{
    bool near = d->noutputs > 0;
    for (size_t i = 0; i < d->noutputs; i++) {
        const struct kg_tstats *s = &d->output[i].stats;
        near = near && fabs(s->min - v) <= off && fabs(s->max - v) <= off;
    }
    return near;
}

static struct doubts doubts_of(const struct kg_torch *t)
{
    const struct kg_task_desc *d = &t->instance[KG_INSTANCE_PUBLISHED].desc;
    return (struct doubts){
        .reference = !d->repeats, .zeros = all_near(d, 0, 0), .ones = all_near(d, 1, NEAR)};
}

bool kg_tdoubted(struct kg_worker *w)
{
    const struct kg_torch *t = kg_torch_of(w);
    if (!t || !t->problem || t->settled || !t->instance[KG_INSTANCE_PUBLISHED].described ||
        kg_torch_protocol(w)->full) {
        return false;
    }
    struct doubts d = doubts_of(t);
    return d.reference || d.zeros || d.ones;
}

static enum kg_code try(struct kg_worker *w, struct kg_onboard *o, enum kg_tprobe probe,
                        struct kg_err *err)
{
    struct kg_buf src;
    kg_buf_init(&src, 1 << 20);
    kg_tprobe_source(kg_torch_of(w)->problem, probe, &src);
    enum kg_onboard_want want = probe == KG_TPROBE_REFERENCE ? KG_WANT_OK : KG_WANT_WRONG;
    enum kg_code code = kg_onboard_judge(w, kg_torch_of(w)->problem->path, o, kg_tprobe_name(probe),
                                         &src, want, err);
    kg_buf_deinit(&src);
    return code;
}

/* What is wrong with it, for those who judge by it without a cache. */
static void conclude(struct kg_torch *t, struct kg_onboard *o)
{
    o->pass = true;
    for (int i = 0; i < o->n; i++) {
        const struct kg_onboard_check *c = &o->check[i];
        if (!c->pass && !c->limit && t->defect[0] == '\0') {
            snprintf(t->defect, sizeof t->defect, "%.60s: %.130s", c->name, c->detail);
        }
        o->pass = o->pass && c->pass;
    }
}

enum kg_code kg_tsettle(struct kg_worker *w, struct kg_onboard *out, struct kg_err *err)
{
    struct kg_torch *t = kg_torch_of(w);
    const struct doubts d = doubts_of(t);
    t->settled = true;
    enum kg_code code = d.reference ? try(w, out, KG_TPROBE_REFERENCE, err) : KG_OK;
    code = code == KG_OK && d.zeros ? try(w, out, KG_TPROBE_ZEROS, err) : code;
    code = code == KG_OK && d.ones ? try(w, out, KG_TPROBE_ONES, err) : code;
    if (code == KG_OK) {
        conclude(t, out);
    }
    return code;
}

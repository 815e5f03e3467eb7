/* Looks at a problem at its first evaluation. */
#include "gym/eval/first_look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gym/eval/executor.h"
#include "gym/eval/findings.h"
#include "gym/eval/onboard.h"

/* A full check on any device is not replaced. */
static void keep(const struct kg_worker *w, const struct kg_onboard *o, bool checked)
{
    if (!checked && o->sha256[0]) {
        json_t *found = kg_onboard_json(o);
        json_object_set_new(found, KG_FINDINGS_FIRST_LOOK, json_true());
        kg_findings_keep(&w->config, o->sha256, o->device, found);
        json_decref(found);
    }
}

/* Its checks are made, and fail. */
static bool fails(struct kg_worker *w, const struct kg_record *r, const char *device, bool checked)
{
    struct kg_err ignored = KG_ERR_INIT;
    struct kg_onboard *o = calloc(1, sizeof *o);
    bool defective = false;
    if (!o) {
        return false;
    }
    o->reference_ns = o->in_bytes = o->out_bytes = -1;
    snprintf(o->problem, sizeof o->problem, "%s", r->problem.name);
    snprintf(o->sha256, sizeof o->sha256, "%s", r->problem.sha256);
    snprintf(o->device, sizeof o->device, "%s", device);
    if (w->executor->settle(w, o, &ignored) == KG_OK && !kg_onboard_at_limits(o)) {
        keep(w, o, checked);
        defective = !o->pass;
    }
    kg_onboard_deinit(o);
    free(o);
    return defective;
}

bool kg_first_look(struct kg_worker *w, const struct kg_task *t, const struct kg_record *r)
{
    const struct kg_executor *x = w->executor;
    if (t->any_problem || r->has_error || *w->cancelled ||
        w->config.quarantine == KG_QUARANTINE_IGNORE || !x || !x->doubted || !x->doubted(w)) {
        return false;
    }
    const char *device = json_string_value(json_object_get(r->environment, "device"));
    device = device ? device : "cpu";
    json_t *card = kg_findings_find(&w->config, r->problem.sha256);
    bool known = card && kg_findings_made_on(card, device);
    bool defective = !known && fails(w, r, device, card && !kg_findings_first_look(card));
    json_decref(card);
    return defective;
}

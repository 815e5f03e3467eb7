/* The kinds of policies by name, defaults, and what all replies share. */
#include "trial/policy/policy.h"

#include <stdlib.h>
#include <string.h>

#include "trial/policy/checkpoint.h"
#include "trial/policy/endpoint.h"
#include "trial/policy/scripted.h"

static const struct kind {
    const char *name;
    enum tr_policy_kind kind;
    const char *needs; /* must follow the colon; NULL: nothing must */
} kinds[] = {
    {"endpoint", TR_ENDPOINT, "URL"},
    {"checkpoint", TR_CHECKPOINT, "DIR"},
    {"scripted", TR_SCRIPTED, NULL},
};

const char *tr_finish_name(enum tr_finish f)
{
    static const char *const names[] = {
        [TR_STOP] = "stop", [TR_LENGTH] = "length", [TR_FILTER] = "filter"};
    return names[f];
}

void tr_reply_free(struct tr_reply *r)
{
    if (r != NULL) {
        free(r->text);
        free(r->reasoning);
        free(r->ids);
        free(r);
    }
}

enum kg_code tr_policy_parse(const char *text, struct tr_policy_name *out, struct kg_err *err)
{
    size_t n = strcspn(text, ":");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const struct kind *k = &kinds[i];
        if (strlen(k->name) != n || strncmp(text, k->name, n) != 0) {
            continue;
        }
        *out = (struct tr_policy_name){k->kind, text[n] == ':' ? text + n + 1 : text + n};
        if (k->needs != NULL && *out->rest == '\0') {
            return kg_fail(err, KG_E_USAGE, "policy `%s`: a colon and %s must follow", k->name,
                           k->needs);
        }
        return KG_OK;
    }
    /* Text that names no kind may hold a key: it is not repeated. */
    if (strncmp(text, "http://", 7) == 0 || strncmp(text, "https://", 8) == 0) {
        return kg_fail(err, KG_E_USAGE, "a URL needs its kind before it: endpoint:http://...");
    }
    return kg_fail(err, KG_E_USAGE,
                   "no such kind of policy: endpoint:URL, checkpoint:DIR, scripted and "
                   "scripted:NAME are there");
}

void tr_policy_defaults(struct tr_policy_options *o)
{
    *o = (struct tr_policy_options){
        .adapter = "",
        .tokenizer = "",
        .template = "auto",
        .sampling = {.temperature = 1, .top_p = 1, .max_tokens = 8192},
        .parallel = 16,
        .timeout_s = 300,
        .patience_s = 900,
        .stream = true,
    };
}

/* Bounds that keep all sums of times and sizes in range. */
static enum kg_code check(const struct tr_policy_options *o, struct kg_err *err)
{
    const struct tr_sampling *s = &o->sampling;
    const struct {
        const char *name;
        double value, lo, hi;
    } list[] = {
        {"temperature", s->temperature, 0, 100},
        {"top-p", s->top_p, 0, 1},
        {"tokens of a reply", (double)s->max_tokens, 1, 1e8},
        {"tokens of the context", (double)s->context, 0, 1e9},
        {"replies at once", o->parallel, 1, 1024},
        {"seconds without a byte", o->timeout_s, 0.01, 1e6},
        {"seconds of asking again", o->patience_s, 0.01, 1e7},
        {"threads", o->threads, 0, 256},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        if (!(list[i].value >= list[i].lo && list[i].value <= list[i].hi)) {
            return kg_fail(err, KG_E_USAGE, "policy: %s: %g is not within %g and %g", list[i].name,
                           list[i].value, list[i].lo, list[i].hi);
        }
    }
    return s->nstop >= 0 && s->nstop <= 4
               ? KG_OK
               : kg_fail(err, KG_E_USAGE, "policy: at most four stop texts");
}

enum kg_code tr_policy_open(const struct tr_policy_options *o, struct tr_policy *out,
                            struct kg_err *err)
{
    struct tr_policy_name name;
    enum kg_code code = tr_policy_parse(o->policy, &name, err);
    code = code != KG_OK ? code : check(o, err);
    if (code != KG_OK) {
        return code;
    }
    switch (name.kind) {
    case TR_ENDPOINT:
        return tr_endpoint_open(name.rest, o, out, err);
    case TR_CHECKPOINT:
        return tr_checkpoint_open(name.rest, o, out, err);
    case TR_SCRIPTED:
        break;
    }
    return tr_scripted_open(name.rest, o, out, err);
}

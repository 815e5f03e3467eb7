/* Reads the description that a reference gives of its task, and checks every number in it. */
#include "gym/torch/problem/task.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where in the description we are: for messages. */
struct at {
    const char *what, *list;
    size_t i;
    struct kg_err *err;
};

static enum kg_code bad(const struct at *a, const char *key, const char *why)
{
    return kg_fail(a->err, KG_E_PROBLEM, "%.200s: description: %s[%zu]%s%s: %s", a->what, a->list,
                   a->i, *key ? "." : "", key, why);
}

static bool parse_dtype(const char *name, uint32_t *out)
{
    for (int t = 0; name && t < KG_TD_COUNT; t++) {
        if (strcmp(name, kg_tdtype_name((enum kg_tdtype)t)) == 0) {
            *out = (uint32_t)t;
            return true;
        }
    }
    return false;
}

static enum kg_code parse_shape(const struct at *a, const json_t *shape, struct kg_tleaf *leaf)
{
    if (!json_is_array(shape) || json_array_size(shape) > KG_TWIRE_RANK) {
        return bad(a, "shape", "a list of at most 8 extents is needed");
    }
    leaf->rank = (uint32_t)json_array_size(shape);
    uint64_t bytes = kg_tdtype_bytes((enum kg_tdtype)leaf->dtype);
    for (size_t d = leaf->rank; d-- > 0;) {
        const json_t *v = json_array_get(shape, d);
        int64_t n = json_integer_value(v);
        if (!json_is_integer(v) || n < 1) {
            return bad(a, "shape", "an extent is no integer of at least 1");
        }
        leaf->shape[d] = n;
        if ((uint64_t)n > KG_TASK_BYTES / bytes) {
            return bad(a, "shape", "more than 64 GB");
        }
        bytes *= (uint64_t)n;
    }
    leaf->bytes = bytes;
    kg_tleaf_contiguous(leaf);
    return KG_OK;
}

/* Strides of an input; without them it is contiguous. */
static enum kg_code parse_layout(const struct at *a, const json_t *stride, struct kg_tleaf *leaf)
{
    if (!stride) {
        return KG_OK;
    }
    if (!json_is_array(stride) || json_array_size(stride) != leaf->rank) {
        return bad(a, "stride", "a number for each extent is needed");
    }
    for (size_t d = 0; d < leaf->rank; d++) {
        const json_t *v = json_array_get(stride, d);
        int64_t n = json_integer_value(v);
        if (!json_is_integer(v) || n < 0) {
            return bad(a, "stride", "a stride is no integer of at least 0");
        }
        leaf->laid |= n != leaf->stride[d];
        leaf->stride[d] = n;
    }
    uint64_t size = kg_tdtype_bytes((enum kg_tdtype)leaf->dtype), n = kg_tleaf_reach(leaf);
    if (n == 0 || n > KG_TASK_BYTES / size) {
        return bad(a, "stride", "more than 64 GB");
    }
    leaf->bytes = n * size;
    return KG_OK;
}

/* null, or a key that is not there, is NaN: JSON has no infinities. */
static double number(const json_t *v)
{
    return json_is_number(v) ? json_number_value(v) : NAN;
}

static void parse_stats(const json_t *j, struct kg_tstats *out)
{
    const json_t *distinct = json_object_get(j, "distinct");
    out->min = number(json_object_get(j, "min"));
    out->max = number(json_object_get(j, "max"));
    out->mean = number(json_object_get(j, "mean"));
    out->sd = number(json_object_get(j, "sd"));
    out->distinct = json_is_integer(distinct) ? json_integer_value(distinct) : -1;
    out->fixed = json_is_true(json_object_get(j, "fixed"));
    out->whole = json_is_true(json_object_get(j, "whole"));
    out->finite = json_is_true(json_object_get(j, "finite"));
}

/* Names of parameters: printable ASCII, as Python's attribute paths are. */
static bool plain_name(const char *s)
{
    bool good = s && *s && strlen(s) < KG_TWIRE_NAME;
    for (; good && *s; s++) {
        good = isgraph((unsigned char)*s);
    }
    return good;
}

static enum kg_code parse_leaf(const struct at *a, const json_t *j, bool named,
                               struct kg_tleaf *leaf, struct kg_tstats *stats)
{
    memset(leaf, 0, sizeof *leaf);
    if (!json_is_object(j)) {
        return bad(a, "", "an object is needed");
    }
    if (!parse_dtype(json_string_value(json_object_get(j, "dtype")), &leaf->dtype)) {
        return bad(a, "dtype", "not a dtype that can be judged");
    }
    const char *name = json_string_value(json_object_get(j, "name"));
    if (named && !plain_name(name)) {
        return bad(a, "name", "a name of at most 95 printable bytes is needed");
    }
    if (named) {
        snprintf(leaf->name, sizeof leaf->name, "%s", name);
    } else {
        snprintf(leaf->name, sizeof leaf->name, "%zu", a->i);
    }
    parse_stats(j, stats);
    return parse_shape(a, json_object_get(j, "shape"), leaf);
}

static enum kg_code count(const struct at *a, const json_t *list, size_t most, size_t *out)
{
    if (!json_is_array(list)) {
        return kg_fail(a->err, KG_E_PROBLEM, "%.200s: description: %s: a list is needed", a->what,
                       a->list);
    }
    *out = json_array_size(list);
    return *out <= most ? KG_OK
                        : kg_fail(a->err, KG_E_PROBLEM,
                                  "%.200s: description: %s: %zu tensors, at most %zu can be judged",
                                  a->what, a->list, *out, most);
}

static enum kg_code add_bytes(const struct at *a, const struct kg_tleaf *leaf, uint64_t *total)
{
    *total += leaf->bytes;
    return *total <= KG_TASK_BYTES
               ? KG_OK
               : kg_fail(a->err, KG_E_PROBLEM, "%.200s: description: %s: more than 64 GB together",
                         a->what, a->list);
}

const char *kg_tstructure_name(enum kg_tstructure x)
{
    static const char *const names[KG_TX_COUNT] = {"zeros",  "symmetric", "definite", "sorted",
                                                   "sums",   "norms",     "equal",    "dominant",
                                                   "shared", "unsure",    "distinct", "repeated"};
    return names[x];
}

/* Words that are not known do not count. */
static uint32_t parse_structure(const json_t *list)
{
    uint32_t found = 0;
    size_t i;
    json_t *v;
    json_array_foreach(list, i, v)
    {
        for (int x = 0; x < KG_TX_COUNT && json_is_string(v); x++) {
            bool is = strcmp(json_string_value(v), kg_tstructure_name((enum kg_tstructure)x)) == 0;
            found |= is ? 1u << x : 0;
        }
    }
    return found;
}

static enum kg_code parse_inputs(const json_t *j, const char *what, struct kg_task_desc *out,
                                 struct kg_err *err)
{
    struct at a = {what, "inputs", 0, err};
    const json_t *list = json_object_get(j, "inputs");
    if (count(&a, list, KG_TASK_INPUTS, &out->ninputs) != KG_OK) {
        return err->code;
    }
    for (; a.i < out->ninputs; a.i++) {
        struct kg_task_input *in = &out->input[a.i];
        const json_t *v = json_array_get(list, a.i);
        if (parse_leaf(&a, v, false, &in->leaf, &in->stats) != KG_OK ||
            parse_layout(&a, json_object_get(v, "stride"), &in->leaf) != KG_OK ||
            add_bytes(&a, &in->leaf, &out->input_bytes) != KG_OK) {
            return err->code;
        }
        in->structure = parse_structure(json_object_get(v, "structure"));
        in->written = json_is_true(json_object_get(v, "written"));
        out->nwritten += in->written;
        out->elements += kg_tleaf_count(&in->leaf);
    }
    return KG_OK;
}

static enum kg_code parse_outputs(const json_t *j, const char *what, struct kg_task_desc *out,
                                  struct kg_err *err)
{
    struct at a = {what, "outputs", 0, err};
    const json_t *list = json_object_get(j, "outputs");
    if (!list) {
        return KG_OK; /* described without being called */
    }
    if (count(&a, list, KG_TWIRE_LEAVES, &out->noutputs) != KG_OK) {
        return err->code;
    }
    for (; a.i < out->noutputs; a.i++) {
        struct kg_task_output *o = &out->output[a.i];
        if (parse_leaf(&a, json_array_get(list, a.i), false, &o->leaf, &o->stats) != KG_OK ||
            add_bytes(&a, &o->leaf, &out->output_bytes) != KG_OK) {
            return err->code;
        }
        o->fill = number(json_object_get(json_array_get(list, a.i), "fill"));
        o->fill = o->fill > 0 ? o->fill : 0;
    }
    return out->noutputs > 0
               ? KG_OK
               : kg_fail(err, KG_E_PROBLEM, "%.200s: the answer holds no tensor", what);
}

static enum kg_task_need parse_need(const json_t *v)
{
    const char *need = json_string_value(json_object_get(v, "need"));
    bool known = need && *need && !need[1] && strchr("ict", *need);
    return known ? (enum kg_task_need) * need : KG_TN_NEEDED;
}

bool kg_task_left(const struct kg_task_state *s)
{
    return s->changed && s->need == KG_TN_NEEDED;
}

static size_t parse_tied(const json_t *v, size_t own)
{
    const json_t *tied = json_object_get(v, "tied");
    json_int_t n = json_integer_value(tied);
    return json_is_integer(tied) && n >= 0 && (size_t)n < own ? (size_t)n : own;
}

static enum kg_code parse_state(const json_t *j, const char *what, json_t *names,
                                struct kg_task_desc *out, struct kg_err *err)
{
    struct at a = {what, "state", 0, err};
    const json_t *list = json_object_get(j, "state");
    bool updates = json_is_true(json_object_get(j, "updates_state"));
    out->state_bytes = 0;
    if (count(&a, list, KG_TASK_STATE, &out->nstate) != KG_OK) {
        return err->code;
    }
    out->state = calloc(out->nstate ? out->nstate : 1, sizeof *out->state);
    if (!out->state) {
        return kg_fail_memory(err, KG_E_HOST, "no memory for a description");
    }
    for (; a.i < out->nstate; a.i++) {
        struct kg_task_state *s = &out->state[a.i];
        const json_t *v = json_array_get(list, a.i);
        if (parse_leaf(&a, v, true, &s->leaf, &s->stats) != KG_OK ||
            add_bytes(&a, &s->leaf, &out->state_bytes) != KG_OK) {
            return err->code;
        }
        if (json_object_get(names, s->leaf.name)) {
            return bad(&a, "name", "two tensors have this name");
        }
        json_object_set_new(names, s->leaf.name, json_true());
        s->buffer = json_is_true(json_object_get(v, "buffer"));
        s->changed = updates && !json_is_false(json_object_get(v, "changed"));
        s->structured = json_is_true(json_object_get(v, "structured"));
        s->need = parse_need(v);
        s->tied = parse_tied(v, a.i);
        out->nleft += kg_task_left(s);
    }
    return KG_OK;
}

static enum kg_code parse_named_state(const json_t *j, const char *what, struct kg_task_desc *out,
                                      struct kg_err *err)
{
    json_t *names = json_object();
    enum kg_code code = parse_state(j, what, names, out, err);
    json_decref(names);
    return code;
}

static bool is_identifier(const char *s)
{
    bool good =
        *s && !isdigit((unsigned char)*s) && strlen(s) < sizeof((struct kg_task_constant *)0)->name;
    for (; good && *s; s++) {
        good = isalnum((unsigned char)*s) || *s == '_';
    }
    return good;
}

/* What is no integer constant of a sensible name is left out: it can only serve to vary shapes. */
static void parse_constants(const json_t *j, struct kg_task_desc *out)
{
    const char *name;
    json_t *v;
    json_object_foreach(json_object_get(j, "constants"), name, v)
    {
        if (json_is_integer(v) && is_identifier(name) && out->nconstants < KG_TASK_CONSTANTS) {
            struct kg_task_constant *c = &out->constant[out->nconstants++];
            snprintf(c->name, sizeof c->name, "%s", name);
            c->value = json_integer_value(v);
        }
    }
}

/* A claim that only widens a bound, up to a limit (plan.h): one that makes no sense is none. */
static int64_t parse_terms(const json_t *j)
{
    const json_t *terms = json_object_get(j, "terms");
    int64_t n = json_is_integer(terms) ? json_integer_value(terms) : 0;
    return n >= 1 && n <= KG_TASK_TERMS ? n : 0;
}

enum kg_code kg_task_parse(const json_t *j, const char *what, struct kg_task_desc *out,
                           struct kg_err *err)
{
    memset(out, 0, sizeof *out);
    json_t *init = json_object_get(j, "init"), *template = json_object_get(j, "template");
    json_t *args = json_object_get(init, "args"), *kwargs = json_object_get(init, "kwargs");
    if (!json_is_array(args) || !json_is_object(kwargs)) {
        return kg_fail(err, KG_E_PROBLEM, "%.200s: description: init: {args, kwargs} is needed",
                       what);
    }
    if (!json_is_array(template)) {
        return kg_fail(err, KG_E_PROBLEM, "%.200s: description: template: a list is needed", what);
    }
    if (parse_inputs(j, what, out, err) != KG_OK || parse_named_state(j, what, out, err) != KG_OK ||
        parse_outputs(j, what, out, err) != KG_OK) {
        kg_task_deinit(out);
        return err->code;
    }
    parse_constants(j, out);
    out->terms = parse_terms(j);
    const json_t *call = json_object_get(j, "call_bytes");
    out->call_bytes = json_integer_value(call) > 0 ? (uint64_t)json_integer_value(call) : 0;
    out->random = json_is_true(json_object_get(j, "random"));
    out->updates_state = json_is_true(json_object_get(j, "updates_state"));
    out->repeats = json_is_true(json_object_get(j, "deterministic"));
    out->writes_inputs = out->nwritten > 0;
    out->draws_there = json_is_true(json_object_get(j, "fast"));
    out->args = json_incref(args);
    out->kwargs = json_incref(kwargs);
    out->template = json_incref(template);
    return KG_OK;
}

void kg_task_deinit(struct kg_task_desc *d)
{
    json_decref(d->args);
    json_decref(d->kwargs);
    json_decref(d->template);
    free(d->state);
    d->args = d->kwargs = d->template = NULL;
    d->state = NULL;
    d->nstate = 0;
}

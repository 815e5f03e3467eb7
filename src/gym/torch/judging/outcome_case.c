/* From what the judge saw round a call, and from its comparison, to a verdict. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "gym/torch/judging/instance.h"
#include "gym/torch/judging/outcome.h"
#include "gym/verify/compare.h"

static double share_of(const struct kg_tcompare *m)
{
    return m->n ? (double)m->n_bad / (double)m->n : 1;
}

/* "the answer", or the path of a tensor in it. */
static void output_name(const struct kg_dj_report *rep, int leaf, char *out, size_t cap)
{
    const char *name = leaf >= 0 && (uint32_t)leaf < rep->nleaves ? rep->leaf[leaf].name : "";
    size_t n = 0;
    for (; name[n] && n + 1 < cap && n < KG_TWIRE_NAME; n++) { /* a claim: printable only */
        out[n] = name[n] > ' ' && name[n] < 127 ? name[n] : '?';
    }
    out[n] = 0;
    if (n == 0) {
        snprintf(out, cap, "answer");
    }
}

static void mismatch(struct kg_evaluation *e, const struct kg_tinstance *s,
                     const struct kg_tcase *c, const char *output, const struct kg_tcompare *m)
{
    kg_record_evidence(e->r, "mismatch",
                       json_pack("{s:s, s:s, s:o, s:s, s:I, s:I, s:I, s:o, s:o, s:o, s:s}",
                                 "variant", kg_instance_name(s->kind), "law", kg_tlaw_name(c->law),
                                 "dims", s->consts ? json_deep_copy(s->consts) : json_object(),
                                 "output", output, "elements", (json_int_t)m->n, "failed",
                                 (json_int_t)m->n_bad, "first", (json_int_t)m->first_bad, "got",
                                 kg_json_real(m->got), "want", kg_json_real(m->want),
                                 "worst_over_bound", kg_json_real(m->worst), "share",
                                 kg_share_bucket(share_of(m))));
}

static const char *value_reason(const struct kg_tinstance *s, const struct kg_tcase *c,
                                const struct kg_dj_judgement *j)
{
    const struct kg_tcompare *m = &j->compare;
    size_t leaf = j->leaf >= 0 ? (size_t)j->leaf : 0;
    bool f32 = leaf < s->desc.noutputs && s->desc.output[leaf].leaf.dtype == KG_TD_F32;
    if (m->nonfinite) {
        return "nonfinite";
    }
    bool close = isfinite(m->worst) && m->worst < KG_REDUCED_PRECISION_WORST;
    bool reduced = f32 && close && (m->n_bad * 2 > m->n || c->law == KG_TL_INSIDE);
    return reduced || c->law == KG_TL_PRECISION ? "precision" : "value";
}

static json_t *form_of(const struct kg_tleaf *leaf)
{
    json_t *shape = json_array();
    for (uint32_t d = 0; d < leaf->rank && d < KG_TWIRE_RANK; d++) {
        json_array_append_new(shape, json_integer(leaf->shape[d]));
    }
    return json_pack("{s:o, s:s}", "shape", shape, "dtype",
                     kg_tdtype_name((enum kg_tdtype)leaf->dtype));
}

/* What is not a matter of numbers: structure, shape, dtype, device. */
static bool of_form(struct kg_evaluation *e, const struct kg_tinstance *s, const char *output,
                    const struct kg_dj_report *rep, const struct kg_dj_judgement *j)
{
    struct kg_record *r = e->r;
    char got[120] = "?", want[120] = "?";
    if (j->leaf >= 0 && (uint32_t)j->leaf < rep->nleaves && (size_t)j->leaf < s->desc.noutputs) {
        kg_task_leaf_text(&rep->leaf[j->leaf], got, sizeof got);
        kg_task_leaf_text(&s->desc.output[j->leaf].leaf, want, sizeof want);
        if (j->dtype || j->shape) {
            kg_record_evidence(r, "shape",
                               json_pack("{s:s, s:s, s:o, s:o}", "output", output, "variant",
                                         kg_instance_name(s->kind), "want",
                                         form_of(&s->desc.output[j->leaf].leaf), "got",
                                         form_of(&rep->leaf[j->leaf])));
        }
    }
    if (j->structure || j->arity) {
        kg_record_verdict(r, KG_V_WRONG, "structure",
                          "its answer is put together otherwise than the reference's (%u tensors, "
                          "not %zu)",
                          rep->nleaves, s->desc.noutputs);
    } else if (j->dtype) {
        kg_record_verdict(r, KG_V_WRONG, "dtype", "`%s` is %s, not %s", output, got, want);
    } else if (j->shape) {
        kg_record_verdict(r, KG_V_WRONG, "shape", "`%s` is %s, not %s", output, got, want);
    } else if (j->device) {
        kg_record_verdict(r, KG_V_WRONG, "device", "`%s` is on another device than the inputs",
                          output);
    } else {
        return false;
    }
    return true;
}

/* What the judge saw beside the values. */
static bool of_memory(struct kg_evaluation *e, const struct kg_dj_report *rep)
{
    struct kg_record *r = e->r;
    if (rep->late_write) {
        kg_record_verdict(r, KG_V_HACK, "async", "its answer changed after it had been given");
    } else if (rep->input_modified) {
        kg_record_verdict(r, KG_V_WRONG, "input_modified", "it writes to input %d", rep->input_at);
    } else if (rep->guard_hit) {
        kg_record_verdict(r, KG_V_WRONG, "out_of_bounds", "it writes outside its answer");
    } else {
        return false;
    }
    return true;
}

enum kg_stage_result kg_toutcome_case(struct kg_evaluation *e, const struct kg_tinstance *s,
                                      const struct kg_tcase *c, const struct kg_dj_report *rep,
                                      const struct kg_dj_judgement *j)
{
    struct kg_record *r = e->r;
    const char *law = kg_tlaw_name(c->law), *where = kg_instance_name(s->kind);
    const struct kg_tcompare *m = &j->compare;
    char output[KG_TWIRE_NAME];
    output_name(rep, j->leaf, output, sizeof output);
    if (of_memory(e, rep) || of_form(e, s, output, rep, j)) {
        return KG_STAGE_FAIL;
    }
    if (m->pass && j->alias) {
        kg_record_verdict(r, KG_V_WRONG, "alias",
                          "`%s` shares its memory with an input, the reference's does not", output);
        return KG_STAGE_FAIL;
    }
    if (m->pass) {
        return KG_STAGE_PASS;
    }
    mismatch(e, s, c, output, m);
    e->repeats_twin = j->repeats_twin;
    if (j->replay || (rep->stale && !j->repeats_twin)) {
        kg_record_verdict(r, KG_V_HACK, "replay",
                          "`%s` holds the answer to earlier inputs (shape `%s`, law `%s`)", output,
                          where, law);
    } else if (rep->unwritten) {
        kg_record_verdict(r, KG_V_WRONG, "unwritten",
                          "elements of `%s` were never written (shape `%s`)", output, where);
    } else {
        kg_record_verdict(r, KG_V_WRONG, value_reason(s, c, j),
                          "`%s` is wrong in %s of its elements (shape `%s`, law `%s`)", output,
                          kg_share_words(share_of(m)), where, law);
    }
    return KG_STAGE_FAIL;
}

enum kg_stage_result kg_toutcome_unordered(struct kg_evaluation *e, const struct kg_tinstance *s,
                                           const struct kg_tcase *c)
{
    kg_record_verdict(e->r, KG_V_WRONG, "unordered",
                      "its answer is not ready on the caller's stream when the call returns (shape "
                      "`%s`, law `%s`)",
                      kg_instance_name(s->kind), kg_tlaw_name(c->law));
    return KG_STAGE_FAIL;
}

enum kg_stage_result kg_toutcome_written(struct kg_evaluation *e, const struct kg_tcase *c)
{
    kg_record_verdict(e->r, KG_V_WRONG, "input_modified",
                      "it leaves an input that the reference writes to neither as the reference "
                      "does nor as it was (law `%s`)",
                      kg_tlaw_name(c->law));
    return KG_STAGE_FAIL;
}

enum kg_stage_result kg_toutcome_state(struct kg_evaluation *e, const struct kg_tinstance *s,
                                       const struct kg_tcase *c, const struct kg_dj_report *rep,
                                       const struct kg_dj_judgement *j)
{
    char name[KG_TWIRE_NAME];
    output_name(rep, j->leaf, name, sizeof name);
    bool like = !(j->arity || j->shape || j->dtype);
    if (like && j->compare.pass) {
        return KG_STAGE_PASS;
    }
    if (like) {
        mismatch(e, s, c, name, &j->compare);
        kg_record_verdict(e->r, KG_V_WRONG, "state",
                          "a call leaves `%s` otherwise than the reference's does (law `%s`)", name,
                          kg_tlaw_name(c->law));
    } else {
        kg_record_verdict(e->r, KG_V_WRONG, "state",
                          "calls of the reference update its buffers, and the candidate's are not "
                          "the same ones");
    }
    return KG_STAGE_FAIL;
}

/* Which inputs a PyTorch candidate is asked, and what the numbers of parameters look like. The
 * reference's own law is drawn by the reference; other laws are the judge's generators, for inputs
 * that look unconstrained: floating, spread, new at each draw, no mask, no whole numbers, and
 * without structure (sorted, symmetric, rows that sum to 1, ...), which an honest kernel may use.
 * Integer inputs (indices, classes) are only ever drawn by the reference. A law under which the
 * reference itself raises, is not finite or misses its own bound is not asked. Pure. */
#ifndef KG_GYM_TORCH_PROBLEM_INPUT_PLAN_H
#define KG_GYM_TORCH_PROBLEM_INPUT_PLAN_H

#include "gym/device/device_judge.h"
#include "gym/torch/problem/task.h"

enum kg_tlaw {
    KG_TL_OWN,
    KG_TL_NEW,    /* the own law again, under another seed: the same shapes and addresses */
    KG_TL_EDITED, /* the inputs of `own` with one element changed */
    KG_TL_RELOAD, /* the own law under other parameters, loaded into a module that has run */
    KG_TL_BF16,
    KG_TL_SPIKE,
    KG_TL_SMALLINT,
    KG_TL_LARGE,
    KG_TL_PRECISION, /* full significands for one input, a power of two for each other */
    KG_TL_INSIDE,    /* the own inputs, but for values of one of them that narrow operands lose */
    KG_TL_TOUCHED, /* the own law, but for a few elements of moderate to large magnitude; twice, */
    KG_TL_ELSEWHERE, /* as a sample may happen to see the few */
    KG_TL_RAISED,    /* the own law, times a random factor, plus a random shift */
    KG_TL_NORMAL,    /* from here on: all, or of a large problem `laws` of them, drawn */
    KG_TL_UNIFORM,
    KG_TL_HEAVY,
    KG_TL_SPARSE,
    KG_TL_OFFSET,
    KG_TL_SMALL,
    KG_TL_EQUAL,
    KG_TL_WIDEINT,
    KG_TL_COUNT
};
#define KG_TL_DRAWN KG_TL_NORMAL

const char *kg_tlaw_name(enum kg_tlaw law); /* "own", "new-seed", ... */
bool kg_tlaw_parse(const char *name, enum kg_tlaw *out);
/* Is an answer to it held to 15 bits (mode precision of docs/verification.md)? */
bool kg_tlaw_probes(enum kg_tlaw law);

/* May the judge make this input's values itself? */
bool kg_tplan_free(const struct kg_task_input *in);
/* What laws may do to an input with structure. The reference draws it and does that
 * (harness/kgym_harness/keeping.py), as only its tensors tell where the zeros are. */
enum kg_tplan_kept {
    KG_TK_OWN,    /* nothing: it is drawn as the problem does */
    KG_TK_SCALED, /* an order, a definite matrix: by a power of two, under `large`, `small` and
                     `raised` */
    KG_TK_WITHIN, /* zeros, symmetry, equal inputs: any law */
};
enum kg_tplan_kept kg_tplan_keeps(const struct kg_task_input *in);
/* {"0": ["zeros"], ...}: of the inputs that laws change, for whoever draws them; an empty list for
 * one that the judge's laws fill, unless it has to be drawn to be raised. The caller's. */
json_t *kg_tplan_structure(const struct kg_task_desc *d);
/* Flags of DRAW under a law; 0: the problem's own draw. drawn: also the inputs that the judge could
 * make under laws near the own one (own_law.h). */
uint32_t kg_tplan_draw(const struct kg_task_desc *d, enum kg_tlaw law, struct kg_key key,
                       bool drawn);
/* Which input has one element edited; -1: none may. Where floats and integers may, either half of
 * the time. Not one of which the edit would break what it is in each draw: whole floats may be
 * classes, fixed ones a table. */
int kg_tplan_edited(const struct kg_task_desc *d, struct kg_key key);
/* Must the reference make the edit (kg_tplan_draw)? The judge does not see where it may be. */
bool kg_tplan_edits_within(const struct kg_task_input *in);
/* Values of the free input `at` under a law from KG_TL_BF16 on that is not near the own one. */
void kg_tplan_law(const struct kg_task_desc *d, size_t at, enum kg_tlaw law, struct kg_key key,
                  struct kg_dj_law *out);
/* Is there an input that the precision probes can fill, float32 or float64? */
bool kg_tplan_probed(const struct kg_task_desc *d);

/* input_sums.c: What one output of a weight sums over. */
double kg_tplan_fan_in(const struct kg_tleaf *leaf);
/* How many terms an element of the answer may sum, at most 2^20: for the error bound, never for a
 * verdict of its own. The largest of: the inputs that it was seen to depend on; what a row of a
 * weight holds; elements of the largest input per element of the answer; sqrt(n1 n2 / n) with n1,
 * n2 those of the two largest inputs, which is exact for a product of two matrices. */
int64_t kg_tplan_reduction(const struct kg_task_desc *d);
/* As many as were seen to be summed; where nothing was seen, the same. */
int64_t kg_tplan_terms(const struct kg_task_desc *d);
/* The K of the bound under a law. Rounding errors of equal terms do not walk at random, nor do
 * those beside a term that exceeds all others. So under `equal` and `touched` it is the square of
 * what was seen, where that is more: u sqrt(K) is then linear in the terms. */
int64_t kg_tplan_k(const struct kg_task_desc *d, enum kg_tlaw law);
/* How the bounds of answers under a law are asked for: that K, and the fills of the outputs. how:
 * see struct kg_dj_ask. */
struct kg_dj_ask kg_tplan_ask(const struct kg_task_desc *d, enum kg_tlaw law, uint32_t how);

/* The laws of one full run, in order, after the tiny stage has asked `own`. Of those that are drawn
 * `laws` at most, the lowest rank first. all: every one that there is. Returns how many. */
size_t kg_tplan_full(const struct kg_task_desc *d, bool multi_input, int64_t laws, bool all,
                     const uint64_t rank[KG_TL_COUNT], struct kg_rng *rng,
                     enum kg_tlaw out[KG_TL_COUNT]);

/* Values of a parameter or buffer: spread as at first, never constant, positive where all were (a
 * variance, a scale). False: as the reference has it (integers, masks, tables of few values, and
 * what has structure). */
bool kg_tplan_state(const struct kg_task_state *s, struct kg_key key, uint64_t stream,
                    struct kg_dj_law *out);

#endif

/* Is a problem fit to judge with? The checks of `kgym problems check`: it parses, both references
 * build and run at every variant, float and double agree, the answer is deterministic, a trivial
 * answer fails, and every input matters. Each is done by judging a candidate made from the problem
 * itself through the same pipeline that judges models: the reference must be `ok`; zeros, ones, a
 * copy of the first input must not be; neither may the reference with one input frozen to its first
 * element. */
#ifndef KG_GYM_EVAL_ONBOARD_H
#define KG_GYM_EVAL_ONBOARD_H

#include "base/json.h"
#include "gym/eval/evaluate.h"

#define KG_ONBOARD_MAX 80

struct kg_onboard_check {
    char name[64]; /* "parses", "builds", "reference", "zeros", "frozen x", "variant x2", ... */
    bool pass;
    bool note;        /* it passes, and its detail is worth a line all the same */
    bool limit;       /* it fails at a limit of this run (a time, memory): another run may not */
    double off;       /* of a made candidate's wrong answer: its worst error over the bound; NaN */
    char detail[480]; /* what was seen */
};

struct kg_onboard {
    char problem[128];
    char sha256[KG_SHA256_HEX]; /* of the problem; "": it could not be read */
    char device[32];            /* where it was looked at */
    struct kg_onboard_check check[KG_ONBOARD_MAX];
    int n;
    bool pass;                   /* all of them */
    bool untimed;                /* C: the reference is too short; no candidate is timed */
    int64_t reference_ns;        /* of a call at the default shape, after K; -1 unknown */
    int64_t in_bytes, out_bytes; /* of the arrays at the default shape; -1 unknown */
    json_t *card;                /* PyTorch: what was learned of the task, or NULL */
};

/* {problem, pass, untimed, reference_ns, in_bytes, out_bytes, checks[{check, pass, note, detail}],
 * card}, null what is unknown; no card: a C problem. The caller's. */
json_t *kg_onboard_json(const struct kg_onboard *o);
/* Does it fail at limits of this run alone? Then nothing is known of the problem. */
bool kg_onboard_at_limits(const struct kg_onboard *o);
/* What is found is kept (findings.h), unless it fails at limits alone. KG_OK with out->pass false
 * is a defective problem; an error means that it could not be looked at. Where it does not parse or
 * build, or the reference itself is not `ok`, no further check is made.
 */
enum kg_code kg_onboard(struct kg_worker *w, const char *problem, struct kg_onboard *out,
                        struct kg_err *err) KG_MUST_USE;
/* After KG_E_HOST: does this host lack what all problems of this kind need (PyTorch)? *err then
 * says what, and how to get it; else it stays as it is. */
bool kg_onboard_lacks(struct kg_worker *w, struct kg_err *err);
void kg_onboard_deinit(struct kg_onboard *o);

/* Is this verdict one of a limit? */
bool kg_onboard_limit(const struct kg_record *r);
/* For executors. The next check, named; asserts that there is room. */
struct kg_onboard_check *kg_onboard_add(struct kg_onboard *o, const char *name);
/* Which verdict on a made candidate makes the check pass: it is right; its answer is not; the same,
 * or what was changed cannot be worked with (an exception). */
enum kg_onboard_want { KG_WANT_OK, KG_WANT_WRONG, KG_WANT_FELT };
/* Judge a made candidate up to `full`. */
enum kg_code kg_onboard_judge(struct kg_worker *w, const char *problem, struct kg_onboard *o,
                              const char *name, const struct kg_buf *source,
                              enum kg_onboard_want want, struct kg_err *err) KG_MUST_USE;

#endif

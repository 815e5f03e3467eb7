/* Where the reference leaves the range of its types, in float and in double: exp(x) / sum(exp(x))
 * of a thousand is NaN, though the softmax is a number. Who gets that number is right. */
#include <math.h>
#include <stdlib.h>

#include "gym/device/device_law.h"
#include "gym/device/device_state.h"

#define PART ((uint64_t)1 << 20) /* bytes that are looked at at once */

/* Where neither is finite the oracle's number becomes a finite one: the reference is of another
 * class then, and no answer is wrong. *part has room for twice PART. */
static enum kg_code excuse_part(struct kg_dj_state *s, enum kg_tdtype t, uint64_t r, uint64_t o,
                                uint64_t n, unsigned char *part, struct kg_err *err)
{
    double *of_oracle = (double *)(void *)(part + PART);
    bool some = false;
    if (s->dev.ops->download(&s->dev, part, r, n * kg_tdtype_bytes(t), err) != KG_OK ||
        s->dev.ops->download(&s->dev, of_oracle, o, n * sizeof *of_oracle, err) != KG_OK) {
        return err->code;
    }
    for (uint64_t i = 0; i < n; i++) {
        if (!isfinite(of_oracle[i]) && !isfinite(kg_dj_load(t, part, i))) {
            of_oracle[i] = 0;
            some = true;
        }
    }
    if (some) {
        s->dev.ops->upload(&s->dev, o, of_oracle, n * sizeof *of_oracle);
    }
    return some ? s->dev.ops->sync(&s->dev, err) : KG_OK;
}

static bool all_finite(const struct kg_tbound *b, uint64_t n)
{
    return !(b->fill > 0) && b->used + b->disagree == n;
}

static enum kg_code excuse_output(struct kg_dj_state *s, const struct kg_dj_case *c, uint32_t i,
                                  unsigned char *part, struct kg_err *err)
{
    const struct kg_dj_answer *r = &c->side[0], *o = &c->side[1];
    enum kg_tdtype t = (enum kg_tdtype)r->leaf[i].dtype;
    const uint64_t n = kg_tleaf_count(&r->leaf[i]), most = PART / sizeof(double);
    enum kg_code code = KG_OK;
    for (uint64_t at = 0, k; at < n && code == KG_OK; at += k) {
        k = n - at < most ? n - at : most;
        code = excuse_part(s, t, r->at[i] + at * kg_tdtype_bytes(t), o->at[i] + at * sizeof(double),
                           k, part, err);
    }
    return code;
}

enum kg_code kg_dj_excuse_overflows(struct kg_dj_state *s, const struct kg_dj_case *c,
                                    struct kg_err *err)
{
    const struct kg_dj_answer *r = &c->side[0];
    unsigned char *part = NULL;
    enum kg_code code = KG_OK;
    for (uint32_t i = 0; i < r->n && code == KG_OK; i++) {
        bool floating = kg_tdtype_floating((enum kg_tdtype)r->leaf[i].dtype);
        if (!floating || all_finite(&c->bound[i], kg_tleaf_count(&r->leaf[i])) ||
            kg_dj_is_apart(&c->side[1], i)) {
            continue;
        }
        if (part == NULL && (part = malloc(2 * PART)) == NULL) {
            return kg_fail_memory(err, KG_E_HOST, "judge: no memory to look at an answer");
        }
        code = excuse_output(s, c, i, part, err);
    }
    free(part);
    return code;
}

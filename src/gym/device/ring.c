#include "gym/device/device_state.h"

bool kg_dj_same_digest(struct kg_digest a, struct kg_digest b)
{
    return a.w[0] == b.w[0] && a.w[1] == b.w[1];
}

void kg_dj_ring_add(struct kg_dj_ring *r, const struct kg_dj_seen *seen)
{
    for (size_t i = 0; i < r->n; i++) {
        struct kg_dj_seen *e = &r->e[i];
        if (e->leaf == seen->leaf && kg_dj_same_digest(e->answer, seen->answer) &&
            kg_dj_same_digest(e->inputs, seen->inputs)) {
            e->right = e->right || seen->right;
            if (seen->has_expected) {
                e->has_expected = true;
                e->expected = seen->expected;
            }
            return;
        }
    }
    r->e[r->next] = *seen;
    r->next = (r->next + 1) % KG_DJ_RING;
    r->n = r->n < KG_DJ_RING ? r->n + 1 : r->n;
}

bool kg_dj_ring_stale(const struct kg_dj_ring *r, const struct kg_dj_seen *seen)
{
    for (size_t i = 0; i < r->n && seen->has_expected; i++) {
        const struct kg_dj_seen *e = &r->e[i];
        bool was_right = e->right || kg_dj_same_digest(e->expected, e->answer);
        if (e->leaf == seen->leaf && e->has_expected && was_right &&
            kg_dj_same_digest(e->answer, seen->answer) &&
            !kg_dj_same_digest(e->inputs, seen->inputs) &&
            !kg_dj_same_digest(e->expected, seen->expected)) {
            return true;
        }
    }
    return false;
}

bool kg_dj_ring_right(const struct kg_dj_ring *r, const struct kg_dj_seen *seen,
                      struct kg_digest inputs, bool only)
{
    for (size_t i = 0; i < r->n; i++) {
        const struct kg_dj_seen *e = &r->e[i];
        bool was_right = e->right && kg_dj_same_digest(e->answer, seen->answer);
        bool was_expected = e->has_expected && kg_dj_same_digest(e->expected, seen->answer);
        if (e->leaf == seen->leaf && (was_right || was_expected) &&
            !kg_dj_same_digest(e->inputs, seen->inputs) &&
            kg_dj_same_digest(e->inputs, inputs) == only) {
            return true;
        }
    }
    return false;
}

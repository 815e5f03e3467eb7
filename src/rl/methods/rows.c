/* Order and states of the rows of a batch. */
#include "rl/methods/rows.h"

#include <math.h>
#include <string.h>

static bool same_group(const struct rl_row *a, const struct rl_row *b)
{
    return a->birth == b->birth && a->group == b->group;
}

static bool same_rollout(const struct rl_row *a, const struct rl_row *b)
{
    return same_group(a, b) && a->rollout == b->rollout;
}

size_t rl_rows_group_end(const struct rl_rows *rows, size_t first)
{
    size_t i = first + 1;
    while (i < rows->n && same_group(&rows->row[first], &rows->row[i])) {
        i++;
    }
    return i;
}

size_t rl_rows_rollout_end(const struct rl_rows *rows, size_t first)
{
    size_t i = first + 1;
    while (i < rows->n && same_rollout(&rows->row[first], &rows->row[i])) {
        i++;
    }
    return i;
}

size_t rl_rows_group_begin(const struct rl_rows *rows, size_t row)
{
    while (row > 0 && same_group(&rows->row[row - 1], &rows->row[row])) {
        row--;
    }
    return row;
}

size_t rl_rows_rollout_begin(const struct rl_rows *rows, size_t row)
{
    while (row > 0 && same_rollout(&rows->row[row - 1], &rows->row[row])) {
        row--;
    }
    return row;
}

/* Negative, 0, positive: by birth, group, rollout. */
static int order(const struct rl_row *a, const struct rl_row *b)
{
    if (a->birth != b->birth) {
        return a->birth < b->birth ? -1 : 1;
    }
    if (a->group != b->group) {
        return a->group < b->group ? -1 : 1;
    }
    return a->rollout < b->rollout ? -1 : a->rollout > b->rollout;
}

static const char *fault_of(const struct rl_rows *rows, size_t i, size_t ntokens)
{
    const struct rl_row *r = &rows->row[i];
    int step = i == 0 ? -1 : order(&rows->row[i - 1], r);
    if (step > 0) {
        return "stands after a later one";
    }
    if (step == 0 && rows->row[i - 1].turn >= r->turn) {
        return "appears twice, or its turns are out of order";
    }
    if (r->turn != (step == 0 ? rows->row[i - 1].turn + 1 : 1)) {
        return "follows a turn that is missing";
    }
    if (!isfinite(r->reward)) {
        return "has a reward that is not finite";
    }
    if (r->first > ntokens || r->length > ntokens - r->first) {
        return "has tokens beyond the token arrays";
    }
    return NULL;
}

enum kg_code rl_rows_check(const struct rl_rows *rows, size_t ntokens, struct kg_err *err)
{
    for (size_t i = 0; i < rows->n; i++) {
        const char *fault = fault_of(rows, i, ntokens);
        if (fault != NULL) {
            const struct rl_row *r = &rows->row[i];
            return kg_fail(err, KG_E_INPUT, "row %zu (step %u, group %u, rollout %u, turn %u) %s",
                           i, r->birth, r->group, r->rollout, r->turn, fault);
        }
    }
    return KG_OK;
}

void rl_rows_spread_infra(struct rl_rows *rows)
{
    for (size_t first = 0, end; first < rows->n; first = end) {
        end = rl_rows_rollout_end(rows, first);
        uint32_t infra = 0;
        for (size_t i = first; i < end; i++) {
            infra |= rows->row[i].flags & RL_INFRA;
        }
        for (size_t i = first; i < end; i++) {
            rows->row[i].flags |= infra;
        }
    }
}

void rl_rows_keep_live(struct rl_rows *rows, struct rl_tokens *tokens)
{
    for (size_t i = 0; i < rows->n; i++) {
        struct rl_row *r = &rows->row[i];
        r->flags = rl_row_live(r) ? r->flags | RL_KEPT : r->flags & ~(uint32_t)RL_KEPT;
        r->why = 0;
        r->weight = 1;
    }
    if (tokens != NULL && tokens->keep != NULL) {
        memset(tokens->keep, 1, tokens->n);
    }
}

void rl_row_reject(struct rl_row *r, enum rl_why why)
{
    r->why |= why;
    r->flags &= ~(uint32_t)RL_KEPT;
}

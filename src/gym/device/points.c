/* Do indices point into a tensor, and at equal values? */
#include "gym/device/points.h"

#include <math.h>
#include <stdlib.h>

#include "gym/device/device_law.h"

#define UNLIKELY 20.8 /* -log of 1e-9 */
#define PLACES   8    /* of a line, whose ranks are looked at */
#define LINES    512
#define WORK     ((int64_t)1 << 24) /* comparisons to find ranks */

bool kg_points_lines(const struct kg_tleaf *values, const struct kg_tleaf *indices, uint32_t first,
                     uint32_t dims, struct kg_lines *out)
{
    uint32_t tail = values->rank - first - dims;
    if (dims == 0 || first + dims > values->rank || indices->rank < first + tail) {
        return false;
    }
    *out = (struct kg_lines){
        1, 1, 1, 1, (enum kg_tdtype)values->dtype, (enum kg_tdtype)indices->dtype};
    for (uint32_t d = 0; d < values->rank; d++) {
        int64_t n = values->shape[d];
        bool before = d < first, within = !before && d < first + dims;
        uint32_t at = before ? d : indices->rank - (values->rank - d);
        if (!within && indices->shape[at] != n) {
            return false;
        }
        *(before ? &out->outer : within ? &out->length : &out->inner) *= n;
    }
    for (uint32_t d = first; d < indices->rank - tail; d++) {
        out->count *= indices->shape[d];
    }
    return out->outer > 0 && out->inner > 0 && out->count > 0 && out->length > 1;
}

static int64_t elements(const struct kg_lines *l)
{
    return l->outer * l->count * l->inner;
}

/* The element of an index tensor: place j of a line. */
static uint64_t place(const struct kg_lines *l, int64_t line, int64_t j)
{
    return (uint64_t)((line / l->inner * l->count + j) * l->inner + line % l->inner);
}

static double value(const struct kg_lines *l, const void *x, int64_t line, double at)
{
    int64_t i = (line / l->inner * l->length + (int64_t)at) * l->inner + line % l->inner;
    return kg_dj_load(l->value, x, (uint64_t)i);
}

static bool within(const struct kg_lines *l, double at)
{
    return at >= 0 && at < (double)l->length;
}

static bool equal(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

bool kg_points_once(const struct kg_lines *l, const void *indices, uint64_t *where)
{
    int64_t *seen = calloc((size_t)l->length, sizeof *seen);
    bool once = seen != NULL;
    for (int64_t line = 0; once && line < l->outer * l->inner; line++) {
        for (int64_t j = 0; once && j < l->count; j++) {
            *where = place(l, line, j);
            double at = kg_dj_load(l->index, indices, *where);
            once = !within(l, at) || seen[(int64_t)at] != line + 1;
            if (within(l, at)) {
                seen[(int64_t)at] = line + 1;
            }
        }
    }
    free(seen);
    return once;
}

/* Of the value that place j of a line points at: how many are less, and how many equal. */
static void rank(const struct kg_lines *l, const void *x, const void *r, int64_t line, int64_t j,
                 int64_t *less, int64_t *same)
{
    double v = value(l, x, line, kg_dj_load(l->index, r, place(l, line, j)));
    *less = *same = 0;
    for (int64_t i = 0; i < l->length; i++) {
        double other = value(l, x, line, (double)i);
        *less += other < v;
        *same += equal(other, v);
    }
}

/* Place j of some lines. *gathered, *ranked: -log of how likely chance gives what is seen there, if
 * the gathered value is expected, or if one rank is. ranked: -1 if there is no such rank. */
static void look(const struct kg_lines *l, const void *x, const void *r, int64_t j,
                 double *gathered, double *ranked)
{
    int64_t from = 0, to = l->length - 1, lines = l->outer * l->inner;
    int64_t most = WORK / PLACES / l->length < LINES ? WORK / PLACES / l->length : LINES;
    most = most < 2 ? 2 : most;
    int64_t step = lines > most ? lines / most : 1;
    for (int64_t line = 0; line < lines; line += step) {
        int64_t less, same;
        rank(l, x, r, line, j, &less, &same);
        double unlikely = same > 0 ? log((double)l->length / (double)same) : 0;
        *gathered += unlikely;
        *ranked += line > 0 && *ranked >= 0 ? unlikely : 0;
        from = less > from ? less : from;
        to = less + same - 1 < to ? less + same - 1 : to;
    }
    *ranked = from <= to ? *ranked : -1;
}

bool kg_points_shown(const struct kg_lines *l, const void *x, const void *r, const void *v,
                     bool *once)
{
    bool same = v != NULL, ranks = true;
    double gathered = 0, ranked = 0;
    uint64_t where;
    for (int64_t line = 0; line < l->outer * l->inner; line++) {
        for (int64_t j = 0; j < l->count; j++) {
            uint64_t i = place(l, line, j);
            double at = kg_dj_load(l->index, r, i);
            if (!within(l, at)) {
                return false;
            }
            same = same && equal(value(l, x, line, at), kg_dj_load(l->value, v, i));
        }
    }
    int64_t step = l->count > PLACES ? l->count / PLACES : 1;
    for (int64_t j = 0; j < l->count && (same || ranks); j += step) {
        look(l, x, r, j, &gathered, &ranked);
        ranks = ranks && ranked >= 0;
    }
    *once = kg_points_once(l, r, &where);
    return (same && gathered > UNLIKELY) || (ranks && ranked > UNLIKELY);
}

uint64_t kg_points_unlike(const struct kg_lines *l, const void *x, const void *y, const void *r,
                          const void *o, bool once, uint64_t *first)
{
    uint64_t bad = 0, where = 0;
    *first = (uint64_t)elements(l);
    for (int64_t line = 0; line < l->outer * l->inner; line++) {
        for (int64_t j = 0; j < l->count; j++) {
            uint64_t i = place(l, line, j);
            double got = kg_dj_load(l->index, y, i), want = kg_dj_load(l->index, r, i);
            bool asked = o == NULL || kg_dj_load(l->index, o, i) == want;
            if (!asked || got == want ||
                (within(l, got) && within(l, want) &&
                 equal(value(l, x, line, got), value(l, x, line, want)))) {
                continue;
            }
            bad++;
            *first = i < *first ? i : *first;
        }
    }
    if (bad == 0 && once && kg_points_once(l, r, &where) && !kg_points_once(l, y, &where)) {
        bad = 1;
        *first = where;
    }
    return bad;
}

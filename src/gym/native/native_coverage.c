/* Coverage of a C candidate, from windows and claims. */
#include "gym/native/native_coverage.h"

#include <math.h>

#include "gym/timing/pairs.h"
#include "gym/timing/stats.h"

/* The largest standard error of the time that the library takes, as a share of the lesser time. A
 * larger one means that the host was busy with something else, and nobody is charged for that. */
#define MOST_NOISE 0.1
/* The standard error of a median of n normal values is 1.25 sigma / sqrt(n), and their
 * interquartile range is 1.35 sigma. */
#define ERROR_OF_IQR (1.25 / 1.35)

/* A claim below this share of what the library's absence saves contradicts it. The two differ by
 * caches only: 0.8 to 1.3 of each other, measured. */
#define LEAST_CLAIM 0.125
#define LARGE_DROP  0.2 /* of the lesser time; a smaller one may be noise */

static double error_of(const struct kg_coverage_times *t)
{
    double iqr = kg_quantile(t->ns, t->n, 0.75) - kg_quantile(t->ns, t->n, 0.25);
    return ERROR_OF_IQR * iqr / sqrt((double)t->n);
}

static size_t least_calls(const struct kg_coverage_calls *c)
{
    const struct kg_coverage_times *all[] = {&c->reference, &c->candidate, &c->without,
                                             &c->library};
    size_t least = all[0]->n;
    for (size_t i = 1; i < sizeof all / sizeof *all; i++) {
        least = all[i]->n < least ? all[i]->n : least;
    }
    return least;
}

/* Medians and their error; returns the lesser time. */
static double measure(const struct kg_coverage_calls *c, struct kg_coverage *o)
{
    double without_ns = kg_median(c->without.ns, c->without.n);
    double candidate_ns = kg_median(c->candidate.ns, c->candidate.n);
    o->reference_ns = kg_median(c->reference.ns, c->reference.n) - c->k_ns;
    o->candidate_ns = candidate_ns - c->k_ns;
    o->counted_ns = kg_median(c->library.ns, c->library.n);
    o->dropped_ns = candidate_ns - without_ns;
    double least = fmin(o->reference_ns, o->candidate_ns);
    double dropped_error = hypot(error_of(&c->candidate), error_of(&c->without));
    o->noise = fmax(dropped_error, error_of(&c->library)) / least;
    return least;
}

static void say(struct kg_coverage *o, double coverage, const char *why)
{
    o->coverage = coverage;
    o->why = why;
}

static void formula(const struct kg_coverage_calls *c, struct kg_coverage *o, double least)
{
    if (!(least > 0) || least < KG_PAIRS_TOO_SHORT * c->k_ns) {
        say(o, NAN, "its time is too short to be divided");
    } else if (o->noise > MOST_NOISE) {
        o->disturbed = true;
        say(o, NAN, "the host was disturbed: its times differ too much from call to call");
    } else if (o->dropped_ns > LARGE_DROP * least && o->counted_ns < LEAST_CLAIM * o->dropped_ns) {
        say(o, 0, "its process claims far less time in the library than it saves without it");
    } else {
        double library_ns = fmax(o->counted_ns, o->dropped_ns);
        say(o, fmin(1, fmax(0, 1 - library_ns / least)), NULL);
    }
}

void kg_coverage_of(const struct kg_coverage_calls *c, struct kg_coverage *out)
{
    *out = (struct kg_coverage){NAN, NAN, NAN, NAN, NAN, NAN, false, false, NULL};
    bool enough = least_calls(c) >= KG_COVERAGE_LEAST;
    double least = enough ? measure(c, out) : NAN;
    if (c->end == KG_COVERAGE_KILLED) {
        say(out, NAN, "its process without the library was killed, perhaps by the host");
    } else if (c->end == KG_COVERAGE_ENDED) {
        say(out, 0, "its process does not outlive a library that computes nothing");
    } else if (c->miscounted) {
        say(out, 0, "its process failed beside the library that counts");
    } else if (!c->wrong_without && c->right_without >= KG_COVERAGE_LEAST) {
        out->decoy = c->operators > 0;
        say(out, out->decoy ? 0 : 1,
            out->decoy ? "its answer is right without the library that it calls"
                       : "it calls no operator of the library");
    } else if (!enough) {
        out->disturbed = true;
        say(out, NAN, "the host was disturbed: too few calls can be used");
    } else if (c->operators == 0) {
        say(out, 0, "its process claims no call of the library, and its answer needs it");
    } else {
        formula(c, out, least);
    }
}

/* Computes ratio, interval, times and flags from the pairs. */
#include <math.h>
#include <stdlib.h>

#include "gym/timing/session.h"

#define BLOCK 10 /* pairs of one block, where the interval is over blocks of one process */
/* A process that the budget cut off counts if it has this many pairs, or is the only one. */
#define LEAST_OF_A_PROCESS 4

static double after_k(int64_t ns, int64_t k)
{
    return ns > k ? (double)(ns - k) : 1.0;
}

/* One side's times after K, of the pairs from..to of a process; returns their number. */
static size_t times_of(const struct kg_pairs_process *p, bool candidate, size_t from, size_t to,
                       double *out)
{
    for (size_t i = from; i < to; i++) {
        out[i - from] = after_k(candidate ? p->pair[i].cand_ns : p->pair[i].ref_ns, p->k_ns);
    }
    return to - from;
}

/* One side's times of all processes; *n of them; the caller frees. */
static double *all_times(const struct kg_pairs_result *r, bool candidate, size_t *n)
{
    size_t total = 0;
    for (int i = 0; i < r->nprocess; i++) {
        total += r->process[i].n;
    }
    double *out = malloc((total ? total : 1) * sizeof *out);
    KG_ASSERT(out);
    *n = 0;
    for (int i = 0; i < r->nprocess; i++) {
        *n += times_of(&r->process[i], candidate, 0, r->process[i].n, out + *n);
    }
    return out;
}

static double log_trimmed(const struct kg_session *s, const struct kg_pairs_process *p, size_t from,
                          size_t to)
{
    double trim = s->opt->method == KG_PAIRS_CALIBRATED ? s->opt->trim : 0;
    double *t = malloc((to - from) * sizeof *t);
    KG_ASSERT(t);
    double log_ratio = 0;
    for (int candidate = 0; candidate < 2; candidate++) {
        size_t n = times_of(p, candidate, from, to, t);
        log_ratio += (candidate ? -1 : 1) * log(kg_trimmed_mean(t, n, trim));
    }
    free(t);
    return log_ratio;
}

/* The interval of one process around log_ratio: t over the log ratios of its parts. It is too
 * narrow, because it does not see the process's own bias. */
static void ratio_around(double log_ratio, const double *part, size_t n, int64_t pairs,
                         struct kg_ratio *out)
{
    kg_ratio_of(part, n, pairs, out);
    out->ratio = exp(log_ratio);
    out->lo = exp(log_ratio - out->half_width);
    out->hi = exp(log_ratio + out->half_width);
}

/* The parts are blocks in order of time, for trimmed means, or single pairs where there are few. */
static void ratio_of_one(const struct kg_session *s, const struct kg_pairs_process *p,
                         struct kg_ratio *out)
{
    bool paired = s->opt->method == KG_PAIRS_PAIRED;
    size_t block = !paired && p->n >= 2 * BLOCK ? BLOCK : 1, n = p->n / block;
    double *part = malloc(n * sizeof *part);
    KG_ASSERT(part);
    for (size_t b = 0; b < n; b++) {
        part[b] = log_trimmed(s, p, b * block, b + 1 == n ? p->n : (b + 1) * block);
    }
    double whole = paired ? p->log_ratio : log_trimmed(s, p, 0, p->n);
    ratio_around(whole, part, n, (int64_t)p->n, out);
    free(part);
}

bool kg_summary_process(const struct kg_session *s, const struct kg_pairs_process *p,
                        struct kg_ratio *out)
{
    if (p->n == 0) {
        return false;
    }
    ratio_of_one(s, p, out);
    return true;
}

bool kg_summary_ratio(const struct kg_session *s, struct kg_ratio *out)
{
    const struct kg_pairs_result *r = s->out;
    double l[KG_PAIRS_MAX_PROCESSES];
    size_t n = 0;
    int64_t pairs = 0;
    for (int i = 0; i < r->nprocess; i++) {
        if (r->process[i].n >= LEAST_OF_A_PROCESS) {
            l[n++] = r->process[i].log_ratio;
            pairs += (int64_t)r->process[i].n;
        }
    }
    if (n >= 2) {
        kg_ratio_of(l, n, pairs, out);
        return true;
    }
    return r->nprocess > 0 && kg_summary_process(s, &r->process[0], out);
}

static void widen(struct kg_ratio *r, double half_width)
{
    if (r->half_width < half_width) {
        r->half_width = half_width;
        r->lo = r->ratio * exp(-half_width);
        r->hi = r->ratio * exp(half_width);
    }
}

static void scale(struct kg_ratio *r, double by)
{
    r->ratio *= by;
    r->lo *= by;
    r->hi *= by;
}

static double median_after(const struct kg_pairs_process *p, bool candidate, int64_t k,
                           double *room)
{
    for (size_t i = 0; i < p->n; i++) {
        room[i] = after_k(candidate ? p->pair[i].cand_ns : p->pair[i].ref_ns, k);
    }
    return kg_median(room, p->n);
}

/* Geometric mean over processes of one side's median: processes weigh alike, as they do in the
 * ratio, so that times and ratio do not contradict each other where one process was disturbed.
 * k: what is subtracted; 0: each process's own K. */
static int64_t typical(const struct kg_pairs_result *r, bool candidate, int64_t k, double *room)
{
    double sum = 0;
    int processes = 0;
    size_t least = r->process[0].n < LEAST_OF_A_PROCESS ? 1 : LEAST_OF_A_PROCESS;
    for (int i = 0; i < r->nprocess; i++) {
        const struct kg_pairs_process *p = &r->process[i];
        if (p->n >= least) {
            sum += log(median_after(p, candidate, k > 0 ? k : p->k_ns, room));
            processes++;
        }
    }
    return processes > 0 ? (int64_t)exp(sum / processes) : -1;
}

static void times(struct kg_session *s)
{
    struct kg_pairs_result *r = s->out;
    double k[KG_PAIRS_MAX_PROCESSES], *t;
    size_t n;
    for (int i = 0; i < r->nprocess; i++) {
        k[i] = (double)r->process[i].k_ns;
    }
    r->overhead_ns = (int64_t)kg_median(k, (size_t)r->nprocess);
    t = all_times(r, false, &n);
    r->reference_trimmed_ns = (int64_t)kg_trimmed_mean(t, n, s->opt->trim);
    r->reference_ns = typical(r, false, 0, t);
    free(t);
    t = all_times(r, true, &n);
    r->candidate_trimmed_ns = (int64_t)kg_trimmed_mean(t, n, s->opt->trim);
    r->cv = kg_stddev(t, n) / kg_mean(t, n);
    r->candidate_ns = typical(r, true, 0, t);
    r->candidate_most_ns = typical(r, true, r->quiet_ns, t);
    free(t);
}

/* Other work on the core makes most null calls longer, but not all. */
void kg_summary_learn_k(struct kg_session *s)
{
    struct kg_pairs_result *r = s->out;
    int64_t k = s->process->k_p10_ns;
    if (r->quiet_ns == 0 || k < r->quiet_ns) {
        r->quiet_ns = k;
    }
    r->shortest_ns = KG_PAIRS_SHORT * r->quiet_ns;
}

void kg_summary_make(struct kg_session *s)
{
    struct kg_pairs_result *r = s->out;
    if (!kg_summary_ratio(s, &r->ratio)) {
        return;
    }
    times(s);
    r->one_process = r->nprocess < 2 || r->process[1].n < LEAST_OF_A_PROCESS;
    widen(&r->ratio, s->opt->null_half_width);
    r->rewarded = r->ratio;
    int64_t least = r->shortest_ns;
    r->reference_short = r->reference_ns < least;
    r->candidate_short = r->candidate_ns < least;
    if (r->candidate_short) {
        scale(&r->rewarded, (double)r->candidate_ns / (double)least);
    }
}

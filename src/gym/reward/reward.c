/* Computes rewards of a record by preset formulas; docs/rewards.md describes them. */
#include "gym/reward/reward.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/yaml.h"
#include "gym/reward/facts.h"

static void term(struct kg_reward *w, const char *name, double value)
{
    KG_ASSERT(isfinite(value) && w->nterms < KG_MAX_TERMS);
    w->term[w->nterms].name = name;
    w->term[w->nterms++].value = value;
    w->value += value;
}

/* One more reason why the speed term is less than the speed-up that the record shows. */
static void explain(struct kg_reward *w, const char *fmt, ...) KG_PRINTF(2, 3);
static void explain(struct kg_reward *w, const char *fmt, ...)
{
    size_t n = strlen(w->why);
    n += (size_t)snprintf(w->why + n, sizeof w->why - n, "%s", n > 0 ? "; " : "");
    va_list args;
    va_start(args, fmt);
    vsnprintf(w->why + n, sizeof w->why - n, fmt, args);
    va_end(args);
}

/* phi(s; lb, ub) of the report, with lb 0. cap names the option that sets ub. */
static double phi(struct kg_reward *w, double s, double ub, const char *cap)
{
    if (s > ub) {
        explain(w, "%.4gx counts as %.4gx (%s)", s, ub, cap);
    }
    return s < 0 ? 0 : fmin(s, ub);
}

/* R = scale (C + C phi(s) + C PR) */
static void dr(const struct kg_facts *f, const struct kg_reward_params *p, double scale, double s,
               bool with_pr, struct kg_reward *w)
{
    term(w, "correct", f->c ? scale : 0);
    term(w, "speed", f->c ? scale * phi(w, s, p->cap, "reward.cap") : 0);
    if (with_pr) {
        term(w, "coverage", f->c ? scale * f->pr : 0);
    }
    if (with_pr && f->pr_lost) {
        explain(w, "its coverage could not be told, so PR is 0");
    }
}

static void dr_kernel(const struct kg_facts *f, const struct kg_reward_params *p,
                      struct kg_reward *w)
{
    dr(f, p, 1, f->s, true, w);
}

static void dr_kernel_half(const struct kg_facts *f, const struct kg_reward_params *p,
                           struct kg_reward *w)
{
    dr(f, p, 0.5, f->s, true, w);
}

static void dr_kernel_nopr(const struct kg_facts *f, const struct kg_reward_params *p,
                           struct kg_reward *w)
{
    dr(f, p, 1, f->s, false, w);
}

static void dr_kernel_lcb(const struct kg_facts *f, const struct kg_reward_params *p,
                          struct kg_reward *w)
{
    dr(f, p, 1, f->s_lo, true, w);
    if (f->timed && !f->interval) {
        explain(w, "no interval, so its lower bound counts as 0");
    } else if (f->timed) {
        explain(w, "the lower bound of its interval counts");
    }
}

/* Credit for the stages passed before the one that failed. */
static double partial_credit(const struct kg_facts *f)
{
    static const double credit[KG_ST_COUNT] = {
        [KG_ST_EXTRACT] = 0, [KG_ST_STATIC] = 0,   [KG_ST_COMPILE] = 0.3, [KG_ST_TINY] = 0.5,
        [KG_ST_FULL] = 0.7,  [KG_ST_TIMING] = 0.7, [KG_ST_PROFILE] = 0.7,
    };
    switch (f->verdict) {
    case KG_V_NONE: /* an error that the candidate may have brought about */
    case KG_V_OK:   /* not eligible: nothing failed, and nothing was earned */
    case KG_V_HACK:
    case KG_V_NO_CODE:
    case KG_V_REJECTED:
        return 0;
    case KG_V_COMPILE_ERROR:
        return credit[KG_ST_COMPILE];
    default:
        return credit[f->failed];
    }
}

static void staged(const struct kg_facts *f, const struct kg_reward_params *p, struct kg_reward *w)
{
    (void)p;
    term(w, "correct", f->c ? 1 : 0);
    term(w, "stages", f->c ? 0 : partial_credit(f));
}

static void staged_anneal(const struct kg_facts *f, const struct kg_reward_params *p,
                          struct kg_reward *w)
{
    double left = fmax(0, 1 - p->step / p->anneal_steps);
    term(w, "correct", f->c ? 1 : 0);
    term(w, "stages", f->c ? 0 : left * partial_credit(f));
}

static void kevin(const struct kg_facts *f, const struct kg_reward_params *p, struct kg_reward *w)
{
    term(w, "correct", f->c ? 0.3 : 0);
    double cap = p->kevin_cap > 0 ? p->kevin_cap : INFINITY;
    term(w, "speed", f->c ? phi(w, f->s, cap, "reward.kevin_cap") : 0);
}

static void weighted(const struct kg_facts *f, const struct kg_reward_params *p,
                     struct kg_reward *w)
{
    (void)p;
    term(w, "correct", f->c ? 0.5 : 0);
    term(w, "speed", f->c && f->s >= 1.01 ? 0.5 : 0);
}

static void ladder(const struct kg_facts *f, const struct kg_reward_params *p, struct kg_reward *w)
{
    (void)p;
    static const struct {
        double s, value;
    } rungs[] = {{3, 1}, {2, .8}, {1.5, .6}, {1.2, .4}, {1, .2}, {0, -.1}};
    if (f->c) {
        size_t i = 0;
        while (f->s < rungs[i].s) {
            i++;
        }
        term(w, "speed", rungs[i].value);
    } else if (f->verdict == KG_V_HACK || f->verdict == KG_V_NO_CODE ||
               f->verdict == KG_V_REJECTED || f->verdict == KG_V_NONE) {
        term(w, "failure", -1);
    } else {
        bool compiling = f->verdict == KG_V_COMPILE_ERROR || f->failed == KG_ST_COMPILE;
        term(w, "failure", f->verdict != KG_V_OK && compiling ? -.5 : -.3);
    }
}

static void log_speed(const struct kg_facts *f, const struct kg_reward_params *p,
                      struct kg_reward *w)
{
    (void)p;
    double l = f->timed ? fmin(fmax(log2(f->s), -1), 2) : 0;
    if (f->timed && f->s > 4) {
        explain(w, "%.4gx counts as 4x, the most that log-speed rewards", f->s);
    }
    term(w, "correct", f->c ? 1 : 0);
    term(w, "speed", f->c ? l : 0);
}

static void binary(const struct kg_facts *f, const struct kg_reward_params *p, struct kg_reward *w)
{
    (void)p;
    term(w, "correct", f->c ? 1 : 0);
}

/* One list for the table of presets and the list of names. */
#define PRESETS(X)                                                                                 \
    X("dr-kernel", dr_kernel, "C + C*phi(s) + C*PR; 0, or 1 to 5")                                 \
    X("dr-kernel-half", dr_kernel_half, "(C + C*phi(s) + C*PR) / 2; 0, or 0.5 to 2.5")             \
    X("dr-kernel-nopr", dr_kernel_nopr, "C + C*phi(s); 0, or 1 to 4")                              \
    X("dr-kernel-lcb", dr_kernel_lcb, "C + C*phi(lower bound of s) + C*PR; 0, or 1 to 5")          \
    X("staged", staged, "1 if C, else 0, 0.3, 0.5 or 0.7 by stages passed")                        \
    X("staged-anneal", staged_anneal, "staged, its partial credits times max(0, 1 - step/K)")      \
    X("kevin", kevin, "0.3*C + C*s; 0 or more")                                                    \
    X("weighted", weighted, "0.5*C + 0.5*C*[s >= 1.01]; 0, 0.5 or 1")                              \
    X("ladder", ladder, "-1, -0.5 or -0.3 for failures; -0.1 to 1 by rungs of s")                  \
    X("log-speed", log_speed, "C*(1 + clip(log2 s, -1, 2)); 0 to 3")                               \
    X("binary", binary, "C; 0 or 1")

#define PRESET(name, compute, formula) {name, compute, formula},
#define NAME(name, compute, formula)   name,
static const struct preset {
    const char *name;
    void (*compute)(const struct kg_facts *, const struct kg_reward_params *, struct kg_reward *);
    const char *formula;
} presets[] = {PRESETS(PRESET)};
static const char *const names[] = {PRESETS(NAME) NULL};
#define NPRESETS (sizeof presets / sizeof presets[0])

static const struct {
    const char *name, *why;
} refused[] = {
    {"milestones",
     "it needs the time of a compiled (torch.compile) baseline, and none is measured"},
    {"tritonrl-hrd",
     "it scores plan and code tokens apart, which one number per record cannot say"},
};

static const struct preset *find(const char *name)
{
    for (size_t i = 0; i < NPRESETS; i++) {
        if (strcmp(presets[i].name, name) == 0) {
            return &presets[i];
        }
    }
    return NULL;
}

void kg_reward_params_default(struct kg_reward_params *p)
{
    *p = (struct kg_reward_params){.cap = 3, .anneal_steps = 50};
}

const char *const *kg_reward_names(void)
{
    return names;
}

const char *kg_reward_formula(const char *name)
{
    const struct preset *preset = find(name);
    KG_ASSERT(preset != NULL);
    return preset->formula;
}

enum kg_code kg_reward_check(const char *name, struct kg_err *err)
{
    if (find(name) != NULL) {
        return KG_OK;
    }
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        if (strcmp(refused[i].name, name) == 0) {
            return kg_fail(err, KG_E_USAGE, "reward preset `%s` can't be computed here: %s", name,
                           refused[i].why);
        }
    }
    const char *near = kg_nearest(name, names, NPRESETS);
    if (near != NULL) {
        return kg_fail(err, KG_E_USAGE, "unknown reward preset `%s`, did you mean `%s`?", name,
                       near);
    }
    return kg_fail(err, KG_E_USAGE,
                   "unknown reward preset `%s`; `dr-kernel` is one, docs/rewards.md"
                   " lists them",
                   name);
}

const char *kg_reward_absent(const struct kg_record *r)
{
    static const char kernelbench[] = "kernelbench";
    const char *protocol = json_string_value(json_object_get(r->config, "protocol"));
    const char *timing = r->timing.preset;
    bool foreign = (protocol != NULL && strcmp(protocol, kernelbench) == 0) ||
                   (timing != NULL && strcmp(timing, kernelbench) == 0) || r->timing.claims;
    return foreign                ? "KernelBench's procedure sets no reward"
           : r->replay[0] != '\0' ? "a replay asks only the cases of an earlier record"
                                  : NULL;
}

bool kg_reward_may(const struct kg_record *r)
{
    return r->has_error ? kg_record_is_candidates(r) : r->verdict != KG_V_NONE;
}

static bool has_speed(const struct kg_reward *w)
{
    for (int i = 0; i < w->nterms; i++) {
        if (strcmp(w->term[i].name, "speed") == 0) {
            return true;
        }
    }
    return false;
}

void kg_reward_compute(const struct kg_record *r, const char *name,
                       const struct kg_reward_params *p, struct kg_reward *out)
{
    const struct preset *preset = find(name);
    KG_ASSERT(preset != NULL);
    KG_ASSERT(kg_reward_may(r) && kg_reward_absent(r) == NULL);
    KG_ASSERT(isfinite(p->cap) && p->cap > 0 && isfinite(p->kevin_cap));
    KG_ASSERT(isfinite(p->hack_penalty) && p->hack_penalty <= 0);
    KG_ASSERT(isfinite(p->step) && p->step >= 0 && p->anneal_steps > 0);
    struct kg_facts f;
    kg_facts_of(r, p, &f);
    *out = (struct kg_reward){.name = preset->name};
    snprintf(out->why, sizeof out->why, "%s",
             r->verdict == KG_V_OK && !r->league.eligible ? "it is not eligible in this league"
                                                          : f.why);
    preset->compute(&f, p, out);
    if (!has_speed(out)) {
        out->why[0] = '\0';
    }
    if (r->verdict == KG_V_HACK && p->hack_penalty < 0) {
        term(out, "hack_penalty", p->hack_penalty);
    }
    KG_ASSERT(isfinite(out->value));
}

/* kg_reward_compute begins with the time that is too short, where C is 1 and there is a term in
 * speed. Only the lengths are compared. */
const char *kg_reward_why_besides(const struct kg_record *r, const struct kg_reward *w)
{
    char known[sizeof w->why];
    bool c = r->verdict == KG_V_OK && r->league.eligible;
    if (!c || kg_reward_too_short(r, known, sizeof known) == KG_SHORT_NONE) {
        return w->why;
    }
    size_t n = strlen(known), all = strlen(w->why);
    return w->why + (all < n ? 0 : all < n + 2 ? all : n + 2);
}

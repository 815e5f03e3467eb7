/* Which inputs the stages tiny and full ask for, and what a failure is when asked again. */
#include "gym/eval/again.h"
#include "gym/native/native.h"
#include "gym/native/native_replay.h"

#define MAX_KINDS 32
#define BACK      2 /* cases of the same shape and addresses, asked in both orders */
/* Evaluations for which a law keeps its shape: shared answers are worth more than every pairing at
 * once. */
#define LAW_SHAPE_TURN 64

struct plan {
    struct kg_case_pool_kind kind[MAX_KINDS];
    size_t n;
    size_t back; /* so many of the first cases are asked again at the end, the last of them first */
};

static void add(struct plan *p, enum kg_variant v, enum kg_law law, bool edited, bool aligned)
{
    if (p->n < MAX_KINDS) {
        p->kind[p->n++] = (struct kg_case_pool_kind){v, law, edited, aligned};
    }
}

#define SOME 2 /* of so many evaluations all but one ask at the default */
#define MANY 8

static enum kg_variant default_but_one_in(struct kg_evaluation *e, uint64_t n)
{
    return kg_rng_below(&e->rng, n) > 0 ? KG_VARIANT_DEFAULT : KG_VARIANT_QUARTER;
}

/* Laws are asked at small shapes, because that is cheap and a kernel does not know the law; and in
 * turn at larger ones and at the default. Where timing makes few calls, which have other laws, too,
 * half of them are asked at the default, by chance; and nearly all where another candidate was
 * asked there, since answers are what costs. */
static enum kg_variant law_shape(struct kg_evaluation *e, enum kg_law law)
{
    static const enum kg_variant at[] = {KG_VARIANT_QUARTER, KG_VARIANT_NO16,    KG_VARIANT_QUARTER,
                                         KG_VARIANT_DEFAULT, KG_VARIANT_QUARTER, KG_VARIANT_QUARTER,
                                         KG_VARIANT_ODD,     KG_VARIANT_QUARTER};
    if (e->w->config.variants == KG_VARIANTS_FEW) {
        const struct kg_case_pool_kind there = {KG_VARIANT_DEFAULT, law, false, true};
        bool has = kg_case_pool_has(&kg_native_of(e->w)->pool, &there);
        return default_but_one_in(e, has ? MANY : SOME);
    }
    return at[(law + e->w->evaluations / LAW_SHAPE_TURN) % (sizeof at / sizeof *at)];
}

static void add_law(struct kg_evaluation *e, struct plan *p, enum kg_law law, enum kg_variant v)
{
    if (!(kg_native_of(e->w)->problem->laws_off & (1u << law))) {
        add(p, v, law, false, v == KG_VARIANT_DEFAULT);
    }
}

/* All value laws, in random order: a law that is only drawn now and then lets a kernel that fails
 * it be right by chance. The first is asked at the default shape: a kernel that is fragile there
 * only must not be timed as if it were whole, and no evaluation may be known to spare it. */
static void plan_laws(struct kg_evaluation *e, struct plan *p)
{
    enum kg_law laws[] = {KG_LAW_NORMAL,   KG_LAW_UNIFORM, KG_LAW_HEAVY,  KG_LAW_SPARSE,
                          KG_LAW_OUTLIER,  KG_LAW_SORTED,  KG_LAW_OFFSET, KG_LAW_SMALL,
                          KG_LAW_LARGE,    KG_LAW_MIXED,   KG_LAW_EQUAL,  KG_LAW_PIECEWISE,
                          KG_LAW_SMALLINT, KG_LAW_WIDEINT};
    size_t left = sizeof laws / sizeof *laws;
    bool first = true;
    while (e->w->config.laws > 0 && left > 0) {
        size_t k = kg_rng_below(&e->rng, left);
        enum kg_law law = laws[k];
        laws[k] = laws[--left];
        add_law(e, p, law, first ? KG_VARIANT_DEFAULT : law_shape(e, law));
        first = false;
    }
}

/* Own values but for a few elements: no sample tells them from the own law, so a kernel that looks
 * at a sample and skips work is wrong there. At the published shape, since only that one is timed.
 * Their addresses are as elsewhere, and once aligned. */
static void add_strays(struct kg_evaluation *e, struct plan *p, bool aligned)
{
    if (!(kg_native_of(e->w)->problem->laws_off & (1u << KG_LAW_STRAYS))) {
        add(p, KG_VARIANT_DEFAULT, KG_LAW_STRAYS, false, aligned);
    }
}

/* The five multi-input variants (original, dims x2, new seed, larger dims, reduced-precision
 * values), then value laws, strays, precision probe, ones, single edit, spike and large values.
 * The new seed follows the original at once: same shape, same addresses, so that whatever was kept
 * for a shape or an address is asked for. Both come back at the end, after a law at the default
 * shape and the other way round: what is kept only after many calls is asked for then, and what is
 * renewed only when more is needed (a table for the largest index so far) is not renewed in one of
 * the two orders. Where inputs are few, nothing comes back, and the edit is asked at the default,
 * too: a kernel may keep answers there only. Reduced-precision values are a law like others: their
 * shape takes its turn. */
static void plan_full(struct kg_evaluation *e, struct plan *p)
{
    add(p, KG_VARIANT_DEFAULT, KG_LAW_OWN, false, true);
    if (!e->w->config.multi_input) {
        return;
    }
    if (e->w->config.variants == KG_VARIANTS_FEW) {
        add(p, KG_VARIANT_ODD, KG_LAW_OWN, false, false);
        plan_laws(e, p);
        add_strays(e, p, true);
        add_strays(e, p, false);
        add_law(e, p, KG_LAW_PRECISION, KG_VARIANT_DEFAULT);
        add(p, default_but_one_in(e, SOME), KG_LAW_OWN, true, false);
        return;
    }
    add(p, KG_VARIANT_DEFAULT, KG_LAW_OWN, false, true);
    p->back = BACK;
    add(p, KG_VARIANT_X2, KG_LAW_OWN, false, false);
    add(p, KG_VARIANT_LARGER, KG_LAW_OWN, false, false);
    enum kg_variant reduced = law_shape(e, KG_LAW_BF16);
    add(p, reduced, KG_LAW_BF16, false, reduced == KG_VARIANT_DEFAULT);
    plan_laws(e, p);
    add_strays(e, p, true);
    add_strays(e, p, false);
    add_law(e, p, KG_LAW_PRECISION, KG_VARIANT_QUARTER);
    add(p, KG_VARIANT_ONE, KG_LAW_OWN, false, false);
    add(p, KG_VARIANT_QUARTER, KG_LAW_OWN, true, false);
    bool large = !(kg_native_of(e->w)->problem->laws_off & (1u << KG_LAW_LARGE));
    add_law(e, p, KG_LAW_SPIKE, large ? law_shape(e, KG_LAW_SPIKE) : KG_VARIANT_DEFAULT);
    add_law(e, p, KG_LAW_LARGE, KG_VARIANT_DEFAULT); /* overflows without a shift */
}

struct again {
    struct kg_evaluation *e;
    enum kg_stage stage;
    struct kg_pooled_case *pc;
};

/* The same case, alone in a fresh process. */
static enum kg_stage_result again(void *ctx, struct kg_err *err)
{
    const struct again *a = ctx;
    kg_native_candidate_stop(a->e);
    return kg_native_candidate_case(a->e, a->stage, a->pc, err);
}

/* The i-th case: drawn from the pool, or as the record that is being replayed has it. */
static enum kg_code pick(struct kg_evaluation *e, const json_t *replay, const struct plan *p,
                         size_t i, struct kg_pooled_case *own, struct kg_pooled_case **out,
                         struct kg_err *err)
{
    bool fresh;
    *out = NULL;
    if (replay) {
        *out = own;
        return kg_replay_parse(kg_native_of(e->w)->problem, json_array_get(replay, i),
                               &kg_native_of(e->w)->pool, own, err);
    }
    struct kg_case_pool_kind kind = p->kind[i];
    bool there = kg_case_pool_draw(&kg_native_of(e->w)->pool, kg_native_of(e->w)->problem, &kind,
                                   &e->w->rng, out, &fresh);
    if (!there && kind.variant == KG_VARIANT_QUARTER) { /* nothing as cheap: the next best */
        kind.variant = KG_VARIANT_NO16;
        there = kg_case_pool_draw(&kg_native_of(e->w)->pool, kg_native_of(e->w)->problem, &kind,
                                  &e->w->rng, out, &fresh);
    }
    *out = there ? *out : NULL;
    return KG_OK;
}

static enum kg_stage_result run_case(struct kg_evaluation *e, enum kg_stage stage,
                                     struct kg_pooled_case *pc, struct kg_err *err)
{
    enum kg_stage_result s =
        pc->c.edited ? kg_native_candidate_twin(e, stage, pc, err) : KG_STAGE_PASS;
    if (s == KG_STAGE_PASS) {
        s = kg_native_candidate_case(e, stage, pc, err);
    }
    struct again a = {e, stage, pc};
    return s == KG_STAGE_FAIL ? kg_again_ask(e, again, &a, err) : s;
}

/* run_case, noted for a replay. */
static enum kg_stage_result ask(struct kg_evaluation *e, enum kg_stage stage,
                                struct kg_pooled_case *pc, json_t *cases, struct kg_err *err)
{
    enum kg_stage_result s = run_case(e, stage, pc, err);
    json_array_append_new(cases, kg_replay_case(kg_native_of(e->w)->problem, pc));
    return s;
}

static enum kg_stage_result run_plan(struct kg_evaluation *e, enum kg_stage stage,
                                     const struct plan *p, struct kg_err *err)
{
    enum kg_stage_result worst = KG_STAGE_PASS, s = KG_STAGE_PASS;
    struct kg_pooled_case first[BACK] = {{.number = 0}}; /* the pool may need their places */
    const json_t *replay =
        e->task->replay ? json_object_get(e->task->replay, kg_stage_name(stage)) : NULL;
    size_t n = replay ? json_array_size(replay) : p->n;
    json_t *cases = json_array();
    json_object_set_new(e->r->secret, kg_stage_name(stage), cases);
    for (size_t i = 0;
         i < n && s != KG_STAGE_ERROR && (worst == KG_STAGE_PASS || !e->w->config.staged); i++) {
        struct kg_pooled_case own, *pc;
        if (*e->w->cancelled) {
            kg_fail(err, KG_E_CANCELLED, "interrupted");
            return KG_STAGE_ERROR;
        }
        if (pick(e, replay, p, i, &own, &pc, err) != KG_OK) {
            return KG_STAGE_ERROR;
        }
        s = pc ? ask(e, stage, pc, cases, err) : s;
        worst = s == KG_STAGE_PASS ? worst : s;
        if (i < BACK && pc) {
            first[i] = *pc;
        }
    }
    for (size_t i = replay ? 0 : p->back; i-- > 0 && worst == KG_STAGE_PASS;) {
        worst = first[i].number ? ask(e, stage, &first[i], cases, err) : worst;
    }
    return worst;
}

enum kg_stage_result kg_native_stage_tiny(struct kg_evaluation *e, struct kg_err *err)
{
    struct plan p = {.n = 0};
    add(&p, KG_VARIANT_TINY, KG_LAW_OWN, false, false);
    add(&p, KG_VARIANT_TINY, KG_LAW_OWN, false, true);
    return run_plan(e, KG_ST_TINY, &p, err);
}

enum kg_stage_result kg_native_stage_full(struct kg_evaluation *e, struct kg_err *err)
{
    struct plan p = {.n = 0};
    kg_case_pool_round(&kg_native_of(e->w)->pool);
    plan_full(e, &p);
    e->compared = 0;
    enum kg_stage_result s = run_plan(e, KG_ST_FULL, &p, err);
    if (s == KG_STAGE_PASS && e->compared == 0) {
        kg_fail(err, KG_E_PROBLEM, "%s: no input of this problem meets the error bound",
                kg_native_of(e->w)->problem->path);
        return KG_STAGE_ERROR;
    }
    if (s == KG_STAGE_PASS && kg_native_note_loaded(e, err) != KG_OK) {
        return KG_STAGE_ERROR;
    }
    if (s == KG_STAGE_PASS && e->w->config.multi_input) {
        e->r->shape_generality = 1.0;
    }
    return s;
}

#include "device_rig.h"

#include "gym/timing/lease.h"

/* Candidates and their mistakes: what the judge finds in answers that keep to the protocol. */

/* The second answer. */
static int32_t *picks_of(struct view *v)
{
    return (void *)(v->out + v->w->out[1].offset);
}

ON_CALL(one_wrong, y_of(v)[123] += 0.01F)
ON_CALL(a_nan, y_of(v)[7] = NAN)
ON_CALL(wrong_pick, picks_of(v)[39]++)

static bool as_double(struct view *v)
{
    v_honest(v);
    if (is_call(v)) {
        struct kg_tleaf *l = &v->w->out[0];
        double *wide = (double *)(void *)(v->out + 262144);
        for (int i = 0; i < ROWS * COLS; i++) {
            wide[i] = y_of(v)[i];
        }
        l->dtype = KG_TD_F64;
        l->bytes *= 2;
        l->offset = 262144;
    }
    return false;
}

ON_CALL(transposed, (v->w->out[0].shape[0] = COLS, v->w->out[0].shape[1] = ROWS))
ON_CALL(flat, (v->w->out[0].rank = 1, v->w->out[0].shape[0] = (int64_t)ROWS * COLS))
ON_CALL(one_of_two, (v->w->nreply = 1, strcpy(v->w->structure, "T")))
ON_CALL(as_dict, strcpy(v->w->structure, "{\"a\":T,\"b\":T}"))
ON_CALL(as_list, strcpy(v->w->structure, "[T,T]"))
ON_CALL(elsewhere, (v->w->out[0].device = 1, v->w->out[1].aliases = 2))

static bool unwritten(struct view *v)
{
    struct kg_twire *w = v->w;
    float kept;
    float *y = (void *)(v->out + KG_TWIRE_GUARD);
    memcpy(&kept, &y[500], sizeof kept);
    v_honest(v);
    if (w->command == KG_TC_CALL) {
        memcpy(&y[500], &kept, sizeof kept);
    }
    return false;
}

static bool picks_unwritten(struct view *v)
{
    int32_t kept[ROWS];
    v_leaf(&v->w->out[0], KG_TD_F32, ROWS, COLS);
    v_leaf(&v->w->out[1], KG_TD_I32, ROWS, 0);
    kg_twire_place(v->w->out, 2);
    memcpy(kept, v->out + v->w->out[1].offset, sizeof kept);
    v_honest(v);
    if (is_call(v)) {
        memcpy(v->out + v->w->out[1].offset + 40, kept + 10, 16);
    }
    return false;
}

ON_CALL(beyond_the_end, v->out[v->w->out[0].offset + v->w->out[0].bytes] ^= 1)
ON_CALL(before_the_start, v->out[v->w->out[0].offset - 1] ^= 1)

/* Of its 255 tensors nothing is looked at. */
ON_CALL(throws, (v->w->status = KG_TA_EXCEPTION, v->w->nreply = 255))

enum finding {
    F_PASS = 1,
    F_SHAPE = 2,
    F_DTYPE = 4,
    F_ARITY = 8,
    F_STRUCTURE = 16,
    F_NONFINITE = 32,
    F_DEVICE = 64,
    F_ALIAS = 128,
    F_UNWRITTEN = 256,
    F_GUARD = 512
};

static unsigned findings(const struct kg_dj_report *r, const struct kg_dj_judgement *v)
{
    return (v->compare.pass ? F_PASS : 0u) | (v->shape ? F_SHAPE : 0u) | (v->dtype ? F_DTYPE : 0u) |
           (v->arity ? F_ARITY : 0u) | (v->structure ? F_STRUCTURE : 0u) |
           (v->compare.nonfinite ? F_NONFINITE : 0u) | (v->device ? F_DEVICE : 0u) |
           (v->alias ? F_ALIAS : 0u) | (r->unwritten ? F_UNWRITTEN : 0u) |
           (r->guard_hit ? F_GUARD : 0u);
}

static const struct {
    const char *name;
    behaviour how;
    unsigned want;
    int leaf;
} mistakes[] = {
    {"honest", honest, F_PASS, -1},
    {"one wrong", one_wrong, 0, 0},
    {"a NaN", a_nan, F_NONFINITE, 0},
    {"a wrong pick", wrong_pick, 0, 1},
    {"doubles", as_double, F_DTYPE, 0},
    {"transposed", transposed, F_SHAPE, 0},
    {"flat", flat, F_SHAPE, 0},
    {"one of two", one_of_two, F_ARITY | F_STRUCTURE, -1},
    {"a dict", as_dict, F_STRUCTURE, -1},
    {"a list for a tuple", as_list, F_PASS, -1},
    {"on another device", elsewhere, F_PASS | F_DEVICE | F_ALIAS, -1},
    {"an element unwritten", unwritten, F_UNWRITTEN | F_NONFINITE, 0},
    {"four integers unwritten", picks_unwritten, F_UNWRITTEN, 1},
    {"a byte beyond the end", beyond_the_end, F_GUARD | F_PASS, -1},
    {"a byte before the start", before_the_start, F_GUARD | F_PASS, -1},
};

static void answers_and_what_is_found(void **state)
{
    (void)state;
    struct kg_dj j = start_judge("cpu");
    struct runner ref = start_runner(&j, honest);
    fill_case(&j, 0, 1);
    expect(&j, &ref, 0);
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        struct runner cand = start_runner(&j, mistakes[i].how);
        struct kg_dj_report r = run(&j, &cand, 0, KG_TC_BIND, KG_DJ_NONE);
        good(&r);
        r = run(&j, &cand, 0, KG_TC_CALL, KG_DJ_CANDIDATE);
        assert_int_equal(r.status, KG_DJ_ANSWERED);
        struct kg_dj_judgement v = compare(&j, 0);
        if (findings(&r, &v) != mistakes[i].want) {
            printf("%s: %x, not %x\n", mistakes[i].name, findings(&r, &v), mistakes[i].want);
        }
        assert_int_equal(findings(&r, &v), mistakes[i].want);
        if (mistakes[i].leaf >= 0) {
            assert_int_equal(v.leaf, mistakes[i].leaf);
        }
        assert_false(v.replay || r.stale || r.late_write || r.input_modified);
        end_runner(&j, &cand);
    }
    end_runner(&j, &ref);
    kg_dj_stop(&j);
}

/* Two views of one buffer, the second from its second row on. */
static bool views(struct view *v)
{
    v_honest(v);
    if (is_call(v)) {
        struct kg_tleaf *l = v->w->out;
        l[1] = l[0];
        l[1].shape[0] -= 1;
        l[1].offset += l[0].bytes / ROWS;
        l[1].bytes -= l[0].bytes / ROWS;
    }
    return false;
}

static void answers_may_share_memory(void **state)
{
    (void)state;
    struct kg_dj j = start_judge("cpu");
    struct runner ref = start_runner(&j, views), cand = start_runner(&j, views);
    fill_case(&j, 0, 1);
    expect(&j, &ref, 0);
    run(&j, &cand, 0, KG_TC_BIND, KG_DJ_NONE);
    struct kg_dj_report r = run(&j, &cand, 0, KG_TC_CALL, KG_DJ_CANDIDATE);
    good(&r);
    assert_int_equal(r.nleaves, 2);
    assert_true(compare(&j, 0).compare.pass);
    end_runner(&j, &cand);
    end_runner(&j, &ref);
    kg_dj_stop(&j);
}

ON_CALL(of_the_first, v->w->out[0].aliases = 1)
ON_CALL(of_the_second, v->w->out[0].aliases = 2)

/* Whose memory an answer may have: an input's, where the reference's has it; never must it. */
static void answers_that_are_views_of_inputs(void **state)
{
    (void)state;
    static const struct {
        behaviour ref, cand;
        bool alias;
    } row[] = {{honest, honest, false},
               {honest, of_the_first, true},
               {of_the_first, honest, false},
               {of_the_first, of_the_first, false},
               {of_the_first, of_the_second, true}};
    struct kg_dj j = start_judge("cpu");
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct runner ref = start_runner(&j, row[i].ref), cand = start_runner(&j, row[i].cand);
        fill_case(&j, 0, 1);
        expect(&j, &ref, 0);
        run(&j, &cand, 0, KG_TC_BIND, KG_DJ_NONE);
        run(&j, &cand, 0, KG_TC_CALL, KG_DJ_CANDIDATE);
        struct kg_dj_judgement v = compare(&j, 0);
        assert_true(v.compare.pass);
        assert_int_equal(v.alias, row[i].alias);
        if (row[i].alias) { /* nothing is known of an answer to inputs that were moved */
            struct kg_dj_call c = call_of(&ref, 0, KG_TC_CALL, KG_DJ_FLOAT);
            struct kg_dj_report rep;
            c.flags = KG_TF_NEAR;
            OK(kg_dj_run(&j, &c, &rep, &err));
            run(&j, &cand, 0, KG_TC_CALL, KG_DJ_CANDIDATE);
            assert_false(compare(&j, 0).alias);
        }
        end_runner(&j, &cand);
        end_runner(&j, &ref);
    }
    kg_dj_stop(&j);
}

static bool nearby(struct view *v)
{
    v_honest(v);
    float *y = (void *)(v->out + v->w->out[0].offset);
    for (int i = 0; is_call(v) && i < ROWS * COLS; i++) {
        y[i] *= 1.00005f;
    }
    return false;
}

/* Another rule than the bound, on the same answers: tolerance, form, nothing remembered. */
static void closeness(void **state)
{
    (void)state;
    static const struct {
        behaviour how;
        double tolerance;
        bool pass, dtype;
        int leaf;
    } table[] = {
        {honest, 1e-7, true, false, -1},     {nearby, 1e-4, true, false, -1},
        {nearby, 1e-5, false, false, 0},     {a_nan, 1, false, false, 0},
        {wrong_pick, 1e-4, false, false, 1}, {as_double, 1, false, true, 0},
    };
    struct kg_dj j = start_judge("cpu");
    struct runner ref = start_runner(&j, honest);
    struct kg_dj_judgement v;
    fill_case(&j, 0, 1);
    expect(&j, &ref, 0);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct runner cand = start_runner(&j, table[i].how);
        struct kg_dj_report r = run(&j, &cand, 0, KG_TC_BIND, KG_DJ_NONE);
        good(&r);
        r = run(&j, &cand, 0, KG_TC_CALL, KG_DJ_CANDIDATE);
        OK(kg_dj_compare_close(&j, 0, table[i].tolerance, &v, &err));
        assert_true(v.compare.pass == table[i].pass && v.dtype == table[i].dtype);
        assert_true(table[i].leaf < 0 || v.leaf == table[i].leaf);
        if (table[i].how == nearby) { /* the gym's bound has nothing to do with it */
            assert_true(v.compare.max_difference > 1e-6 &&
                        v.compare.mean_difference < v.compare.max_difference);
            assert_false(compare(&j, 0).compare.pass);
        }
        assert_false(v.replay || v.repeats_twin);
        end_runner(&j, &cand);
    }
    assert_int_equal(kg_dj_compare_close(&j, 1, 1e-4, &v, &err), KG_E_GYM);
    assert_int_equal(kg_dj_compare_close(&j, 0, 0, &v, &err), KG_E_GYM);
    assert_int_equal(kg_dj_compare_close(&j, 0, NAN, &v, &err), KG_E_GYM);
    assert_int_equal(kg_dj_compare_close(&j, 0, 1.5, &v, &err), KG_E_GYM);
    end_runner(&j, &ref);
    kg_dj_stop(&j);
}

static void an_exception_has_no_tensors(void **state)
{
    (void)state;
    struct kg_dj j = start_judge("cpu");
    struct runner ref = start_runner(&j, honest), cand = start_runner(&j, throws);
    fill_case(&j, 0, 1);
    expect(&j, &ref, 0);
    struct kg_dj_judgement v;
    struct kg_dj_report r = run(&j, &cand, 0, KG_TC_BIND, KG_DJ_NONE);
    r = run(&j, &cand, 0, KG_TC_CALL, KG_DJ_CANDIDATE);
    assert_int_equal(r.status, KG_DJ_ANSWERED);
    assert_int_equal(r.said, KG_TA_EXCEPTION);
    assert_int_equal(r.nleaves, 0);
    assert_int_equal(kg_dj_compare(&j, 0, false, &v, &err), KG_E_GYM);
    assert_string_equal(err.message, "judge: the candidate's answer to case 0 was not taken");
    end_runner(&j, &cand);
    end_runner(&j, &ref);
    kg_dj_stop(&j);
}

/* A wrong answer may have been another candidate's right one in private memory: it must not be
 * compared for this one. */
static void an_answer_to_another_case_is_not_compared(void **state)
{
    (void)state;
    struct kg_dj j = start_judge("cpu");
    struct runner ref = start_runner(&j, honest);
    struct kg_dj_judgement v;
    fill_case(&j, 0, 1);
    fill_case(&j, 1, 2);
    expect(&j, &ref, 0);
    expect(&j, &ref, 1);
    assert_int_equal(kg_dj_compare(&j, 0, false, &v, &err), KG_E_GYM);
    run(&j, &ref, 1, KG_TC_CALL, KG_DJ_CANDIDATE);
    assert_true(compare(&j, 1).compare.pass);
    assert_int_equal(kg_dj_compare(&j, 0, false, &v, &err), KG_E_GYM);
    fill_case(&j, 1, 3); /* new inputs: the answers to the old ones are gone */
    assert_int_equal(kg_dj_compare(&j, 1, false, &v, &err), KG_E_GYM);
    OK(kg_dj_case_fill(&j, 0, 0, &(struct kg_dj_law){.kind = KG_DJ_NORMAL, .b = 1}, &err));
    run(&j, &ref, 0, KG_TC_CALL, KG_DJ_CANDIDATE); /* and so are those of the references */
    assert_int_equal(kg_dj_compare(&j, 0, false, &v, &err), KG_E_GYM);
    assert_string_equal(err.message, "judge: the reference's answer to case 0 was not taken");
    end_runner(&j, &ref);
    kg_dj_stop(&j);
}

/* Timed calls have fresh inputs and no oracle: against the float answer, with what is known. */
static void without_an_oracle(void **state)
{
    (void)state;
    struct kg_dj j = start_judge("cpu");
    struct runner ref = start_runner(&j, honest), bad = start_runner(&j, one_wrong);
    fill_case(&j, 0, 1);
    expect(&j, &ref, 0);
    for (uint64_t key = 2; key < 6; key++) {
        struct kg_dj_report r;
        fill_case(&j, 1, key);
        struct kg_dj_call c = call_of(&ref, 1, KG_TC_CALL, KG_DJ_FLOAT);
        c.timed = true;
        OK(kg_dj_run(&j, &c, &r, &err));
        good(&r);
        assert_true(r.window_ns > 0 && r.setup_ns > 0 && r.setup_ns <= r.window_ns);
        run(&j, &ref, 1, KG_TC_CALL, KG_DJ_CANDIDATE);
        assert_true(compare(&j, 1).compare.pass);
        run(&j, &bad, 1, KG_TC_BIND, KG_DJ_NONE);
        run(&j, &bad, 1, KG_TC_CALL, KG_DJ_CANDIDATE);
        assert_false(compare(&j, 1).compare.pass);
    }
    end_runner(&j, &bad);
    end_runner(&j, &ref);
    kg_dj_stop(&j);
}

/* Within the law's ceiling all the same: what it errs is what it is known to err. */
static bool coarse_reference(struct view *v)
{
    v_honest(v);
    for (int i = 0; is_call(v) && !(v->w->flags & KG_TF_WIDE) && i < ROWS * COLS; i++) {
        y_of(v)[i] *= 1.0005F;
    }
    return false;
}

/* As operands of 11 bits would make it. */
static bool eleven_bits(struct view *v)
{
    v_honest(v);
    for (int i = 0; is_call(v) && i < ROWS * COLS; i++) {
        uint32_t bits;
        memcpy(&bits, &y_of(v)[i], sizeof bits);
        bits = (bits + 0x1000U) & ~0x1fffU;
        memcpy(&y_of(v)[i], &bits, sizeof bits);
    }
    return false;
}

static bool passes_unchecked(struct kg_dj *j, const struct runner *ref, const struct runner *cand,
                             int id, uint64_t key)
{
    refill_case(j, id, key);
    run(j, ref, id, KG_TC_CALL, KG_DJ_FLOAT);
    run(j, cand, id, KG_TC_BIND, KG_DJ_NONE);
    run(j, cand, id, KG_TC_CALL, KG_DJ_CANDIDATE);
    return compare(j, id).compare.pass;
}

/* What is known without an oracle is of this case alone: neither another's errors nor those under
 * another law loosen it, and it ends with the case. */
static void what_is_known_is_of_one_case(void **state)
{
    (void)state;
    struct kg_dj j = start_judge("cpu");
    struct runner ref = start_runner(&j, honest), rough = start_runner(&j, coarse_reference);
    struct runner narrow = start_runner(&j, eleven_bits);
    bool applies;
    fill_case(&j, 1, 1);
    expect(&j, &ref, 1);
    OK(kg_dj_self(&j, 1, &(struct kg_dj_ask){.k = 1, .how = KG_DJ_LEARNS}, &applies, &err));
    assert_false(passes_unchecked(&j, &ref, &narrow, 1, 2));
    fill_case(&j, 2, 3); /* another case of the same shapes, whose reference errs by much more */
    expect(&j, &rough, 2);
    OK(kg_dj_self(&j, 2, &(struct kg_dj_ask){.k = 1, .how = KG_DJ_LEARNS}, &applies, &err));
    assert_true(applies);
    assert_true(passes_unchecked(&j, &ref, &narrow, 2, 4)); /* there it is no less */
    run(&j, &ref, 1, KG_TC_BIND, KG_DJ_NONE);
    assert_false(passes_unchecked(&j, &ref, &narrow, 1, 5));
    refill_case(&j, 1, 6); /* the same case under another law: nothing is learnt */
    expect(&j, &rough, 1);
    run(&j, &ref, 1, KG_TC_BIND, KG_DJ_NONE);
    assert_false(passes_unchecked(&j, &ref, &narrow, 1, 7));
    fill_case(&j, 2, 8); /* begun anew */
    run(&j, &ref, 2, KG_TC_BIND, KG_DJ_NONE);
    assert_false(passes_unchecked(&j, &ref, &narrow, 2, 9));
    end_runner(&j, &narrow);
    end_runner(&j, &rough);
    end_runner(&j, &ref);
    kg_dj_stop(&j);
}

/* Each seventh element is a mask's; `times` what the others are, as floats. */
static bool filled(struct view *v, float times)
{
    bool wide = (v->w->flags & KG_TF_WIDE) != 0;
    v_honest(v);
    for (int i = 0; is_call(v) && i < ROWS * COLS; i++) {
        if (wide && i % 7 == 0) {
            ((double *)(void *)(v->out + v->w->out[0].offset))[i] = -1e9;
        } else if (!wide) {
            y_of(v)[i] = i % 7 == 0 ? -1e9F : times * y_of(v)[i];
        }
    }
    return false;
}

static bool masked(struct view *v)
{
    return filled(v, 1);
}

static bool masked_and_more(struct view *v)
{
    return filled(v, 1.01F);
}

/* With an oracle and without one; where nobody says that it is a fill, it gives the scale. */
static void a_fill_gives_no_scale(void **state)
{
    (void)state;
    struct kg_dj j = start_judge("cpu");
    struct runner ref = start_runner(&j, masked), more = start_runner(&j, masked_and_more);
    for (int told = 0; told < 2; told++) {
        bool applies;
        struct kg_dj_ask ask = {.k = 1, .how = KG_DJ_LEARNS, .fill = {told ? 5e8 : 0}};
        fill_case(&j, 1, 1);
        expect(&j, &ref, 1);
        OK(kg_dj_self(&j, 1, &ask, &applies, &err));
        assert_true(applies);
        run(&j, &more, 1, KG_TC_BIND, KG_DJ_NONE);
        run(&j, &more, 1, KG_TC_CALL, KG_DJ_CANDIDATE);
        assert_true(compare(&j, 1).compare.pass == !told);
        run(&j, &ref, 1, KG_TC_BIND, KG_DJ_NONE);
        assert_true(passes_unchecked(&j, &ref, &more, 1, 2) == !told);
        run(&j, &ref, 1, KG_TC_BIND, KG_DJ_NONE);
        assert_true(passes_unchecked(&j, &ref, &ref, 1, 3));
    }
    end_runner(&j, &more);
    end_runner(&j, &ref);
    kg_dj_stop(&j);
}

/* 110,000 ones, where the answer is in float all more by `all`, and `count` of them by `more`. */
static bool ones(struct view *v, float all, int count, float more)
{
    struct kg_twire *w = v->w;
    bool wide = (w->flags & KG_TF_WIDE) != 0;
    v_honest(v);
    if (!is_call(v)) {
        return false;
    }
    v_leaf(&w->out[0], wide ? KG_TD_F64 : KG_TD_F32, 1100, 100);
    kg_twire_place(w->out, 1);
    w->nreply = 1;
    strcpy(w->structure, "T");
    for (int i = 0; i < 110000; i++) {
        bool off = i % 20011 == 3 && i / 20011 < count;
        if (wide) {
            ((double *)(void *)(v->out + w->out[0].offset))[i] = 1;
        } else {
            y_of(v)[i] = 1 + (off ? more : all);
        }
    }
    return false;
}

#define ONES(name, all, count, more)                                                               \
    static bool name(struct view *v)                                                               \
    {                                                                                              \
        return ones(v, all, count, more);                                                          \
    }
#define BOUND 2e-5F /* where no reference errs more */
ONES(one_by_three, 0, 1, 3 * BOUND)
ONES(one_by_nine, 0, 1, 9 * BOUND)
ONES(two_by_three, 0, 2, 3 * BOUND)
ONES(two_by_fifteen, 0, 2, 15 * BOUND)
ONES(three_by_two, 0, 3, 2 * BOUND)
ONES(one_by_seventeen, 0, 1, 17 * BOUND)
ONES(rough, 1e-4F, 1, 3 * 4e-4F) /* four times 1e-4 is the bound, three times the rms */
ONES(as_rough, 2.5e-4F, 2, 3 * 4e-4F)
ONES(leaning, 3.5e-4F, 2, 3 * 4e-4F)

static bool suits(struct kg_dj *j, behaviour reference, uint32_t how)
{
    bool applies;
    struct runner ref = start_runner(j, reference);
    fill_case(j, 1, 1);
    run(j, &ref, 1, KG_TC_BIND, KG_DJ_NONE);
    run(j, &ref, 1, KG_TC_CALL, KG_DJ_FLOAT);
    run(j, &ref, 1, KG_TC_CALL, KG_DJ_ORACLE);
    OK(kg_dj_self(j, 1, &(struct kg_dj_ask){.k = 1, .how = how}, &applies, &err));
    end_runner(j, &ref);
    return applies;
}

static bool is_right(struct kg_dj *j, behaviour candidate)
{
    struct runner cand = start_runner(j, candidate);
    run(j, &cand, 1, KG_TC_BIND, KG_DJ_NONE);
    run(j, &cand, 1, KG_TC_CALL, KG_DJ_CANDIDATE);
    bool pass = compare(j, 1).compare.pass;
    end_runner(j, &cand);
    return pass;
}

/* Where that is allowed, one element in 100,000 of the reference's answer may be off by eight
 * bounds, and twice as many of others' by twice as much. The rms holds all the same. */
static void a_rare_element_may_be_further_off(void **state)
{
    (void)state;
    struct kg_dj j = start_judge("cpu");
    assert_false(suits(&j, one_by_three, 0));
    assert_false(is_right(&j, one_by_three));
    assert_false(suits(&j, two_by_three, KG_DJ_RARE));
    assert_false(suits(&j, one_by_nine, KG_DJ_RARE));
    assert_true(suits(&j, one_by_three, KG_DJ_RARE));
    assert_true(is_right(&j, two_by_fifteen));
    assert_false(is_right(&j, three_by_two));
    assert_false(is_right(&j, one_by_seventeen));
    assert_true(suits(&j, rough, KG_DJ_RARE));
    assert_true(is_right(&j, as_rough));
    assert_false(is_right(&j, leaning));
    assert_false(suits(&j, one_by_three, KG_DJ_LEARNS)); /* until it is allowed no more */
    assert_false(is_right(&j, one_by_three));
    kg_dj_stop(&j);
}

/* The oracle of the last draw is off by a part that no float answer can be. */
static bool rough_reference(struct view *v)
{
    v_honest(v);
    for (int i = 0; is_call(v) && !(v->w->flags & KG_TF_WIDE) && i < ROWS * COLS; i++) {
        y_of(v)[i] *= 1.01F;
    }
    return false;
}

static bool no_oracle(struct view *v)
{
    v_honest(v);
    if (is_call(v) && (v->w->flags & KG_TF_WIDE)) {
        v->w->nreply = 1;
    }
    return false;
}

static void a_law_that_the_reference_fails_does_not_apply(void **state)
{
    (void)state;
    behaviour how[] = {rough_reference, no_oracle};
    for (int i = 0; i < 2; i++) {
        struct kg_dj j = start_judge("cpu");
        struct runner ref = start_runner(&j, how[i]);
        bool applies = true;
        fill_case(&j, 0, 1);
        assert_int_equal(kg_dj_self(&j, 0, &(struct kg_dj_ask){.k = 1}, &applies, &err), KG_E_GYM);
        run(&j, &ref, 0, KG_TC_BIND, KG_DJ_NONE);
        run(&j, &ref, 0, KG_TC_CALL, KG_DJ_FLOAT);
        run(&j, &ref, 0, KG_TC_CALL, KG_DJ_ORACLE);
        OK(kg_dj_self(&j, 0, &(struct kg_dj_ask){.k = 1}, &applies, &err));
        assert_false(applies);
        end_runner(&j, &ref);
        kg_dj_stop(&j);
    }
}

/* Answers the second and later calls with the first answer. */
static bool cached(struct view *v)
{
    static unsigned char kept[ROWS * COLS * 4];
    static bool have;
    v_honest(v);
    if (is_call(v)) {
        memcpy(have ? (void *)y_of(v) : kept, have ? kept : (void *)y_of(v), sizeof kept);
        have = true;
    }
    return false;
}

/* The same non-trivial answer to everything, right for nothing. */
static bool ignores_inputs(struct view *v)
{
    v_honest(v);
    for (int i = 0; is_call(v) && i < ROWS * COLS; i++) {
        y_of(v)[i] = (float)i;
    }
    return false;
}

static void replays(void **state)
{
    (void)state;
    struct kg_dj j = start_judge("cpu");
    struct runner ref = start_runner(&j, honest), cand = start_runner(&j, cached),
                  other = start_runner(&j, ignores_inputs);
    for (int id = 0; id < 2; id++) {
        fill_case(&j, id, 10 + (uint64_t)id);
        expect(&j, &ref, id);
    }
    for (int id = 0; id < 2; id++) {
        run(&j, &cand, id, KG_TC_BIND, KG_DJ_NONE);
        struct kg_dj_report r = run(&j, &cand, id, KG_TC_CALL, KG_DJ_CANDIDATE);
        struct kg_dj_judgement v = compare(&j, id);
        assert_int_equal(v.compare.pass, id == 0);
        assert_int_equal(v.replay, id == 1);
        assert_int_equal(r.stale, id == 1);
        assert_false(v.repeats_twin);
        run(&j, &other, id, KG_TC_BIND, KG_DJ_NONE);
        r = run(&j, &other, id, KG_TC_CALL, KG_DJ_CANDIDATE);
        v = compare(&j, id);
        assert_false(v.compare.pass || v.replay || r.stale);
    }
    /* the same inputs again: an honest repetition, on every port */
    fill_case(&j, 2, 10);
    expect(&j, &ref, 2);
    struct kg_dj_report r = run(&j, &cand, 2, KG_TC_CALL, KG_DJ_CANDIDATE);
    assert_true(compare(&j, 2).compare.pass);
    assert_false(r.stale);
    end_runner(&j, &other);
    end_runner(&j, &cand);
    end_runner(&j, &ref);
    kg_dj_stop(&j);
}

static void the_answer_before_the_edit_is_told_apart(void **state)
{
    (void)state;
    struct kg_dj j = start_judge("cpu");
    struct runner ref = start_runner(&j, honest), cand = start_runner(&j, cached);
    fill_case(&j, 0, 20);
    expect(&j, &ref, 0);
    run(&j, &cand, 0, KG_TC_BIND, KG_DJ_NONE);
    run(&j, &cand, 0, KG_TC_CALL, KG_DJ_CANDIDATE);
    assert_true(compare(&j, 0).compare.pass);
    OK(kg_dj_case_edit(&j, 0, 0, (struct kg_key){{1, 2}}, &err));
    expect(&j, &ref, 0);
    run(&j, &cand, 0, KG_TC_CALL, KG_DJ_CANDIDATE);
    struct kg_dj_judgement v = compare(&j, 0);
    assert_false(v.compare.pass || v.replay);
    assert_true(v.repeats_twin);
    assert_int_equal(v.compare.n_bad, 1);
    run(&j, &ref, 0, KG_TC_CALL, KG_DJ_CANDIDATE);
    assert_true(compare(&j, 0).compare.pass);
    end_runner(&j, &cand);
    end_runner(&j, &ref);
    kg_dj_stop(&j);
}

/* The edit is what a reference drew. */
static void the_answer_before_an_adopted_edit_is_told_apart(void **state)
{
    (void)state;
    struct kg_dj j = start_judge("cpu");
    struct runner ref = start_runner(&j, honest), cand = start_runner(&j, cached);
    for (int edit = 0; edit < 2; edit++) {
        fill_case(&j, 0, 20);
        expect(&j, &ref, 0);
        run(&j, &cand, 0, KG_TC_BIND, KG_DJ_NONE);
        run(&j, &cand, 0, KG_TC_CALL, KG_DJ_CANDIDATE);
        assert_true(compare(&j, 0).compare.pass);
        run(&j, &ref, -1, KG_TC_DRAW, KG_DJ_NONE);
        OK(edit ? kg_dj_case_adopt_edit(&j, 0, 0, ref.port, 0, &err)
                : kg_dj_case_adopt(&j, 0, 0, ref.port, 0, &err));
        expect(&j, &ref, 0);
        run(&j, &cand, 0, KG_TC_CALL, KG_DJ_CANDIDATE);
        struct kg_dj_judgement v = compare(&j, 0);
        assert_false(v.compare.pass);
        assert_int_equal(v.repeats_twin, edit);
        assert_int_equal(v.replay, !edit);
    }
    end_runner(&j, &cand);
    end_runner(&j, &ref);
    kg_dj_stop(&j);
}

static void masters_from_what_a_reference_drew(void **state)
{
    (void)state;
    struct kg_dj j = start_judge("cpu");
    struct runner ref = start_runner(&j, honest);
    begin_case(&j, 5);
    struct kg_dj_report r = run(&j, &ref, -1, KG_TC_DRAW, KG_DJ_NONE);
    good(&r);
    assert_int_equal(r.nleaves, 2);
    assert_int_equal(kg_dj_case_adopt(&j, 5, 0, ref.port, 1, &err), KG_E_GYM); /* another shape */
    assert_int_equal(kg_dj_case_adopt(&j, 5, 0, ref.port, 2, &err), KG_E_GYM);
    assert_int_equal(kg_dj_case_adopt(&j, 5, 2, ref.port, 0, &err), KG_E_GYM);
    OK(kg_dj_case_adopt(&j, 5, 0, ref.port, 0, &err));
    struct kg_dj_report rep;
    struct kg_dj_call c = call_of(&ref, 5, KG_TC_STATE, KG_DJ_NONE);
    assert_int_equal(kg_dj_run(&j, &c, &rep, &err), KG_E_GYM); /* the other has no values yet */
    OK(kg_dj_case_adopt(&j, 5, 1, ref.port, 1, &err));
    expect(&j, &ref, 5);
    run(&j, &ref, 5, KG_TC_CALL, KG_DJ_CANDIDATE);
    assert_true(compare(&j, 5).compare.pass);
    /* state after a call: kept and compared like an answer */
    r = run(&j, &ref, 5, KG_TC_SNAPSHOT, KG_DJ_FLOAT);
    assert_int_equal(r.nleaves, 2);
    run(&j, &ref, 5, KG_TC_SNAPSHOT, KG_DJ_CANDIDATE);
    struct kg_dj_judgement v = compare(&j, 5);
    assert_true(v.compare.pass && v.compare.bit_equal);
    assert_int_equal(kg_dj_case_adopt(&j, 5, 0, ref.port, 0, &err), KG_OK);
    run(&j, &ref, 5, KG_TC_STATE, KG_DJ_NONE);
    assert_int_equal(kg_dj_case_adopt(&j, 5, 0, ref.port, 0, &err), KG_E_GYM);
    end_runner(&j, &ref);
    kg_dj_stop(&j);
}

/* Says where its first input lies: in the second answer's first element. */
ON_CALL(tells_place, picks_of(v)[0] = (int32_t)v->bound[0].offset)

/* Other addresses, the same values: what was bound and answered is gone, answers are right again.
 */
static void a_case_is_moved(void **state)
{
    (void)state;
    struct kg_dj j = start_judge("cpu");
    struct runner ref = start_runner(&j, honest), cand = start_runner(&j, tells_place);
    struct kg_dj_report rep;
    struct kg_dj_judgement v;
    double place[2];
    fill_case(&j, 0, 1);
    for (int k = 0; k < 2; k++) {
        expect(&j, &ref, 0);
        OK(kg_dj_case_move(&j, 0, k == 0 ? 256 : 8192, &err));
        struct kg_dj_call c = call_of(&ref, 0, KG_TC_CALL, KG_DJ_FLOAT);
        assert_int_equal(kg_dj_run(&j, &c, &rep, &err), KG_E_GYM); /* nothing is bound there */
        assert_int_equal(kg_dj_compare(&j, 0, false, &v, &err), KG_E_GYM);
        expect(&j, &ref, 0);
        rep = run(&j, &cand, 0, KG_TC_BIND, KG_DJ_NONE);
        good(&rep);
        rep = run(&j, &cand, 0, KG_TC_CALL, KG_DJ_CANDIDATE);
        good(&rep);
        v = compare(&j, 0);
        assert_int_equal(v.leaf, 1); /* y is right */
        assert_int_equal(v.compare.n_bad, 1);
        place[k] = v.compare.got;
    }
    assert_true(place[1] == place[0] + 8192 - 256);
    OK(kg_dj_case_move(&j, 0, REGION, &err)); /* beyond the port's region */
    struct kg_dj_call c = call_of(&ref, 0, KG_TC_BIND, KG_DJ_NONE);
    assert_int_equal(kg_dj_run(&j, &c, &rep, &err), KG_E_LIMIT);
    assert_int_equal(kg_dj_case_move(&j, 0, 100, &err), KG_E_GYM);
    assert_int_equal(kg_dj_case_move(&j, 9, 256, &err), KG_E_GYM); /* no such case */
    end_runner(&j, &ref);
    end_runner(&j, &cand);
    kg_dj_stop(&j);
}

/* A null runner has no regions of its own: the window has the copy into, and the digest of, those
 * of another. */
static void regions_are_lent_to_null_calls(void **state)
{
    (void)state;
    struct kg_dj j = start_judge("cpu");
    struct runner ref = start_runner(&j, honest), null = start_runner(&j, honest);
    struct kg_dj_report rep;
    fill_case(&j, 0, 1);
    expect(&j, &ref, 0);
    struct kg_dj_call c = call_of(&null, 0, KG_TC_NULL, KG_DJ_NONE);
    assert_int_equal(kg_dj_run(&j, &c, &rep, &err), KG_E_GYM); /* nothing is bound there */
    c.lent = 1 + ref.port;
    OK(kg_dj_run(&j, &c, &rep, &err));
    assert_int_equal(rep.status, KG_DJ_ANSWERED);
    c.lent = KG_DJ_PORTS; /* no port is open there */
    assert_int_equal(kg_dj_run(&j, &c, &rep, &err), KG_E_GYM);
    c.lent = KG_DJ_PORTS + 1;
    assert_int_equal(kg_dj_run(&j, &c, &rep, &err), KG_E_GYM);
    c = call_of(&null, 0, KG_TC_CALL, KG_DJ_NONE);
    c.lent = 1 + ref.port; /* who answers must have its own */
    assert_int_equal(kg_dj_run(&j, &c, &rep, &err), KG_E_GYM);
    assert_non_null(strstr(err.message, "lent to a command that needs its own"));
    end_runner(&j, &ref);
    end_runner(&j, &null);
    kg_dj_stop(&j);
}

static void the_cap_may_change(void **state)
{
    (void)state;
    struct kg_dj j = start_judge("cpu");
    struct kg_tleaf leaf;
    v_leaf(&leaf, KG_TD_F32, 1 << 10, 1 << 10);
    OK(kg_dj_cap(&j, 1 << 20, 0, 0, &err));
    assert_int_equal(kg_dj_case_begin(&j, 0, &leaf, 1, &err), KG_E_LIMIT);
    assert_true(err.memory);
    OK(kg_dj_cap(&j, 1 << 23, 0, 0, &err));
    OK(kg_dj_case_begin(&j, 0, &leaf, 1, &err));
    assert_true(j.bytes > 1 << 22);
    OK(kg_dj_case_forget(&j, 0, 1, &err));
    assert_int_equal(j.bytes, 0);
    assert_int_equal(kg_dj_cap(&j, 0, 0, 0, &err), KG_E_GYM);
    kg_dj_stop(&j);
}

static void order_is_enforced(void **state)
{
    (void)state;
    struct kg_dj j = start_judge("cpu");
    struct runner ref = start_runner(&j, honest);
    struct kg_dj_report rep;
    struct kg_dj_call c = call_of(&ref, 0, KG_TC_CALL, KG_DJ_NONE);
    assert_int_equal(kg_dj_run(&j, &c, &rep, &err), KG_E_GYM);
    assert_string_equal(err.message, "judge: case 0 was not begun");
    fill_case(&j, 0, 1);
    assert_int_equal(kg_dj_run(&j, &c, &rep, &err), KG_E_GYM); /* not bound */
    run(&j, &ref, 0, KG_TC_BIND, KG_DJ_NONE);
    OK(kg_dj_run(&j, &c, &rep, &err));
    struct kg_tleaf leaf;
    v_leaf(&leaf, KG_TD_F32, 3, 3);
    OK(kg_dj_case_begin(&j, 1, &leaf, 1, &err));
    OK(kg_dj_case_fill(&j, 1, 0, &(struct kg_dj_law){.kind = KG_DJ_NORMAL, .b = 1}, &err));
    c.id = 1;
    assert_int_equal(kg_dj_run(&j, &c, &rep, &err), KG_E_GYM); /* other shapes than bound */
    assert_non_null(strstr(err.message, "no inputs like those of case 1 are bound"));
    c.command = KG_TC_LOAD;
    assert_int_equal(kg_dj_run(&j, &c, &rep, &err), KG_E_GYM);
    c.command = KG_TC_NULL;
    c.id = -1;
    OK(kg_dj_run(&j, &c, &rep, &err));
    c.id = 0;
    OK(kg_dj_run(&j, &c, &rep, &err));
    v_leaf(&leaf, KG_TD_F32, 1 << 10, 1 << 10); /* larger than IN */
    OK(kg_dj_case_begin(&j, 2, &leaf, 1, &err));
    c.id = 2;
    c.command = KG_TC_BIND;
    assert_int_equal(kg_dj_run(&j, &c, &rep, &err), KG_E_LIMIT);
    OK(kg_dj_port_close(&j, ref.port, &err));
    c.id = 0;
    assert_int_equal(kg_dj_run(&j, &c, &rep, &err), KG_E_GYM);
    assert_string_equal(err.message, "judge: port 0 is not open");
    kg_dj_stop(&j);
    end_runner(&j, &ref);
}

/* What a runner says about compiling, and whether others could use the device meanwhile. */
static _Atomic uint32_t *said;

static bool had_it(const volatile int *cancel, int64_t then_ns, bool *asked_in_vain)
{
    struct kg_lease l;
    if (kg_lease_alone("cpu", false, &l, cancel, &err) != KG_OK) {
        return false;
    }
    atomic_store(said, KG_TB_WAITS);
    usleep((useconds_t)(then_ns / 1000));
    *asked_in_vain = atomic_load(said) == KG_TB_WAITS;
    kg_lease_release(&l);
    return true;
}

/* Compiles, and is kept waiting for its turn by somebody who has the device alone. */
static bool compiles(struct view *v, int64_t others_ns)
{
    bool in_vain = false;
    v_honest(v);
    if (is_call(v)) {
        atomic_store(said, KG_TB_BUSY);
        bool had = had_it(NULL, others_ns, &in_vain);
        for (int i = 0; i < 2000 && atomic_load(said) != KG_TB_NONE; i++) {
            usleep(1000);
        }
        bool good = had && in_vain && atomic_load(said) == KG_TB_NONE;
        v->w->status = good ? KG_TA_OK : KG_TA_EXCEPTION;
    }
    return false;
}

static bool is_polite(struct view *v)
{
    return compiles(v, 20000000);
}

/* Longer than its call may take. */
static bool is_kept_waiting(struct view *v)
{
    return compiles(v, 800000000);
}

/* Says nothing: it has the device until it answers. */
static bool is_quiet(struct view *v)
{
    bool in_vain;
    volatile int cancel = 1;
    v_honest(v);
    if (is_call(v)) {
        v->w->status = had_it(&cancel, 0, &in_vain) ? KG_TA_EXCEPTION : KG_TA_OK;
    }
    return false;
}

static bool is_not_asked(struct view *v)
{
    v_honest(v);
    if (is_call(v)) {
        v->w->status = v->w->flags & KG_TF_POLITE ? KG_TA_EXCEPTION : KG_TA_OK;
    }
    return false;
}

/* A judge as if times counted, with a case that is ready; and what runners say. */
static struct kg_dj start_sharing(struct runner *ref)
{
    struct kg_dj j = start_judge("cpu");
    *ref = start_runner(&j, honest);
    fill_case(&j, 0, 1);
    expect(&j, ref, 0);
    said = mmap(NULL, sizeof *said, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(said != MAP_FAILED);
    j.facts.clock = true;
    return j;
}

static void end_sharing(struct kg_dj *j, struct runner *ref)
{
    munmap(said, sizeof *said);
    end_runner(j, ref);
    kg_dj_stop(j);
}

static void the_device_is_others_while_a_runner_compiles(void **state)
{
    (void)state;
    struct runner ref;
    struct kg_dj j = start_sharing(&ref);
    static const behaviour how[] = {is_polite, is_quiet, is_not_asked};
    for (int i = 0; i < 3; i++) {
        j.held = i == 2; /* who has it alone lets nobody in, and would not answer */
        struct runner cand = start_runner(&j, how[i]);
        struct kg_dj_report r = run(&j, &cand, 0, KG_TC_BIND, KG_DJ_NONE);
        struct kg_dj_call c = call_of(&cand, 0, KG_TC_CALL, KG_DJ_CANDIDATE);
        good(&r);
        atomic_store(said, KG_TB_WAITS); /* of an earlier call: it means nothing */
        c.building = said;
        int64_t waited_ns = j.waited_ns;
        OK(kg_dj_run(&j, &c, &r, &err));
        good(&r);
        assert_true(j.held ? j.waited_ns == waited_ns : j.waited_ns > waited_ns);
        end_runner(&j, &cand);
    }
    end_sharing(&j, &ref);
}

/* Takes long, and says nothing. Who wants the device alone meanwhile keeps others out for a moment
 * only. */
static bool is_slow(struct view *v)
{
    struct kg_lease l;
    volatile int cancel = 1;
    bool out = false, in = false;
    v_honest(v);
    if (!is_call(v)) {
        return false;
    }
    pid_t pid = fork();
    if (pid == 0) {
        _exit(kg_lease_alone("cpu", false, &l, NULL, &err) == KG_OK ? 0 : 1);
    }
    for (int i = 0; i < 3000 && !(out && in); i++) {
        bool got = kg_lease_share("cpu", &l, &cancel, &err) == KG_OK;
        kg_lease_release(&l);
        in = out && got;
        out = out || !got;
        usleep(1000);
    }
    v->w->status = in ? KG_TA_OK : KG_TA_EXCEPTION;
    return false;
}

static void slow_calls(void **state)
{
    (void)state;
    static const behaviour how[] = {is_kept_waiting, is_slow};
    struct runner ref;
    struct kg_dj j = start_sharing(&ref);
    for (int i = 0; i < 2; i++) {
        struct runner cand = start_runner(&j, how[i]);
        struct kg_dj_report r = run(&j, &cand, 0, KG_TC_BIND, KG_DJ_NONE);
        struct kg_dj_call c = call_of(&cand, 0, KG_TC_CALL, KG_DJ_CANDIDATE);
        good(&r);
        c.building = i == 0 ? said : NULL;
        if (i == 0) {
            c.deadline_ns = kg_clock_ns() + 400000000;
        }
        OK(kg_dj_run(&j, &c, &r, &err));
        good(&r);
        end_runner(&j, &cand);
    }
    end_sharing(&j, &ref);
    struct kg_dj_report none;
    struct kg_dj_call late = call_of(&ref, 0, KG_TC_CALL, KG_DJ_FLOAT);
    assert_int_equal(kg_dj_run(&j, &late, &none, &err), KG_E_GYM); /* and waits for no device */
}

static bool sleeps(struct view *v)
{
    v_honest(v);
    if (is_call(v)) {
        sleep(60);
    }
    return false;
}

/* However long it is said to have waited. */
static void waiting_has_an_end(void **state)
{
    (void)state;
    struct kg_dj j = start_judge("cpu");
    struct runner ref = start_runner(&j, honest), cand = start_runner(&j, sleeps);
    struct kg_dj_report r;
    fill_case(&j, 0, 1);
    expect(&j, &ref, 0);
    r = run(&j, &cand, 0, KG_TC_BIND, KG_DJ_NONE);
    good(&r);
    pid_t pid = fork();
    if (pid == 0) {
        for (int i = 0; i < 20000; i++) {
            atomic_store(&j.pause->total_ns, (int64_t)3600 * 1000000000);
            usleep(1000);
        }
        _exit(0);
    }
    struct kg_dj_call c = call_of(&cand, 0, KG_TC_CALL, KG_DJ_CANDIDATE);
    int64_t begin = kg_clock_ns();
    c.deadline_ns = begin + 200000000;
    OK(kg_dj_run(&j, &c, &r, &err));
    int64_t took = kg_clock_ns() - begin;
    assert_int_equal(r.status, KG_DJ_LATE);
    assert_true(took > 1000000000);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    end_runner(&j, &cand);
    end_runner(&j, &ref);
    kg_dj_stop(&j);
}

static void memory_is_capped(void **state)
{
    (void)state;
    struct kg_dj j;
    struct kg_dj_spec spec = {.device = "cpu", .cpu = -1, .memory_cap = 4 << 20};
    struct kg_tleaf leaf;
    OK(kg_dj_start(&spec, &j, &err));
    v_leaf(&leaf, KG_TD_F32, 1 << 9, 1 << 10);
    OK(kg_dj_case_begin(&j, 0, &leaf, 1, &err));
    assert_int_equal(kg_dj_case_begin(&j, 1, &leaf, 1, &err), KG_E_LIMIT);
    OK(kg_dj_case_begin(&j, 0, &leaf, 1, &err));         /* what it held is free again */
    OK(kg_dj_case_forget(&j, 1, KG_DJ_CASES - 1, &err)); /* all others */
    assert_int_equal(kg_dj_case_begin(&j, KG_DJ_CASES - 1, &leaf, 1, &err), KG_E_LIMIT);
    OK(kg_dj_case_forget(&j, 0, 2, &err));
    OK(kg_dj_case_begin(&j, KG_DJ_CASES - 1, &leaf, 1, &err));
    OK(kg_dj_case_forget(&j, 3, KG_DJ_CASES - 3, &err));
    OK(kg_dj_case_begin(&j, 1, &leaf, 1, &err));
    assert_int_equal(kg_dj_case_forget(&j, 3, KG_DJ_CASES - 2, &err), KG_E_GYM);
    assert_non_null(strstr(err.message, "no such case"));
    for (int i = 0; i < KG_DJ_PORTS; i++) {
        int port, fds[3];
        OK(kg_dj_port_open(&j, 4096, 4096, &port, fds, &err));
        assert_int_equal(port, i);
        close(fds[0]);
        close(fds[1]);
        close(fds[2]);
    }
    int port, fds[3];
    assert_int_equal(kg_dj_port_open(&j, 4096, 4096, &port, fds, &err), KG_E_LIMIT);
    OK(kg_dj_port_close(&j, 7, &err));
    OK(kg_dj_port_open(&j, 4096, 4096, &port, fds, &err));
    assert_int_equal(port, 7);
    close(fds[0]);
    close(fds[1]);
    close(fds[2]);
    kg_dj_stop(&j);
}

/* An answer that waits is compared as if it had not; and with the very inputs that it answered. */
static void an_answer_set_aside(void **state)
{
    (void)state;
    struct kg_dj j = start_judge("cpu");
    struct runner ref = start_runner(&j, honest), cand = start_runner(&j, one_wrong);
    bool kept, same;
    for (int k = 0; k < 2; k++) { /* a wrong one first, then a right one in the other's place */
        struct kg_dj_judgement v;
        struct kg_dj_report r;
        fill_case(&j, 0, 1);
        expect(&j, &ref, 0);
        r = run(&j, &cand, 0, KG_TC_BIND, KG_DJ_NONE);
        good(&r);
        r = run(&j, &cand, 0, KG_TC_CALL, KG_DJ_CANDIDATE);
        good(&r);
        assert_int_equal(kg_dj_kept(&j, 0, KG_DJ_KEPT_SLOTS - 1, &kept, &err), KG_OK);
        assert_true(kept);
        assert_int_not_equal(kg_dj_compare(&j, 0, false, &v, &err), KG_OK); /* it is not there */
        refill_case(&j, 0, 2);
        expect(&j, &ref, 0);
        assert_int_equal(kg_dj_recall(&j, 0, KG_DJ_KEPT_SLOTS - 1, &same, &err), KG_OK);
        assert_false(same);
        refill_case(&j, 0, 1);
        assert_int_equal(kg_dj_recall(&j, 0, KG_DJ_KEPT_SLOTS - 1, &same, &err), KG_OK);
        assert_true(same);
        r = run(&j, &ref, 0, KG_TC_CALL, KG_DJ_ORACLE); /* FLOAT is that of then */
        good(&r);
        bool applies;
        assert_int_equal(kg_dj_self(&j, 0, &(struct kg_dj_ask){.k = 1}, &applies, &err), KG_OK);
        assert_true(applies);
        v = compare(&j, 0);
        assert_int_equal(v.compare.pass, k == 1);
        assert_int_not_equal(kg_dj_recall(&j, 0, KG_DJ_KEPT_SLOTS - 1, &same, &err),
                             KG_OK); /* once */
        end_runner(&j, &cand);
        cand = start_runner(&j, honest);
    }
    assert_int_not_equal(kg_dj_recall(&j, 0, 0, &same, &err), KG_OK);
    assert_int_not_equal(kg_dj_kept(&j, 0, KG_DJ_KEPT_SLOTS, &kept, &err), KG_OK);
    end_runner(&j, &cand);
    end_runner(&j, &ref);
    kg_dj_stop(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_and_what_is_found),
        cmocka_unit_test(answers_may_share_memory),
        cmocka_unit_test(answers_that_are_views_of_inputs),
        cmocka_unit_test(closeness),
        cmocka_unit_test(an_answer_set_aside),
        cmocka_unit_test(an_exception_has_no_tensors),
        cmocka_unit_test(an_answer_to_another_case_is_not_compared),
        cmocka_unit_test(without_an_oracle),
        cmocka_unit_test(what_is_known_is_of_one_case),
        cmocka_unit_test(a_fill_gives_no_scale),
        cmocka_unit_test(a_rare_element_may_be_further_off),
        cmocka_unit_test(a_law_that_the_reference_fails_does_not_apply),
        cmocka_unit_test(replays),
        cmocka_unit_test(the_answer_before_the_edit_is_told_apart),
        cmocka_unit_test(the_answer_before_an_adopted_edit_is_told_apart),
        cmocka_unit_test(masters_from_what_a_reference_drew),
        cmocka_unit_test(a_case_is_moved),
        cmocka_unit_test(regions_are_lent_to_null_calls),
        cmocka_unit_test(the_cap_may_change),
        cmocka_unit_test(order_is_enforced),
        cmocka_unit_test(the_device_is_others_while_a_runner_compiles),
        cmocka_unit_test(slow_calls),
        cmocka_unit_test(waiting_has_an_end),
        cmocka_unit_test(memory_is_capped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

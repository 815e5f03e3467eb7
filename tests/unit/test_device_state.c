#include "device_rig.h"

#include "gym/device/device_law.h"
#include "gym/device/device_state.h"

/* The judge's operations in this process, on a device whose table is changed here and there: what
 * a host that is busy, broken or out of memory does to it. */

static struct kg_dj_state *s;
static struct kg_device_ops ops;
static struct kg_djm_req req;
static struct kg_djm_rep rep;
static int out_fds[3], nout;

static enum kg_code serve(uint32_t op)
{
    req.magic = KG_DJM_MAGIC;
    req.op = op;
    assert_null(kg_djm_req_check(&req, kg_djm_req_bytes(op)));
    kg_dj_serve(s, &req, NULL, 0, &rep, out_fds, &nout);
    assert_null(kg_djm_rep_check(&rep, kg_djm_rep_bytes(op), op, req.seq));
    assert_int_equal(rep.code == KG_OK, rep.message[0] == '\0');
    return (enum kg_code)rep.code;
}

static pid_t child;

/* The state, a port with an honest runner behind it, and case 0 filled and bound. */
static void open_state(const char *device)
{
    s = calloc(1, sizeof *s);
    assert_non_null(s);
    OK(kg_dj_state_init(s, device, 0, &err));
    ops = *s->dev.ops;
    s->dev.ops = &ops;
    req = (struct kg_djm_req){.in_bytes = REGION, .out_bytes = REGION};
    assert_int_equal(serve(KG_DJM_OPEN), KG_OK);
    assert_int_equal(nout, 3);
    child = fork();
    if (child == 0) {
        v_serve(out_fds, honest, false);
    }
    for (int k = 0; k < 3; k++) {
        close(out_fds[k]);
    }
}

static void close_state(void)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    kg_dj_state_deinit(s);
    free(s);
}

static enum kg_code fill(void)
{
    memset(&req, 0, sizeof req);
    req.nleaf = 2;
    v_leaf(&req.leaf[0], KG_TD_F32, ROWS, COLS);
    v_leaf(&req.leaf[1], KG_TD_I32, ROWS, 0);
    enum kg_code code = serve(KG_DJM_BEGIN);
    req.law = (struct kg_dj_law){.kind = KG_DJ_UNIFORM, .a = -1, .b = 1};
    for (req.at = 0; code == KG_OK && req.at < 2; req.at++) {
        code = serve(KG_DJM_FILL);
    }
    req.at = 0;
    return code;
}

static enum kg_code command(uint32_t what, enum kg_dj_side keep)
{
    req.command = what;
    req.keep = keep;
    req.flags = keep == KG_DJ_ORACLE ? KG_TF_WIDE : 0;
    req.deadline_ns = kg_clock_ns() + 10000000000;
    return serve(KG_DJM_RUN);
}

/* A call that is not loud: one of 32, because this host may be busy, and then loud is right. */
static void is_quiet(uint32_t what)
{
    bool loud = true;
    for (int i = 0; i < 32 && loud; i++) {
        enum kg_dj_side keep = what == KG_TC_NULL ? KG_DJ_NONE : KG_DJ_CANDIDATE;
        assert_int_equal(command(what, keep), KG_OK);
        loud = rep.report.loud;
    }
    assert_false(loud);
}

/* A timed call of the candidate, and one that is not timed: only the first may be loud. */
static void candidate_is_loud(bool wanted)
{
    req.timed = 1;
    if (wanted) {
        assert_int_equal(command(KG_TC_CALL, KG_DJ_CANDIDATE), KG_OK);
        assert_true(rep.report.loud);
    } else {
        is_quiet(KG_TC_CALL);
    }
}

static void untimed_is_quiet(void)
{
    req.timed = 0;
    assert_int_equal(command(KG_TC_CALL, KG_DJ_CANDIDATE), KG_OK);
    assert_false(rep.report.loud);
}

static void ready(void)
{
    assert_int_equal(fill(), KG_OK);
    assert_int_equal(command(KG_TC_BIND, KG_DJ_NONE), KG_OK);
    assert_int_equal(command(KG_TC_CALL, KG_DJ_FLOAT), KG_OK);
    assert_int_equal(command(KG_TC_CALL, KG_DJ_ORACLE), KG_OK);
    assert_int_equal(serve(KG_DJM_SELF), KG_OK);
    assert_int_equal(rep.flag, 1);
}

/* --- late writes, made where a scheduler would have to be lucky --- */
static enum kg_code (*real_take)(struct kg_device *, struct kg_dtake *, size_t, uint64_t,
                                 struct kg_err *);
static unsigned flip_at;

static enum kg_code take_after_a_write(struct kg_device *d, struct kg_dtake *t, size_t n,
                                       uint64_t word, struct kg_err *e)
{
    ((unsigned char *)(uintptr_t)t[flip_at].src)[t[flip_at].bytes - 1] ^= 1;
    return real_take(d, t, n, word, e);
}

static void a_write_between_digest_and_copy_is_seen(void **state)
{
    (void)state;
    open_state("cpu");
    ready();
    real_take = ops.take;
    ops.take = take_after_a_write;
    for (flip_at = 0; flip_at < 2; flip_at++) {
        assert_int_equal(command(KG_TC_CALL, KG_DJ_CANDIDATE), KG_OK);
        assert_true(rep.report.late_write);
        assert_int_equal(serve(KG_DJM_COMPARE), KG_OK); /* what was copied is what is compared */
        assert_int_equal(rep.judgement.compare.bit_equal, false);
    }
    ops.take = real_take;
    assert_int_equal(command(KG_TC_CALL, KG_DJ_CANDIDATE), KG_OK);
    assert_false(rep.report.late_write);
    close_state();
}

/* Whoever has an answer before the question is not asked: its inputs do not come to be. */
static void who_answers_early_gets_no_inputs(void **state)
{
    (void)state;
    open_state("cpu");
    ready();
    struct kg_dj_port *p = &s->port[0];
    uint32_t go = atomic_load(&p->wire->go);
    unsigned char *in = (unsigned char *)(uintptr_t)p->in;
    memset(in, 0, REGION);
    atomic_store(&p->wire->done, go + 1);
    assert_int_equal(command(KG_TC_CALL, KG_DJ_CANDIDATE), KG_OK);
    assert_int_equal(rep.report.status, KG_DJ_PROTOCOL);
    assert_int_equal(atomic_load(&p->wire->go), go);
    for (int i = 0; i < REGION; i++) {
        assert_int_equal(in[i], 0);
    }
    close_state();
}

/* --- the quiet check --- */
static int64_t slow_us;

static void slow_flush(struct kg_device *d)
{
    (void)d;
    usleep((unsigned)slow_us);
}

static void a_busy_device_is_loud(void **state)
{
    (void)state;
    open_state("cpu");
    ready();
    ops.flush = slow_flush;
    for (int clock = 0; clock < 2; clock++) {
        s->dev.facts.clock = clock == 1; /* where windows count nothing, nothing is said */
        for (slow_us = 1000; slow_us < 400000; slow_us *= 300) {
            candidate_is_loud(clock == 1 && slow_us > 1000);
            untimed_is_quiet();
        }
    }
    close_state();
}

static enum kg_code (*real_digest)(struct kg_device *, const struct kg_dspan *, size_t,
                                   struct kg_digest *, struct kg_err *);

static enum kg_code slow_digest(struct kg_device *d, const struct kg_dspan *span, size_t n,
                                struct kg_digest *out, struct kg_err *e)
{
    usleep(n > 1 ? (unsigned)slow_us : 0); /* of an answer, which has two tensors here */
    return real_digest(d, span, n, out, e);
}

/* Begun behind the set-up, and still there when the answer is digested. */
static void a_device_that_is_busy_at_the_end_is_loud(void **state)
{
    (void)state;
    open_state("cpu");
    ready();
    real_digest = ops.digest;
    ops.digest = slow_digest;
    for (int clock = 0; clock < 2; clock++) {
        s->dev.facts.clock = clock == 1;
        for (slow_us = 1000; slow_us < 400000; slow_us *= 300) {
            candidate_is_loud(clock == 1 && slow_us > 1000);
            assert_true(rep.report.close_ns >= slow_us * 1000 &&
                        rep.report.window_ns >= rep.report.close_ns);
            assert_true(rep.report.answer_ns > 0);
            assert_true(rep.report.setup_ns + rep.report.answer_ns + rep.report.close_ns <=
                        rep.report.window_ns);
            assert_true(rep.report.setup_ns < 100000000);
            untimed_is_quiet();
        }
    }
    slow_us = 1000; /* a null candidate's end is that of an answer, and as quiet */
    req.timed = 1;
    is_quiet(KG_TC_NULL);
    slow_us = 300000;
    assert_int_equal(command(KG_TC_NULL, KG_DJ_NONE), KG_OK);
    assert_true(rep.report.loud);
    s->cases[0]->close_bytes++; /* of answers of another length nothing is known */
    is_quiet(KG_TC_NULL);
    close_state();
}

/* --- a host that fails --- */
static int failing;

static enum kg_code broken_sync(struct kg_device *d, struct kg_err *e)
{
    (void)d;
    return failing-- == 0 ? kg_fail(e, KG_E_HOST, "the device is gone") : KG_OK;
}

/* Every sync that there is, failing once: an error with its message, never an answer. */
static void a_device_that_fails_is_an_error(void **state)
{
    (void)state;
    open_state("cpu");
    ready();
    ops.sync = broken_sync;
    static const uint32_t op[] = {KG_DJM_FILL, KG_DJM_EDIT, KG_DJM_RUN, KG_DJM_RUN};
    static const int at[] = {0, 0, 0, 1};
    for (int i = 0; i < 4; i++) {
        failing = at[i];
        enum kg_code code =
            op[i] == KG_DJM_RUN ? command(KG_TC_CALL, KG_DJ_CANDIDATE) : serve(op[i]);
        assert_int_equal(code, KG_E_HOST);
        assert_string_equal(rep.message, "the device is gone");
        failing = -1;
        assert_int_equal(serve(KG_DJM_COMPARE), KG_E_GYM);
        if (op[i] == KG_DJM_RUN) { /* the runner was not released, or has answered */
            assert_int_equal(command(KG_TC_CALL, KG_DJ_FLOAT), KG_OK);
            assert_int_equal(rep.report.status, KG_DJ_ANSWERED);
        }
    }
    close_state();
}

static enum kg_code (*real_alloc)(struct kg_device *, uint64_t, uint64_t *, struct kg_err *);

static enum kg_code poor_alloc(struct kg_device *d, uint64_t bytes, uint64_t *at, struct kg_err *e)
{
    return failing-- == 0 ? kg_fail(e, KG_E_HOST, "no memory") : real_alloc(d, bytes, at, e);
}

/* The n-th allocation fails, for every n that a whole evaluation has; then everything again. */
static void every_allocation_fails_once(void **state)
{
    (void)state;
    for (int n = 0; n < 4; n++) {
        open_state("cpu");
        real_alloc = ops.alloc;
        ops.alloc = poor_alloc;
        failing = n;
        enum kg_code code = fill();
        assert_int_equal(code, n == 0 ? KG_E_HOST : KG_OK);
        code = code == KG_OK ? command(KG_TC_BIND, KG_DJ_NONE) : code;
        for (enum kg_dj_side side = KG_DJ_FLOAT; side <= KG_DJ_CANDIDATE && code == KG_OK; side++) {
            code = command(KG_TC_CALL, side);
        }
        assert_int_equal(code, KG_E_HOST);
        assert_string_equal(rep.message, "no memory");
        failing = -1;
        int64_t held = s->held;
        ready();
        assert_int_equal(command(KG_TC_CALL, KG_DJ_CANDIDATE), KG_OK);
        assert_int_equal(serve(KG_DJM_COMPARE), KG_OK);
        assert_true(rep.judgement.compare.pass && s->held >= held);
        kg_dj_case_drop(s, 0);
        kg_dj_answer_drop(s, &s->candidate);
        assert_int_equal(s->held, 0);
        close_state();
    }
}

/* An oracle whose floating answer is no double, because the module casts: it is one in memory. */
static void an_oracle_of_floats_is_widened(void **state)
{
    (void)state;
    open_state("cpu");
    assert_int_equal(fill(), KG_OK);
    assert_int_equal(command(KG_TC_BIND, KG_DJ_NONE), KG_OK);
    assert_int_equal(command(KG_TC_CALL, KG_DJ_FLOAT), KG_OK);
    req.command = KG_TC_CALL;
    req.keep = KG_DJ_ORACLE;
    req.flags = 0;
    assert_int_equal(serve(KG_DJM_RUN), KG_OK);
    assert_int_equal(rep.report.leaf[0].dtype, KG_TD_F32);
    assert_int_equal(serve(KG_DJM_SELF), KG_OK);
    assert_int_equal(rep.flag, 1);
    const struct kg_dj_answer *o = &s->cases[0]->side[1], *r = &s->cases[0]->side[0];
    for (int i = 0; i < ROWS * COLS; i++) {
        assert_true(((double *)(uintptr_t)o->at[0])[i] == ((float *)(uintptr_t)r->at[0])[i]);
    }
    close_state();
}

static void the_same_values_are_the_same_inputs(void **state)
{
    (void)state;
    open_state("cpu");
    ready();
    struct kg_digest first = s->cases[0]->inputs;
    ready();
    assert_true(kg_dj_same_digest(s->cases[0]->inputs, first));
    assert_int_equal(serve(KG_DJM_EDIT), KG_OK);
    assert_int_equal(command(KG_TC_CALL, KG_DJ_CANDIDATE), KG_OK);
    assert_false(kg_dj_same_digest(s->cases[0]->inputs, first));
    assert_true(kg_dj_same_digest(s->cases[0]->twin, first));
    close_state();
}

/* A case of the same inputs, and its own: what becomes of it is not the other's. */
static void a_copy_has_the_same_inputs(void **state)
{
    (void)state;
    open_state("cpu");
    ready();
    struct kg_digest first = s->cases[0]->inputs;
    req.id = 1;
    assert_int_equal(serve(KG_DJM_COPY), KG_OK);
    assert_int_equal(command(KG_TC_BIND, KG_DJ_NONE), KG_OK);
    assert_int_equal(command(KG_TC_CALL, KG_DJ_FLOAT), KG_OK);
    assert_true(kg_dj_same_digest(s->cases[1]->inputs, first));
    assert_int_equal(serve(KG_DJM_EDIT), KG_OK);
    assert_int_equal(command(KG_TC_CALL, KG_DJ_FLOAT), KG_OK);
    assert_false(kg_dj_same_digest(s->cases[1]->inputs, first));
    assert_true(kg_dj_same_digest(s->cases[0]->inputs, first));
    req.from = 1;
    assert_int_equal(serve(KG_DJM_COPY), KG_E_GYM);
    assert_string_equal(rep.message, "judge: case 1 cannot be copied onto itself");
    req.from = 2;
    assert_int_equal(serve(KG_DJM_COPY), KG_E_GYM);
    assert_string_equal(rep.message, "judge: case 2 was not begun");
    assert_int_equal(fill(), KG_OK);
    assert_int_equal(serve(KG_DJM_BEGIN), KG_OK); /* without values */
    req.id = 1;
    assert_int_equal(serve(KG_DJM_COPY), KG_E_GYM);
    assert_string_equal(rep.message, "judge: tensor 0 of the case has no values");
    assert_non_null(s->cases[1]); /* what there was is still there */
    ops.sync = broken_sync;
    assert_int_equal((req.id = 0, fill()), KG_OK);
    failing = 0;
    req.id = 1;
    assert_int_equal(serve(KG_DJM_COPY), KG_E_HOST);
    failing = -1;
    close_state();
}

static void compare_left(int at, int was, int leaf, bool pass, double moved)
{
    req.at = at;
    req.lent = was;
    assert_int_equal(serve(KG_DJM_COMPARE_LEFT), KG_OK);
    assert_int_equal(rep.judgement.leaf, leaf);
    assert_int_equal(rep.judgement.compare.pass, pass);
    assert_true(fabs(rep.judgement.moved - moved) < 1e-6);
}

/* Each tensor for itself, and how far it is from what it was: here from an input. */
static void state_is_compared_tensor_by_tensor(void **state)
{
    (void)state;
    open_state("cpu");
    ready();
    assert_int_equal(command(KG_TC_CALL, KG_DJ_CANDIDATE), KG_OK);
    const struct kg_dj_case *c = s->cases[0];
    const float *x = (const float *)(uintptr_t)(c->block + c->leaf[0].offset);
    float *y = (float *)(uintptr_t)s->candidate.at[0];
    int32_t *pick = (int32_t *)(uintptr_t)s->candidate.at[1];
    double sum = 0;
    for (int i = 1; i < ROWS * COLS; i++) {
        sum += fabs((double)y[i] - (double)x[i]);
    }
    y[0] = NAN; /* which has no distance */
    compare_left(0, 0, 0, false, sum / (ROWS * COLS - 1));
    assert_true(rep.judgement.compare.nonfinite);
    compare_left(1, 1, 1, true, 0);
    pick[3] += 100; /* of integers the number counts */
    compare_left(1, 1, 1, false, 1.0 / ROWS);
    compare_left(1, 0, 1, false, -1); /* another number of elements */
    req.lent = 2;
    assert_int_equal(serve(KG_DJM_COMPARE_LEFT), KG_E_GYM);
    assert_string_equal(rep.message, "judge: case 0 and case 0 have no such tensors");
    req.lent = 0;
    req.at = 2;
    assert_int_equal(serve(KG_DJM_COMPARE_LEFT), KG_E_GYM);
    req.at = 0;
    req.from = 3;
    assert_int_equal(serve(KG_DJM_COMPARE_LEFT), KG_E_GYM);
    assert_string_equal(rep.message, "judge: case 3 was not begun");
    close_state();
}

/* The edit changes one element of one floating input, to another value of it, by its key. */
static void an_edit_is_of_one_element(void **state)
{
    (void)state;
    static float before[ROWS * COLS];
    open_state("cpu");
    int different = 0, last = -1;
    for (uint64_t key = 0; key < 8; key++) {
        assert_int_equal(fill(), KG_OK);
        const struct kg_dj_case *c = s->cases[0];
        const float *x = (const float *)(uintptr_t)(c->block + c->leaf[0].offset);
        const int32_t *i32 = (const int32_t *)(uintptr_t)(c->block + c->leaf[1].offset);
        int32_t ints[ROWS];
        memcpy(before, x, sizeof before);
        memcpy(ints, i32, sizeof ints);
        req.law.key = (struct kg_key){{key, 1}};
        assert_int_equal(serve(KG_DJM_EDIT), KG_OK);
        int at = -1, changed = 0;
        for (int i = 0; i < ROWS * COLS; i++) {
            if (x[i] != before[i]) {
                changed++;
                at = i;
            }
        }
        assert_int_equal(changed, 1);
        assert_int_equal(at % 2, 1);
        assert_true(x[at] >= -1 && x[at] < 1 && fabsf(x[at] - before[at]) > 0.5F);
        assert_memory_equal(ints, i32, sizeof ints);
        different += at != last;
        last = at;
    }
    assert_true(different > 5);
    memset(&req, 0, sizeof req); /* nothing to edit */
    req.nleaf = 1;
    v_leaf(&req.leaf[0], KG_TD_I32, 4, 0);
    assert_int_equal(serve(KG_DJM_BEGIN), KG_OK);
    assert_int_equal(serve(KG_DJM_EDIT), KG_E_GYM);
    assert_int_equal(serve(KG_DJM_FILL), KG_OK);
    assert_int_equal(serve(KG_DJM_EDIT), KG_E_GYM);
    assert_string_equal(rep.message, "judge: case 0 has no floating input 0 to edit");
    req.at = 1; /* there is one */
    assert_int_equal(serve(KG_DJM_EDIT), KG_E_GYM);
    assert_string_equal(rep.message, "judge: case 0 has no floating input 1 to edit");
    close_state();
}

static const float *filled(uint64_t n, struct kg_dj_law law)
{
    memset(&req, 0, sizeof req);
    req.nleaf = 1;
    v_leaf(&req.leaf[0], KG_TD_F32, (int64_t)n, 0);
    assert_int_equal(serve(KG_DJM_BEGIN), KG_OK);
    req.law = law;
    assert_int_equal(serve(KG_DJM_FILL), KG_OK);
    const struct kg_dj_case *c = s->cases[0];
    return (const float *)(uintptr_t)(c->block + c->leaf[0].offset);
}

/* The sum of a part is not that of another one, nor is the end like the rest. Small tensors are
 * even. */
static void parts_are_uneven(void **state)
{
    (void)state;
    enum { N = 8192 + 70, MANY = 64 * 1024 + 6, PART = N / 8 / 64 * 64 };
    int spikes = 0;
    open_state("cpu");
    for (uint64_t key = 0; key < 20; key++) {
        struct kg_dj_law law = {.kind = KG_DJ_CONSTANT, .key = {{key, 1}}, .a = 8};
        law.uneven = KG_DJ_EIGHTHS;
        const float *x = filled(N, law);
        float was = 0;
        for (int i = 0; i < N; i++) {
            bool begins = i % PART == 0 && i / PART < 8;
            assert_true(x[i] >= 4 && x[i] <= 16 && (x[i] == was) == !begins);
            was = x[i];
        }
        law = (struct kg_dj_law){.kind = KG_DJ_SPIKE, .key = {{key, 1}}, .a = 1, .b = 2};
        law.uneven = KG_DJ_TILES;
        const int sizes[] = {N, MANY};
        for (int k = 0; k < 2; k++) {
            const float factor = sqrtf((float)sizes[k] / 64);
            x = filled((uint64_t)sizes[k], law);
            int large = 0, end = 0, tiles = 0;
            for (int i = 0; i < sizes[k]; i++) {
                large += fabsf(x[i]) >= 1e4F;
                end += x[i] >= factor && x[i] < 2 * factor;
                tiles += x[i] >= factor / 2 && x[i] < factor;
            }
            assert_true(end >= 64 && end <= 127 && x[sizes[k] - 1] >= factor);
            assert_true(k == 0 ? tiles == 0 : tiles > 64 * 8 && tiles <= 64 * 15);
            spikes += large;
            assert_true(large == 1 || k == 1);
        }
        x = filled(1023, law);
        assert_true(x[1000] < 2);
    }
    assert_in_range(spikes, 36, 40); /* one in each, but for one that a tile falls on */
    close_state();
}

/* Three or four elements of either sign, at random places, odd or even; the key tells which. Large:
 * one of them is, and is positive. */
static void few_elements_are_touched(void **state)
{
    (void)state;
    static float before[ROWS * COLS];
    bool was[ROWS * COLS] = {false};
    open_state("cpu");
    int places = 0;
    for (uint64_t key = 0; key < 20; key++) {
        assert_int_equal(fill(), KG_OK);
        const struct kg_dj_case *c = s->cases[0];
        const float *x = (const float *)(uintptr_t)(c->block + c->leaf[0].offset);
        memcpy(before, x, sizeof before);
        req.law = (struct kg_dj_law){.key = {{key, key / 2}}, .a = 3, .b = (double)(key % 2)};
        assert_int_equal(serve(KG_DJM_TOUCH), KG_OK);
        int changed = 0, up = 0, down = 0, large = 0;
        for (int i = 0; i < ROWS * COLS; i++) {
            if (x[i] != before[i]) {
                float size = fabsf(x[i]);
                assert_true(size >= 6 && (size <= 192 || (key % 2 && size >= 384 && size <= 3072)));
                assert_int_equal(i % 2, key / 2 % 2);
                changed++;
                large += size > 192;
                up += x[i] > 0;
                down += x[i] < 0;
                places += !was[i];
                was[i] = true;
            }
        }
        assert_in_range(changed, 2, 4); /* two may meet */
        assert_true(up > 0 && down > 0 && (large > 0) == (key % 2 == 1));
    }
    assert_true(places > 20);
    req.at = 1;
    assert_int_equal(serve(KG_DJM_TOUCH), KG_E_GYM);
    assert_string_equal(rep.message, "judge: case 0 has no floating input 1 with values to touch");
    req.id = 1;
    assert_int_equal(serve(KG_DJM_TOUCH), KG_E_GYM);
    memset(&req, 0, sizeof req);
    req.nleaf = 1;
    v_leaf(&req.leaf[0], KG_TD_F16, 5, 0);
    assert_int_equal(serve(KG_DJM_BEGIN), KG_OK);
    req.law = (struct kg_dj_law){.a = 6e4};
    assert_int_equal(serve(KG_DJM_TOUCH), KG_E_GYM); /* it has no values yet */
    req.law = (struct kg_dj_law){.kind = KG_DJ_CONSTANT};
    assert_int_equal(serve(KG_DJM_FILL), KG_OK);
    req.law = (struct kg_dj_law){.a = 6e4};
    assert_int_equal(serve(KG_DJM_TOUCH), KG_OK); /* of five elements one */
    const struct kg_dj_case *c = s->cases[0];
    const void *half = (const void *)(uintptr_t)(c->block + c->leaf[0].offset);
    int changed = 0;
    for (uint64_t i = 0; i < 5; i++) {
        double v = kg_dj_load(KG_TD_F16, half, i);
        assert_true(v == 0 || fabs(v) == 3e4);
        changed += v != 0;
    }
    assert_int_equal(changed, 1);
    close_state();
}

/* --- what is remembered of answers --- */
static struct kg_dj_seen seen(int leaf, uint64_t answer, uint64_t expected, uint64_t inputs,
                              bool right)
{
    return (struct kg_dj_seen){.answer = {{answer, 1}},
                               .expected = {{expected, 1}},
                               .inputs = {{inputs, 1}},
                               .leaf = leaf,
                               .right = right,
                               .has_expected = true};
}

static void ask(const struct kg_dj_ring *r, int leaf, uint64_t answer, uint64_t expected,
                uint64_t inputs, bool stale, bool right)
{
    struct kg_dj_seen q = seen(leaf, answer, expected, inputs, false);
    assert_int_equal(kg_dj_ring_stale(r, &q), stale);
    assert_int_equal(kg_dj_ring_right(r, &q, q.inputs, false), right);
}

static void the_ring_tells_replays_from_repetitions(void **state)
{
    (void)state;
    struct kg_dj_ring *r = calloc(1, sizeof *r);
    assert_non_null(r);
    struct kg_dj_seen a = seen(0, 10, 11, 1, true);
    kg_dj_ring_add(r, &a);
    kg_dj_ring_add(r, &a);
    assert_int_equal(r->n, 1);
    ask(r, 0, 10, 12, 2, true, true);   /* right for other inputs, to which another was expected */
    ask(r, 0, 10, 11, 2, false, true);  /* the same was expected */
    ask(r, 0, 10, 12, 1, false, false); /* the same inputs */
    ask(r, 1, 10, 12, 2, false, false); /* another tensor */
    ask(r, 0, 11, 12, 2, false, true);  /* bit for bit what was expected then */
    ask(r, 0, 99, 12, 2, false, false);
    struct kg_dj_seen wrong = seen(0, 50, 51, 3, false);
    kg_dj_ring_add(r, &wrong); /* never right: says nothing */
    ask(r, 0, 50, 52, 4, false, false);
    wrong.right = true; /* it was compared, and is right after all */
    kg_dj_ring_add(r, &wrong);
    ask(r, 0, 50, 52, 4, true, true);
    struct kg_dj_seen q = seen(0, 10, 12, 2, false); /* the twin alone, or all but the twin */
    assert_true(kg_dj_ring_right(r, &q, a.inputs, true));
    assert_false(kg_dj_ring_right(r, &q, a.inputs, false));
    for (uint64_t i = 0; i < KG_DJ_RING; i++) {
        struct kg_dj_seen more = seen(0, 1000 + i, 1000 + i, 1000 + i, true);
        kg_dj_ring_add(r, &more);
    }
    assert_int_equal(r->n, KG_DJ_RING);
    ask(r, 0, 10, 12, 2, false, false); /* long ago */
    ask(r, 0, 1000, 12, 2, true, true);
    free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_write_between_digest_and_copy_is_seen),
        cmocka_unit_test(who_answers_early_gets_no_inputs),
        cmocka_unit_test(a_busy_device_is_loud),
        cmocka_unit_test(a_device_that_is_busy_at_the_end_is_loud),
        cmocka_unit_test(a_device_that_fails_is_an_error),
        cmocka_unit_test(every_allocation_fails_once),
        cmocka_unit_test(an_oracle_of_floats_is_widened),
        cmocka_unit_test(the_same_values_are_the_same_inputs),
        cmocka_unit_test(a_copy_has_the_same_inputs),
        cmocka_unit_test(state_is_compared_tensor_by_tensor),
        cmocka_unit_test(an_edit_is_of_one_element),
        cmocka_unit_test(few_elements_are_touched),
        cmocka_unit_test(parts_are_uneven),
        cmocka_unit_test(the_ring_tells_replays_from_repetitions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

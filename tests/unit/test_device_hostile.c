#include "device_rig.h"

#include <fcntl.h>
#include <linux/falloc.h>

/* Runners that lie, cheat the protocol, attack the shared memory, or die. */

/* --- protocol --- */
static bool done_before_go(struct view *v)
{
    v_honest(v);
    if (v->w->command == KG_TC_BIND) {
        v_done(v, v->seen);
        usleep(50000); /* the broker has its answer: now the next one, unasked */
        atomic_store(&v->w->done, v->seen + 1);
        return true;
    }
    return false;
}

static bool answers_twice(struct view *v)
{
    v_honest(v);
    if (is_call(v)) {
        v_done(v, v->seen + 1);
        return true;
    }
    return false;
}

static bool moves_go(struct view *v)
{
    v_honest(v);
    if (is_call(v)) {
        atomic_store(&v->w->go, v->seen + 5);
        v->seen += 5;
        v_done(v, v->seen);
        return true;
    }
    return false;
}

ON_CALL(wrong_nonce, v->w->nonce[1] ^= 1)
ON_CALL(status_unknown, v->w->status = KG_TA_COUNT)

/* --- leaves --- */
ON_CALL(too_many, v->w->nreply = KG_TWIRE_LEAVES + 1)
ON_CALL(far_too_many, v->w->nreply = UINT32_MAX)
ON_CALL(offset_beyond, v->w->out[0].offset = REGION)
ON_CALL(offset_wraps, v->w->out[0].offset = UINT64_MAX - 64)
ON_CALL(end_beyond, v->w->out[0].offset = REGION - 4096)
/* Each of them fits; to copy them all takes more than the judge may have. */
static bool one_above_the_other(struct view *v)
{
    v_honest(v);
    for (uint32_t i = 0; is_call(v) && i < KG_TWIRE_LEAVES; i++) {
        v_leaf(&v->w->out[i], KG_TD_U8, REGION / 2, 0);
        v->w->out[i].bytes = REGION / 2;
        v->w->out[i].offset = KG_TWIRE_GUARD + i;
        v->w->nreply = KG_TWIRE_LEAVES;
    }
    return false;
}

ON_CALL(odd_offset, v->w->out[0].offset++)
ON_CALL(huge_rank, v->w->out[0].rank = UINT32_MAX)
ON_CALL(rank_of_nine, v->w->out[0].rank = KG_TWIRE_RANK + 1)
ON_CALL(negative_dim, v->w->out[0].shape[0] = -ROWS)
ON_CALL(two_negative_dims, (v->w->out[0].shape[0] = -ROWS, v->w->out[0].shape[1] = -COLS))
ON_CALL(product_wraps,
        (v->w->out[0].rank = 3, v->w->out[0].shape[0] = v->w->out[0].shape[1] = (int64_t)1 << 32,
         v->w->out[0].shape[2] = 1, v->w->out[0].bytes = 0))
ON_CALL(bytes_unlike, v->w->out[0].bytes -= 4)
ON_CALL(no_dtype, v->w->out[0].dtype = KG_TD_COUNT)
ON_CALL(wild_dtype, v->w->out[0].dtype = UINT32_MAX)
ON_CALL(endless_name, memset(v->w->out[0].name, 'x', sizeof v->w->out[0].name))
ON_CALL(endless_structure, memset(v->w->structure, 'T', sizeof v->w->structure))
ON_CALL(unprintable_structure, strcpy(v->w->structure, "T\033[2J"))
ON_CALL(wild_alias, v->w->out[0].aliases = UINT32_MAX)

static const struct {
    const char *name;
    behaviour how;
} liars[] = {
    {"answers twice", answers_twice},
    {"moves go", moves_go},
    {"wrong nonce", wrong_nonce},
    {"no such status", status_unknown},
    {"too many", too_many},
    {"far too many", far_too_many},
    {"offset beyond", offset_beyond},
    {"offset wraps", offset_wraps},
    {"end beyond", end_beyond},
    {"one above the other", one_above_the_other},
    {"odd offset", odd_offset},
    {"huge rank", huge_rank},
    {"rank of nine", rank_of_nine},
    {"negative dim", negative_dim},
    {"two negative dims", two_negative_dims},
    {"product wraps", product_wraps},
    {"bytes unlike the shape", bytes_unlike},
    {"no dtype", no_dtype},
    {"wild dtype", wild_dtype},
    {"endless name", endless_name},
    {"endless structure", endless_structure},
    {"unprintable structure", unprintable_structure},
    {"wild alias", wild_alias},
};

static void lies_are_protocol_errors(void **state)
{
    (void)state;
    struct kg_dj j = start_judge("cpu");
    struct runner ref = start_runner(&j, honest);
    struct kg_dj_judgement v;
    fill_case(&j, 0, 1);
    expect(&j, &ref, 0);
    for (size_t i = 0; i < sizeof liars / sizeof *liars; i++) {
        struct runner cand = start_runner(&j, liars[i].how);
        struct kg_dj_report r = run(&j, &cand, 0, KG_TC_BIND, KG_DJ_NONE);
        good(&r);
        r = run(&j, &cand, 0, KG_TC_CALL, KG_DJ_CANDIDATE);
        if (r.status != KG_DJ_PROTOCOL) {
            printf("%s: status %d\n", liars[i].name, (int)r.status);
        }
        assert_int_equal(r.status, KG_DJ_PROTOCOL);
        assert_int_equal(r.nleaves, 0);
        assert_int_equal(kg_dj_compare(&j, 0, false, &v, &err), KG_E_GYM);
        end_runner(&j, &cand);
    }
    run(&j, &ref, 0, KG_TC_CALL, KG_DJ_CANDIDATE); /* the judge is as before */
    assert_true(compare(&j, 0).compare.pass);
    end_runner(&j, &ref);
    kg_dj_stop(&j);
}

static void an_answer_before_the_question(void **state)
{
    (void)state;
    struct kg_dj j = start_judge("cpu");
    struct runner cand = start_runner(&j, done_before_go);
    fill_case(&j, 0, 1);
    struct kg_dj_report r = run(&j, &cand, 0, KG_TC_BIND, KG_DJ_NONE);
    good(&r);
    usleep(150000);
    r = run(&j, &cand, 0, KG_TC_CALL, KG_DJ_CANDIDATE);
    assert_int_equal(r.status, KG_DJ_PROTOCOL);
    end_runner(&j, &cand);
    kg_dj_stop(&j);
}

static void a_deadline(void **state)
{
    (void)state;
    struct kg_dj j = start_judge("cpu");
    struct runner cand = start_runner(&j, never_answers);
    struct kg_dj_report r;
    fill_case(&j, 0, 1);
    run(&j, &cand, 0, KG_TC_BIND, KG_DJ_NONE);
    struct kg_dj_call c = call_of(&cand, 0, KG_TC_CALL, KG_DJ_CANDIDATE);
    c.deadline_ns = kg_clock_ns() + 100000000;
    OK(kg_dj_run(&j, &c, &r, &err));
    assert_int_equal(r.status, KG_DJ_LATE);
    assert_true(kg_clock_ns() >= c.deadline_ns);
    OK(kg_dj_run(&j, &c, &r, &err)); /* whoever is late once has an answer in debt */
    assert_int_equal(r.status, KG_DJ_PROTOCOL);
    end_runner(&j, &cand);
    kg_dj_stop(&j);
}

/* --- deaths --- */
ON_CALL(dies_in_call, _exit(7))

static bool dies_after_bind(struct view *v)
{
    v_honest(v);
    v_done(v, v->seen);
    _exit(7);
}

static void deaths(void **state)
{
    (void)state;
    behaviour how[] = {dies_in_call, dies_after_bind};
    for (int i = 0; i < 2; i++) {
        struct kg_dj j = start_judge("cpu");
        struct runner cand = start_runner(&j, how[i]);
        fill_case(&j, 0, 1);
        struct kg_dj_report r = run(&j, &cand, 0, KG_TC_BIND, KG_DJ_NONE);
        good(&r); /* it answered, and then it died: the answer stands */
        int64_t before = kg_clock_ns();
        r = run(&j, &cand, 0, KG_TC_CALL, KG_DJ_CANDIDATE);
        assert_int_equal(r.status, KG_DJ_DIED);
        assert_true(kg_clock_ns() - before < 10000000000); /* long before the deadline */
        end_runner(&j, &cand);
        kg_dj_stop(&j);
    }
}

/* --- the shared memory --- */

/* Each attack must fail; the first that does not ends the runner with its number. */
static bool resizes(struct view *v)
{
    v_honest(v);
    for (int k = 0; k < 3; k++) {
        if (ftruncate(v->fd[k], 0) == 0 || ftruncate(v->fd[k], 1 << 30) == 0) {
            _exit(10 + k);
        }
    }
    return false;
}

static bool writes_inputs(struct view *v)
{
    v_honest(v);
    char byte = 1, path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", v->fd[1]);
    int again = open(path, O_RDWR);
    int fds[2] = {v->fd[1], again};
    for (int k = 0; k < 2 && fds[k] >= 0; k++) {
        if (mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fds[k], 0) != MAP_FAILED) {
            _exit(20);
        }
        if (pwrite(fds[k], &byte, 1, KG_TWIRE_GUARD) > 0 ||
            fallocate(fds[k], FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, REGION) == 0) {
            _exit(21);
        }
    }
    union {
        const unsigned char *c;
        void *p;
    } in = {.c = v->in};
    if (mprotect(in.p, 4096, PROT_READ | PROT_WRITE) == 0 ||
        madvise(in.p, 4096, MADV_REMOVE) == 0) {
        _exit(22);
    }
    return false;
}

/* Whatever it makes of its own output region is its own loss. */
static bool punches_output(struct view *v)
{
    v_honest(v);
    if (is_call(v)) {
        fallocate(v->fd[2], FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, REGION);
        munmap(v->out, REGION);
        v_done(v, v->seen);
        for (;;) {
            pause();
        }
    }
    return false;
}

static void attacks_on_the_regions(void **state)
{
    (void)state;
    behaviour how[] = {resizes, writes_inputs};
    for (int i = 0; i < 2; i++) {
        struct kg_dj j = start_judge("cpu");
        struct runner ref = start_runner(&j, honest), cand = start_runner(&j, how[i]);
        assert_true(j.facts.sealed);
        fill_case(&j, 0, 1);
        expect(&j, &ref, 0);
        struct kg_dj_report r = run(&j, &cand, 0, KG_TC_BIND, KG_DJ_NONE);
        assert_int_equal(r.status, KG_DJ_ANSWERED);
        r = run(&j, &cand, 0, KG_TC_CALL, KG_DJ_CANDIDATE);
        good(&r);
        assert_true(compare(&j, 0).compare.pass);
        end_runner(&j, &cand);
        end_runner(&j, &ref);
        kg_dj_stop(&j);
    }
}

static void a_hole_in_the_output_is_a_wrong_answer(void **state)
{
    (void)state;
    struct kg_dj j = start_judge("cpu");
    struct runner ref = start_runner(&j, honest), cand = start_runner(&j, punches_output);
    fill_case(&j, 0, 1);
    expect(&j, &ref, 0);
    run(&j, &cand, 0, KG_TC_BIND, KG_DJ_NONE);
    struct kg_dj_report r = run(&j, &cand, 0, KG_TC_CALL, KG_DJ_CANDIDATE);
    assert_int_equal(r.status, KG_DJ_ANSWERED);
    assert_true(r.guard_hit);
    assert_false(compare(&j, 0).compare.pass);
    end_runner(&j, &cand);
    end_runner(&j, &ref);
    kg_dj_stop(&j);
}

/* `fake`: inputs can be written, as on a GPU. They are looked at after every call, as are guards.
 */
static void flip(struct view *v, uint64_t at)
{
    union {
        const unsigned char *c;
        unsigned char *p;
    } in = {.c = v->in};
    in.p[at] ^= 1;
}

ON_CALL(writes_x, flip(v, v->bound[0].offset + 17))
ON_CALL(writes_i, flip(v, v->bound[1].offset + 17))
ON_CALL(writes_guard_of_in, flip(v, v->bound[1].offset + v->bound[1].bytes))
ON_CALL(writes_guard_of_out, v->out[v->w->out[1].offset + v->w->out[1].bytes] ^= 1)

static struct kg_dj_report called(struct kg_dj *j, const struct runner *cand, bool timed)
{
    struct kg_dj_report r;
    struct kg_dj_call c = call_of(cand, 0, KG_TC_CALL, KG_DJ_CANDIDATE);
    c.timed = timed;
    assert_int_equal(kg_dj_run(j, &c, &r, &err), KG_OK);
    return r;
}

static void inputs_and_guards_are_checked(void **state)
{
    (void)state;
    const struct {
        behaviour how;
        bool modified;
        int at;
        bool guard;
    } row[] = {{honest, false, 0, false},
               {writes_x, true, 0, false},
               {writes_i, true, 1, false},
               {writes_guard_of_in, true, 0, false},
               {writes_guard_of_out, false, 0, true}};
    struct kg_dj j = start_judge("fake");
    struct runner ref = start_runner(&j, honest);
    assert_false(j.facts.sealed);
    fill_case(&j, 0, 1);
    expect(&j, &ref, 0);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct runner cand = start_runner(&j, row[i].how);
        run(&j, &cand, 0, KG_TC_BIND, KG_DJ_NONE);
        for (int timed = 0; timed < 2; timed++) { /* the masters are not what was modified */
            struct kg_dj_report r = called(&j, &cand, timed);
            assert_int_equal(r.status, KG_DJ_ANSWERED);
            assert_int_equal(r.input_modified, row[i].modified);
            assert_int_equal(r.input_at, row[i].at);
            assert_int_equal(r.guard_hit, row[i].guard);
            assert_true(compare(&j, 0).compare.pass);
        }
        end_runner(&j, &cand);
    }
    end_runner(&j, &ref);
    kg_dj_stop(&j);
}

/* Changes its answer, a large one, for ever, from a second process. */
static bool keeps_writing(struct view *v)
{
    static bool forked;
    v_honest(v);
    if (!is_call(v)) {
        return false;
    }
    v_leaf(&v->w->out[0], KG_TD_U8, REGION - 8192, 0);
    kg_twire_place(v->w->out, 1);
    v->w->nreply = 1;
    if (!forked && fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        volatile unsigned char *y = v->out + v->w->out[0].offset;
        for (int i = 0;; i++) {
            y[i % (REGION - 8192)]++;
        }
    }
    forked = true;
    return false;
}

/* Whether the writer runs between the two digests is the scheduler's choice: asked until it did. */
static void writing_after_the_reply(void **state)
{
    (void)state;
    struct kg_dj j = start_judge("cpu");
    struct runner cand = start_runner(&j, keeps_writing);
    bool seen = false;
    fill_case(&j, 0, 1);
    run(&j, &cand, 0, KG_TC_BIND, KG_DJ_NONE);
    for (int64_t end = kg_clock_ns() + 30000000000; !seen && kg_clock_ns() < end;) {
        struct kg_dj_report r = run(&j, &cand, 0, KG_TC_CALL, KG_DJ_CANDIDATE);
        assert_int_equal(r.status, KG_DJ_ANSWERED);
        seen = r.late_write;
    }
    assert_true(seen);
    end_runner(&j, &cand);
    kg_dj_stop(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lies_are_protocol_errors),
        cmocka_unit_test(an_answer_before_the_question),
        cmocka_unit_test(a_deadline),
        cmocka_unit_test(deaths),
        cmocka_unit_test(attacks_on_the_regions),
        cmocka_unit_test(a_hole_in_the_output_is_a_wrong_answer),
        cmocka_unit_test(inputs_and_guards_are_checked),
        cmocka_unit_test(writing_after_the_reply),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

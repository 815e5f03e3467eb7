/* A judge or a reference that cannot do its part while a candidate is there: whose doing that is.
 * On the CPU, with the judge's failures made up by the test (kg_torch_test), and evaluations that
 * share a device or have it alone as they do a GPU. Skipped where Python lacks torch. */
#include "torch_eval_rig.h"

#include <signal.h>

#include "gym/eval/accidents.h"
#include "gym/torch/executor/torch_worker.h"
#include "gym/torch/timing/torch_pairs.h"

/* Of the candidate's timed calls, in all attempts together: how many the judge fails. */
static struct {
    int left, failed;
    enum kg_code code;
    bool strained;
    const char *message;
} fault;

static const char no_memory[] = "judge: the device has no memory for 4096 bytes";
static const char gone[] = "CUDA: wait: CUDA_ERROR_ILLEGAL_ADDRESS (700: illegal address)";
static const char full[] = "scratch: no room left on the disk";

static enum kg_code failing(struct kg_dj *j, const struct kg_dj_call *c, struct kg_dj_report *out,
                            struct kg_err *err)
{
    const struct kg_torch *t = kg_torch_of(worker);
    bool cand = c->port != t->instance[KG_INSTANCE_PUBLISHED].ref.port && c->port != t->null.port;
    if (cand && c->command == KG_TC_CALL && fault.left > 0) {
        fault.left--;
        fault.failed++;
        kg_fail(err, fault.code, "%s", fault.message);
        err->strained = fault.strained;
        err->memory = fault.message == no_memory;
        return err->code;
    }
    return kg_dj_run(j, c, out, err);
}

static int setup(void **state)
{
    (void)state;
    rig_defaults();
    config.deadline_run = 3;
    config.torch_first_call = 3;
    config.timing_blocks = config.timing_min_blocks = 1;
    return rig_open();
}

static const struct {
    const char *message, *want;
    enum kg_code code;
    int times, failed;
    bool strained, device;
} rows[] = {
    /* once is an accident */
    {no_memory, "ok", KG_E_HOST, 1, 1, true, false},
    {no_memory, "ok", KG_E_LIMIT, 1, 1, true, true},
    /* twice, and not beside a known-good candidate */
    {no_memory, "out_of_memory/device", KG_E_HOST, 2, 2, true, true},
    {no_memory, "out_of_memory/device", KG_E_LIMIT, 2, 2, true, true},
    {no_memory, "crash/protocol", KG_E_HOST, 2, 2, true, false},
    {gone, "crash/protocol", KG_E_HOST, 2, 2, true, true},
    /* beside that one, too */
    {no_memory, "ok", KG_E_HOST, 100, 3, true, true}, /* the two do not fit */
    {gone, "error/limit", KG_E_LIMIT, 100, 3, true, false},
    /* what the host lacks: it is not the judge's, nor the reference's */
    {full, "error/host", KG_E_HOST, 1, 1, false, false},
    {full, "error/host", KG_E_HOST, 2, 2, false, true}, /* might have been a neighbour's */
};

static void whose_doing_it_is(void **state)
{
    (void)state;
    need_torch();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct kg_record r;
        char got[100];
        *kg_torch_test(worker) = (struct kg_torch_test){
            .times_anywhere = true, .run = failing, .shared = rows[i].device};
        if (kg_torch_of(worker)) {
            kg_torch_of(worker)->null_half_width = 0.01;
        }
        fault.left = rows[i].times;
        fault.failed = 0;
        fault.code = rows[i].code;
        fault.strained = rows[i].strained;
        fault.message = rows[i].message;
        judge("affine.py", good, KG_ST_TIMING, &r);
        seen(&r, got, sizeof got);
        if (strcmp(got, rows[i].want) != 0 || fault.failed != rows[i].failed) {
            fail_msg("row %zu: %s after %d failures, not %s after %d (%s)", i, got, fault.failed,
                     rows[i].want, rows[i].failed, r.has_error ? r.error.message : r.message);
        }
        assert_true(r.has_error || r.nrewards > 0);
        kg_record_deinit(&r);
        *kg_torch_test(worker) = (struct kg_torch_test){.times_anywhere = false};
    }
    fault.left = 0;
}

/* Times that a judge cannot be started any more, and attempts to start one. */
static int unstartable, starts;

static enum kg_code not_started(const struct kg_dj_spec *spec, struct kg_dj *out,
                                struct kg_err *err)
{
    starts++;
    if (unstartable-- > 0) {
        *out = (struct kg_dj){.spec = *spec};
        return kg_fail_memory(err, KG_E_HOST, "CUDA: context: CUDA_ERROR_OUT_OF_MEMORY");
    }
    return kg_dj_start(spec, out, err);
}

/* A neighbour may have taken the memory of its context: it is asked for again alone. */
static void a_judge_that_is_not_started_is_asked_for_alone(void **state)
{
    (void)state;
    need_torch();
    static const struct {
        bool shared;
        int fails, starts;
        const char *want;
    } table[] = {{true, 3, 4, "ok"}, {true, 100, 4, "error/host"}, {false, 1, 1, "error/host"}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct kg_record r;
        char got[100];
        *kg_torch_test(worker) =
            (struct kg_torch_test){.start = not_started, .shared = table[i].shared};
        kg_executor_torch.forget(worker, KG_FORGET_JUDGE);
        unstartable = table[i].fails;
        starts = 0;
        judge("affine.py", good, KG_ST_FULL, &r);
        seen(&r, got, sizeof got);
        if (strcmp(got, table[i].want) != 0 || starts != table[i].starts) {
            fail_msg("row %zu: %s after %d starts (%s)", i, got, starts,
                     r.has_error ? r.error.message : r.message);
        }
        assert_true(r.has_error ||
                    *json_string_value(json_object_get(r.environment, "device_name")));
        kg_record_deinit(&r);
    }
    *kg_torch_test(worker) = (struct kg_torch_test){.times_anywhere = false};
}

/* Nothing that a candidate has not been there for is its doing: the first of all failures. */
static void nobody_is_blamed_before(void **state)
{
    (void)state;
    struct kg_accidents seen = {0};
    struct kg_record r;
    struct kg_err err = KG_ERR_INIT;
    kg_record_init(&r);
    struct kg_evaluation e = {.w = worker, .r = &r};
    kg_fail_memory(&err, KG_E_HOST, "%s", no_memory);
    err.strained = true;
    for (int k = 0; k < 2; k++) {
        assert_false(kg_accidents_again(&e, KG_E_HOST, &err, &seen));
    }
    assert_int_equal(kg_accidents_settle(&e, KG_E_HOST, &seen, &err), KG_E_HOST);
    assert_int_equal(r.verdict, KG_V_NONE);
    kg_record_deinit(&r);
}

/* Whoever takes all memory when the hard laws come is not spared them. */
static void a_law_is_not_left_out_for_want_of_memory(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    static const struct {
        const char *name, *raise, *want;
    } table[] = {{"short.py", "MemoryError('no')", "error/host"},
                 {"picky.py", "ValueError('no')", "ok"}}; /* it does not like these numbers */
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char text[700];
        snprintf(text, sizeof text,
                 HEAD "class Model(nn.Module):\n    def forward(self, x):\n"
                      "        if x.abs().max() > 100:\n            raise %s\n"
                      "        return x * 2\n\n\ndef get_inputs():\n"
                      "    return [torch.randn(8, 8)]\n\n\ndef get_init_inputs():\n    return []\n",
                 table[i].raise);
        put(table[i].name, text);
        expect(table[i].name,
               HEAD "class ModelNew(nn.Module):\n    def forward(self, x):\n        return x * 2\n",
               table[i].want, &r);
        kg_record_deinit(&r);
    }
}

/* The call on moved inputs takes more than the others. Where it finds no memory beside a candidate
 * it is made again without it: of these numbers the third call fails, once. */
static void nor_for_want_of_memory_beside_a_candidate(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    put("third.py", HEAD "calls = []\n\n\nclass Model(nn.Module):\n    def forward(self, x):\n"
                         "        if x.abs().median() > 300:\n            calls.append(1)\n"
                         "            if len(calls) == 3:\n"
                         "                raise MemoryError('no')\n"
                         "        return x * 2\n\n\ndef get_inputs():\n"
                         "    return [torch.randn(8, 8)]\n\n\n"
                         "def get_init_inputs():\n    return []\n");
    expect("third.py",
           HEAD "class ModelNew(nn.Module):\n    def forward(self, x):\n        return x * 2\n",
           "ok", &r);
    kg_record_deinit(&r);
    assert_true(kg_torch_of(worker)->instance[KG_INSTANCE_PUBLISHED].cases[KG_TL_LARGE].applies);
}

/* The reference is stopped, as one is that gets no time; the next process of it is not. */
static void stop_reference(enum kg_tlaw then)
{
    struct kg_tinstance *s = &kg_torch_of(worker)->instance[KG_INSTANCE_PUBLISHED];
    s->cases[then].ready = false;
    assert_true(s->ref.up);
    assert_int_equal(kill(s->ref.runner.sandbox.pid, SIGSTOP), 0);
}

/* Late beside a candidate, it is asked again without it before the problem is said to be at fault.
 * Late without one, it is. */
static void a_late_reference_is_asked_alone(void **state)
{
    (void)state;
    struct kg_record r;
    char got[100];
    need_torch();
    judge("affine.py", good, KG_ST_FULL, &r);
    seen(&r, got, sizeof got);
    assert_string_equal(got, "ok");
    kg_record_deinit(&r);
    for (int beside = 1; beside >= 0; beside--) {
        stop_reference(beside ? KG_TL_NEW : KG_TL_OWN);
        judge("affine.py", good, KG_ST_FULL, &r);
        seen(&r, got, sizeof got);
        if (strcmp(got, beside ? "ok" : "error/problem") != 0) {
            fail_msg("%s: %s", got, r.has_error ? r.error.message : r.message);
        }
        kg_record_deinit(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whose_doing_it_is),
        cmocka_unit_test(a_judge_that_is_not_started_is_asked_for_alone),
        cmocka_unit_test(nobody_is_blamed_before),
        cmocka_unit_test(a_law_is_not_left_out_for_want_of_memory),
        cmocka_unit_test(nor_for_want_of_memory_beside_a_candidate),
        cmocka_unit_test(a_late_reference_is_asked_alone),
    };
    return cmocka_run_group_tests(tests, setup, rig_close);
}

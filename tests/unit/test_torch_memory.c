/* Memory of a device, planned: the rungs, what is refused, and who waits. On the CPU, whose memory
 * is made small by an option. Skipped where Python lacks torch. */
#include "torch_eval_rig.h"

#include <signal.h>
#include <sys/wait.h>

#include "gym/torch/executor/torch_worker.h"
#include "gym/torch/judging/instance.h"
#include "gym/torch/judging/memory_needs.h"

#define MODEL(n) "class " n "(nn.Module):\n    def forward(self, x):\n"
#define INPUTS                                                                                     \
    "\n\ndef get_inputs():\n    return [torch.randn(8192, 1024)]\n\n\n"                            \
    "def get_init_inputs():\n    return []\n"
#define ROWS    "        return torch.softmax(x, dim=1)\n"
#define COLUMNS "        return x - x.mean(dim=0, keepdim=True)\n"

#define LOSS "        return ((x - 1) ** 2).mean()\n"

static const char by_rows[] = HEAD MODEL("Model") ROWS INPUTS;
static const char by_columns[] = HEAD MODEL("Model") COLUMNS INPUTS;
static const char loss[] = HEAD MODEL("Model") LOSS INPUTS;
static const char new_loss[] = HEAD MODEL("ModelNew") LOSS;
static const char new_rows[] = HEAD MODEL("ModelNew") ROWS;
static const char new_columns[] = HEAD MODEL("ModelNew") COLUMNS;
static const char wrong_row[] =
    HEAD MODEL("ModelNew") "        y = torch.softmax(x, dim=1)\n        y[-1] = 0\n"
                           "        return y\n";

static int setup(void **state)
{
    (void)state;
    rig_defaults();
    config.multi_input = false;
    return rig_open();
}

static void open_with(int64_t mb)
{
    struct kg_err e = KG_ERR_INIT;
    int cpu = -1;
    kg_worker_close(worker);
    config.device_memory_mb = mb;
    kg_worker_cores(&cpu, 1);
    assert_int_equal(kg_worker_open(&config, cpu, NULL, &worker, &e), KG_OK);
}

static const char *of_memory(const struct kg_record *r, const char *key)
{
    const json_t *v = json_object_get(json_object_get(r->environment, "memory"), key);
    return json_string_value(v) ? json_string_value(v) : "none";
}

static void expect_on(int64_t mb, const char *problem, const char *candidate, const char *want,
                      const char *rung, const char *oracle)
{
    struct kg_record r;
    char got[100];
    put("large.py", problem);
    open_with(mb);
    judge("large.py", candidate, KG_ST_FULL, &r);
    seen(&r, got, sizeof got);
    if (strcmp(got, want) != 0) {
        fail_msg("%lld MB: %s, not %s (%s)", (long long)mb, got, want,
                 r.has_error ? r.error.message : r.message);
    }
    assert_string_equal(of_memory(&r, "rung"), rung);
    const char *seen_oracle = json_string_value(json_object_get(r.environment, "oracle"));
    assert_string_equal(seen_oracle ? seen_oracle : "none", oracle);
    kg_record_deinit(&r);
}

/* Inputs and answers take 32 MB each. */
static void each_rung_judges(void **state)
{
    (void)state;
    need_torch();
    expect_on(0, by_rows, new_rows, "ok", "none", "fp64");
    expect_on(65536, by_rows, new_rows, "ok", "resident", "fp64");
    expect_on(640, by_rows, new_rows, "ok", "one case", "fp64");
    expect_on(530, by_rows, new_rows, "ok", "sliced", "fp64");
    expect_on(530, by_rows, wrong_row, "wrong/value", "sliced", "fp64");
    expect_on(400, by_rows, new_rows, "ok", "hosted", "fp64");
    expect_on(400, by_rows, wrong_row, "wrong/value", "hosted", "fp64");
}

/* Its answer depends on all rows: slices show it, and then there are no answers in double. */
static void slices_that_depend_on_each_other(void **state)
{
    (void)state;
    need_torch();
    expect_on(530, by_columns, new_columns, "ok", "fp32", "fp32");
    expect_on(530, by_columns, wrong_row, "wrong/value", "fp32", "fp32");
    expect_on(430, by_columns, new_columns, "ok", "fp32 hosted", "fp32");
    /* without slices a higher rung fits, though not all that a candidate is owed */
    expect_on(580, by_columns, new_columns, "ok", "one case", "fp64");
    expect_on(270, loss, new_loss, "ok", "one case", "fp64");
}

/* A device of which evaluations have a part, as of a GPU. */
static void share_the_device(bool times)
{
    *kg_torch_test(worker) = (struct kg_torch_test){.shared = true, .times_anywhere = times};
}

/* Where less is left for a candidate than it is owed, a lack of memory is no verdict. */
static void a_candidate_is_not_blamed_for_a_tight_device(void **state)
{
    (void)state;
    need_torch();
    static const char greedy[] =
        HEAD MODEL("ModelNew") "        raise torch.OutOfMemoryError('CUDA out of memory')\n";
    static const char words[] =
        HEAD MODEL("ModelNew") "        raise ValueError('CUDA out of memory')\n";
    static const struct {
        int64_t mb;
        const char *text, *want;
    } table[] = {{400, greedy, "error/limit"},
                 {400, words, "crash/exception"},
                 {640, greedy, "out_of_memory/device"}};
    put("large.py", by_rows);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct kg_record r;
        char got[100];
        open_with(table[i].mb);
        share_the_device(false);
        judge("large.py", table[i].text, KG_ST_FULL, &r);
        seen(&r, got, sizeof got);
        assert_string_equal(got, table[i].want);
        if (r.has_error) {
            assert_int_equal(r.error.blame, KG_BLAME_HOST);
            assert_non_null(strstr(r.error.message, "400 MB may be used"));
        }
        kg_record_deinit(&r);
    }
}

/* Each keeps what its calls allocate, so two need more than one after the other. */
static void what_does_not_fit_twice_is_not_timed(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    put("large.py", by_rows);
    open_with(400);
    share_the_device(true);
    judge("large.py", new_rows, KG_ST_TIMING, &r);
    assert_int_equal(r.verdict, KG_V_OK);
    assert_int_equal(r.timing.status, KG_T_NOT_MEASURED);
    assert_non_null(r.timing.why);
    assert_non_null(strstr(r.timing.why, "do not fit cpu together"));
    assert_non_null(strstr(r.timing.why, "where 400 MB may be used"));
    assert_false(r.has_speedup);
    kg_record_deinit(&r);
}

/* Sizes of an instance whose inputs, answers and calls take so much. */
static struct kg_tneeds needs(uint64_t mb)
{
    struct kg_tsizes z = {.in = mb << 20,
                          .answer = mb << 20,
                          .wide = mb << 21,
                          .call = mb << 20,
                          .ports = 6 * mb << 20,
                          .ports_short = 4 * mb << 20};
    struct kg_tneeds n;
    kg_tneeds_of(&z, &n);
    return n;
}

/* Each rung needs no more than the one before, and what is shared out is what is held. */
static void a_plan_never_promises_more_than_there_is(void **state)
{
    (void)state;
    for (uint64_t mb = 1; mb < 20000; mb = mb * 5 / 4 + 1) {
        struct kg_tneeds n = needs(mb);
        assert_true(n.least[KG_TM_ONE] >= n.least[KG_TM_SLICED]);
        assert_true(n.least[KG_TM_SLICED] > n.least[KG_TM_HOSTED]);
        assert_true(n.least[KG_TM_SINGLE] > n.least[KG_TM_LAST]);
        for (uint64_t capacity = 64ull << 20; capacity < 200ull << 30; capacity *= 2) {
            enum kg_tmemory_rung rung = kg_tneeds_rung(&n, true, capacity);
            if (rung == KG_TM_NONE) {
                assert_true(n.least[KG_TM_LAST] > capacity);
                continue;
            }
            uint64_t held = kg_tneeds_reservation(&n, rung, capacity);
            struct kg_tshares s = kg_tneeds_shares(&n, rung, held);
            uint64_t others = n.least[rung] - n.judge[rung];
            assert_true(held <= capacity && s.judge >= n.judge[rung]);
            assert_true(s.judge + others + n.owed - s.lacks + 2 * s.calls == held);
            assert_true(s.calls == 0 || s.calls >= n.call);
            assert_true(s.lacks == 0 || held == capacity);
        }
    }
}

/* Where no rung leaves a candidate what it is owed, none with the same oracle would leave it more.
 */
static void a_tight_device_leaves_a_candidate_most(void **state)
{
    (void)state;
    int tight = 0;
    for (uint64_t mb = 100; mb < 20000; mb += 50) {
        struct kg_tneeds n = needs(mb);
        uint64_t capacity = 80ull << 30;
        enum kg_tmemory_rung rung = kg_tneeds_rung(&n, true, capacity);
        bool single = kg_trung_is_single(rung);
        uint64_t lacks = rung == KG_TM_NONE ? 0 : kg_tneeds_shares(&n, rung, capacity).lacks;
        enum kg_tmemory_rung from = single ? KG_TM_SINGLE : KG_TM_ONE;
        enum kg_tmemory_rung to = single ? KG_TM_LAST : KG_TM_HOSTED;
        for (enum kg_tmemory_rung other = from; lacks > 0 && other <= to; other++) {
            if (n.least[other] <= capacity) {
                assert_true(kg_tneeds_shares(&n, other, capacity).lacks >= lacks);
            }
        }
        tight += lacks > 0;
    }
    assert_true(tight > 0);
}

/* Of 80 GB, as on a GPU: what is left of the card, contexts of five processes. */
#define CARD     (80500ull << 20)
#define CONTEXTS (3000ull << 20)

/* Two layers of 4 GB in all on either side: both runners have them, the judge two sets. */
static struct kg_tsizes of_parameters(uint64_t mb)
{
    uint64_t in = 8 << 20, state = mb << 20;
    return (struct kg_tsizes){.in = in,
                              .answer = in,
                              .wide = 2 * in,
                              .state = state,
                              .call = 4 * in,
                              .ports = 6 * state,
                              .ports_short = 4 * state,
                              .contexts = CONTEXTS,
                              .part = 128 << 20};
}

static void parameters_of_a_tenth_of_a_card_fit_it(void **state)
{
    (void)state;
    struct kg_tneeds n;
    struct kg_tsizes z = of_parameters(8192);
    kg_tneeds_of(&z, &n);
    enum kg_tmemory_rung rung = kg_tneeds_rung(&n, true, CARD);
    assert_int_equal(rung, KG_TM_SINGLE);
    assert_int_equal(kg_tneeds_shares(&n, rung, CARD).lacks, 0);
    assert_true(kg_tneeds_timed(&n, rung) <= CARD);
    /* a prepared copy, as of transposed weights, is no candidate's fault */
    assert_true(n.owed >= z.state);
    z.changes = true;
    kg_tneeds_of(&z, &n);
    assert_int_equal(kg_tneeds_rung(&n, true, CARD), KG_TM_NONE);
    z = of_parameters(2048);
    kg_tneeds_of(&z, &n);
    assert_int_equal(kg_tneeds_rung(&n, true, CARD), KG_TM_ONE);
    uint64_t one = n.rest;
    z.parts = true; /* they are there twice until all have come */
    kg_tneeds_of(&z, &n);
    assert_int_equal(n.rest, one + z.state);
}

/* An answer in double that comes in slices is joined in the reference's OUT, which has room for it
 * on the rungs that slice, and on no other; the plan counts it. */
static void slices_have_room_where_they_are_joined(void **state)
{
    (void)state;
    static struct kg_tinstance s;
    uint64_t in, out, sliced, mine, bytes = 4096ull * 393216 * sizeof(float);
    struct kg_task_desc *d = &s.desc;
    d->ninputs = d->noutputs = 1;
    d->input_bytes = d->output_bytes = d->call_bytes = bytes;
    d->output[0].leaf = (struct kg_tleaf){.dtype = KG_TD_F32, .rank = 2, .shape = {4096, 393216}};
    strcpy(kg_torch_of(worker)->device, "cuda:0");
    kg_tinstance_regions(worker, &s, true, &in, &out);
    s.slices = KG_TM_SLICES;
    kg_tinstance_regions(worker, &s, true, &in, &sliced);
    kg_tinstance_regions(worker, &s, false, &in, &mine);
    strcpy(kg_torch_of(worker)->device, "cpu");
    assert_true(out < 2 * bytes && mine < 2 * bytes);
    assert_int_equal(sliced, kg_tinstance_joined(&s));
    assert_true(sliced > 2 * bytes);

    struct kg_tneeds n;
    struct kg_tsizes z = {.in = in,
                          .answer = bytes,
                          .wide = 2 * bytes,
                          .call = bytes,
                          .contexts = CONTEXTS,
                          .part = 128 << 20};
    z.ports = 2 * in + 2 * out + 2 * mine;
    z.ports_short = 2 * in + out + mine;
    kg_tneeds_of(&z, &n);
    uint64_t before = n.least[KG_TM_SLICED], single = n.least[KG_TM_SINGLE];
    z.joined = sliced - out;
    kg_tneeds_of(&z, &n);
    assert_int_equal(n.least[KG_TM_SLICED], before + z.joined);
    assert_int_equal(n.least[KG_TM_SINGLE], single);
    enum kg_tmemory_rung rung = kg_tneeds_rung(&n, true, CARD);
    assert_int_equal(rung, KG_TM_SLICED);
    assert_int_equal(kg_tneeds_shares(&n, rung, CARD).lacks, 0);
}

/* Megabytes that a problem needs at least, where 320 are not enough. */
static long needs_mb(const char *problem, const char *candidate)
{
    struct kg_record r;
    put("large.py", problem);
    open_with(320);
    judge("large.py", candidate, KG_ST_FULL, &r);
    assert_true(r.has_error);
    assert_int_equal(r.error.blame, KG_BLAME_HOST);
    assert_non_null(strstr(r.error.message, "MB of cpu, where 320 MB may be used"));
    const char *needs = strstr(r.error.message, "it needs at least ");
    assert_non_null(needs);
    long mb = strtol(needs + strlen("it needs at least "), NULL, 10);
    assert_true(mb > 320);
    kg_record_deinit(&r);
    return mb;
}

static void too_little_is_refused_with_both_numbers(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    long mb = needs_mb(by_rows, new_rows);
    open_with(mb + 1); /* what it says is enough */
    judge("large.py", new_rows, KG_ST_FULL, &r);
    assert_false(r.has_error);
    kg_record_deinit(&r);
}

/* Each call has a copy of an input that the reference writes to, here of 32 MB. */
static void copies_of_inputs_are_planned(void **state)
{
    (void)state;
    need_torch();
    static const char writes[] = HEAD MODEL("Model") "        return F.relu_(x)\n" INPUTS;
    assert_int_equal(needs_mb(writes, new_rows), needs_mb(by_rows, new_rows) + 32);
}

/* To describe it takes more than there is, so all is reserved. A device is seldom a whole number of
 * the ledger's pages. */
static void describing_may_take_all_there_is(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    put("large.py", loss);
    open_with(250);
    judge("large.py", new_loss, KG_ST_FULL, &r);
    if (r.has_error) {
        fail_msg("%s", r.error.message);
    }
    assert_int_equal(r.verdict, KG_V_OK);
    kg_record_deinit(&r);
}

/* Another process has the memory, until it is killed. */
static void an_evaluation_waits_for_memory(void **state)
{
    (void)state;
    struct kg_record r;
    int told[2];
    char c;
    need_torch();
    put("large.py", by_rows);
    open_with(640);
    assert_int_equal(pipe(told), 0);
    pid_t child = fork();
    if (child == 0) {
        struct kg_ledger l;
        struct kg_err e = KG_ERR_INIT;
        bool held = kg_ledger_open("cpu", &l, &e) == KG_OK &&
                    kg_ledger_take(&l, 600ull << 20, 640ull << 20, NULL, &e) == KG_OK;
        bool said = write(told[1], "x", 1) == 1;
        sleep(3);
        (void)!(held && said && raise(SIGKILL) == 0);
        _exit(1);
    }
    assert_int_equal(read(told[0], &c, 1), 1);
    judge("large.py", new_rows, KG_ST_FULL, &r);
    assert_int_equal(r.verdict, KG_V_OK);
    kg_record_deinit(&r);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    close(told[0]);
    close(told[1]);
}

static int64_t reserved(const struct kg_record *r)
{
    return json_integer_value(
        json_object_get(json_object_get(r->environment, "memory"), "reserved_mb"));
}

/* Room for more cases is taken where much is left, else the least. */
static void comfort_is_left_to_others(void **state)
{
    (void)state;
    struct kg_record r;
    struct kg_ledger l;
    struct kg_err e = KG_ERR_INIT;
    int64_t first = 0;
    need_torch();
    put("large.py", by_rows);
    for (int others = 0; others < 2; others++) {
        open_with(4096);
        assert_int_equal(kg_ledger_open("cpu", &l, &e), KG_OK);
        assert_true(!others || kg_ledger_try(&l, 2816ull << 20, 4096ull << 20));
        judge("large.py", new_rows, KG_ST_FULL, &r);
        assert_int_equal(r.verdict, KG_V_OK);
        assert_string_equal(of_memory(&r, "rung"), "one case");
        assert_true(others == 0 || reserved(&r) < first);
        first = reserved(&r);
        kg_record_deinit(&r);
        kg_ledger_close(&l);
    }
}

/* Cases that are kept leave room for the second set of parameters, which few laws have. */
static void cases_leave_room_for_parameters(void **state)
{
    (void)state;
    static const char problem[] =
        HEAD "class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
             "        self.product = nn.Linear(1024, 3072)\n\n"
             "    def forward(self, x):\n        return self.product(x)\n\n\n"
             "def get_inputs():\n    return [torch.randn(128, 1024)]\n\n\n"
             "def get_init_inputs():\n    return []\n";
    static const char candidate[] =
        HEAD "class ModelNew(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
             "        self.product = nn.Linear(1024, 3072)\n\n"
             "    def forward(self, x):\n        return self.product(x)\n";
    struct kg_record r;
    need_torch();
    put("large.py", problem);
    config.multi_input = true;
    open_with(200);
    judge("large.py", candidate, KG_ST_FULL, &r);
    config.multi_input = false;
    if (r.has_error || r.verdict != KG_V_OK) {
        fail_msg("%s", r.has_error ? r.error.message : r.message);
    }
    kg_record_deinit(&r);
}

/* A small problem after a large one holds what it needs itself. */
static void what_a_problem_needs_no_more_is_given_back(void **state)
{
    (void)state;
    static const char few[] =
        HEAD MODEL("Model") ROWS "\n\ndef get_inputs():\n    return [torch.randn(64, 1024)]\n\n\n"
                                 "def get_init_inputs():\n    return []\n";
    static const char *const file[] = {"large.py", "small.py"};
    int64_t held[2];
    need_torch();
    put("large.py", by_rows);
    put("small.py", few);
    open_with(4096);
    for (int i = 0; i < 2; i++) {
        struct kg_record r;
        judge(file[i], new_rows, KG_ST_FULL, &r);
        assert_int_equal(r.verdict, KG_V_OK);
        held[i] = reserved(&r);
        kg_record_deinit(&r);
    }
    assert_true(held[1] < held[0] / 2);
}

static bool gives_back(const struct kg_ledger *l)
{
    kg_worker_idle(worker);
    return kg_ledger_others(l, 640ull << 20) == 0;
}

/* A worker that has nothing to do gives back what somebody waits for, and judges again later. One
 * that has just judged keeps it: setting the problem up again costs more than the wait. */
static void an_idle_worker_gives_back(void **state)
{
    (void)state;
    struct kg_record r;
    struct kg_ledger l;
    struct kg_err e = KG_ERR_INIT;
    need_torch();
    put("large.py", by_rows);
    open_with(640);
    judge("large.py", new_rows, KG_ST_FULL, &r);
    assert_int_equal(r.verdict, KG_V_OK);
    kg_record_deinit(&r);
    assert_int_equal(kg_ledger_open("cpu", &l, &e), KG_OK);
    assert_true(kg_ledger_others(&l, 640ull << 20) > 0);
    usleep(1200000);
    assert_false(gives_back(&l)); /* nobody waits */
    pid_t child = fork();
    if (child == 0) {
        struct kg_ledger own;
        bool got = kg_ledger_open("cpu", &own, &e) == KG_OK &&
                   kg_ledger_take(&own, 640ull << 20, 640ull << 20, NULL, &e) == KG_OK;
        _exit(got ? 0 : 1);
    }
    for (int i = 0; i < 4000 && !kg_ledger_is_wanted(&l); i++) {
        usleep(5000);
    }
    judge("large.py", new_rows, KG_ST_FULL, &r);
    assert_int_equal(r.verdict, KG_V_OK);
    kg_record_deinit(&r);
    assert_false(gives_back(&l));
    for (int i = 0; i < 100 && !gives_back(&l); i++) {
        usleep(100000);
    }
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    judge("large.py", new_rows, KG_ST_FULL, &r);
    assert_int_equal(r.verdict, KG_V_OK);
    kg_record_deinit(&r);
    kg_ledger_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rung_judges),
        cmocka_unit_test(slices_that_depend_on_each_other),
        cmocka_unit_test(a_candidate_is_not_blamed_for_a_tight_device),
        cmocka_unit_test(what_does_not_fit_twice_is_not_timed),
        cmocka_unit_test(a_plan_never_promises_more_than_there_is),
        cmocka_unit_test(a_tight_device_leaves_a_candidate_most),
        cmocka_unit_test(parameters_of_a_tenth_of_a_card_fit_it),
        cmocka_unit_test(slices_have_room_where_they_are_joined),
        cmocka_unit_test(too_little_is_refused_with_both_numbers),
        cmocka_unit_test(copies_of_inputs_are_planned),
        cmocka_unit_test(describing_may_take_all_there_is),
        cmocka_unit_test(an_evaluation_waits_for_memory),
        cmocka_unit_test(comfort_is_left_to_others),
        cmocka_unit_test(cases_leave_room_for_parameters),
        cmocka_unit_test(what_a_problem_needs_no_more_is_given_back),
        cmocka_unit_test(an_idle_worker_gives_back),
    };
    return cmocka_run_group_tests(tests, setup, rig_close);
}

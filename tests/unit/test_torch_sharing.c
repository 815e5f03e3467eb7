/* Workers that share one device: who waits there holds nothing. On the CPU, which is shared, and
 * whose memory has a ledger, by options of the tests. Skipped where Python lacks torch. */
#include "torch_eval_rig.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "gym/eval/worker.h"
#include "gym/torch/executor/torch_worker.h"
#include "gym/torch/judging/instance.h"
#include "gym/torch/judging/memory.h"
#include "gym/torch/judging/torch_candidate.h"
#include "gym/torch/runner/torch_zygotes.h"

#define MB    ((uint64_t)1 << 20)
#define GB    (1024 * MB)
#define ALL   (640 * MB)
#define WAITS 20 /* seconds until a wait that should have ended is given up */

static const char new_affine[] = HEAD FORWARD ANSWER;

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

/* A device of which evaluations have a part, as of a GPU. */
static void share_the_device(void)
{
    *kg_torch_test(worker) = (struct kg_torch_test){.shared = true};
}

static void judge_one(void)
{
    struct kg_record r;
    judge("affine.py", new_affine, KG_ST_FULL, &r);
    if (r.verdict != KG_V_OK) {
        fail_msg("%s", r.has_error ? r.error.message : r.message);
    }
    kg_record_deinit(&r);
}

static volatile int too_long;

static void on_alarm(int sig)
{
    (void)sig;
    too_long = 1;
}

static void limit_wait(void)
{
    too_long = 0;
    signal(SIGALRM, on_alarm);
    alarm(WAITS);
}

static struct kg_ledger opened(void)
{
    struct kg_ledger l;
    struct kg_err e = KG_ERR_INIT;
    assert_int_equal(kg_ledger_open("cpu", &l, &e), KG_OK);
    return l;
}

/* Another evaluation, which has a place on the device, or the device alone, and waits for all of
 * its memory. Ends with 0 once it has got that. */
static pid_t waits_inside(bool alone)
{
    pid_t child = fork();
    if (child == 0) {
        struct kg_lease place;
        struct kg_ledger own;
        struct kg_err e = KG_ERR_INIT;
        limit_wait();
        enum kg_code code = alone ? kg_lease_alone("cpu.jobs", false, &place, &too_long, &e)
                                  : kg_lease_share("cpu.jobs", &place, &too_long, &e);
        bool got = code == KG_OK && kg_ledger_open("cpu", &own, &e) == KG_OK &&
                   kg_ledger_take(&own, ALL, ALL, &too_long, &e) == KG_OK;
        _exit(got ? 0 : 1);
    }
    return child;
}

static void wait_until_wanted(void)
{
    struct kg_ledger l = opened();
    for (int i = 0; i < 2000 && !kg_ledger_is_wanted(&l); i++) {
        usleep(5000);
    }
    kg_ledger_close(&l);
}

/* One attempt to judge, which has to be alone or not. */
static void attempt(bool alone)
{
    struct kg_record r;
    struct kg_err e = KG_ERR_INIT;
    char path[512];
    snprintf(path, sizeof path, "%s/affine.py", folder);
    struct kg_task t = {.problem = path,
                        .text = new_affine,
                        .len = strlen(new_affine),
                        .source = true,
                        .stop_after = KG_ST_FULL};
    struct kg_evaluation ev = {.w = worker, .task = &t, .r = &r, .alone = alone};
    kg_record_init(&r);
    assert_int_equal(kg_evaluation_attempt(&ev, &e), KG_OK);
    assert_int_equal(r.stages[KG_ST_FULL].status, KG_SS_PASS);
    kg_record_deinit(&r);
}

/* Those who have to end before it gets its place may wait for its memory. */
static void who_waits_for_a_place_holds_no_memory(void **state)
{
    (void)state;
    need_torch();
    open_with((int64_t)(ALL / MB));
    share_the_device();
    for (int alone = 0; alone < 2; alone++) {
        int status = 1;
        judge_one();
        assert_true(kg_torch_of(worker)->memory.ledger.held > 0);
        pid_t child = waits_inside(!alone);
        wait_until_wanted();
        attempt(alone);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
}

/* A device of 64 GB with so much free, as a judge finds it that starts. A neighbour, another job,
 * may go meanwhile, or come. */
static uint64_t free_bytes;
static struct kg_ledger neighbour;
static bool neighbour_comes;

static enum kg_code started(const struct kg_dj_spec *spec, struct kg_dj *out, struct kg_err *err)
{
    enum kg_code code = kg_dj_start(spec, out, err);
    out->facts.clock = true;
    out->facts.memory_bytes = (int64_t)(64 * GB);
    out->facts.free_bytes = (int64_t)free_bytes;
    kg_ledger_give(&neighbour);
    return !neighbour_comes || kg_ledger_try(&neighbour, 8 * GB, 64 * GB) ? code : KG_E_GYM;
}

/* How much jobs may take together, to a worker whose judge starts now; the neighbour has its part
 * before, or after, and none when memory for so many bytes of inputs is asked for. */
static uint64_t capacity_of(uint64_t is_free, bool has, bool comes, uint64_t inputs)
{
    struct kg_err e = KG_ERR_INIT;
    uint64_t room;
    kg_executor_torch.forget(worker, KG_FORGET_JUDGE);
    free_bytes = is_free;
    neighbour_comes = comes;
    assert_true(!has || kg_ledger_try(&neighbour, 8 * GB, 64 * GB));
    assert_int_equal(kg_torch_judge(worker, &e), KG_OK);
    kg_ledger_give(&neighbour);
    neighbour_comes = false;
    assert_int_equal(kg_tmemory_describe(worker, inputs, &room, &e), KG_OK);
    return kg_torch_of(worker)->memory.capacity;
}

/* Memory that another job has when the judge starts is not lost to this one for ever, and neither
 * is what another program has. */
static void a_neighbour_makes_the_device_no_smaller(void **state)
{
    (void)state;
    const uint64_t context = 600 * MB;
    open_with(0);
    *kg_torch_test(worker) = (struct kg_torch_test){.shared = true, .start = started};
    neighbour = opened();
    assert_int_equal(capacity_of(GB, true, false, 0), 64 * GB);
    assert_int_equal(capacity_of(GB, false, true, 0), 64 * GB);
    assert_int_equal(capacity_of(40 * GB, false, false, 0), 40 * GB + context);
    assert_int_equal(capacity_of(GB, true, false, 0), 40 * GB + context);
    assert_int_equal(capacity_of(50 * GB, false, false, 0), 50 * GB + context);
    assert_int_equal(capacity_of(64 * GB, false, false, 0), 64 * GB);
    kg_ledger_close(&neighbour);
}

/* Before a problem is refused for want of memory that other programs have, the judge looks again.
 */
static void what_was_taken_is_looked_for_again(void **state)
{
    (void)state;
    struct kg_err e = KG_ERR_INIT;
    uint64_t room;
    open_with(0);
    *kg_torch_test(worker) = (struct kg_torch_test){.shared = true, .start = started};
    neighbour = opened();
    assert_int_equal(capacity_of(10 * GB, false, false, 0), 10 * GB + 600 * MB);
    free_bytes = 30 * GB;
    assert_int_equal(kg_tmemory_describe(worker, 4 * GB, &room, &e), KG_OK);
    assert_int_equal(kg_torch_of(worker)->memory.capacity, 30 * GB + 600 * MB);
    kg_ledger_close(&neighbour);
}

static const char large[] = HEAD "class Model(nn.Module):\n    def forward(self, x):\n        "
                                 "return torch.softmax(x, dim=1)\n\n\n"
                                 "def get_inputs():\n    return [torch.randn(8192, 1024)]\n\n\n"
                                 "def get_init_inputs():\n    return []\n";

/* What is given back others take at once: the runners of the problem before have ended by then, and
 * regions of those that stay are not given back. */
static void what_is_given_back_is_free(void **state)
{
    (void)state;
    struct kg_record r;
    struct kg_err e = KG_ERR_INIT;
    uint64_t room;
    need_torch();
    put("large.py", large);
    open_with(4096);
    judge("large.py",
          HEAD "class ModelNew(nn.Module):\n    def forward(self, x):\n"
               "        return torch.softmax(x, dim=1)\n",
          KG_ST_FULL, &r);
    assert_int_equal(r.verdict, KG_V_OK);
    kg_record_deinit(&r);
    struct kg_torch *t = kg_torch_of(worker);
    kg_torch_leave(worker);
    assert_true(kg_ledger_try(&t->memory.ledger, 3 * GB, 4 * GB));
    assert_true(t->last[0].up);
    uint64_t asked = t->judge.seq;
    t->spare = (struct kg_trunner){.up = true, .in_bytes = GB, .out_bytes = GB};
    assert_int_equal(kg_tmemory_describe(worker, 0, &room, &e), KG_OK);
    t->spare = (struct kg_trunner){.port = -1};
    assert_false(t->last[0].up);
    assert_int_equal(t->judge.seq, asked + 2); /* its port has ended, and the judge keeps nothing */
    assert_in_range(t->memory.ledger.held, 2 * GB, 3 * GB - 1);
}

/* Somebody who is timed has the device alone for a second. */
struct timed {
    atomic_bool begun, over;
};

static pid_t will_be_timed(struct timed *t, useconds_t after)
{
    pid_t child = fork();
    if (child == 0) {
        struct kg_lease l;
        struct kg_err e = KG_ERR_INIT;
        usleep(after);
        bool got = kg_lease_alone("cpu", true, &l, NULL, &e) == KG_OK;
        atomic_store(&t->begun, true);
        usleep(1000000);
        atomic_store(&t->over, true);
        _exit(got ? 0 : 1);
    }
    return child;
}

static pid_t is_timed(struct timed *t)
{
    pid_t child = will_be_timed(t, 0);
    while (!atomic_load(&t->begun)) { /* it begins once the device is free, whenever that is */
        usleep(1000);
    }
    return child;
}

/* A reference is built, and a task described, while nobody is timed; then others may be. */
static void no_reference_is_set_up_beside_who_is_timed(void **state)
{
    (void)state;
    need_torch();
    open_with(0);
    judge_one();
    struct kg_torch *t = kg_torch_of(worker);
    struct kg_tinstance *s = &t->instance[KG_INSTANCE_PUBLISHED];
    struct timed *timed =
        mmap(NULL, 2 * sizeof *timed, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(timed != MAP_FAILED);
    t->judge.facts.clock = true;
    for (int describes = 0; describes < 2; describes++) {
        struct kg_err e = KG_ERR_INIT;
        struct kg_task_desc d;
        struct kg_lease l;
        json_t *reply = NULL, *consts = json_pack("{s:i}", "rows", 17);
        volatile int cancel = 1;
        int status = 1;
        pid_t child = is_timed(&timed[describes]);
        enum kg_code code = describes ? kg_tinstance_describe(worker, s, consts, true, &d, &e)
                                      : kg_tinstance_rebuild(worker, s, 1, &reply, &e);
        if (code != KG_OK) {
            fail_msg("%s", e.message);
        }
        assert_true(atomic_load(&timed[describes].over));
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        assert_int_equal(kg_lease_alone("cpu", true, &l, &cancel, &e), KG_OK);
        kg_lease_release(&l);
        assert_false(t->judge.held);
        if (describes) {
            kg_task_deinit(&d);
        }
        json_decref(reply);
        json_decref(consts);
    }
    t->judge.facts.clock = false;
    munmap(timed, 2 * sizeof *timed);
}

#define SLEEPS                                                                                     \
    "def get_inputs():\n    time.sleep(0.4)\n    return [torch.randn(rows, cols), "                \
    "torch.rand(rows, cols)]\n\n\n"
static const char slow_draws[] =
    HEAD "rows = 16\ncols = 24\n\n\nclass Model(nn.Module):\n"
         "    def forward(self, x, z):\n        return x + z\n\n\n" SLEEPS
         "def get_init_inputs():\n    return []\n";
static const char slow_constructor[] =
    HEAD "rows = 16\ncols = 24\n\n\nclass Model(nn.Module):\n"
         "    def __init__(self):\n        super().__init__()\n        time.sleep(0.6)\n\n"
         "    def forward(self, x, z):\n        return x + z\n\n\n"
         "def get_inputs():\n    return [torch.randn(rows, cols), torch.rand(rows, cols)]\n\n\n"
         "def get_init_inputs():\n    return []\n";

/* Somebody who wants the device while a reference is on the host gets it; what it does on the
 * device waits until that is over. */
static void others_are_timed_while_a_reference_is_on_the_host(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text;
    } slow[] = {{"slow_draws.py", slow_draws}, {"slow_constructor.py", slow_constructor}};
    need_torch();
    struct timed *timed =
        mmap(NULL, 2 * sizeof *timed, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(timed != MAP_FAILED);
    for (size_t i = 0; i < 2; i++) {
        struct kg_record r;
        struct kg_err e = KG_ERR_INIT;
        struct kg_task_desc d;
        json_t *consts = json_pack("{s:i}", "rows", 17);
        int status = 1;
        put(slow[i].name, slow[i].text);
        open_with(0);
        judge(slow[i].name,
              HEAD "class ModelNew(nn.Module):\n    def forward(self, x, z):\n"
                   "        return z + x\n",
              KG_ST_COMPILE, &r);
        assert_true(r.compiled);
        kg_record_deinit(&r);
        struct kg_torch *t = kg_torch_of(worker);
        t->judge.facts.clock = true;
        pid_t child = will_be_timed(&timed[i], 200000);
        enum kg_code code = kg_tinstance_describe(worker, &t->instance[KG_INSTANCE_PUBLISHED],
                                                  consts, true, &d, &e);
        bool begun = atomic_load(&timed[i].begun), over = atomic_load(&timed[i].over);
        t->judge.facts.clock = false;
        if (code != KG_OK) {
            fail_msg("%s", e.message);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        assert_true(begun && over);
        assert_false(t->judge.held);
        kg_task_deinit(&d);
        json_decref(consts);
    }
    munmap(timed, 2 * sizeof *timed);
}

/* A candidate comes while somebody is timed, and the reference has to be built for it. */
static void waiting_for_the_reference_is_no_time_of_the_candidate(void **state)
{
    (void)state;
    need_torch();
    open_with(0);
    judge_one();
    struct kg_torch *t = kg_torch_of(worker);
    struct kg_tinstance *s = &t->instance[KG_INSTANCE_PUBLISHED];
    struct timed *timed =
        mmap(NULL, sizeof *timed, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(timed != MAP_FAILED);
    struct kg_record r;
    struct kg_err e = KG_ERR_INIT;
    struct kg_task task = {.text = new_affine, .stop_after = KG_ST_COMPILE};
    struct kg_evaluation ev = {
        .w = worker, .task = &task, .r = &r, .code = new_affine, .code_len = strlen(new_affine)};
    kg_record_init(&r);
    kg_rng_init(&ev.rng, ev.key, 0);
    assert_int_equal(kg_executor_torch.begin(&ev, &e), KG_OK);
    int64_t deadline = ev.deadline_ns = kg_clock_ns() + 600000000000;
    int status = 1;
    t->judge.facts.clock = true;
    s->ready = false;
    pid_t child = is_timed(timed);
    enum kg_stage_result step = kg_tcandidate_start(&ev, s, KG_ST_COMPILE, &e);
    t->judge.facts.clock = false;
    kg_executor_torch.stop(&ev);
    assert_int_equal(step, KG_STAGE_PASS);
    assert_true(atomic_load(&timed->over));
    assert_true(ev.deadline_ns - deadline > 300000000);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    kg_rng_deinit(&ev.rng);
    kg_record_deinit(&r);
    munmap(timed, sizeof *timed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_waits_for_a_place_holds_no_memory),
        cmocka_unit_test(a_neighbour_makes_the_device_no_smaller),
        cmocka_unit_test(what_was_taken_is_looked_for_again),
        cmocka_unit_test(what_is_given_back_is_free),
        cmocka_unit_test(no_reference_is_set_up_beside_who_is_timed),
        cmocka_unit_test(others_are_timed_while_a_reference_is_on_the_host),
        cmocka_unit_test(waiting_for_the_reference_is_no_time_of_the_candidate),
    };
    return cmocka_run_group_tests(tests, setup, rig_close);
}

/* Spare runners: the next candidate's process boots while the last one is at work. Taken where it
 * fits, replaced where it has died, gone with what it belongs to, and never anybody's fault.
 * Skipped where Python lacks torch. */
#include "torch_eval_rig.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "gym/torch/executor/torch_worker.h"
#include "gym/torch/runner/spare_runner.h"
#include "gym/torch/runner/torch_runner.h"
#include "gym/torch/runner/torch_zygotes.h"
#include "gym/torch/timing/torch_pairs.h"

#define PROBLEM(rows)                                                                              \
    HEAD "class Model(nn.Module):\n    def forward(self, x):\n        return 2 * torch.relu(x)\n"  \
         "\n\ndef get_inputs():\n    return [torch.randn(" rows ", 64)]\n\n\n"                     \
         "def get_init_inputs():\n    return []\n"
#define BODY(before)                                                                               \
    "class ModelNew(nn.Module):\n    def forward(self, x):\n" before                               \
    "        return torch.relu(x) + torch.relu(x)\n"

static const char twice[] = HEAD BODY("");

static int setup(void **state)
{
    (void)state;
    rig_defaults();
    config.torch_spare = KG_SPARE_YES;
    if (rig_open() != 0) {
        return -1;
    }
    put("small.py", PROBLEM("8"));
    put("large.py", PROBLEM("4096"));
    return 0;
}

static void passes(const char *problem, const char *text, enum kg_stage stage)
{
    struct kg_record r;
    judge(problem, text, stage, &r);
    if (r.has_error || r.stages[stage].status != KG_SS_PASS) {
        fail_msg("%s: %s", problem, r.has_error ? r.error.message : r.message);
    }
    kg_record_deinit(&r);
}

/* A right candidate is found right. */
static void right(const char *problem, const char *text)
{
    passes(problem, text, KG_ST_FULL);
}

static void timed(const char *problem)
{
    passes(problem, twice, KG_ST_TIMING);
}

static pid_t spare(void)
{
    assert_true(kg_torch_of(worker)->spare.up);
    return kg_torch_of(worker)->spare.runner.sandbox.pid;
}

/* Of processor time that it may take; -1: any. */
static long seconds(pid_t pid)
{
    struct rlimit r;
    assert_int_equal(prlimit(pid, RLIMIT_CPU, NULL, &r), 0);
    return r.rlim_cur == RLIM_INFINITY ? -1 : (long)r.rlim_cur;
}

static bool exists(pid_t pid)
{
    return kill(pid, 0) == 0 || errno != ESRCH;
}

/* Sources of candidates in the scratch folder. */
static int sources(void)
{
    DIR *dir = opendir(worker->scratch.path);
    struct dirent *e;
    int n = 0;
    assert_non_null(dir);
    while ((e = readdir(dir))) {
        n += strncmp(e->d_name, "candidate", 9) == 0;
    }
    closedir(dir);
    return n;
}

static void the_second_candidate_takes_it(void **state)
{
    (void)state;
    need_torch();
    right("small.py", twice);
    pid_t first = spare();
    uint64_t taken = kg_torch_of(worker)->taken, begun = kg_torch_of(worker)->spares;
    assert_true(exists(first));
    right("small.py", twice);
    assert_int_equal(kg_torch_of(worker)->taken, taken + 1);
    assert_int_equal(kg_torch_of(worker)->spares, begun + 1);
    assert_false(exists(first)); /* it was used up */
    assert_true(exists(spare()) && spare() != first);
    assert_int_equal(sources(), 1);
}

/* What the record says of a candidate's process is the same, whoever began it. */
static void the_record_is_the_same(void **state)
{
    (void)state;
    static const char says[] = HEAD BODY("        print('once')\n");
    struct kg_record r[2];
    need_torch();
    for (int k = 0; k < 2; k++) {
        if (k == 0) {
            kg_tspare_drop(worker);
        }
        uint64_t taken = kg_torch_of(worker)->taken;
        judge("small.py", says, KG_ST_TINY, &r[k]);
        assert_false(r[k].has_error);
        assert_int_equal(kg_torch_of(worker)->taken, taken + (uint64_t)k);
        assert_string_equal(r[k].output.stdout_text, "once\n");
        assert_int_equal(r[k].output.bytes, 5);
    }
    assert_int_equal(r[0].isolation.has, r[1].isolation.has);
    assert_true(r[0].peak_bytes > 0);
    assert_true(r[1].peak_bytes > r[0].peak_bytes / 2 && r[1].peak_bytes < 2 * r[0].peak_bytes);
    kg_record_deinit(&r[0]);
    kg_record_deinit(&r[1]);
}

static void await_death(pid_t pid)
{
    siginfo_t si = {0};
    assert_int_equal(waitid(P_PID, (id_t)pid, &si, WEXITED | WNOWAIT), 0);
}

static void a_killed_one_is_nobodys_fault(void **state)
{
    (void)state;
    need_torch();
    right("small.py", twice);
    for (int k = 0; k < 2; k++) {
        if (k == 1) { /* in the middle of its boot */
            kg_tspare_drop(worker);
            kg_tspare_begin(worker, false, 1, 1);
        }
        pid_t pid = spare();
        uint64_t taken = kg_torch_of(worker)->taken;
        assert_int_equal(kill(pid, SIGKILL), 0);
        await_death(pid);
        right("small.py", twice);
        assert_int_equal(kg_torch_of(worker)->taken, taken);
        assert_true(spare() != pid);
        assert_int_equal(sources(), 1);
    }
    kg_tspare_begin(worker, false, 1, 1); /* there is one */
    kill(spare(), SIGKILL);
    kg_tspare_settle(worker);
    right("small.py", twice);
}

/* Whoever it needs dies: what comes next starts afresh, and no evaluation is lost. */
static void it_goes_with_zygote_and_judge(void **state)
{
    (void)state;
    need_torch();
    right("small.py", twice);
    pid_t pid = spare();
    uint64_t taken = kg_torch_of(worker)->taken;
    kill(kg_torch_of(worker)->zygote[0].pid, SIGKILL);
    await_death(kg_torch_of(worker)->zygote[0].pid);
    kg_tspare_begin(worker, false, 1, 1);
    assert_int_equal(spare(), pid);
    right("small.py", twice);
    assert_int_equal(kg_torch_of(worker)->taken, taken);
    assert_false(exists(pid));
    pid = spare();
    kill(kg_torch_of(worker)->judge.pid, SIGKILL);
    await_death(kg_torch_of(worker)->judge.pid);
    right("small.py", twice);
    assert_int_equal(kg_torch_of(worker)->taken, taken);
    assert_false(exists(pid));
    kg_tspare_drop(worker);
    kill(kg_torch_of(worker)->zygote[0].pid, SIGKILL);
    await_death(kg_torch_of(worker)->zygote[0].pid);
    kg_tspare_begin(worker, false, 1, 1); /* nobody waits for an import for its sake */
    assert_false(kg_torch_of(worker)->spare.up);
    right("small.py", twice);
    kg_zygote_kill(&kg_torch_of(worker)->zygote[0]); /* as where it dies while a spare is begun */
    struct kg_record r;
    judge("small.py", twice, KG_ST_FULL, &r);
    assert_false(r.has_error);
    assert_true(json_is_string(json_object_get(r.environment, "torch")));
    kg_record_deinit(&r);
}

static void nothing_is_left_of_it(void **state)
{
    (void)state;
    need_torch();
    right("small.py", twice);
    pid_t pid = spare();
    char source[320];
    snprintf(source, sizeof source, "%s", kg_torch_of(worker)->spare.source);
    assert_true(kg_file_exists(source));
    kg_torch_forget(worker, KG_FORGET_PROBLEM);
    assert_false(kg_torch_of(worker)->spare.up);
    assert_false(exists(pid));
    assert_false(kg_file_exists(source));
    assert_int_equal(sources(), 0);
    for (int k = 0; k < KG_DJ_PORTS; k++) { /* all of them are free */
        struct kg_err err = KG_ERR_INIT;
        int port, fds[3];
        if (kg_dj_port_open(&kg_torch_of(worker)->judge, 4096, 4096, &port, fds, &err) != KG_OK) {
            fail_msg("%s", err.message);
        }
        for (int i = 0; i < 3; i++) {
            close(fds[i]);
        }
    }
    kg_torch_forget(worker, KG_FORGET_JUDGE);
}

/* They neither keep the next problem waiting nor stay beyond its first runner's start. */
static void the_last_problems_runners_end_meanwhile(void **state)
{
    (void)state;
    need_torch();
    right("small.py", twice);
    struct kg_trunner *ref = &kg_torch_of(worker)->instance[KG_INSTANCE_PUBLISHED].ref;
    assert_true(ref->up);
    pid_t pid = ref->runner.sandbox.pid;
    kg_torch_leave(worker);
    assert_true(!ref->up && exists(pid));
    right("large.py", twice);
    assert_true(ref->up && ref->runner.sandbox.pid != pid && !exists(pid));
    pid = ref->runner.sandbox.pid;
    kg_torch_leave(worker);
    kg_torch_forget(worker, KG_FORGET_PROBLEM);
    assert_false(exists(pid));
}

/* Whoever describes a problem stays as its reference, where its regions turn out to suffice: on a
 * GPU they suit most problems from the start on. */
static void whoever_describes_stays(void **state)
{
    (void)state;
    const struct kg_trunner *ref = &kg_torch_of(worker)->instance[KG_INSTANCE_PUBLISHED].ref;
    need_torch();
    put("wide.py", PROBLEM("50000"));
    for (int gpu = 0; gpu < 2; gpu++) {
        kg_torch_leave(worker);
        kg_tspare_drop(worker);
        kg_torch_of(worker)->judge.facts.clock = gpu == 1;
        right("wide.py", twice);
        assert_true(gpu ? ref->in_bytes == 128 << 20 && ref->out_bytes == 296 << 20
                        : ref->in_bytes > 8 << 20 && ref->in_bytes < 16 << 20);
    }
    kg_tspare_drop(worker);
    kg_torch_leave(worker);
    kg_torch_of(worker)->judge.facts.clock = false;
}

/* A reference and a null runner serve any number of candidates: how long they may compute is no
 * candidate's limit. */
static void what_stays_may_compute(void **state)
{
    (void)state;
    need_torch();
    right("small.py", twice);
    assert_true(
        seconds(kg_torch_of(worker)->instance[KG_INSTANCE_PUBLISHED].ref.runner.sandbox.pid) < 0);
    assert_true(seconds(spare()) == (long)worker->config.torch_deadline_eval + 1);
}

/* From problem to problem it is kept; too small a one is not taken, a larger one is. */
static void sizes(void **state)
{
    (void)state;
    need_torch();
    kg_tspare_drop(worker);
    right("small.py", twice);
    pid_t pid = spare();
    uint64_t taken = kg_torch_of(worker)->taken;
    right("large.py", twice);
    assert_int_equal(kg_torch_of(worker)->taken, taken);
    assert_false(exists(pid));
    pid = spare();
    right("small.py", twice);
    assert_int_equal(kg_torch_of(worker)->taken, taken + 1);
    assert_false(exists(pid));
    kg_tspare_drop(worker);
    kg_tspare_begin(worker, false, 1, (uint64_t)1 << 30);
    assert_int_equal(kg_torch_of(worker)->spare.out_bytes, (uint64_t)1 << 30);
    right("small.py", twice);
    assert_int_equal(kg_torch_of(worker)->taken, ++taken + 1);
    kg_torch_of(worker)->spare_interprets = true; /* as if of the other zygote */
    right("small.py", twice);
    assert_int_equal(kg_torch_of(worker)->taken, taken + 1);
    for (int k = 0; k < 2; k++) { /* one of its regions is too small */
        kg_tspare_drop(worker);
        kg_tspare_begin(worker, false, k ? 1 : 8u << 20, k ? 8u << 20 : 1);
        right("large.py", twice);
        assert_int_equal(kg_torch_of(worker)->taken, taken + 1);
    }
}

/* No runner is shown another's text, none can write its own, and the spare's is empty. */
static void sources_do_not_mix(void **state)
{
    (void)state;
    static const char first[] = HEAD "SECRET = 'left-by-the-first'\n\n\n" BODY("");
    static const char second[] =
        HEAD "found = []\n"
             "for top in {os.path.dirname(__file__), '/kgym', '/tmp'}:\n"
             "    for at, _, names in os.walk(top):\n"
             "        if at.startswith(os.sys.prefix):\n" /* which has empty files of its own */
             "            continue\n"
             "        for name in names:\n"
             "            try:\n"
             "                text = open(os.path.join(at, name), 'rb').read()\n"
             "            except OSError:\n"
             "                continue\n"
             "            if b'left-by' + b'-the-first' in text or not text:\n"
             "                found.append(name)\n"
             "assert not found, found\n"
             "own = open(__file__).read()\n"
             "assert own.startswith('import torch') and own.endswith('the end\\n')\n"
             "for mode in ('r+', 'w', 'a'):\n"
             "    try:\n"
             "        open(__file__, mode)\n"
             "    except OSError:\n"
             "        continue\n"
             "    raise AssertionError(mode)\n\n\n" BODY("") "# the end\n";
    struct stat st;
    need_torch();
    right("small.py", first);
    for (int k = 0; k < 3; k++) {
        uint64_t taken = kg_torch_of(worker)->taken;
        assert_int_equal(stat(kg_torch_of(worker)->spare.source, &st), 0);
        assert_int_equal(st.st_size, 0);
        right("small.py", k == 1 ? first : second);
        assert_int_equal(kg_torch_of(worker)->taken, taken + 1);
    }
}

static void none_where_it_is_not_wanted(void **state)
{
    (void)state;
    need_torch();
    right("small.py", twice);
    kg_tspare_drop(worker);
    uint64_t begun = kg_torch_of(worker)->spares;
    kg_torch_of(worker)->judge.held = true; /* a device that is measured */
    kg_tspare_begin(worker, false, 1, 1);
    assert_false(kg_torch_of(worker)->spare.up);
    kg_torch_of(worker)->judge.held = false;
    for (int k = 0; k < 2; k++) { /* a GPU's is worth it, this one is not */
        worker->config.torch_spare = k ? KG_SPARE_NO : KG_SPARE_AUTO;
        right("small.py", twice);
        assert_false(kg_torch_of(worker)->spare.up);
        assert_int_equal(kg_torch_of(worker)->spares, begun);
    }
    worker->config.torch_spare = KG_SPARE_YES;
    kg_tspare_begin(worker, false, 1, 1);
    kg_tspare_settle(worker);
    assert_int_equal(kg_torch_of(worker)->spare.runner.wire->state, KG_TS_READY);
    assert_int_equal(kg_torch_of(worker)->spares, begun + 1);
}

/* As if the judge had a GPU: contexts are made in turn, while nobody is timed. */
static void it_boots_while_the_last_one_ends(void **state)
{
    (void)state;
    struct kg_trunner last;
    struct kg_err err = KG_ERR_INIT;
    need_torch();
    right("small.py", twice);
    kg_tspare_drop(worker);
    kg_torch_of(worker)->judge.facts.clock = true;
    kg_tspare_begin(worker, false, 1, 1);
    usleep(50000);
    assert_false(kg_torch_of(worker)->spare.runner.told);
    assert_int_not_equal(kg_torch_of(worker)->spare.runner.wire->state, KG_TS_READY);
    for (int k = 0; k < 2; k++) { /* the second time it has died */
        const char *problem = kg_torch_of(worker)->problem_file;
        assert_int_equal(kg_trunner_start(worker, false, problem, 1, 1, &last, &err), KG_OK);
        pid_t ends = last.runner.sandbox.pid, next = spare();
        if (k == 1) {
            kill(next, SIGKILL);
            await_death(next);
        }
        kg_tspare_follow(worker, &last);
        assert_false(last.up || exists(ends));
        assert_true(kg_torch_of(worker)->boots == kg_torch_of(worker)->judge.held);
        kg_tspare_followed(worker);
        assert_true(kg_torch_of(worker)->spare.up == (k == 0));
        assert_false(kg_torch_of(worker)->judge.held);
        if (k == 0) {
            assert_int_equal(kg_torch_of(worker)->spare.runner.wire->state, KG_TS_READY);
            uint64_t taken = kg_torch_of(worker)->taken;
            right("small.py", twice); /* by that one; the one begun meanwhile has booted since */
            assert_int_equal(kg_torch_of(worker)->taken, taken + 1);
            assert_int_equal(kg_torch_of(worker)->spare.runner.wire->state, KG_TS_READY);
            kg_tspare_drop(worker);
            kg_tspare_begin(worker, false, 1, 1);
        }
    }
    right("small.py", twice);
    kg_torch_of(worker)->judge.facts.clock = false;
}

/* Lets a stopped process go on after a while. */
static pid_t wake_later(pid_t pid)
{
    pid_t waker = fork();
    if (waker == 0) {
        usleep(300000);
        kill(pid, SIGCONT);
        _exit(0);
    }
    return waker;
}

/* Others may be timed as soon as somebody looks and the context is made, but not before, and the
 * judge is asked in turn from then on. */
static void others_go_on_when_its_context_is_made(void **state)
{
    (void)state;
    struct kg_trunner last;
    struct kg_torch *t = kg_torch_of(worker);
    struct kg_err err = KG_ERR_INIT;
    need_torch();
    right("small.py", twice);
    kg_tspare_drop(worker);
    t->judge.facts.clock = true;
    kg_tspare_begin(worker, false, 1, 1);
    assert_int_equal(kg_trunner_start(worker, false, t->problem_file, 1, 1, &last, &err), KG_OK);
    assert_int_equal(kill(spare(), SIGSTOP), 0);
    pid_t waker = wake_later(spare());
    kg_tspare_follow(worker, &last);
    bool boots = t->boots;
    kg_tspare_look(worker);
    bool kept = t->judge.held && t->boot.device.fd_long >= 0 && t->boot.turn.fd >= 0;
    assert_int_equal(waitpid(waker, NULL, 0), waker);
    for (int k = 0; k < 300 && t->judge.held; k++) {
        usleep(10000);
        kg_tspare_look(worker);
    }
    bool let = !t->judge.held && t->boot.device.fd_long < 0 && t->boot.turn.fd < 0 && t->boots;
    kg_tspare_followed(worker);
    assert_true(boots && kept && let);
    assert_false(t->boots || t->judge.held);
    assert_int_equal(t->spare.runner.wire->state, KG_TS_READY);
    right("small.py", twice);
    t->judge.facts.clock = false;
}

static void none_where_no_other_follows(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    kg_tspare_drop(worker);
    judge_task(
        (struct kg_task){
            .problem = "small.py", .text = twice, .source = true, .stop_after = KG_ST_FULL},
        &r);
    assert_false(r.has_error || kg_torch_of(worker)->spare.up);
    kg_record_deinit(&r);
}

/* --- timing --- */

static struct {
    int stopped, alone, booting;
    pid_t waker;
} timing;

/* The first call of the candidate, before the device is taken alone, finds a spare whose boot takes
 * long; no call after it may. */
static enum kg_code watched(struct kg_dj *j, const struct kg_dj_call *c, struct kg_dj_report *out,
                            struct kg_err *err)
{
    const struct kg_trunner *s = &kg_torch_of(worker)->spare;
    if (!timing.stopped && !j->held && s->up && timing.alone > 0) {
        kg_tspare_drop(worker);
        kg_tspare_begin(worker, false, 1, 1);
        timing.stopped = kill(spare(), SIGSTOP) == 0 && s->runner.wire->state != KG_TS_READY;
        timing.waker = wake_later(spare());
    }
    timing.alone += j->held;
    timing.booting += j->held && s->up && s->runner.wire->state != KG_TS_READY;
    return kg_dj_run(j, c, out, err);
}

static void nothing_boots_while_a_device_is_measured(void **state)
{
    (void)state;
    need_torch();
    right("small.py", twice);
    *kg_torch_test(worker) = (struct kg_torch_test){.times_anywhere = true, .run = watched};
    worker->config.timing_block_pairs = 4;
    worker->config.timing_blocks = worker->config.timing_min_blocks = 1;
    worker->config.timing_budget = 1;
    uint64_t taken = kg_torch_of(worker)->taken;
    for (int k = 0; k < 20 && !timing.stopped; k++) { /* a boot is short: it is caught sometimes */
        timed("small.py");
        assert_int_equal(waitpid(timing.waker, NULL, 0), timing.waker);
        assert_int_equal(kg_torch_of(worker)->taken, ++taken);
    }
    *kg_torch_test(worker) = (struct kg_torch_test){.times_anywhere = false};
    assert_true(timing.stopped);
    assert_true(timing.alone > 8);
    assert_int_equal(timing.booting, 0);
}

/* It knows nothing of any problem; one whose regions are too small is replaced. */
static void the_null_runner_serves_all_problems(void **state)
{
    (void)state;
    need_torch();
    *kg_torch_test(worker) = (struct kg_torch_test){.times_anywhere = true};
    worker->config.timing_block_pairs = 4;
    worker->config.timing_blocks = worker->config.timing_min_blocks = 1;
    const struct kg_trunner *null = &kg_torch_of(worker)->null;
    timed("small.py");
    pid_t first = null->runner.sandbox.pid;
    assert_true(null->up && seconds(first) < 0);
    kg_torch_leave(worker);
    timed("large.py");
    pid_t second = null->runner.sandbox.pid;
    assert_true(null->up && second != first && !exists(first));
    kg_torch_leave(worker);
    assert_true(null->up);
    timed("small.py");
    assert_int_equal(null->runner.sandbox.pid, second);
    kill(second, SIGKILL);
    await_death(second);
    timed("small.py");
    pid_t third = null->runner.sandbox.pid;
    assert_true(null->up && third != second);
    kg_torch_forget(worker, KG_FORGET_PROBLEM);
    assert_false(exists(third));
    *kg_torch_test(worker) = (struct kg_torch_test){.times_anywhere = false};
}

static void the_judges_core(void **state)
{
    (void)state;
    cpu_set_t some;
    CPU_ZERO(&some);
    CPU_SET(3, &some);
    assert_int_equal(kg_torch_across(&some, 3), 3);
    CPU_SET(20, &some);
    CPU_SET(21, &some);
    CPU_SET(30, &some);
    assert_int_equal(kg_torch_across(&some, 3), 21);
    assert_int_equal(kg_torch_across(&some, 20), 30);
    assert_int_equal(kg_torch_across(&some, 30), 20);
    assert_int_equal(kg_torch_across(&some, 4), 4); /* none of them */
    assert_int_equal(kg_torch_across(&some, -1), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_second_candidate_takes_it),
        cmocka_unit_test(the_record_is_the_same),
        cmocka_unit_test(a_killed_one_is_nobodys_fault),
        cmocka_unit_test(it_goes_with_zygote_and_judge),
        cmocka_unit_test(nothing_is_left_of_it),
        cmocka_unit_test(the_last_problems_runners_end_meanwhile),
        cmocka_unit_test(sizes),
        cmocka_unit_test(whoever_describes_stays),
        cmocka_unit_test(what_stays_may_compute),
        cmocka_unit_test(sources_do_not_mix),
        cmocka_unit_test(none_where_it_is_not_wanted),
        cmocka_unit_test(it_boots_while_the_last_one_ends),
        cmocka_unit_test(others_go_on_when_its_context_is_made),
        cmocka_unit_test(none_where_no_other_follows),
        cmocka_unit_test(nothing_boots_while_a_device_is_measured),
        cmocka_unit_test(the_null_runner_serves_all_problems),
        cmocka_unit_test(the_judges_core),
    };
    return cmocka_run_group_tests(tests, setup, rig_close);
}

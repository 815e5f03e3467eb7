/* The judge of tensors on the CUDA row, over tests/fake_cuda: what differs from host memory. There,
 * exported memory is a memfd, so runners in C can map it, also where there is a GPU; on that
 * bench_judge_null does the same through the driver. */
#include <fcntl.h>
#include <sys/stat.h>

#include "cuda_rig.h"
#include "device_rig.h"
#include "gym/device/cuda_api.h"

/* Both answers of the reference, and bounds that the reference itself meets. */
static struct kg_dj with_case(struct runner *ref)
{
    rig_choose_fake();
    struct kg_dj j = start_judge("cuda:0");
    assert_true(j.facts.clock && !j.facts.sealed && !j.facts.confined);
    *ref = start_runner(&j, honest);
    fill_case(&j, 0, 1);
    expect(&j, ref, 0);
    return j;
}

static struct kg_dj_report called(behaviour how, bool *pass)
{
    struct runner ref, cand;
    struct kg_dj j = with_case(&ref);
    cand = start_runner(&j, how);
    run(&j, &cand, 0, KG_TC_BIND, KG_DJ_NONE);
    struct kg_dj_report rep = run(&j, &cand, 0, KG_TC_CALL, KG_DJ_CANDIDATE);
    assert_int_equal(rep.status, KG_DJ_ANSWERED);
    assert_int_equal(rep.said, KG_TA_OK);
    *pass = compare(&j, 0).compare.pass;
    end_runner(&j, &cand);
    end_runner(&j, &ref);
    kg_dj_stop(&j);
    return rep;
}

static void an_honest_runner_passes(void **state)
{
    (void)state;
    bool pass;
    struct kg_dj_report rep = called(honest, &pass);
    assert_true(pass && rep.window_ns > 0);
    assert_false(rep.late_write || rep.input_modified || rep.guard_hit || rep.unwritten);
}

ON_CALL(off_by_a_little, y_of(v)[1234] += 0.01f)

static void a_wrong_element_is_seen(void **state)
{
    (void)state;
    bool pass;
    called(off_by_a_little, &pass);
    assert_false(pass);
}

/* Answers among the runner's own tensors, in the upper half, as PyTorch's pool lays them. */
static bool in_the_pool(struct view *v)
{
    v_honest(v);
    if (is_call(v)) {
        struct kg_tleaf *l = &v->w->out[0];
        uint64_t to = v->w->out_bytes / 2 + 512;
        memset(v->out + to - 512, 1, l->bytes + 1024);
        memcpy(v->out + to, v->out + l->offset, l->bytes);
        l->offset = to;
        l->copied = 0;
    }
    return false;
}

static void what_lies_beside_an_answer_in_the_pool_is_the_runners(void **state)
{
    (void)state;
    bool pass;
    struct kg_dj_report rep = called(in_the_pool, &pass);
    assert_true(pass);
    assert_false(rep.guard_hit || rep.unwritten);
}

ON_CALL(unwritten_in_the_pool, (v->w->out[0].offset = v->w->out_bytes / 2, v->w->out[0].copied = 0))

static void poison_is_everywhere_in_out(void **state)
{
    (void)state;
    bool pass;
    struct kg_dj_report rep = called(unwritten_in_the_pool, &pass);
    assert_true(rep.unwritten && !pass);
}

#define AT_END 1 /* poison in the last bytes of OUT that are in use */
#define BEHIND 2 /* and in those of all of it */

/* Right, in the pool; claims what OUT held before it, and how much of it is in use. */
static bool tells_of_out(struct view *v)
{
    static const unsigned char zeros[64];
    static uint64_t all; /* as it was when the first command came */
    uint64_t used = v->w->out_bytes, seen = 0;
    all = all > 0 ? all : used;
    seen |= memcmp(v->out + used - sizeof zeros, zeros, sizeof zeros) != 0 ? AT_END : 0;
    seen |= memcmp(v->out + all - sizeof zeros, zeros, sizeof zeros) != 0 ? BEHIND : 0;
    memset(v->out, 0, all);
    in_the_pool(v);
    v->w->call_ns = used << 8 | seen;
    return false;
}

/* A tensor that ends where OUT does, as far as it is in use; the next time, behind that. */
static bool at_the_end(struct view *v)
{
    static uint64_t calls;
    v_honest(v);
    if (is_call(v)) {
        struct kg_tleaf *l = &v->w->out[0];
        uint64_t to = v->w->out_bytes - KG_TWIRE_ALIGN * (l->bytes / KG_TWIRE_ALIGN + 1);
        to += calls++ > 0 ? KG_TWIRE_ALIGN * 2 : 0;
        memmove(v->out + to, v->out + l->offset, l->bytes);
        l->offset = to;
        l->copied = 0;
    }
    return false;
}

/* Of a port's megabyte no more than an eighth may be needed: by turns, and as the judge says. */
static void of_out_as_much_as_is_used(void **state)
{
    static const uint64_t used[] = {REGION, REGION / 8, REGION, REGION / 8};
    struct runner ref, cand;
    uint64_t all = 0;
    (void)state;
    struct kg_dj j = with_case(&ref);
    cand = start_runner(&j, tells_of_out);
    run(&j, &cand, 0, KG_TC_BIND, KG_DJ_NONE);
    for (int k = 0; k < 4; k++) {
        OK(kg_dj_port_use(&j, cand.port, used[k], &err));
        struct kg_dj_report rep = run(&j, &cand, 0, KG_TC_CALL, KG_DJ_CANDIDATE);
        assert_int_equal(rep.status, KG_DJ_ANSWERED);
        assert_true(compare(&j, 0).compare.pass);
        all = k == 0 ? rep.call_ns >> 8 : all;
        assert_int_equal(rep.call_ns >> 8, all - 2 * (REGION - used[k]));
        assert_int_equal(rep.call_ns & 0xff, used[k] == REGION ? AT_END | BEHIND : AT_END);
    }
    assert_int_equal(kg_dj_port_use(&j, cand.port, all, &err), KG_E_LIMIT);
    assert_int_equal(kg_dj_port_use(&j, KG_DJ_PORTS - 1, REGION, &err), KG_E_GYM);
    end_runner(&j, &cand);
    cand = start_runner(&j, at_the_end);
    run(&j, &cand, 0, KG_TC_BIND, KG_DJ_NONE);
    OK(kg_dj_port_use(&j, cand.port, REGION / 8, &err));
    for (int k = 0; k < 2; k++) {
        struct kg_dj_report rep = run(&j, &cand, 0, KG_TC_CALL, KG_DJ_CANDIDATE);
        assert_int_equal(rep.status, k ? KG_DJ_PROTOCOL : KG_DJ_ANSWERED);
    }
    end_runner(&j, &cand);
    end_runner(&j, &ref);
    kg_dj_stop(&j);
}

ON_CALL(beyond_a_copy, v->out[v->w->out[0].offset + v->w->out[0].bytes] ^= 1)

static void guards_of_copies_hold(void **state)
{
    (void)state;
    bool pass;
    struct kg_dj_report rep = called(beyond_a_copy, &pass);
    assert_true(rep.guard_hit && pass);
}

/* Where answers are kept as differences OUT has room for one, and calls allocate everywhere in it:
 * what lies beside a copy is theirs. */
static void an_out_that_is_not_divided(void **state)
{
    struct runner ref, cand[2];
    (void)state;
    struct kg_dj j = with_case(&ref);
    for (int short_of_memory = 0; short_of_memory < 2; short_of_memory++) {
        OK(kg_dj_cap(&j, 1 << 30, short_of_memory ? KG_DJ_APART : KG_DJ_DOUBLES, 0, &err));
        cand[short_of_memory] = start_runner(&j, beyond_a_copy);
        run(&j, &cand[short_of_memory], 0, KG_TC_BIND, KG_DJ_NONE);
        struct kg_dj_report rep = run(&j, &cand[short_of_memory], 0, KG_TC_CALL, KG_DJ_CANDIDATE);
        assert_int_equal(rep.status, KG_DJ_ANSWERED);
        assert_true(rep.guard_hit == !short_of_memory && compare(&j, 0).compare.pass);
    }
    for (int k = 0; k < 2; k++) {
        end_runner(&j, &cand[k]);
    }
    end_runner(&j, &ref);
    kg_dj_stop(&j);
}

/* Takes what the device has left, and keeps it. */
static bool hogs_the_device(struct view *v)
{
    struct kg_cu cu;
    struct kg_err ignored = KG_ERR_INIT;
    kg_cu_ptr at;
    v_honest(v);
    if (is_call(v) && kg_cu_load(rig_fake_library(), &cu, &ignored) == KG_OK) {
        for (size_t bytes = 1 << 20; bytes > 0;) {
            bytes = cu.mem_alloc(&at, bytes) == 0 ? bytes : bytes / 2;
        }
    }
    return false;
}

/* What there is of memory, to all processes of the fake driver; the file is the caller's. */
static void limit_memory(char *path, size_t cap, int64_t bytes)
{
    snprintf(path, cap, "/tmp/kgym-fake-left-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, &bytes, sizeof bytes) == sizeof bytes);
    close(fd);
    setenv("KGYM_FAKE_CUDA_LEFT", path, 1);
}

/* The judge has no room for the answer: an error of its own, and whoever asked for it can tell that
 * from a host that lacks something. */
static void a_runner_that_takes_all_memory_strains_the_judge(void **state)
{
    (void)state;
    char path[64];
    struct runner ref, cand;
    struct kg_dj_report rep;
    limit_memory(path, sizeof path, 512 << 20);
    struct kg_dj j = with_case(&ref);
    for (int hog = 1; hog >= 0; hog--) {
        cand = start_runner(&j, hog ? hogs_the_device : honest);
        run(&j, &cand, 0, KG_TC_BIND, KG_DJ_NONE);
        struct kg_dj_call c = call_of(&cand, 0, KG_TC_CALL, KG_DJ_CANDIDATE);
        enum kg_code code = kg_dj_run(&j, &c, &rep, &err);
        assert_int_equal(code, hog ? KG_E_HOST : KG_OK);
        if (hog) {
            assert_true(err.strained);
            assert_non_null(strstr(err.message, "the device has no memory"));
            int64_t back = 512 << 20; /* as its context ends */
            int fd = open(path, O_WRONLY);
            assert_int_equal(write(fd, &back, sizeof back), sizeof back);
            close(fd);
        }
        end_runner(&j, &cand);
    }
    assert_true(compare(&j, 0).compare.pass);
    assert_int_equal(kg_dj_compare(&j, 1, false, &(struct kg_dj_judgement){.leaf = 0}, &err),
                     KG_E_GYM); /* nobody strained it */
    assert_false(err.strained);
    end_runner(&j, &ref);
    kg_dj_stop(&j);
    unsetenv("KGYM_FAKE_CUDA_LEFT");
    unlink(path);
}

/* Nothing seals IN on a GPU. */
static bool writes_its_input(struct view *v)
{
    if (is_call(v)) {
        unsigned char *in = v_map(v->fd[1], v->w->in_bytes, PROT_READ | PROT_WRITE);
        in[v->bound[1].offset + 5] ^= 1;
        v_honest(v);
        munmap(in, v->w->in_bytes);
        return false;
    }
    v_honest(v);
    return false;
}

static void a_changed_input_is_seen(void **state)
{
    (void)state;
    bool pass;
    struct kg_dj_report rep = called(writes_its_input, &pass);
    assert_true(rep.input_modified);
    assert_int_equal(rep.input_at, 1);
}

static void a_null_call_has_a_window(void **state)
{
    struct runner ref;
    struct kg_dj_report rep;
    (void)state;
    struct kg_dj j = with_case(&ref);
    struct kg_dj_call c = call_of(&ref, 0, KG_TC_NULL, KG_DJ_NONE);
    c.timed = true;
    OK(kg_dj_run(&j, &c, &rep, &err));
    assert_int_equal(rep.status, KG_DJ_ANSWERED);
    assert_true(rep.window_ns >= rep.setup_ns && rep.setup_ns > 0);
    end_runner(&j, &ref);
    kg_dj_stop(&j);
}

static bool takes_its_time(struct view *v)
{
    if (v->w->command == KG_TC_NULL) {
        usleep(15000);
    }
    v_honest(v);
    return false;
}

/* Processor time of the judge for some calls. */
static int64_t spent(struct kg_dj *j, const struct runner *cand, bool alone)
{
    struct timespec from, to;
    struct kg_dj_report rep;
    clockid_t clock;
    _Atomic uint32_t building = KG_TB_NONE;
    j->held = alone;
    assert_int_equal(clock_getcpuclockid(j->pid, &clock), 0);
    assert_int_equal(clock_gettime(clock, &from), 0);
    for (int k = 0; k < 10; k++) {
        struct kg_dj_call c = call_of(cand, -1, KG_TC_NULL, KG_DJ_NONE);
        c.building = &building;
        OK(kg_dj_run(j, &c, &rep, &err));
        assert_int_equal(rep.status, KG_DJ_ANSWERED);
    }
    assert_int_equal(clock_gettime(clock, &to), 0);
    j->held = false;
    return (to.tv_sec - from.tv_sec) * INT64_C(1000000000) + to.tv_nsec - from.tv_nsec;
}

/* It looks for an answer all the time only where it is alone on the device. */
static void who_shares_the_device_leaves_the_core(void **state)
{
    (void)state;
    struct runner ref, cand;
    struct kg_dj j = with_case(&ref);
    cand = start_runner(&j, takes_its_time);
    run(&j, &cand, 0, KG_TC_BIND, KG_DJ_NONE);
    int64_t shared = spent(&j, &cand, false), alone = spent(&j, &cand, true);
    assert_in_range(2 * shared, 0, alone);
    end_runner(&j, &cand);
    end_runner(&j, &ref);
    kg_dj_stop(&j);
}

/* Answers with one number: the seed that it saw when the call was announced, and at the call. */
static bool tells_seeds(struct view *v)
{
    v_honest(v);
    if (v->w->command == KG_TC_CALL) {
        v->w->call_ns = v->early_seed << 8 | v->w->seed;
    }
    return false;
}

/* The judge waits until a timed call is prepared for. What is drawn in it cannot be drawn before.
 */
static void the_seed_of_a_call_that_draws_comes_with_its_release(void **state)
{
    struct runner ref, cand;
    struct kg_dj_report rep;
    (void)state;
    struct kg_dj j = with_case(&ref);
    cand = start_runner(&j, tells_seeds);
    run(&j, &cand, 0, KG_TC_BIND, KG_DJ_NONE);
    for (int draws = 0; draws < 2; draws++) {
        struct kg_dj_call c = call_of(&cand, 0, KG_TC_CALL, KG_DJ_CANDIDATE);
        c.timed = true;
        c.seed = 7;
        c.flags = draws ? KG_TF_DRAWS : 0;
        uint64_t want = draws ? 7 : 7 << 8 | 7;
        int tries = 0;
        do { /* on a busy host it may take longer than the judge waits */
            OK(kg_dj_run(&j, &c, &rep, &err));
            assert_int_equal(rep.said, KG_TA_OK);
        } while (rep.call_ns != want && ++tries < 50);
        assert_int_equal(rep.call_ns, want);
    }
    end_runner(&j, &cand);
    end_runner(&j, &ref);
    kg_dj_stop(&j);
}

/* Inputs that have moved are taken with the call, where the judge is told that it may ask for that.
 */
static void inputs_that_moved_are_bound_with_the_call(void **state)
{
    struct runner ref, cand;
    struct kg_dj_report rep;
    (void)state;
    struct kg_dj j = with_case(&ref);
    cand = start_runner(&j, honest);
    struct kg_dj_call c = call_of(&cand, 0, KG_TC_CALL, KG_DJ_CANDIDATE);
    assert_int_equal(kg_dj_run(&j, &c, &rep, &err), KG_E_GYM);
    assert_non_null(strstr(err.message, "no inputs like those"));
    c.flags = KG_TF_BIND;
    for (int i = 0; i < 2; i++) { /* only where they lie elsewhere */
        OK(kg_dj_run(&j, &c, &rep, &err));
        assert_true(rep.said == KG_TA_OK && rep.bound == (i == 0));
        assert_true(compare(&j, 0).compare.pass);
    }
    OK(kg_dj_case_move(&j, 0, 8192, &err));
    expect(&j, &ref, 0);
    OK(kg_dj_run(&j, &c, &rep, &err));
    assert_true(rep.said == KG_TA_OK && rep.bound);
    assert_true(compare(&j, 0).compare.pass);
    OK(kg_dj_case_move(&j, 0, 0, &err)); /* back */
    expect(&j, &ref, 0);
    OK(kg_dj_run(&j, &c, &rep, &err));
    assert_true(rep.bound && compare(&j, 0).compare.pass);
    c.flags = KG_TF_ANEW; /* wherever they lie */
    OK(kg_dj_run(&j, &c, &rep, &err));
    assert_true(rep.bound && compare(&j, 0).compare.pass);
    end_runner(&j, &cand);
    end_runner(&j, &ref);
    kg_dj_stop(&j);
}

/* The memory behind OUT, told by the file that the fake driver made for it. */
static ino_t out_of(struct kg_dj *j, int *port)
{
    int fds[3];
    struct stat st;
    OK(kg_dj_port_open(j, 1 << 20, 1 << 20, port, fds, &err));
    assert_int_equal(fstat(fds[2], &st), 0);
    for (int k = 0; k < 3; k++) {
        close(fds[k]);
    }
    return st.st_ino;
}

/* A port's memory serves again once its runner is gone: the judge looks itself. */
static void memory_of_the_gone_serves_again(void **state)
{
    (void)state;
    static const bool dies[] = {true, false, true};
    ino_t last = 0;
    rig_choose_fake();
    struct kg_dj j = start_judge("cuda:0");
    for (size_t i = 0; i < sizeof dies; i++) {
        int port;
        ino_t at = out_of(&j, &port);
        assert_true(i == 0 || (at == last) == dies[i - 1]);
        last = at;
        pid_t pid = fork();
        if (pid == 0) {
            pause();
            _exit(0);
        }
        int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
        assert_true(pid > 0 && pidfd >= 0);
        OK(kg_dj_port_attach(&j, port, pidfd, &err));
        if (dies[i]) {
            kill(pid, SIGKILL);
            waitpid(pid, NULL, 0);
        }
        OK(kg_dj_port_end(&j, port, &err));
        if (!dies[i]) {
            kill(pid, SIGKILL);
            waitpid(pid, NULL, 0);
        }
        close(pidfd);
    }
    int port;
    assert_true(out_of(&j, &port) == last);
    OK(kg_dj_port_close(&j, port, &err)); /* somebody may have it */
    assert_true(out_of(&j, &port) != last);
    kg_dj_stop(&j);
}

static void memory_of_the_gone_is_given_back(void **state)
{
    (void)state;
    rig_choose_fake();
    for (int trims = 0; trims < 2; trims++) {
        struct kg_dj j = start_judge("cuda:0");
        int port;
        ino_t first = out_of(&j, &port);
        pid_t pid = fork();
        if (pid == 0) {
            _exit(0);
        }
        int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
        assert_true(pid > 0 && pidfd >= 0);
        OK(kg_dj_port_attach(&j, port, pidfd, &err));
        waitpid(pid, NULL, 0);
        OK(kg_dj_port_end(&j, port, &err));
        if (trims) {
            OK(kg_dj_trim(&j, &err));
        }
        assert_true((out_of(&j, &port) == first) == !trims);
        close(pidfd);
        kg_dj_stop(&j);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_honest_runner_passes),
        cmocka_unit_test(a_wrong_element_is_seen),
        cmocka_unit_test(what_lies_beside_an_answer_in_the_pool_is_the_runners),
        cmocka_unit_test(poison_is_everywhere_in_out),
        cmocka_unit_test(of_out_as_much_as_is_used),
        cmocka_unit_test(guards_of_copies_hold),
        cmocka_unit_test(an_out_that_is_not_divided),
        cmocka_unit_test(a_runner_that_takes_all_memory_strains_the_judge),
        cmocka_unit_test(a_changed_input_is_seen),
        cmocka_unit_test(a_null_call_has_a_window),
        cmocka_unit_test(the_seed_of_a_call_that_draws_comes_with_its_release),
        cmocka_unit_test(who_shares_the_device_leaves_the_core),
        cmocka_unit_test(inputs_that_moved_are_bound_with_the_call),
        cmocka_unit_test(memory_of_the_gone_serves_again),
        cmocka_unit_test(memory_of_the_gone_is_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

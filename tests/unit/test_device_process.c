#include "device_rig.h"

#include <fcntl.h>

#include "base/message.h"
#include "gym/device/device_msg.h"

/* The process: its life, its death, and what it makes of messages that are none. */

static void start_and_stop(void **state)
{
    (void)state;
    struct kg_dj j = start_judge("cpu");
    assert_true(j.pid > 0 && j.facts.confined && j.facts.sealed);
    assert_false(j.facts.clock);
    assert_string_equal(j.facts.exchange, "memfd");
    assert_true(j.facts.memory_bytes > 0 && j.facts.l2_bytes > 0 && j.facts.bandwidth > 1e8);
    expect_name(j.pid, "kgym-djudge");
    assert_false(has_descriptor(j.pid, 4));
    pid_t pid = j.pid;
    kg_dj_stop(&j);
    assert_false(alive(pid));
    kg_dj_stop(&j);
}

static void a_device_that_is_not_there(void **state)
{
    (void)state;
    struct kg_dj j;
    struct kg_dj_spec spec = {.device = "tpu:0", .cpu = -1};
    assert_int_equal(kg_dj_start(&spec, &j, &err), KG_E_USAGE);
    assert_non_null(strstr(err.message, "no device of the name `tpu:0`"));
    assert_int_equal(j.pid, -1);
    kg_dj_stop(&j);
}

/* Every call on a judge that was killed: KG_E_GYM with a message that names the operation; then
 * another one serves. */
static void every_call_survives_the_judges_death(void **state)
{
    (void)state;
    static const char *const names[] = {"open port", "attach", "close", "begin case", "fill",
                                        "adopt",     "edit",   "run",   "self check", "compare"};
    for (int op = 0; op < 10; op++) {
        struct kg_dj j = start_judge("cpu");
        struct runner r = start_runner(&j, honest);
        struct kg_dj_report rep;
        struct kg_dj_judgement v;
        struct kg_dj_law law = {.kind = KG_DJ_CONSTANT};
        struct kg_tleaf leaf;
        struct kg_dj_call c = call_of(&r, 0, KG_TC_CALL, KG_DJ_NONE);
        int port, fds[3];
        bool applies;
        enum kg_code code = KG_OK;
        fill_case(&j, 0, 1);
        v_leaf(&leaf, KG_TD_F32, 2, 2);
        kill(j.pid, SIGKILL);
        switch (op) {
        case 0:
            code = kg_dj_port_open(&j, 4096, 4096, &port, fds, &err);
            break;
        case 1:
            code = kg_dj_port_attach(&j, r.port, r.pidfd, &err);
            break;
        case 2:
            code = kg_dj_port_close(&j, r.port, &err);
            break;
        case 3:
            code = kg_dj_case_begin(&j, 0, &leaf, 1, &err);
            break;
        case 4:
            code = kg_dj_case_fill(&j, 0, 0, &law, &err);
            break;
        case 5:
            code = kg_dj_case_adopt(&j, 0, 0, r.port, 0, &err);
            break;
        case 6:
            code = kg_dj_case_edit(&j, 0, 0, law.key, &err);
            break;
        case 7:
            code = kg_dj_run(&j, &c, &rep, &err);
            break;
        case 8:
            code =
                kg_dj_self(&j, 0, &(struct kg_dj_ask){.k = 1, .how = KG_DJ_LEARNS}, &applies, &err);
            break;
        case 9:
            code = kg_dj_compare(&j, 0, false, &v, &err);
            break;
        }
        expect_killed(code, names[op]);
        assert_int_equal(kg_dj_case_fill(&j, 0, 0, &law, &err), KG_E_GYM);
        assert_string_equal(err.message, "the judge of tensors is not running (`fill`)");
        kg_dj_stop(&j);
        end_runner(&j, &r);
    }
    struct kg_dj j = start_judge("cpu");
    struct runner ref = start_runner(&j, honest);
    fill_case(&j, 0, 1);
    expect(&j, &ref, 0);
    end_runner(&j, &ref);
    kg_dj_stop(&j);
}

/* Killed, or the broker interrupted, while a runner has the word. */
static void the_end_in_the_middle_of_a_call(void **state)
{
    (void)state;
    static volatile int cancelled;
    for (int interrupt = 0; interrupt < 2; interrupt++) {
        struct kg_dj_spec spec = {.device = "cpu", .cpu = -1, .cancelled = &cancelled};
        struct kg_dj_report rep;
        struct kg_dj j;
        OK(kg_dj_start(&spec, &j, &err));
        struct runner r = start_runner(&j, never_answers);
        fill_case(&j, 0, 1);
        run(&j, &r, 0, KG_TC_BIND, KG_DJ_NONE);
        struct kg_dj_call c = call_of(&r, 0, KG_TC_CALL, KG_DJ_NONE);
        c.deadline_ns += 60000000000;
        pid_t killer = interrupt ? -1 : kill_later(j.pid, 100000);
        cancelled = interrupt;
        assert_int_equal(kg_dj_run(&j, &c, &rep, &err), interrupt ? KG_E_CANCELLED : KG_E_GYM);
        assert_non_null(strstr(err.message, interrupt ? "interrupted" : "killed by signal 9"));
        assert_int_equal(j.pid, -1);
        cancelled = 0;
        if (killer > 0) {
            waitpid(killer, NULL, 0);
        }
        end_runner(&j, &r);
    }
}

static pid_t start(void)
{
    struct kg_dj j;
    struct kg_dj_spec spec = {.device = "cpu", .cpu = -1};
    struct kg_err e = KG_ERR_INIT;
    return kg_dj_start(&spec, &j, &e) == KG_OK ? j.pid : -1;
}

static void the_judge_dies_with_its_broker(void **state)
{
    (void)state;
    expect_end_with_its_broker(start);
}

/* --- messages --- */
static struct kg_djm_req good_request(uint32_t op)
{
    return (struct kg_djm_req){.magic = KG_DJM_MAGIC,
                               .op = op,
                               .seq = 1,
                               .command = KG_TC_CALL,
                               .in_bytes = 4096,
                               .out_bytes = 4096,
                               .law.a = 1};
}

static void requests_are_checked_field_by_field(void **state)
{
    (void)state;
    static struct kg_djm_req r;
    for (uint32_t op = KG_DJM_OPEN; op < KG_DJM_OPS; op++) {
        r = good_request(op);
        size_t n = kg_djm_req_bytes(op);
        assert_null(kg_djm_req_check(&r, n));
        assert_string_equal(kg_djm_req_check(&r, n - 1), "a request of the wrong size");
        assert_string_equal(kg_djm_req_check(&r, n + 1), "a request of the wrong size");
        assert_string_equal(kg_djm_req_check(&r, 7), "a request of the wrong size");
        assert_string_equal(kg_djm_req_check(&r, 0), "a request of the wrong size");
    }
#define REFUSED(op_of, change, why)                                                                \
    do {                                                                                           \
        r = good_request(op_of);                                                                   \
        size_t n_of = kg_djm_req_bytes(op_of);                                                     \
        change;                                                                                    \
        assert_string_equal(kg_djm_req_check(&r, n_of), why);                                      \
    } while (0)
    REFUSED(KG_DJM_RUN, r.magic ^= 1, "not a request");
    REFUSED(KG_DJM_RUN, r.op = KG_DJM_HELLO, "no such operation");
    REFUSED(KG_DJM_RUN, r.op = KG_DJM_OPS, "no such operation");
    REFUSED(KG_DJM_RUN, r.op = UINT32_MAX, "no such operation");
    REFUSED(KG_DJM_RUN, r.op = KG_DJM_BEGIN, "a request of the wrong size");
    REFUSED(KG_DJM_RUN, r.port = -1, "no such port");
    REFUSED(KG_DJM_CLOSE, r.port = KG_DJ_PORTS, "no such port");
    REFUSED(KG_DJM_RUN, r.id = -2, "no such case");
    REFUSED(KG_DJM_FILL, r.id = -1, "no such case");
    REFUSED(KG_DJM_SELF, r.id = KG_DJ_CASES, "no such case");
    REFUSED(KG_DJM_FILL, r.at = KG_TWIRE_LEAVES, "no such tensor");
    REFUSED(KG_DJM_ADOPT, r.from = -1, "no such tensor");
    REFUSED(KG_DJM_COPY, r.from = KG_DJ_CASES, "no such case");
    REFUSED(KG_DJM_COMPARE_LEFT, r.from = KG_DJ_CASES, "no such case or tensor");
    REFUSED(KG_DJM_COMPARE_LEFT, r.lent = -1, "no such case or tensor");
    REFUSED(KG_DJM_COMPARE_LEFT, r.lent = KG_TWIRE_LEAVES, "no such case or tensor");
    REFUSED(KG_DJM_MOVE, r.in_bytes = 100, "a case cannot be moved so far");
    REFUSED(KG_DJM_MOVE, r.in_bytes = KG_DJM_FAR + KG_TWIRE_ALIGN, "a case cannot be moved so far");
    REFUSED(KG_DJM_RUN, r.timed = 2, "a flag is neither 0 nor 1");
    REFUSED(KG_DJM_COMPARE, r.probe = 2, "a flag is neither 0 nor 1");
    REFUSED(KG_DJM_SELF, r.ask.how = 16, "no such way to ask");
    REFUSED(KG_DJM_RUN, r.keep = KG_DJ_SIDES, "no such side");
    REFUSED(KG_DJM_COMPARE, r.tolerance = -1, "a tolerance out of range, or where none belongs");
    REFUSED(KG_DJM_COMPARE, r.tolerance = NAN, "a tolerance out of range, or where none belongs");
    REFUSED(KG_DJM_COMPARE, (r.tolerance = 0.1, r.probe = 1),
            "a tolerance out of range, or where none belongs");
    REFUSED(KG_DJM_SELF, r.tolerance = 0.1, "a tolerance out of range, or where none belongs");
    REFUSED(KG_DJM_RUN, r.flags = 2, "unused bits are set");
    REFUSED(KG_DJM_SELF, r.ask.k = -1, "a negative length");
    REFUSED(KG_DJM_SELF, r.ask.fill[0] = -1, "a fill that is no size");
    REFUSED(KG_DJM_SELF, r.ask.fill[KG_DJ_FILLS - 1] = NAN, "a fill that is no size");
    REFUSED(KG_DJM_FILL, r.law.kind = KG_DJ_KINDS, "no such value law");
    REFUSED(KG_DJM_FILL, r.law.a = NAN, "a law without finite numbers");
    REFUSED(KG_DJM_FILL, r.law.b = INFINITY, "a law without finite numbers");
    REFUSED(KG_DJM_FILL, r.law.uneven = KG_DJ_UNEVENS, "no such parts of a tensor");
    REFUSED(KG_DJM_TOUCH, r.law.a = 0, "a unit that is not positive");
    REFUSED(KG_DJM_TOUCH, r.law.a = INFINITY, "a law without finite numbers");
    REFUSED(KG_DJM_TOUCH, r.law.b = 0.5, "a flag is neither 0 nor 1");
    REFUSED(KG_DJM_RUN, r.command = KG_TC_LOAD, "a command that moves no data");
    REFUSED(KG_DJM_RUN, r.command = KG_TC_COUNT, "a command that moves no data");
    REFUSED(KG_DJM_RUN, r.id = -1, "a command without its case");
    REFUSED(KG_DJM_RUN, (r.command = KG_TC_BIND, r.keep = KG_DJ_FLOAT),
            "nothing to keep of this command");
    REFUSED(KG_DJM_RUN, (r.command = KG_TC_NULL, r.keep = KG_DJ_FLOAT),
            "nothing to keep of this command");
    REFUSED(KG_DJM_OPEN, r.in_bytes = 0, "a region's size is out of range");
    REFUSED(KG_DJM_OPEN, r.out_bytes = KG_DJM_MOST + 1, "a region's size is out of range");
    REFUSED(KG_DJM_USE, r.out_bytes = 0, "a region's size is out of range");
    REFUSED(KG_DJM_USE, r.out_bytes = KG_DJM_MOST + 1, "a region's size is out of range");
    REFUSED(KG_DJM_BEGIN, r.nleaf = KG_TWIRE_LEAVES + 1, "too many tensors");
    REFUSED(KG_DJM_BEGIN, (r.nleaf = 1, r.leaf[0].dtype = KG_TD_COUNT), "no known dtype");
    REFUSED(KG_DJM_BEGIN, (r.nleaf = 1, r.leaf[0].rank = 9), "too many dimensions");
    REFUSED(KG_DJM_BEGIN, (r.nleaf = 1, r.leaf[0].rank = 1, r.leaf[0].shape[0] = -1),
            "a shape beyond any memory");
    REFUSED(KG_DJM_BEGIN,
            (r.nleaf = 1, r.leaf[0].rank = 2, r.leaf[0].shape[0] = r.leaf[0].shape[1] = 1l << 40),
            "a shape beyond any memory");
    REFUSED(KG_DJM_BEGIN, (r.nleaf = 1, r.leaf[0].rank = 1, r.leaf[0].shape[0] = 1l << 40),
            "it lies outside the region");
#undef REFUSED
}

static void replies_are_checked(void **state)
{
    (void)state;
    static struct kg_djm_rep r;
    r = (struct kg_djm_rep){.magic = KG_DJM_MAGIC, .op = KG_DJM_FILL, .seq = 9};
    size_t n = kg_djm_rep_bytes(KG_DJM_FILL);
    assert_null(kg_djm_rep_check(&r, n, KG_DJM_FILL, 9));
    assert_non_null(kg_djm_rep_check(&r, n - 1, KG_DJM_FILL, 9));
    assert_non_null(kg_djm_rep_check(&r, n, KG_DJM_RUN, 9));
    assert_non_null(kg_djm_rep_check(&r, n, KG_DJM_EDIT, 9));
    assert_non_null(kg_djm_rep_check(&r, n, KG_DJM_FILL, 8));
    r.flag = 2;
    assert_non_null(kg_djm_rep_check(&r, n, KG_DJM_FILL, 9));
    r.flag = 0;
    r.code = 99;
    assert_non_null(kg_djm_rep_check(&r, n, KG_DJM_FILL, 9));
    r.code = KG_E_GYM;
    memset(r.message, 'x', sizeof r.message);
    assert_string_equal(kg_djm_rep_check(&r, n, KG_DJM_FILL, 9), "a reply with an endless message");
}

static uint64_t next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 24;
}

/* Truncated, oversized and random requests, and good ones with one word changed, some with a
 * descriptor that nobody asked for: each gets an answer, and none disturbs the judge. */
static void nonsense_does_not_disturb_the_judge(void **state)
{
    (void)state;
    static unsigned char noise[sizeof(struct kg_djm_req) + 64];
    static struct kg_djm_rep rep;
    static struct kg_djm_req req;
    struct kg_dj j = start_judge("cpu");
    struct runner ref = start_runner(&j, honest);
    uint64_t seed = 20240817;
    printf("seed %d\n", 20240817);
    fill_case(&j, 0, 1);
    expect(&j, &ref, 0);
    for (int round = 0; round < 1500; round++) {
        uint32_t op = 1 + (uint32_t)(next(&seed) % (KG_DJM_OPS - 1));
        size_t n = kg_djm_req_bytes(op);
        req = good_request(op);
        req.port = (int32_t)(next(&seed) % KG_DJ_PORTS);
        req.port = req.port == ref.port ? ref.port + 1 : req.port; /* that one has an answer due */
        req.id = 1 + (int32_t)(next(&seed) % (KG_DJ_CASES - 1));
        memcpy(noise, &req, n);
        switch (round % 4) {
        case 0:
            n = 1 + next(&seed) % sizeof noise;
            break;
        case 1:
            for (size_t i = 0; i < n; i++) {
                noise[i] = (unsigned char)next(&seed);
            }
            break;
        case 2:
            noise[16 + next(&seed) % 128] = (unsigned char)next(&seed);
            break;
        default:
            break;
        }
        struct kg_djm_req *sent = (struct kg_djm_req *)(void *)noise;
        if (n == kg_djm_req_bytes(KG_DJM_CAP) && sent->op == KG_DJM_CAP) {
            continue; /* it would be told a small one, and right so */
        }
        if (n == kg_djm_req_bytes(KG_DJM_RUN) && sent->port == ref.port) {
            continue;
        }
        int extra = next(&seed) % 8 == 0 ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
        assert_true(kg_message_send(j.sock, noise, n, &extra, extra >= 0 ? 1 : 0));
        if (extra >= 0) {
            close(extra);
        }
        int fds[KG_MESSAGE_FDS], nfds;
        ssize_t got = kg_message_receive(j.sock, &rep, sizeof rep, fds, &nfds);
        assert_true(got > 0);
        assert_null(kg_djm_rep_check(&rep, (size_t)got, rep.op, rep.seq));
        assert_int_equal(nfds, rep.op == KG_DJM_OPEN && rep.code == KG_OK ? 3 : 0);
        for (int k = 0; k < nfds; k++) {
            close(fds[k]);
        }
    }
    run(&j, &ref, 0, KG_TC_CALL, KG_DJ_CANDIDATE);
    assert_true(compare(&j, 0).compare.pass);
    assert_false(has_descriptor(j.pid, 100)); /* it keeps none that came */
    end_runner(&j, &ref);
    kg_dj_stop(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(start_and_stop),
        cmocka_unit_test(a_device_that_is_not_there),
        cmocka_unit_test(every_call_survives_the_judges_death),
        cmocka_unit_test(the_end_in_the_middle_of_a_call),
        cmocka_unit_test(the_judge_dies_with_its_broker),
        cmocka_unit_test(requests_are_checked_field_by_field),
        cmocka_unit_test(replies_are_checked),
        cmocka_unit_test(nonsense_does_not_disturb_the_judge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

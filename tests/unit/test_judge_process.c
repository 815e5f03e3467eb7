#include "judge_rig.h"

static void start_and_stop(void **state)
{
    (void)state;
    struct kg_judge j;
    OK(kg_judge_start(0, &j, &err));
    assert_true(j.pid > 0 && j.confined);
    pid_t pid = j.pid;
    assert_true(alive(pid));
    kg_judge_stop(&j);
    assert_false(alive(pid));
    kg_judge_stop(&j);
}

static void it_has_its_own_name_and_no_descriptors_of_ours(void **state)
{
    (void)state;
    struct kg_judge j;
    int leak = dup(1); /* inherited over fork unless it is closed */
    OK(kg_judge_start(-1, &j, &err));
    expect_name(j.pid, "kgym-judge");
    assert_false(has_descriptor(j.pid, 4));
    assert_true(leak == 3 || !has_descriptor(j.pid, leak));
    close(leak);
    kg_judge_stop(&j);
}

static void input_regions_are_sealed_outputs_are_not(void **state)
{
    (void)state;
    struct rig g = rig_open();
    assert_true(kg_region_sealed(&g.j.in) && kg_region_sealed(&g.j.wide_in));
    assert_false(kg_region_sealed(&g.j.out) || kg_region_sealed(&g.j.wide_out));
    assert_null(g.j.in.map);
    assert_ptr_equal(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, g.j.in.runner_fd, 0),
                     MAP_FAILED);
    assert_int_equal(g.j.wide_out.bytes, 2 * g.j.out.bytes);
    rig_close(&g);
}

/* Every call on a judge that was killed: KG_E_GYM with a message that names the operation. */
static void every_call_survives_the_judges_death(void **state)
{
    (void)state;
    static const char *const names[] = {"open",       "fill", "flush", "take", "compare",
                                        "self check", "save", "load",  "floor"};
    for (int op = 0; op < 9; op++) {
        struct rig g = rig_open();
        struct kg_case c = case_of(90);
        struct kg_judgement v;
        struct kg_take_report t;
        bool hit;
        int64_t ns;
        enum kg_code code = KG_OK;
        rig_unmap(&g);
        kill(g.j.pid, SIGKILL);
        switch (op) {
        case 0:
            code = kg_judge_open(&g.j, problem, 0, 0, &err);
            break;
        case 1:
            code = kg_judge_fill(&g.j, &c, false, &err);
            break;
        case 2:
            code = kg_judge_flush(&g.j, &c, &err);
            break;
        case 3:
            code = kg_judge_take(&g.j, &c, KG_SIDE_FLOAT, &t, &err);
            break;
        case 4:
            code = kg_judge_compare(&g.j, &c, KG_COMPARE_EXACT, &v, &err);
            break;
        case 5:
            code = kg_judge_self(&g.j, &c, &v, &err);
            break;
        case 6:
            code = kg_judge_save(&g.j, &c, 1, &err);
            break;
        case 7:
            code = kg_judge_load(&g.j, &c, 1, &hit, &err);
            break;
        case 8:
            code = kg_judge_floor(&g.j, &c, &ns, &err);
            break;
        }
        expect_killed(code, names[op]);
        assert_int_equal(kg_judge_fill(&g.j, &c, false, &err), KG_E_GYM);
        assert_string_equal(err.message, "the judge is not running (`fill`)");
        kg_judge_stop(&g.j);
    }
}

/* Killed while the broker waits for its answer. */
static void death_in_the_middle_of_a_call(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case c = case_of(91);
    kill(g.j.pid, SIGSTOP);
    pid_t killer = kill_later(g.j.pid, 30000);
    expect_killed(kg_judge_fill(&g.j, &c, false, &err), "fill");
    waitpid(killer, NULL, 0);
    rig_unmap(&g);
    kg_judge_stop(&g.j);
    g = rig_open(); /* another one serves */
    OK(kg_judge_fill(&g.j, &c, false, &err));
    rig_close(&g);
}

/* Stopped, or in an endless loop: it is ended after its time, and another one serves. */
static void a_judge_that_stands_still_is_ended(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case c = case_of(94);
    pid_t pid = g.j.pid;
    int64_t before = kg_clock_ns();
    g.j.answer_ns = 300000000;
    kill(pid, SIGSTOP);
    assert_int_equal(kg_judge_fill(&g.j, &c, false, &err), KG_E_GYM);
    assert_string_equal(err.message,
                        "the judge was ended during `fill`: it did not answer in time");
    assert_true(kg_clock_ns() - before < 20000000000);
    assert_false(alive(pid));
    rig_unmap(&g);
    kg_judge_stop(&g.j);
    g = rig_open();
    OK(kg_judge_fill(&g.j, &c, false, &err));
    rig_close(&g);
}

static pid_t start(void)
{
    struct kg_judge j;
    struct kg_err e = KG_ERR_INIT;
    return kg_judge_start(-1, &j, &e) == KG_OK ? j.pid : -1;
}

static void the_judge_dies_with_its_broker(void **state)
{
    (void)state;
    expect_end_with_its_broker(start);
}

static void an_interrupt_of_the_terminal_is_not_the_judges(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case c = case_of(92);
    kill(g.j.pid, SIGINT);
    OK(kg_judge_fill(&g.j, &c, false, &err));
    rig_close(&g);
}

static struct kg_judge_req good_request(void)
{
    struct kg_case c = case_of(1);
    struct kg_judge_req r = {.magic = KG_JUDGE_MAGIC, .op = KG_JUDGE_FILL, .seq = 1};
    kg_judge_req_put_case(&r, &c);
    return r;
}

static void requests_are_checked_field_by_field(void **state)
{
    (void)state;
    struct kg_judge_req r = good_request();
    assert_null(kg_judge_req_check(&r, sizeof r));
    assert_string_equal(kg_judge_req_check(&r, sizeof r - 1), "a request of the wrong size");
    assert_string_equal(kg_judge_req_check(&r, 0), "a request of the wrong size");
    assert_string_equal(kg_judge_req_check(&r, sizeof r + 1), "a request of the wrong size");
#define REFUSED(change, why)                                                                       \
    do {                                                                                           \
        r = good_request();                                                                        \
        change;                                                                                    \
        assert_string_equal(kg_judge_req_check(&r, sizeof r), why);                                \
    } while (0)
    REFUSED(r.magic ^= 1, "not a request");
    REFUSED(r.op = KG_JUDGE_HELLO, "no such operation");
    REFUSED(r.op = KG_JUDGE_OPS, "no such operation");
    REFUSED(r.op = UINT32_MAX, "no such operation");
    REFUSED(r.side = KG_SIDE_COUNT, "no such side");
    REFUSED(r.mode = KG_COMPARE_EXACT + 1, "no such comparison");
    REFUSED(r.law = KG_LAW_COUNT, "no such value law");
    REFUSED(r.edited = 2, "a flag is neither 0 nor 1");
    REFUSED(r.wide = 2, "a flag is neither 0 nor 1");
    REFUSED(r.fresh_regions = 2, "a flag is neither 0 nor 1");
    REFUSED(r.dim[3] = -1, "a dim is out of range");
    REFUSED(r.dim[15] = (int64_t)KG_MAX_DIM + 1, "a dim is out of range");
    REFUSED(r.in_base = 4, "a base is no multiple of 8");
    REFUSED(r.out_base = 1, "a base is no multiple of 8");
    REFUSED(r.out_base = (uint64_t)1 << 40, "a base is out of range");
    REFUSED(r.region_huge = 16, "unused bits are set");
    REFUSED(r.pad = 1, "unused bits are set");
    REFUSED(r.op = KG_JUDGE_OPEN, "the problem's text is empty or too long");
    REFUSED((r.op = KG_JUDGE_OPEN, r.text_bytes = 1 << 30),
            "the problem's text is empty or too long");
    REFUSED((r.op = KG_JUDGE_OPEN, r.text_bytes = 10), "a region's size is out of range");
#undef REFUSED
}

static void replies_are_checked(void **state)
{
    (void)state;
    struct kg_judge_rep r = {.magic = KG_JUDGE_MAGIC, .op = KG_JUDGE_FILL, .seq = 9};
    assert_null(kg_judge_rep_check(&r, sizeof r, KG_JUDGE_FILL, 9));
    assert_non_null(kg_judge_rep_check(&r, sizeof r - 1, KG_JUDGE_FILL, 9));
    assert_non_null(kg_judge_rep_check(&r, sizeof r, KG_JUDGE_TAKE, 9));
    assert_non_null(kg_judge_rep_check(&r, sizeof r, KG_JUDGE_FILL, 8));
    r.code = 99;
    assert_non_null(kg_judge_rep_check(&r, sizeof r, KG_JUDGE_FILL, 9));
    r.code = KG_E_GYM;
    memset(r.message, 'x', sizeof r.message);
    assert_string_equal(kg_judge_rep_check(&r, sizeof r, KG_JUDGE_FILL, 9),
                        "a reply with an endless message");
}

/* Nonsense on the socket gets an error for an answer and changes nothing. */
static void nonsense_does_not_disturb_the_judge(void **state)
{
    (void)state;
    struct rig g = rig_open();
    unsigned char noise[2000];
    struct kg_judge_rep rep;
    uint64_t seed = 4711;
    printf("seed %d\n", 4711);
    for (int round = 0; round < 200; round++) {
        for (size_t i = 0; i < sizeof noise; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            noise[i] = (unsigned char)(seed >> 56);
        }
        size_t n = round % 3 ? sizeof(struct kg_judge_req) : 1 + (size_t)(seed >> 32) % 1999;
        assert_int_equal(send(g.j.sock, noise, n, 0), n);
        assert_int_equal(recv(g.j.sock, &rep, sizeof rep, 0), sizeof rep);
        assert_int_equal(rep.code, KG_E_GYM);
    }
    struct kg_case c = case_of(93);
    OK(kg_judge_fill(&g.j, &c, false, &err));
    rig_close(&g);
}

static void open_without_its_descriptors_is_refused(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_judge_rep rep;
    struct kg_judge_req r = good_request();
    r.op = KG_JUDGE_OPEN;
    r.text_bytes = 100;
    for (int k = 0; k < KG_JUDGE_REGIONS; k++) {
        r.region_bytes[k] = 4096;
    }
    assert_int_equal(kg_judge_ask(&g.j, &r, NULL, 0, &rep, &err), KG_E_GYM);
    assert_string_equal(err.message, "judge: open came with 0 descriptors, not 1");
    int fds[] = {0, 1, 2};
    assert_int_equal(kg_judge_ask(&g.j, &r, fds, 3, &rep, &err), KG_E_GYM);
    assert_string_equal(err.message, "judge: open came with 3 descriptors, not 1");
    int null = memfd_create("short", 0);
    assert_int_equal(kg_judge_ask(&g.j, &r, &null, 1, &rep, &err), KG_E_GYM);
    assert_string_equal(err.message, "judge: the problem's text did not arrive");
    close(null);
    rig_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(start_and_stop),
        cmocka_unit_test(it_has_its_own_name_and_no_descriptors_of_ours),
        cmocka_unit_test(input_regions_are_sealed_outputs_are_not),
        cmocka_unit_test(every_call_survives_the_judges_death),
        cmocka_unit_test(death_in_the_middle_of_a_call),
        cmocka_unit_test(a_judge_that_stands_still_is_ended),
        cmocka_unit_test(the_judge_dies_with_its_broker),
        cmocka_unit_test(an_interrupt_of_the_terminal_is_not_the_judges),
        cmocka_unit_test(requests_are_checked_field_by_field),
        cmocka_unit_test(replies_are_checked),
        cmocka_unit_test(nonsense_does_not_disturb_the_judge),
        cmocka_unit_test(open_without_its_descriptors_is_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

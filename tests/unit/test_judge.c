#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "gym/judge/client.h"
#include "gym/judge/judge.h"

/* y = 2 x + 1; pick = idx.  */
static const char source[] = "/*---kgym\n"
                             "name: twice\nlevel: 1\nentry: twice\n"
                             "dims: {rows: 40, cols: 70}\n"
                             "args:\n"
                             "  - {name: x, type: \"f32[rows,cols]\", role: in}\n"
                             "  - {name: idx, type: \"i32[rows]\", role: in, range: [0, cols]}\n"
                             "  - {name: y, type: \"f32[rows,cols]\", role: out}\n"
                             "  - {name: pick, type: \"i32[rows]\", role: out}\n"
                             "  - {name: rows, type: i64, role: dim}\n"
                             "  - {name: cols, type: i64, role: dim}\n"
                             "reduce: 1\n"
                             "---*/\n"
                             "void twice(const real *x) { (void)x; }\n";

enum { X, IDX, Y, PICK };

struct rig {
    struct kg_judge j;
    unsigned char *in, *out, *wide_in, *wide_out; /* as runners map them */
};

static struct kg_problem *problem;
static struct kg_err err;

static int set_up(void **state)
{
    (void)state;
    struct kg_err e = KG_ERR_INIT;
    if (kg_problem_parse(source, sizeof source - 1, "suite/twice.c", &problem, &e) != KG_OK) {
        printf("%s\n", e.message);
        return -1;
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    kg_problem_destroy(problem);
    return 0;
}

#define OK(call) do_ok((call), #call, __LINE__)
static void do_ok(enum kg_code code, const char *call, int line)
{
    if (code != KG_OK) {
        printf("line %d: %s: %s\n", line, call, err.message);
    }
    assert_int_equal(code, KG_OK);
}

static void *map_of(const struct kg_region *r, int prot)
{
    void *p = mmap(NULL, r->bytes, prot, MAP_SHARED, r->runner_fd, 0);
    assert_ptr_not_equal(p, MAP_FAILED);
    return p;
}

static void rig_map(struct rig *g)
{
    g->in = map_of(&g->j.in, PROT_READ);
    g->wide_in = map_of(&g->j.wide_in, PROT_READ);
    g->out = map_of(&g->j.out, PROT_READ | PROT_WRITE);
    g->wide_out = map_of(&g->j.wide_out, PROT_READ | PROT_WRITE);
}

static void rig_unmap(struct rig *g)
{
    munmap(g->in, g->j.in.bytes);
    munmap(g->wide_in, g->j.wide_in.bytes);
    munmap(g->out, g->j.out.bytes);
    munmap(g->wide_out, g->j.wide_out.bytes);
}

static struct rig rig_open(void)
{
    struct rig g;
    OK(kg_judge_start(-1, &g.j, &err));
    OK(kg_judge_open(&g.j, problem, 1 << 20, 1 << 20, &err));
    rig_map(&g);
    return g;
}

static void rig_close(struct rig *g)
{
    rig_unmap(g);
    kg_judge_stop(&g->j);
}

static struct kg_case case_of(uint64_t key)
{
    struct kg_case c = {.law = KG_LAW_OWN, .key = {{7, key}}, .in_base = 64, .out_base = 128};
    kg_shape_default(problem, &c.shape);
    return c;
}

static struct kg_layout plan(const struct kg_case *c, bool wide)
{
    struct kg_layout l;
    kg_layout_plan(problem, &c->shape, wide, c->jitter, c->in_base, c->out_base, &l);
    return l;
}

static void copy_picks(unsigned char *out, const unsigned char *in, const struct kg_layout *l)
{
    memcpy(out + l->offset[PICK], in + l->offset[IDX], l->bytes[IDX]);
}

/* What a runner does: floats, or doubles for the oracle. */
static void run_float(struct rig *g, const struct kg_case *c)
{
    struct kg_layout l = plan(c, false);
    const float *x = (const void *)(g->in + l.offset[X]);
    float *y = (void *)(g->out + l.offset[Y]);
    for (size_t i = 0; i < l.bytes[X] / 4; i++) {
        y[i] = 2 * x[i] + 1;
    }
    copy_picks(g->out, g->in, &l);
}

static void run_oracle(struct rig *g, const struct kg_case *c)
{
    struct kg_layout l = plan(c, true);
    const double *x = (const void *)(g->wide_in + l.offset[X]);
    double *y = (void *)(g->wide_out + l.offset[Y]);
    for (size_t i = 0; i < l.bytes[X] / 8; i++) {
        y[i] = 2 * x[i] + 1;
    }
    copy_picks(g->wide_out, g->wide_in, &l);
}

static void take(struct rig *g, const struct kg_case *c, enum kg_side side)
{
    struct kg_take_report t;
    OK(kg_judge_take(&g->j, c, side, &t, &err));
    assert_int_equal(t.what, KG_TAKE_OK);
    assert_int_equal(t.unwritten, 0);
}

/* Expected answers of c, then its inputs again for the candidate. */
static void expect(struct rig *g, const struct kg_case *c)
{
    OK(kg_judge_fill(&g->j, c, false, &err));
    run_float(g, c);
    take(g, c, KG_SIDE_FLOAT);
    OK(kg_judge_fill(&g->j, c, true, &err));
    run_oracle(g, c);
    take(g, c, KG_SIDE_ORACLE);
    OK(kg_judge_poison(&g->j, c, &err));
}

static struct kg_judgement judge(struct rig *g, const struct kg_case *c, enum kg_compare_mode mode)
{
    struct kg_judgement v;
    OK(kg_judge_compare(&g->j, c, mode, &v, &err));
    return v;
}

static struct kg_judgement answer(struct rig *g, const struct kg_case *c)
{
    take(g, c, KG_SIDE_CANDIDATE);
    return judge(g, c, KG_COMPARE_ORACLE);
}

/* --- life --- */

static bool alive(pid_t pid)
{
    return kill(pid, 0) == 0;
}

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
    char path[64], name[32] = "";
    int leak = dup(1); /* inherited over fork unless it is closed */
    OK(kg_judge_start(-1, &j, &err));
    snprintf(path, sizeof path, "/proc/%d/comm", (int)j.pid);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_non_null(fgets(name, sizeof name, f));
    fclose(f);
    assert_string_equal(name, "kgym-judge\n");
    snprintf(path, sizeof path, "/proc/%d/fd/4", (int)j.pid);
    assert_int_not_equal(access(path, F_OK), 0);
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)j.pid, leak);
    assert_true(leak == 3 || access(path, F_OK) != 0);
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

/* --- inputs --- */

static void fill_writes_the_law(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case c = case_of(1);
    float x[40 * 70];
    int32_t idx[40];
    void *buf[KG_MAX_ARGS] = {x, idx};
    for (int round = 0; round < 3; round++) {
        c.jitter = round ? 1234567 : 0;
        c.edited = round == 2;
        kg_law_fill(problem, &c.shape, c.law, c.key, buf);
        if (c.edited) {
            kg_law_edit(problem, &c.shape, c.key, buf);
        }
        struct kg_layout l = plan(&c, false);
        OK(kg_judge_fill(&g.j, &c, false, &err));
        assert_memory_equal(g.in + l.offset[X], x, sizeof x);
        assert_memory_equal(g.in + l.offset[IDX], idx, sizeof idx);
    }
    rig_close(&g);
}

static void wide_fill_holds_the_same_values(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case c = case_of(2);
    c.jitter = 99;
    struct kg_layout n = plan(&c, false), w = plan(&c, true);
    OK(kg_judge_fill(&g.j, &c, false, &err));
    OK(kg_judge_fill(&g.j, &c, true, &err));
    for (size_t i = 0; i < 40 * 70; i++) {
        float f;
        double d;
        memcpy(&f, g.in + n.offset[X] + 4 * i, 4);
        memcpy(&d, g.wide_in + w.offset[X] + 8 * i, 8);
        assert_true((double)f == d);
    }
    assert_memory_equal(g.in + n.offset[IDX], g.wide_in + w.offset[IDX], n.bytes[IDX]);
    rig_close(&g);
}

/* Bytes around every array, input and output, are no constant and read as NaN. */
static void guards_are_fresh_garbage(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case c = case_of(3);
    struct kg_layout l = plan(&c, false);
    unsigned char before[2][KG_GUARD_BYTES];
    for (int round = 0; round < 2; round++) {
        OK(kg_judge_fill(&g.j, &c, false, &err));
        const unsigned char *zones[] = {g.in + l.offset[X] - KG_GUARD_BYTES,
                                        g.out + l.offset[Y] - KG_GUARD_BYTES};
        for (int k = 0; k < 2; k++) {
            const float *f = (const void *)zones[k];
            for (int i = 0; i < KG_GUARD_BYTES / 4; i++) {
                assert_true(isnan(f[i]));
            }
            if (round) {
                assert_memory_not_equal(before[k], zones[k], KG_GUARD_BYTES);
            }
            memcpy(before[k], zones[k], KG_GUARD_BYTES);
        }
        assert_memory_not_equal(before[0], before[1], KG_GUARD_BYTES);
        float past;
        memcpy(&past, g.in + l.offset[IDX] + l.bytes[IDX], sizeof past);
        assert_true(isnan(past));
    }
    rig_close(&g);
}

static void poison_is_fresh_and_leaves_inputs_alone(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case c = case_of(4);
    struct kg_layout l = plan(&c, false);
    uint32_t first, second, pick;
    OK(kg_judge_fill(&g.j, &c, false, &err));
    memcpy(&first, g.out + l.offset[Y], 4);
    memcpy(&pick, g.out + l.offset[PICK], 4);
    assert_true(isnan(*(const float *)(const void *)(g.out + l.offset[Y])));
    assert_true((int32_t)pick < -1000000);
    unsigned char *inputs = malloc(l.in_end);
    memcpy(inputs, g.in, l.in_end);
    OK(kg_judge_poison(&g.j, &c, &err));
    memcpy(&second, g.out + l.offset[Y], 4);
    assert_int_not_equal(first, second);
    assert_memory_equal(inputs, g.in, l.in_end);
    free(inputs);
    rig_close(&g);
}

/* --- verdicts --- */

static void an_honest_answer_passes_in_every_mode(void **state)
{
    (void)state;
    struct rig g = rig_open();
    for (uint64_t key = 0; key < 6; key++) {
        struct kg_case c = case_of(key);
        c.jitter = key * 31;
        expect(&g, &c);
        run_float(&g, &c);
        take(&g, &c, KG_SIDE_CANDIDATE);
        for (int mode = KG_COMPARE_ORACLE; mode <= KG_COMPARE_EXACT; mode++) {
            struct kg_judgement v = judge(&g, &c, (enum kg_compare_mode)mode);
            assert_true(v.compare.pass && v.compare.bit_equal);
            assert_false(v.replay || v.earlier_expected);
        }
    }
    rig_close(&g);
}

static void a_wrong_element_fails_and_is_named(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case c = case_of(5);
    struct kg_layout l = plan(&c, false);
    expect(&g, &c);
    run_float(&g, &c);
    ((int32_t *)(void *)(g.out + l.offset[PICK]))[17] += 1;
    struct kg_judgement v = answer(&g, &c);
    assert_false(v.compare.pass);
    assert_int_equal(v.arg, PICK);
    assert_int_equal(v.compare.first_bad, 17);
    assert_int_equal(v.compare.n_bad, 1);
    run_float(&g, &c);
    ((float *)(void *)(g.out + l.offset[Y]))[2799] += 1e-3f;
    v = answer(&g, &c);
    assert_true(!v.compare.pass && v.arg == Y && v.compare.first_bad == 2799);
    rig_close(&g);
}

static void timed_calls_need_no_oracle(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case known = case_of(6), c = case_of(7);
    expect(&g, &known);
    struct kg_judgement v;
    OK(kg_judge_self(&g.j, &known, &v, &err));
    OK(kg_judge_fill(&g.j, &c, false, &err));
    run_float(&g, &c);
    take(&g, &c, KG_SIDE_FLOAT);
    OK(kg_judge_poison(&g.j, &c, &err));
    run_float(&g, &c);
    take(&g, &c, KG_SIDE_CANDIDATE);
    assert_true(judge(&g, &c, KG_COMPARE_FLOAT).compare.pass);
    assert_int_equal(kg_judge_compare(&g.j, &c, KG_COMPARE_ORACLE, &v, &err), KG_E_GYM);
    assert_string_equal(err.message, "judge: the oracle's answer to this case was not taken");
    ((float *)(void *)(g.out + plan(&c, false).offset[Y]))[3] += 1e-3f;
    take(&g, &c, KG_SIDE_CANDIDATE);
    assert_false(judge(&g, &c, KG_COMPARE_FLOAT).compare.pass);
    rig_close(&g);
}

static void self_refuses_a_reference_that_is_off(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case c = case_of(8);
    struct kg_judgement v;
    expect(&g, &c);
    OK(kg_judge_self(&g.j, &c, &v, &err));
    assert_true(v.compare.pass);
    OK(kg_judge_fill(&g.j, &c, false, &err));
    run_float(&g, &c);
    ((float *)(void *)(g.out + plan(&c, false).offset[Y]))[3] += 0.1f;
    take(&g, &c, KG_SIDE_FLOAT);
    OK(kg_judge_self(&g.j, &c, &v, &err));
    assert_true(!v.compare.pass && v.arg == Y && v.compare.first_bad == 3);
    rig_close(&g);
}

static void self_refuses_references_of_different_classes(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case c = case_of(9);
    struct kg_judgement v;
    expect(&g, &c);
    OK(kg_judge_fill(&g.j, &c, false, &err));
    run_float(&g, &c);
    for (int i = 0; i < 29; i++) { /* 28 of 2800 are one in a hundred */
        ((float *)(void *)(g.out + plan(&c, false).offset[Y]))[i * 3] = NAN;
    }
    take(&g, &c, KG_SIDE_FLOAT);
    OK(kg_judge_self(&g.j, &c, &v, &err));
    assert_false(v.compare.pass);
    rig_close(&g);
}

static void answers_of_another_case_are_refused(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case a = case_of(10), b = case_of(11);
    struct kg_take_report t;
    struct kg_judgement v;
    assert_int_equal(kg_judge_take(&g.j, &a, KG_SIDE_FLOAT, &t, &err), KG_E_GYM);
    assert_string_equal(err.message, "judge: outputs are taken of a case that was not filled");
    expect(&g, &a);
    run_float(&g, &a);
    take(&g, &a, KG_SIDE_CANDIDATE);
    assert_int_equal(kg_judge_compare(&g.j, &b, KG_COMPARE_EXACT, &v, &err), KG_E_GYM);
    assert_string_equal(err.message, "judge: the candidate's answer to this case was not taken");
    assert_int_equal(kg_judge_save(&g.j, &b, 1, &err), KG_E_GYM);
    b = a;
    b.edited = true;
    assert_int_equal(kg_judge_compare(&g.j, &b, KG_COMPARE_EXACT, &v, &err), KG_E_GYM);
    b = a;
    b.jitter = 5; /* the same values elsewhere: what is expected is the same */
    OK(kg_judge_compare(&g.j, &b, KG_COMPARE_EXACT, &v, &err));
    rig_close(&g);
}

/* --- guards and poison --- */

static void a_changed_guard_byte_is_found_and_placed(void **state)
{
    (void)state;
    static const struct {
        int arg;
        int64_t at; /* from the array's start; size is added where beyond is set */
        bool beyond;
    } cases[] = {
        {Y, -1, false},     {Y, -2048, false}, {Y, -4095, false},
        {Y, 0, true},       {Y, 1000, true},   {PICK, -1, false},
        {PICK, -64, false}, {PICK, 0, true},   {PICK, 4000, true},
    };
    struct rig g = rig_open();
    for (uint64_t jitter = 0; jitter < 3; jitter++) {
        for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
            struct kg_case c = case_of(20 + k);
            struct kg_take_report t;
            c.jitter = jitter * 71;
            struct kg_layout l = plan(&c, false);
            int64_t at = cases[k].at + (cases[k].beyond ? (int64_t)l.bytes[cases[k].arg] : 0);
            OK(kg_judge_fill(&g.j, &c, false, &err));
            run_float(&g, &c);
            g.out[(int64_t)l.offset[cases[k].arg] + at] ^= 1;
            OK(kg_judge_take(&g.j, &c, KG_SIDE_CANDIDATE, &t, &err));
            assert_int_equal(t.what, KG_TAKE_OUT_OF_BOUNDS);
            assert_int_equal(t.arg, cases[k].arg);
            assert_int_equal((int64_t)t.at, at);
        }
    }
    rig_close(&g);
}

static void the_oracles_guards_are_checked_too(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case c = case_of(30);
    struct kg_take_report t;
    struct kg_layout l = plan(&c, true);
    OK(kg_judge_fill(&g.j, &c, true, &err));
    run_oracle(&g, &c);
    g.wide_out[l.offset[Y] + l.bytes[Y]] ^= 0x80;
    OK(kg_judge_take(&g.j, &c, KG_SIDE_ORACLE, &t, &err));
    assert_int_equal(t.what, KG_TAKE_OUT_OF_BOUNDS);
    rig_close(&g);
}

static void guards_restored_from_an_earlier_call_do_not_match(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case c = case_of(31);
    struct kg_take_report t;
    unsigned char old[64];
    OK(kg_judge_fill(&g.j, &c, false, &err));
    memcpy(old, g.out + plan(&c, false).offset[Y] - 64, 64);
    OK(kg_judge_fill(&g.j, &c, false, &err));
    run_float(&g, &c);
    memcpy(g.out + plan(&c, false).offset[Y] - 64, old, 64);
    OK(kg_judge_take(&g.j, &c, KG_SIDE_CANDIDATE, &t, &err));
    assert_int_equal(t.what, KG_TAKE_OUT_OF_BOUNDS);
    rig_close(&g);
}

static void unwritten_floats_are_counted(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case c = case_of(32);
    struct kg_take_report t;
    struct kg_layout l = plan(&c, false);
    OK(kg_judge_fill(&g.j, &c, false, &err));
    unsigned char *y = g.out + l.offset[Y], poison[12];
    memcpy(poison, y, sizeof poison);
    run_float(&g, &c);
    memcpy(y + 4 * 1500, poison, 4);
    memcpy(y + 4 * 2000, poison, 8);
    OK(kg_judge_take(&g.j, &c, KG_SIDE_CANDIDATE, &t, &err));
    assert_int_equal(t.what, KG_TAKE_UNWRITTEN);
    assert_int_equal(t.arg, Y);
    assert_int_equal(t.at, 1500);
    assert_int_equal(t.unwritten, 3);
    rig_close(&g);
}

/* One to three integers that hold the pattern may have been computed; four in a row were not. */
static void unwritten_integers_count_in_runs(void **state)
{
    (void)state;
    struct rig g = rig_open();
    for (size_t run = 1; run <= 6; run++) {
        struct kg_case c = case_of(40 + run);
        struct kg_take_report t;
        struct kg_layout l = plan(&c, false);
        OK(kg_judge_fill(&g.j, &c, false, &err));
        unsigned char *pick = g.out + l.offset[PICK], poison[24];
        memcpy(poison, pick, sizeof poison);
        run_float(&g, &c);
        memcpy(pick + 4 * 9, poison, 4 * run);
        OK(kg_judge_take(&g.j, &c, KG_SIDE_CANDIDATE, &t, &err));
        assert_int_equal(t.what, run < 4 ? KG_TAKE_OK : KG_TAKE_UNWRITTEN);
        assert_int_equal(t.unwritten, run < 4 ? 0 : run);
        assert_int_equal(t.at, run < 4 ? 0 : 9);
    }
    rig_close(&g);
}

static void nothing_written_at_all(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case c = case_of(33);
    struct kg_take_report t;
    OK(kg_judge_fill(&g.j, &c, false, &err));
    OK(kg_judge_take(&g.j, &c, KG_SIDE_CANDIDATE, &t, &err));
    assert_true(t.what == KG_TAKE_UNWRITTEN && t.unwritten == 40 * 70 + 40);
    rig_close(&g);
}

/* After a take the runner may do what it likes. */
static void answers_are_private_once_taken(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case c = case_of(34);
    expect(&g, &c);
    run_float(&g, &c);
    take(&g, &c, KG_SIDE_CANDIDATE);
    memset(g.out, 0, g.j.out.bytes);
    assert_true(judge(&g, &c, KG_COMPARE_ORACLE).compare.pass);
    rig_close(&g);
}

/* --- replay --- */

static void write_outputs(struct rig *g, const struct kg_case *c, const unsigned char *saved)
{
    struct kg_layout l = plan(c, false);
    memcpy(g->out + l.offset[Y], saved, l.bytes[Y]);
    memcpy(g->out + l.offset[PICK], saved + l.bytes[Y], l.bytes[PICK]);
}

static void read_outputs(struct rig *g, const struct kg_case *c, unsigned char *saved)
{
    struct kg_layout l = plan(c, false);
    memcpy(saved, g->out + l.offset[Y], l.bytes[Y]);
    memcpy(saved + l.bytes[Y], g->out + l.offset[PICK], l.bytes[PICK]);
}

static void an_old_right_answer_is_a_replay(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case a = case_of(50), b = case_of(51);
    unsigned char saved[40 * 70 * 4 + 40 * 4];
    expect(&g, &a);
    run_float(&g, &a);
    read_outputs(&g, &a, saved);
    assert_true(answer(&g, &a).compare.pass);
    expect(&g, &b);
    write_outputs(&g, &b, saved);
    struct kg_judgement v = answer(&g, &b);
    assert_true(!v.compare.pass && v.replay && v.earlier_expected);
    expect(&g, &a); /* the same inputs again: no replay, and right */
    write_outputs(&g, &a, saved);
    v = answer(&g, &a);
    assert_true(v.compare.pass && !v.replay && !v.earlier_expected);
    rig_close(&g);
}

/* Bytes that only the reference ever produced: memory was read that should not have been. */
static void an_earlier_expected_answer_is_told_apart(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case a = case_of(52), b = case_of(53);
    unsigned char saved[40 * 70 * 4 + 40 * 4];
    OK(kg_judge_fill(&g.j, &a, false, &err));
    run_float(&g, &a);
    read_outputs(&g, &a, saved);
    expect(&g, &a);
    expect(&g, &b);
    write_outputs(&g, &b, saved);
    struct kg_judgement v = answer(&g, &b);
    assert_true(!v.compare.pass && !v.replay && v.earlier_expected);
    rig_close(&g);
}

/* A kernel that ignores its inputs repeats itself and was never right: wrong, not a replay. */
static void a_repeated_wrong_answer_is_no_replay(void **state)
{
    (void)state;
    struct rig g = rig_open();
    unsigned char noise[40 * 70 * 4 + 40 * 4];
    for (size_t i = 0; i < sizeof noise; i++) {
        noise[i] = (unsigned char)(i * 37 >> 3 & 0x3f);
    }
    for (uint64_t key = 54; key < 57; key++) {
        struct kg_case c = case_of(key);
        expect(&g, &c);
        write_outputs(&g, &c, noise);
        struct kg_judgement v = answer(&g, &c);
        assert_true(!v.compare.pass && !v.replay && !v.earlier_expected);
    }
    rig_close(&g);
}

/* Ones are right where all inputs are zero, and any broken kernel may give them elsewhere. */
static void degenerate_answers_are_no_replay(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case zero = case_of(58), other = case_of(59);
    zero.law = KG_LAW_EQUAL;
    unsigned char saved[40 * 70 * 4 + 40 * 4];
    expect(&g, &zero);
    run_float(&g, &zero);
    read_outputs(&g, &zero, saved);
    assert_true(answer(&g, &zero).compare.pass);
    expect(&g, &other);
    write_outputs(&g, &other, saved);
    struct kg_judgement v = answer(&g, &other);
    assert_true(!v.compare.pass && !v.replay && !v.earlier_expected);
    rig_close(&g);
}

static void a_new_problem_forgets_answers(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case a = case_of(60), b = case_of(61);
    unsigned char saved[40 * 70 * 4 + 40 * 4];
    expect(&g, &a);
    run_float(&g, &a);
    read_outputs(&g, &a, saved);
    assert_true(answer(&g, &a).compare.pass);
    OK(kg_judge_open(&g.j, problem, 0, 0, &err));
    expect(&g, &b);
    write_outputs(&g, &b, saved);
    struct kg_judgement v = answer(&g, &b);
    assert_true(!v.compare.pass && !v.replay && !v.earlier_expected);
    rig_close(&g);
}

/* --- saved answers --- */

static void saved_answers_come_back(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case a = case_of(70), b = case_of(71);
    bool hit = true;
    OK(kg_judge_load(&g.j, &a, 1, &hit, &err));
    assert_false(hit);
    expect(&g, &a);
    OK(kg_judge_save(&g.j, &a, 1, &err));
    expect(&g, &b);
    OK(kg_judge_save(&g.j, &b, 2, &err));
    OK(kg_judge_open(&g.j, problem, 0, 0, &err)); /* the same problem again */
    for (int round = 0; round < 2; round++) {
        struct kg_case c = round ? b : a;
        c.jitter = 17; /* laid out elsewhere */
        OK(kg_judge_load(&g.j, &c, (uint64_t)round + 1, &hit, &err));
        assert_true(hit);
        OK(kg_judge_fill(&g.j, &c, false, &err));
        run_float(&g, &c);
        assert_true(answer(&g, &c).compare.pass);
        ((float *)(void *)(g.out + plan(&c, false).offset[Y]))[0] += 1;
        assert_false(answer(&g, &c).compare.pass);
    }
    rig_close(&g);
}

static void a_number_that_means_other_inputs_is_a_miss(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case a = case_of(72), b = case_of(73);
    bool hit = true;
    expect(&g, &a);
    OK(kg_judge_save(&g.j, &a, 5, &err));
    OK(kg_judge_load(&g.j, &b, 5, &hit, &err));
    assert_false(hit);
    expect(&g, &b);
    OK(kg_judge_save(&g.j, &b, 5, &err)); /* replaces */
    OK(kg_judge_load(&g.j, &b, 5, &hit, &err));
    assert_true(hit);
    OK(kg_judge_load(&g.j, &a, 5, &hit, &err));
    assert_false(hit);
    rig_close(&g);
}

static void another_problem_does_not_see_saved_answers(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_problem *other;
    struct kg_case a = case_of(74);
    bool hit = true;
    char text[sizeof source + 16];
    expect(&g, &a);
    OK(kg_judge_save(&g.j, &a, 5, &err));
    int n = snprintf(text, sizeof text, "%s\n\n", source);
    OK(kg_problem_parse(text, (size_t)n, "other.c", &other, &err));
    OK(kg_judge_open(&g.j, other, 0, 0, &err));
    OK(kg_judge_load(&g.j, &a, 5, &hit, &err));
    assert_false(hit);
    OK(kg_judge_open(&g.j, problem, 0, 0, &err));
    OK(kg_judge_load(&g.j, &a, 5, &hit, &err));
    assert_true(hit);
    kg_problem_destroy(other);
    rig_close(&g);
}

/* --- regions and bad cases --- */

static void opening_wipes_what_was_there(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case c = case_of(80);
    struct kg_layout l = plan(&c, false);
    expect(&g, &c);
    run_float(&g, &c);
    OK(kg_judge_open(&g.j, problem, 0, 0, &err));
    for (uint64_t i = 0; i < l.in_end; i++) {
        assert_int_equal(g.in[i], 0);
    }
    for (uint64_t i = 0; i < l.out_end; i++) {
        assert_int_equal(g.out[i], 0);
    }
    struct kg_take_report t;
    assert_int_equal(kg_judge_take(&g.j, &c, KG_SIDE_CANDIDATE, &t, &err), KG_E_GYM);
    rig_close(&g);
}

static void regions_grow_and_are_kept_where_large_enough(void **state)
{
    (void)state;
    struct kg_judge j;
    OK(kg_judge_start(-1, &j, &err));
    OK(kg_judge_open(&j, problem, 0, 0, &err)); /* as the default shape needs */
    struct kg_case c = case_of(81);
    c.jitter = 3;
    OK(kg_judge_fill(&j, &c, false, &err));
    OK(kg_judge_fill(&j, &c, true, &err));
    int fd = j.in.fd;
    size_t bytes = j.in.bytes;
    OK(kg_judge_open(&j, problem, 4096, 4096, &err));
    assert_true(j.in.fd == fd && j.in.bytes == bytes);
    OK(kg_judge_open(&j, problem, 1 << 21, 1 << 20, &err));
    assert_true(j.in.bytes >= 1 << 21 && j.out.bytes >= 1 << 20);
    OK(kg_judge_fill(&j, &c, false, &err));
    kg_judge_stop(&j);
}

static void cases_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case c = case_of(82);
    c.in_base = g.j.in.bytes - 4096;
    assert_int_equal(kg_judge_fill(&g.j, &c, false, &err), KG_E_LIMIT);
    assert_non_null(strstr(err.message, "a case of twice needs "));
    c = case_of(82);
    c.out_base = (uint64_t)1 << 30;
    assert_int_equal(kg_judge_poison(&g.j, &c, &err), KG_E_LIMIT);
    c = case_of(82);
    c.shape.dim[0] = 0;
    assert_int_equal(kg_judge_fill(&g.j, &c, false, &err), KG_E_GYM);
    assert_string_equal(err.message, "judge: twice has no such shape");
    c = case_of(82);
    c.in_base = 3;
    assert_int_equal(kg_judge_fill(&g.j, &c, false, &err), KG_E_GYM);
    assert_string_equal(err.message, "cannot ask the judge to `fill`: a base is no multiple of 8");
    c = case_of(82);
    OK(kg_judge_fill(&g.j, &c, false, &err)); /* none of it did harm */
    rig_close(&g);
}

static void nothing_works_before_open(void **state)
{
    (void)state;
    struct kg_judge j;
    struct kg_case c = case_of(83);
    struct kg_judgement v;
    struct kg_take_report t;
    bool hit;
    int64_t ns;
    OK(kg_judge_start(-1, &j, &err));
    assert_int_equal(kg_judge_fill(&j, &c, false, &err), KG_E_GYM);
    assert_string_equal(err.message, "judge: no problem is open");
    assert_int_equal(kg_judge_poison(&j, &c, &err), KG_E_GYM);
    assert_int_equal(kg_judge_take(&j, &c, KG_SIDE_FLOAT, &t, &err), KG_E_GYM);
    assert_int_equal(kg_judge_compare(&j, &c, KG_COMPARE_EXACT, &v, &err), KG_E_GYM);
    assert_int_equal(kg_judge_self(&j, &c, &v, &err), KG_E_GYM);
    assert_int_equal(kg_judge_save(&j, &c, 1, &err), KG_E_GYM);
    assert_int_equal(kg_judge_load(&j, &c, 1, &hit, &err), KG_E_GYM);
    assert_int_equal(kg_judge_floor(&j, &c, &ns, &err), KG_E_GYM);
    kg_judge_stop(&j);
}

static void floor_measures_and_unpoisons(void **state)
{
    (void)state;
    struct rig g = rig_open();
    struct kg_case c = case_of(84);
    struct kg_take_report t;
    int64_t ns = 0;
    OK(kg_judge_fill(&g.j, &c, false, &err));
    OK(kg_judge_floor(&g.j, &c, &ns, &err));
    assert_true(ns > 0 && ns < 1000000000);
    assert_int_equal(kg_judge_take(&g.j, &c, KG_SIDE_CANDIDATE, &t, &err), KG_E_GYM);
    rig_close(&g);
}

/* --- death --- */

/* Every call on a judge that was killed: KG_E_GYM with a message that names the operation. */
static void every_call_survives_the_judges_death(void **state)
{
    (void)state;
    static const char *const names[] = {"open",       "fill", "poison", "take", "compare",
                                        "self check", "save", "load",   "floor"};
    for (int op = 0; op < 9; op++) {
        struct rig g = rig_open();
        struct kg_case c = case_of(90);
        struct kg_judgement v;
        struct kg_take_report t;
        char want[64];
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
            code = kg_judge_poison(&g.j, &c, &err);
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
        snprintf(want, sizeof want, "died during `%s`: killed by signal 9", names[op]);
        assert_int_equal(code, KG_E_GYM);
        assert_int_equal(err.blame, KG_BLAME_GYM);
        assert_non_null(strstr(err.message, want));
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
    pid_t killer = fork();
    if (killer == 0) {
        usleep(30000);
        kill(g.j.pid, SIGKILL);
        _exit(0);
    }
    assert_int_equal(kg_judge_fill(&g.j, &c, false, &err), KG_E_GYM);
    assert_non_null(strstr(err.message, "died during `fill`: killed by signal 9"));
    waitpid(killer, NULL, 0);
    rig_unmap(&g);
    kg_judge_stop(&g.j);
    g = rig_open(); /* another one serves */
    OK(kg_judge_fill(&g.j, &c, false, &err));
    rig_close(&g);
}

static void the_judge_dies_with_its_broker(void **state)
{
    (void)state;
    int pipe_fds[2];
    assert_int_equal(pipe(pipe_fds), 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t broker = fork();
    if (broker == 0) {
        struct kg_judge j;
        struct kg_err e = KG_ERR_INIT;
        if (kg_judge_start(-1, &j, &e) == KG_OK) {
            ssize_t n = write(pipe_fds[1], &j.pid, sizeof j.pid);
            (void)n;
        }
        pause();
        _exit(0);
    }
    pid_t judge_pid = -1;
    assert_int_equal(read(pipe_fds[0], &judge_pid, sizeof judge_pid), sizeof judge_pid);
    assert_true(alive(judge_pid));
    kill(broker, SIGKILL);
    waitpid(broker, NULL, 0);
    int status = 0; /* now ours: the wait ends when it does */
    assert_int_equal(waitpid(judge_pid, &status, 0), judge_pid);
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
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

/* --- the protocol --- */

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
        cmocka_unit_test(fill_writes_the_law),
        cmocka_unit_test(wide_fill_holds_the_same_values),
        cmocka_unit_test(guards_are_fresh_garbage),
        cmocka_unit_test(poison_is_fresh_and_leaves_inputs_alone),
        cmocka_unit_test(an_honest_answer_passes_in_every_mode),
        cmocka_unit_test(a_wrong_element_fails_and_is_named),
        cmocka_unit_test(timed_calls_need_no_oracle),
        cmocka_unit_test(self_refuses_a_reference_that_is_off),
        cmocka_unit_test(self_refuses_references_of_different_classes),
        cmocka_unit_test(answers_of_another_case_are_refused),
        cmocka_unit_test(a_changed_guard_byte_is_found_and_placed),
        cmocka_unit_test(the_oracles_guards_are_checked_too),
        cmocka_unit_test(guards_restored_from_an_earlier_call_do_not_match),
        cmocka_unit_test(unwritten_floats_are_counted),
        cmocka_unit_test(unwritten_integers_count_in_runs),
        cmocka_unit_test(nothing_written_at_all),
        cmocka_unit_test(answers_are_private_once_taken),
        cmocka_unit_test(an_old_right_answer_is_a_replay),
        cmocka_unit_test(an_earlier_expected_answer_is_told_apart),
        cmocka_unit_test(a_repeated_wrong_answer_is_no_replay),
        cmocka_unit_test(degenerate_answers_are_no_replay),
        cmocka_unit_test(a_new_problem_forgets_answers),
        cmocka_unit_test(saved_answers_come_back),
        cmocka_unit_test(a_number_that_means_other_inputs_is_a_miss),
        cmocka_unit_test(another_problem_does_not_see_saved_answers),
        cmocka_unit_test(opening_wipes_what_was_there),
        cmocka_unit_test(regions_grow_and_are_kept_where_large_enough),
        cmocka_unit_test(cases_that_do_not_fit_are_refused),
        cmocka_unit_test(nothing_works_before_open),
        cmocka_unit_test(floor_measures_and_unpoisons),
        cmocka_unit_test(every_call_survives_the_judges_death),
        cmocka_unit_test(death_in_the_middle_of_a_call),
        cmocka_unit_test(the_judge_dies_with_its_broker),
        cmocka_unit_test(an_interrupt_of_the_terminal_is_not_the_judges),
        cmocka_unit_test(requests_are_checked_field_by_field),
        cmocka_unit_test(replies_are_checked),
        cmocka_unit_test(nonsense_does_not_disturb_the_judge),
        cmocka_unit_test(open_without_its_descriptors_is_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

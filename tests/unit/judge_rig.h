/* What the judge's tests share: a problem, a judge that serves it, and the part of a runner: it
 * maps the regions and computes answers, float or double. Everything is static: each test program
 * has its own. Includes cmocka and what it needs. */
#ifndef KG_TESTS_JUDGE_RIG_H
#define KG_TESTS_JUDGE_RIG_H

#include "trusted_rig.h"

#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>

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

static inline int set_up(void **state)
{
    (void)state;
    struct kg_err e = KG_ERR_INIT;
    if (kg_problem_parse(source, sizeof source - 1, "suite/twice.c", &problem, &e) != KG_OK) {
        printf("%s\n", e.message);
        return -1;
    }
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    kg_problem_destroy(problem);
    return 0;
}

static inline void *map_of(const struct kg_region *r, int prot)
{
    void *p = mmap(NULL, r->bytes, prot, MAP_SHARED, r->runner_fd, 0);
    assert_ptr_not_equal(p, MAP_FAILED);
    return p;
}

static inline void rig_map(struct rig *g)
{
    g->in = map_of(&g->j.in, PROT_READ);
    g->wide_in = map_of(&g->j.wide_in, PROT_READ);
    g->out = map_of(&g->j.out, PROT_READ | PROT_WRITE);
    g->wide_out = map_of(&g->j.wide_out, PROT_READ | PROT_WRITE);
}

static inline void rig_unmap(struct rig *g)
{
    munmap(g->in, g->j.in.bytes);
    munmap(g->wide_in, g->j.wide_in.bytes);
    munmap(g->out, g->j.out.bytes);
    munmap(g->wide_out, g->j.wide_out.bytes);
}

static inline struct rig rig_open(void)
{
    struct rig g;
    OK(kg_judge_start(-1, &g.j, &err));
    OK(kg_judge_open(&g.j, problem, 1 << 20, 1 << 20, &err));
    rig_map(&g);
    return g;
}

static inline void rig_close(struct rig *g)
{
    rig_unmap(g);
    kg_judge_stop(&g->j);
}

static inline struct kg_case case_of(uint64_t key)
{
    struct kg_case c = {.law = KG_LAW_OWN, .key = {{7, key}}, .in_base = 64, .out_base = 128};
    kg_shape_default(problem, &c.shape);
    return c;
}

static inline struct kg_layout plan(const struct kg_case *c, bool wide)
{
    struct kg_layout l;
    kg_layout_plan(problem, &c->shape, wide, c->jitter, c->in_base, c->out_base, &l);
    return l;
}

static inline void copy_picks(unsigned char *out, const unsigned char *in,
                              const struct kg_layout *l)
{
    memcpy(out + l->offset[PICK], in + l->offset[IDX], l->bytes[IDX]);
}

/* What a runner does: floats, or doubles for the oracle. */
static inline void run_float(struct rig *g, const struct kg_case *c)
{
    struct kg_layout l = plan(c, false);
    const float *x = (const void *)(g->in + l.offset[X]);
    float *y = (void *)(g->out + l.offset[Y]);
    for (size_t i = 0; i < l.bytes[X] / 4; i++) {
        y[i] = 2 * x[i] + 1;
    }
    copy_picks(g->out, g->in, &l);
}

static inline void run_oracle(struct rig *g, const struct kg_case *c)
{
    struct kg_layout l = plan(c, true);
    const double *x = (const void *)(g->wide_in + l.offset[X]);
    double *y = (void *)(g->wide_out + l.offset[Y]);
    for (size_t i = 0; i < l.bytes[X] / 8; i++) {
        y[i] = 2 * x[i] + 1;
    }
    copy_picks(g->wide_out, g->wide_in, &l);
}

static inline void take(struct rig *g, const struct kg_case *c, enum kg_side side)
{
    struct kg_take_report t;
    OK(kg_judge_take(&g->j, c, side, &t, &err));
    assert_int_equal(t.what, KG_TAKE_OK);
    assert_int_equal(t.unwritten, 0);
}

/* Expected answers of c, then its inputs again for the candidate. */
static inline void expect(struct rig *g, const struct kg_case *c)
{
    OK(kg_judge_fill(&g->j, c, false, &err));
    run_float(g, c);
    take(g, c, KG_SIDE_FLOAT);
    OK(kg_judge_fill(&g->j, c, true, &err));
    run_oracle(g, c);
    take(g, c, KG_SIDE_ORACLE);
    OK(kg_judge_fill(&g->j, c, false, &err));
}

static inline struct kg_judgement judge(struct rig *g, const struct kg_case *c,
                                        enum kg_compare_mode mode)
{
    struct kg_judgement v;
    OK(kg_judge_compare(&g->j, c, mode, &v, &err));
    return v;
}

static inline struct kg_judgement answer(struct rig *g, const struct kg_case *c)
{
    take(g, c, KG_SIDE_CANDIDATE);
    return judge(g, c, KG_COMPARE_ORACLE);
}

#endif

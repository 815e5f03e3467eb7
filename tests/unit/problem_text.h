/* What the tests of the problem format share: a problem with every key, changed line by line. */
#ifndef KG_TESTS_UNIT_PROBLEM_TEXT_H
#define KG_TESTS_UNIT_PROBLEM_TEXT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gym/problem/problem.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* A whole problem with every key; the refusals below change one line of it. */
static const char *const CONV[] = {
    "/*---kgym\n",
    "name: conv_bias\n",
    "level: 2\n",
    "entry: conv_bias\n",
    "desc: convolution, then a bias\n",
    "dims: {n: 2, c: 8, groups: 4, h: 20, w: 21, kh: 3, kw: 5, y: 6,\n",
    "       oh: h - kh + 1, ow: w - kw + 1}\n",
    "where: [h >= kh, w >= kw, c % groups == 0]\n",
    "args:\n",
    "  - {name: x,     type: \"f32[n,c,h,w]\", role: in}\n",
    "  - {name: k,     type: \"f32[y,c/groups,kh,kw]\", role: in, range: [-0.5, 0.5]}\n",
    "  - {name: pick,  type: \"i32[y]\", role: in, range: [0, c]}\n",
    "  - {name: out,   type: \"f32[n,y,oh,ow]\", role: out}\n",
    "  - {name: h,     type: i64, role: dim}\n",
    "  - {name: eps,   type: f32, role: param, value: 1e-5}\n",
    "  - {name: scale, type: f64, role: param, value: 1.0 / sqrt(c)}\n",
    "  - {name: half,  type: i32, role: param, value: h / 2}\n",
    "reduce: c / groups * kh * kw\n",
    "cost: {flops: 2*n*y*oh*ow*(c/groups)*kh*kw, bytes: 4*n*c*h*w}\n",
    "laws: [-offset, -large, +heavy, bf16]\n",
    "---*/\n",
    "#include \"kgops.h\"\n",
    "void conv_bias(void) {}\n",
};

/* CONV with line `at` (-1: none) replaced; joined into out. */
static inline void compose(char *out, size_t cap, int at, const char *line)
{
    size_t len = 0;
    for (size_t k = 0; k < COUNT(CONV); k++) {
        const char *s = (int)k == at ? line : CONV[k];
        size_t n = strlen(s);
        assert_true(len + n < cap);
        memcpy(out + len, s, n + 1);
        len += n;
    }
}

static inline enum kg_code parse(const char *text, struct kg_problem **p, struct kg_err *err)
{
    return kg_problem_parse(text, strlen(text), "suites/level2/conv_bias.c", p, err);
}

static inline struct kg_problem *must_parse(const char *text)
{
    struct kg_problem *p = NULL;
    struct kg_err err = KG_ERR_INIT;
    if (parse(text, &p, &err) != KG_OK) {
        fail_msg("%s", err.message);
    }
    return p;
}

static inline struct kg_problem *conv(void)
{
    char text[8192];
    compose(text, sizeof text, -1, "");
    return must_parse(text);
}

static inline void refuse(const char *text, const char *want)
{
    struct kg_problem *p = NULL;
    struct kg_err err = KG_ERR_INIT;
    if (parse(text, &p, &err) == KG_OK) {
        fail_msg("accepted what should read '%s'", want);
    }
    assert_null(p);
    assert_string_equal(err.message, want);
    assert_int_equal(err.code, KG_E_PROBLEM);
    assert_int_equal(err.blame, KG_BLAME_PROBLEM);
}

#define HEAD "/*---kgym\nname: t\nlevel: 1\nentry: t\n"
#define MATMUL                                                                                     \
    HEAD "dims: {m: 3, n: 4, k: 5}\nargs:\n"                                                       \
         "  - {name: a, type: \"f32[m,k]\", role: in}\n"                                           \
         "  - {name: b, type: \"f64[k,n]\", role: in}\n"                                           \
         "  - {name: c, type: \"i64[m,n]\", role: out}\n---*/\n"

#endif

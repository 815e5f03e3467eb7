/* The generated world: chains, problem files, candidates by style, conversations, and what is held
 * out. Nothing is compiled or judged here: test_rl_chains_gym does that. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gym/problem/law_name.h"
#include "gym/problem/problem.h"
#include "rl/chains/chains.h"

#define SEED 20260127

static struct kg_err err;
static struct kg_buf text;
static struct rl_chain pairs[1024];
static size_t npairs;

static int setup(void **state)
{
    (void)state;
    printf("seed %d\n", SEED);
    kg_buf_init(&text, RL_CHAIN_BYTES);
    npairs = rl_chains_list(2, pairs, 1024);
    return npairs < 1024 ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    kg_buf_deinit(&text);
    return 0;
}

static struct rl_chain chain(const char *name)
{
    struct rl_chain c;
    if (rl_chain_parse(name, &c, &err) != KG_OK) {
        fail_msg("%s", err.message);
    }
    return c;
}

static const char *code(const struct rl_chain *c, struct rl_style s)
{
    kg_buf_reset(&text);
    rl_chain_code(c, s, &text);
    assert_true(kg_buf_ok(&text));
    return text.data;
}

/* --- chains --- */

static void test_operators(void **state)
{
    (void)state;
    assert_true(rl_ops_count() >= 24 && rl_ops_count() <= RL_OPS_MAX);
    for (int i = 0; i < rl_ops_count(); i++) {
        const char *name = rl_op_name(i);
        assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz"), strlen(name));
        assert_int_equal(rl_op_find(name, strlen(name)), i); /* so no name is there twice */
        assert_true(strlen(name) * RL_CHAIN_MAX + RL_CHAIN_MAX <= RL_CHAIN_NAME);
        assert_true(strlen(rl_op_desc(i)) > 0);
    }
    assert_int_equal(rl_op_find("softmaxx", 8), -1);
    assert_int_equal(rl_op_find("softma", 6), -1);
}

static void test_how_many_chains(void **state)
{
    (void)state;
    static struct rl_chain triples[20000];
    size_t n = rl_chains_list(3, triples, 20000);
    assert_int_equal(rl_chains_list(1, NULL, 0), rl_ops_count());
    assert_true(npairs >= 500); /* a fifth of them is at least 100 */
    assert_true(n >= 5000 && n < 20000);
    for (size_t i = 0; i < n; i++) {
        char name[RL_CHAIN_NAME];
        rl_chain_name(&triples[i], name);
        struct rl_chain c = chain(name);
        assert_true(rl_chain_equal(&c, &triples[i]));
        const struct rl_chain first = {.n = 2, .op = {c.op[0], c.op[1]}};
        assert_true(rl_chain_valid(&first));
    }
    assert_int_equal(rl_chains_list(4, NULL, 0), 0);
    assert_int_equal(rl_chains_list(0, NULL, 0), 0);
}

static void test_chains_without_effect_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "rsub_softmax",    "rsub_bias_softmax",   "center_mean",     "center_rsub_rsum",
        "rms_meansq",      "rms_rmul_meansq",     "relu_relu",       "sq_relu",
        "sigmoid_abs",     "softmax_mean",        "softmax_res",     "softmax_gain_bias",
        "topsub_rmax",     "topsub_sigmoid_rmax", "logsm_relu",      "logsm_maxz",
        "rmul_lnorm",      "scale_gain_rms",      "lnorm_rms",       "sq_meansq",
        "mean_bias",       "topsub_relu",         "topsub_glu_rmax", "topsub_silu_rmax",
        "topsub_qgelu_abs"};
    static const char *const good[] = {
        "bias_softmax",   "softmax_gain", "rmul_bias_lnorm", "rsub_silu_softmax", "lnorm_meansq",
        "center_sq_mean", "mean",         "rms_gain_meansq", "x/y/bias_softmax.c"};
    struct rl_chain c;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (rl_chain_parse(bad[i], &c, &err) != KG_E_INPUT) {
            fail_msg("%s is taken", bad[i]);
        }
        assert_non_null(strstr(err.message, "no effect"));
    }
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        chain(good[i]);
    }
}

static void test_names_that_are_none(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"", ": '' is no operator of a chain"},
        {"bias_", "bias_: '' is no operator of a chain"},
        {"bias_softmix", "bias_softmix: 'softmix' is no operator of a chain"},
        {"bias_gain_bias_gain", "bias_gain_bias_gain: a chain has at most 3 operators"},
        {"mean_bias", "mean_bias: in this order an operator or an input has no effect"},
    };
    struct rl_chain c;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(rl_chain_parse(bad[i][0], &c, &err), KG_E_INPUT);
        assert_string_equal(err.message, bad[i][1]);
    }
}

/* --- problems --- */

static void test_a_problem_file(void **state)
{
    (void)state;
    struct rl_chain c = chain("bias_silu_rms");
    int64_t rows, cols;
    kg_buf_reset(&text);
    rl_chain_problem(&c, &text);
    rl_chain_shape(&c, &rows, &cols);
    char dims[64];
    snprintf(dims, sizeof dims, "dims: {n: %lld, m: %lld}\n", (long long)rows, (long long)cols);
    assert_non_null(strstr(text.data, dims));
    assert_non_null(strstr(text.data, "name: bias_silu_rms\nlevel: 2\nentry: k\n"));
    assert_non_null(strstr(text.data, "reduce: 16 * m\nlaws: [-equal, -heavy, -mixed, -offset, "
                                      "-outlier, -piecewise, -smallint, -sorted, -sparse, -spike, "
                                      "-wideint]\n"));
    assert_string_equal(strstr(text.data, "void k("),
                        "void k(const real *x, const real *b, real *y, int64_t n, int64_t m)\n{\n"
                        "    real *t = kgops_temp(n * m);\n"
                        "    real *u = kgops_temp(n * m);\n"
                        "    real *w = kgops_temp(n * m);\n"
                        "    real *s = kgops_temp(n);\n"
                        "    kgops_add_cols(x, b, t, n, m);\n"
                        "    kgops_sigmoid(t, w, n * m);\n"
                        "    kgops_mul(t, w, u, n * m);\n"
                        "    kgops_mul(u, u, w, n * m);\n"
                        "    kgops_row_mean(w, s, n, m);\n"
                        "    kgops_rsqrt(s, 1e-5, s, n);\n"
                        "    kgops_mul_rows(u, s, y, n, m);\n"
                        "    free(t);\n    free(u);\n    free(w);\n    free(s);\n}\n");
    kg_buf_reset(&text);
    rl_chain_prompt(&c, &text);
    assert_string_equal(text.data, "bias silu rms");
}

/* Half of a row is 0, and the terms of a sum that come from these are one number. */
static void test_the_length_of_sums(void **state)
{
    (void)state;
    static const char *const names[][2] = {
        {"relu_softmax", "reduce: 16 * m + m * m\n"},
        {"reglu_scale_softmax", "reduce: 16 * m + m * m\n"},
        {"reglu_softmax_sq", "reduce: 16 * m + m * m\n"},
        {"relu_bias_softmax", "reduce: 16 * m\n"},
        {"softmax_reglu", "reduce: 16 * m\n"},
        {"reglu_lnorm_sq", "reduce: 16 * m + m * m\n"},
        {"relu_rsub_meansq", "reduce: 16 * m + m * m\n"},
        {"relu_meansq", "reduce: 16 * m\n"},
        {"relu_maxz_mean", "reduce: 16 * m\n"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct rl_chain c = chain(names[i][0]);
        kg_buf_reset(&text);
        rl_chain_problem(&c, &text);
        assert_non_null(strstr(text.data, names[i][1]));
    }
}

/* The laws that a chain keeps follow from what its operators do to rounding errors. */
static void test_laws(void **state)
{
    (void)state;
    static const char sums[] = "equal offset outlier piecewise smallint sorted sparse wideint";
    static const char far[] = "heavy large mixed offset outlier piecewise spike wideint";
    static const struct {
        const char *chain, *off[2]; /* all of these laws, and no other */
    } rows[] = {
        {"scale", {"", ""}},
        {"mulz_bias", {"", ""}},          /* differs by style, and nothing enlarges it */
        {"bias_sigmoid", {"", ""}},       /* one rounding, which all styles make */
        {"mulz_bias_sigmoid", {far, ""}}, /* a fused sum, near the steep place */
        {"softmax", {sums, "heavy mixed spike"}},
        {"bias_softmax", {sums, "heavy mixed spike"}},
        {"gain_softmax", {sums, "heavy mixed spike normal"}}, /* most products are near 0 */
        {"qgelu_softmax", {sums, far}},
        {"logsm", {sums, ""}},
        {"abs_logsm_rmax", {sums, far}}, /* only the least distance is left */
        {"logsm_rmul_sigmoid", {sums, far}},
        {"logsm_glu_silu", {sums, far}},
        {"sq_sigmoid_lnorm", {sums, "heavy large mixed precision small spike"}}, /* all about 1 */
        {"center", {sums, ""}},
        {"abs_bias_center", {sums, "precision"}}, /* |x| is in [1, 2), beside a b of 4 */
        {"rsub_relu_center", {sums, far}},
        {"center_reglu_mean", {sums, "heavy mixed spike uniform"}},
        {"maxz_center", {sums, "precision"}}, /* all may be z, which is one number there */
        {"center_gain", {sums, "heavy mixed spike"}},
        {"lnorm", {sums, "heavy mixed spike"}},
        {"topsub", {"", ""}},
        {"silu_topsub", {"equal offset outlier piecewise", ""}},
        {"topsub_qgelu", {far, "equal"}}, /* nothing is left of a row far below 0 */
        {"mean", {sums, ""}},
        {"meansq", {sums, "heavy mixed spike"}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rl_chain c = chain(rows[i].chain);
        struct kg_problem *p = NULL;
        uint32_t want = 0;
        for (int law = 0; law < KG_LAW_COUNT; law++) {
            char word[32];
            snprintf(word, sizeof word, " %s ", kg_law_name((enum kg_law)law));
            for (int k = 0; k < 2; k++) {
                char list[160];
                snprintf(list, sizeof list, " %s ", rows[i].off[k]);
                want |= strstr(list, word) ? 1u << law : 0;
            }
        }
        kg_buf_reset(&text);
        rl_chain_problem(&c, &text);
        assert_int_equal(kg_problem_parse(text.data, text.len, "x.c", &p, &err), KG_OK);
        if (p->laws_off != want) {
            fail_msg("%s leaves out the wrong laws:\n%s", rows[i].chain, text.data);
        }
        kg_problem_destroy(p);
    }
}

/* The gym reads each of them; those that sum a row have the laws and the K of such problems. */
static void test_every_pair_is_a_problem(void **state)
{
    (void)state;
    for (size_t i = 0; i < npairs; i++) {
        struct kg_problem *p = NULL;
        char name[RL_CHAIN_NAME], path[64];
        rl_chain_name(&pairs[i], name);
        snprintf(path, sizeof path, "%s.c", name);
        kg_buf_reset(&text);
        rl_chain_problem(&pairs[i], &text);
        assert_true(kg_buf_ok(&text));
        if (kg_problem_parse(text.data, text.len, path, &p, &err) != KG_OK) {
            fail_msg("%s", err.message);
        }
        bool sums = strstr(text.data, "row_mean") || strstr(text.data, "row_sum") ||
                    strstr(text.data, "softmax(") || strstr(text.data, "layer_norm(");
        assert_int_equal(sums, strstr(text.data, "reduce: 16 * m") != NULL);
        kg_problem_destroy(p);
    }
}

/* --- styles --- */

static void look_at_styles(const struct rl_chain *c)
{
    struct rl_style style[RL_STYLES], found;
    char *texts[RL_STYLES];
    int n = rl_styles_list(c, style);
    assert_true(n >= 3);
    for (int i = 0; i < n; i++) {
        texts[i] = strdup(code(c, style[i]));
        assert_non_null(texts[i]);
        bool library = style[i].form < RL_OWN;
        assert_int_equal(library, strstr(texts[i], "kgops") != NULL);
        for (int k = 0; k < i; k++) {
            assert_string_not_equal(texts[i], texts[k]);
        }
        assert_true(rl_style_find(c, texts[i], strlen(texts[i]), &found));
        assert_true(rl_style_equal(found, style[i]));
    }
    for (int i = 0; i < n; i++) {
        free(texts[i]);
    }
}

static void test_styles_differ(void **state)
{
    (void)state;
    for (size_t i = 0; i < npairs; i += 3) {
        look_at_styles(&pairs[i]);
    }
    struct rl_chain c = chain("bias_softmax_sq");
    struct rl_style style[RL_STYLES];
    assert_int_equal(rl_styles_list(&c, style), RL_STYLES);
    c = chain("relu_bias");
    assert_int_equal(rl_styles_list(&c, style), 5);
}

static void test_a_style_is_found_in_a_text(void **state)
{
    (void)state;
    struct rl_chain c = chain("bias_silu");
    struct rl_style s = {.form = RL_OWN_FUSED, .exp = RL_EXP_POLY}, found;
    char spaced[2 * RL_CHAIN_BYTES], name[48];
    size_t n = 0;
    for (const char *p = code(&c, s); *p; p++) {
        spaced[n++] = *p;
        if (*p == ';') {
            spaced[n++] = '\n';
        }
    }
    assert_true(rl_style_find(&c, spaced, n, &found));
    rl_style_name(found, name);
    assert_string_equal(name, "own-fused poly");
    assert_false(rl_style_find(&c, spaced, n - 3, &found));
    assert_false(rl_style_find(&c, "", 0, &found));
    s.exp = RL_EXP_ROUGH;
    code(&c, s);
    assert_false(rl_style_find(&c, text.data, text.len, &found)); /* nobody is to learn it */
    s = (struct rl_style){RL_OWN_FUSED, RL_EXP_LIBM, true, true};
    rl_style_name(s, name);
    assert_string_equal(name, "own-fused lanes order");
}

static void test_draws_follow_the_mix(void **state)
{
    (void)state;
    struct rl_chain c = chain("bias_softmax_gain");
    struct kg_rng r;
    int form[RL_FORMS] = {0}, poly = 0, own = 0;
    kg_rng_init(&r, (struct kg_key){{SEED, 1}}, 0);
    for (int i = 0; i < 20000; i++) {
        struct rl_style s = rl_style_draw(&c, &rl_mix_rich, &r);
        form[s.form]++;
        own += s.form >= RL_OWN;
        poly += s.exp == RL_EXP_POLY;
    }
    kg_rng_deinit(&r);
    for (int i = 0; i < RL_FORMS; i++) {
        assert_true(fabs(form[i] / 20000.0 - rl_mix_rich.form[i]) < 0.015);
    }
    assert_true(fabs((double)poly / own - rl_mix_rich.poly) < 0.015);
}

/* --- conversations --- */

static void test_flaws(void **state)
{
    (void)state;
    struct rl_chain c = chain("bias_softmax_gain");
    struct rl_talk t = {.chain = c, .body = c};
    struct rl_style style[RL_STYLES];
    int n = rl_styles_list(&c, style);
    for (int i = 0; i < n; i++) {
        for (uint32_t at = 0; at < 40; at++) {
            char *right = strdup(code(&c, style[i]));
            assert_non_null(right);
            t.style[0] = t.style[1] = style[i];
            t.at = at;
            for (int flaw = RL_FLAW_SYNTAX; flaw < RL_FLAWS; flaw++) {
                t.flaw = (enum rl_flaw)flaw;
                t.body = flaw == RL_FLAW_OPERATOR ? chain("bias_softmax_sq") : c;
                kg_buf_reset(&text);
                rl_talk_code(&t, 0, &text);
                assert_string_not_equal(text.data, right);
                long longer = (long)text.len - (long)strlen(right);
                assert_true(flaw != RL_FLAW_SYNTAX || longer == -1);
                assert_true(flaw != RL_FLAW_BOUND || longer == 2);
                assert_true(flaw != RL_FLAW_ARGUMENT || longer == -14);
                kg_buf_reset(&text);
                rl_talk_code(&t, 1, &text);
                assert_string_equal(text.data, right);
            }
            free(right);
        }
    }
}

static void test_labels_need_their_records(void **state)
{
    (void)state;
    const char *const wrong_ok[] = {"wrong", "ok"}, *const ok_ok[] = {"ok", "ok"};
    const char *const ok_wrong[] = {"ok", "wrong"}, *const none[] = {NULL, "ok"};
    const double better[] = {1, 1.3}, same[] = {1, 1.1}, untimed[] = {NAN, 2};
    struct rl_talk t = {.flaw = RL_FLAW_BOUND};
    assert_true(rl_talk_holds(&t, wrong_ok, same));
    assert_false(rl_talk_holds(&t, ok_ok, better));
    t.flaw = RL_FLAW_SLOW;
    assert_true(rl_talk_holds(&t, ok_ok, better));
    assert_false(rl_talk_holds(&t, ok_ok, same));
    assert_false(rl_talk_holds(&t, ok_ok, untimed));
    assert_false(rl_talk_holds(&t, ok_wrong, better));
    assert_false(rl_talk_holds(&t, none, better));
}

/* --- what is held out --- */

static void test_parts_share_no_pair(void **state)
{
    (void)state;
    struct rl_split s, again, other;
    size_t total = 0;
    int seen[RL_OPS_MAX][RL_OPS_MAX] = {{0}};
    for (int part = 0; part < RL_PARTS; part++) {
        size_t n = 0;
        rl_split_init(&s, 7, part);
        for (size_t i = 0; i < npairs; i++) {
            bool held = rl_split_holds_out(&s, &pairs[i]);
            seen[pairs[i].op[0]][pairs[i].op[1]] += held;
            n += held;
        }
        assert_in_range(n, npairs / RL_PARTS, npairs / RL_PARTS + 1);
        assert_true(n >= 100);
        assert_int_equal(rl_split_list(&s, 2, true, NULL, 0), n);
        assert_int_equal(rl_split_list(&s, 2, false, NULL, 0), npairs - n);
        assert_int_equal(rl_split_list(&s, 1, true, NULL, 0), 0);
        total += n;
    }
    assert_int_equal(total, npairs);
    for (size_t i = 0; i < npairs; i++) {
        assert_int_equal(seen[pairs[i].op[0]][pairs[i].op[1]], 1);
    }
    rl_split_init(&again, 7, RL_PARTS - 1);
    rl_split_init(&other, 8, RL_PARTS - 1);
    assert_memory_equal(&again, &s, sizeof s);
    assert_memory_not_equal(other.held, s.held, sizeof s.held);
}

static void test_triples_follow_their_pairs(void **state)
{
    (void)state;
    static struct rl_chain c[20000];
    struct rl_split s;
    rl_split_init(&s, 7, 0);
    size_t n = rl_split_list(&s, 3, false, c, 20000);
    for (size_t i = 0; i < n; i++) {
        assert_false(s.held[c[i].op[0]][c[i].op[1]] || s.held[c[i].op[1]][c[i].op[2]]);
    }
    size_t held = rl_split_list(&s, 3, true, c, 20000);
    for (size_t i = 0; i < held; i++) {
        assert_true(s.held[c[i].op[0]][c[i].op[1]] || s.held[c[i].op[1]][c[i].op[2]]);
    }
    assert_int_equal(n + held, rl_chains_list(3, NULL, 0));
}

static struct rl_audit *audit(const struct rl_split *s)
{
    static struct rl_chain held[512];
    struct rl_audit *a = NULL;
    size_t n = rl_split_list(s, 2, true, held, 512);
    assert_int_equal(rl_audit_create(s, held, n, &a, &err), KG_OK);
    return a;
}

static void test_the_audit_finds_what_is_held_out(void **state)
{
    (void)state;
    struct rl_split s;
    struct rl_chain held, kept;
    struct rl_audit *a, *none;
    char name[RL_CHAIN_NAME];
    rl_split_init(&s, 7, 0);
    a = audit(&s);
    rl_split_list(&s, 2, true, &held, 1);
    rl_split_list(&s, 2, false, &kept, 1);
    assert_int_equal(rl_audit_chain(a, &kept, &err), KG_OK);
    assert_int_equal(rl_audit_chain(a, &held, &err), KG_E_INPUT);
    rl_chain_name(&held, name);
    assert_non_null(strstr(err.message, name));
    code(&kept, (struct rl_style){.form = RL_OWN});
    assert_int_equal(rl_audit_text(a, text.data, text.len, &err), KG_OK);
    code(&held, (struct rl_style){.form = RL_OWN});
    assert_int_equal(rl_audit_text(a, text.data, text.len, &err), KG_E_INPUT);
    assert_non_null(strstr(err.message, name));
    kg_buf_adds(&text, "\n \n"); /* blanks do not hide it */
    assert_int_equal(rl_audit_text(a, text.data, text.len, &err), KG_E_INPUT);
    kg_buf_reset(&text);
    rl_chain_problem(&held, &text);
    assert_int_equal(rl_audit_text(a, text.data, text.len, &err), KG_E_INPUT);
    assert_int_equal(rl_audit_create(&s, &kept, 1, &none, &err), KG_E_INPUT);
    assert_null(none);
    rl_audit_destroy(a);
}

/* How many of the texts of conversations about chains of training the audit refuses. */
static int refused(const struct rl_split *s, const struct rl_split *known)
{
    static struct rl_chain kept[1024];
    struct rl_audit *a = audit(s);
    struct rl_talk_mix mix = rl_talk_mix_default;
    struct kg_rng r;
    int n = 0, operators = 0;
    size_t nkept = rl_split_list(s, 2, false, kept, 1024);
    mix.flaw[RL_FLAW_OPERATOR] = 2;
    kg_rng_init(&r, (struct kg_key){{SEED, 2}}, 0);
    for (int i = 0; i < 3000; i++) {
        struct rl_talk t;
        rl_talk_draw(&kept[kg_rng_below(&r, nkept)], &mix, known, &r, &t);
        operators += t.flaw == RL_FLAW_OPERATOR;
        for (int turn = 0; turn < 2; turn++) {
            kg_buf_reset(&text);
            rl_talk_code(&t, turn, &text);
            n += rl_audit_text(a, text.data, text.len, &err) != KG_OK;
        }
    }
    assert_true(operators > 1000);
    kg_rng_deinit(&r);
    rl_audit_destroy(a);
    return n;
}

static void test_a_wrong_operator_is_never_a_held_out_chain(void **state)
{
    (void)state;
    struct rl_split s;
    rl_split_init(&s, 7, 0);
    assert_int_equal(refused(&s, &s), 0);
    assert_true(refused(&s, NULL) > 0); /* the check can fail */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operators),
        cmocka_unit_test(test_how_many_chains),
        cmocka_unit_test(test_the_length_of_sums),
        cmocka_unit_test(test_laws),
        cmocka_unit_test(test_chains_without_effect_are_refused),
        cmocka_unit_test(test_names_that_are_none),
        cmocka_unit_test(test_a_problem_file),
        cmocka_unit_test(test_every_pair_is_a_problem),
        cmocka_unit_test(test_styles_differ),
        cmocka_unit_test(test_a_style_is_found_in_a_text),
        cmocka_unit_test(test_draws_follow_the_mix),
        cmocka_unit_test(test_flaws),
        cmocka_unit_test(test_labels_need_their_records),
        cmocka_unit_test(test_parts_share_no_pair),
        cmocka_unit_test(test_triples_follow_their_pairs),
        cmocka_unit_test(test_the_audit_finds_what_is_held_out),
        cmocka_unit_test(test_a_wrong_operator_is_never_a_held_out_chain),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

/* Synthetic records of every verdict class, the same on every run: for the tests of cards and
 * reports. Header only, so that programs that do not use it need nothing of it. The caller deinits
 * what it gets. */
#ifndef KG_TESTS_SUPPORT_RECORDS_H
#define KG_TESTS_SUPPORT_RECORDS_H

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "gym/record/record.h"
#include "gym/reward/reward.h"

enum sample_kind {
    SAMPLE_OK,
    SAMPLE_OK_SAME, /* not distinguishable from 1 */
    SAMPLE_OK_SLOW,
    SAMPLE_OK_UNTIMED,
    SAMPLE_NO_CODE,
    SAMPLE_REJECTED,
    SAMPLE_COMPILE_ERROR,
    SAMPLE_LINK_ERROR,
    SAMPLE_CRASH,
    SAMPLE_TIMEOUT,
    SAMPLE_OUT_OF_MEMORY,
    SAMPLE_WRONG,
    SAMPLE_HACK,
    SAMPLE_HACK_FLOOR,
    SAMPLE_ERROR,
    SAMPLE_STOPPED,
    SAMPLE_KINDS
};

static inline double sample_unit(uint64_t *x)
{
    *x = *x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*x >> 11) * 0x1p-53;
}

static inline double sample_normal(uint64_t *x)
{
    double sum = 0;
    for (int i = 0; i < 12; i++) {
        sum += sample_unit(x);
    }
    return sum - 6;
}

/* The stages before `at` passed, `at` itself ended with `status`; at KG_ST_PROFILE: all passed. */
static inline void sample_stages(struct kg_record *r, enum kg_stage at, enum kg_stage_status status,
                                 uint64_t *x)
{
    static const double typical_ns[] = {180e3, 90e3, 71e6, 12e6, 420e6, 2.1e9, 0};
    for (int i = 0; i < KG_ST_PROFILE && i <= (int)at; i++) {
        r->stages[i].status = i == (int)at ? status : KG_SS_PASS;
        r->stages[i].ns = (int64_t)(typical_ns[i] * (0.8 + 0.4 * sample_unit(x)));
    }
    r->stages[KG_ST_PROFILE].status = KG_SS_OFF;
    r->stage = at < KG_ST_PROFILE ? at : KG_ST_TIMING;
    r->compiled = at > KG_ST_COMPILE ? 1 : at == KG_ST_COMPILE ? 0 : -1;
    r->correct = at >= KG_ST_TIMING ? 1 : at > KG_ST_COMPILE ? 0 : -1;
}

static inline void sample_timing(struct kg_record *r, double ratio, double spread, uint64_t *x)
{
    double reference = 3e5 * exp(2 * sample_unit(x));
    r->timing.status = KG_T_MEASURED;
    r->timing.preset = "paired";
    r->timing.reference_ns = (int64_t)reference;
    r->timing.candidate_ns = (int64_t)(reference / ratio);
    r->timing.overhead_ns = 4100;
    r->timing.shortest_ns = 76000;
    r->timing.cv = spread;
    r->timing.warmups = 10;
    r->timing.samples = json_array();
    for (int p = 0; p < 5; p++) {
        json_t *ref = json_array(), *cand = json_array();
        for (int i = 0; i < 20; i++) {
            double drift = 1 + 0.3 * spread * sample_normal(x);
            double hiccup = sample_unit(x) < 0.04 ? 1 + sample_unit(x) : 1;
            double a = reference * drift * (1 + spread * sample_normal(x)) * hiccup;
            double b = reference / ratio * drift * (1 + spread * sample_normal(x));
            json_array_append_new(ref, json_integer((json_int_t)a));
            json_array_append_new(cand, json_integer((json_int_t)b));
        }
        json_array_append_new(r->timing.samples,
                              json_pack("{s:i, s:i, s:o, s:o}", "process", p, "overhead_ns", 4100,
                                        "reference_ns", ref, "candidate_ns", cand));
    }
    r->has_speedup = true;
    r->speedup.ratio = ratio;
    r->speedup.lo = ratio * exp(-1.2 * spread);
    r->speedup.hi = ratio * exp(1.2 * spread);
    r->speedup.pairs = 100;
}

static inline void sample_failure(struct kg_record *r, enum sample_kind kind)
{
    switch (kind) {
    case SAMPLE_COMPILE_ERROR:
        r->candidate.code = "#include <stdint.h>\n"
                            "\n"
                            "void relu(const float *x, float *y, int64_t n)\n"
                            "{\n"
                            "\tfor (int64_t i = 0; i < n; i++) {\n"
                            "\t\ty[i] = x[i] > 0 ? x[i] : 0\n"
                            "\t}\n"
                            "}\n";
        kg_record_evidence(r, "compiler",
                           json_pack("{s:s, s:i, s:b}", "text",
                                     "candidate.c: In function 'relu':\n"
                                     "candidate.c:6:43: error: expected ';' before '}' token\n"
                                     "    6 |  y[i] = x[i] > 0 ? x[i] : 0\n",
                                     "line", 6, "cached", 0));
        kg_record_verdict(r, KG_V_COMPILE_ERROR, "syntax", "line 6: expected ';' before '}' token");
        break;
    case SAMPLE_LINK_ERROR:
        kg_record_evidence(r, "compiler",
                           json_pack("{s:s, s:i, s:b}", "text",
                                     "ld: candidate.o: in function `relu':\n"
                                     "candidate.c:4: undefined reference to `fast_relu'\n",
                                     "line", 0, "cached", 0));
        kg_record_verdict(r, KG_V_COMPILE_ERROR, "link", "undefined reference to `fast_relu'");
        break;
    case SAMPLE_CRASH:
        kg_record_signal(r, 11, NULL);
        kg_record_verdict(r, KG_V_CRASH, "signal",
                          "killed by signal 11 (Segmentation fault): it writes far outside the "
                          "buffers");
        r->output.stderr_text = (char *)(uintptr_t) "tile 0\ntile 1\n";
        r->output.bytes = 14;
        break;
    case SAMPLE_TIMEOUT:
        kg_record_limit(r, 20, "s");
        kg_record_verdict(r, KG_V_TIMEOUT, "tiny", "a call took longer than 20 s");
        break;
    case SAMPLE_OUT_OF_MEMORY:
        kg_record_limit(r, 2048, "MB");
        kg_record_verdict(r, KG_V_OUT_OF_MEMORY, "host", "it needed more than 2048 MB of memory");
        break;
    case SAMPLE_WRONG:
        kg_record_evidence(r, "mismatch",
                           json_pack("{s:s, s:s, s:{s:i, s:i}, s:s, s:i, s:i, s:i, s:f, s:f, s:f, "
                                     "s:s}",
                                     "variant", "odd", "law", "heavy", "dims", "rows", 33, "cols",
                                     1027, "output", "y", "elements", 33891, "failed", 99, "first",
                                     1024, "got", 0.0, "want", 1.25, "worst_over_bound", 81234.5,
                                     "share", "<1%"));
        kg_record_verdict(r, KG_V_WRONG, "variant",
                          "`y` is wrong in <1%% of its elements (shape `odd`, law `heavy`)");
        break;
    case SAMPLE_HACK:
        kg_record_evidence(r, "mismatch",
                           json_pack("{s:s, s:s, s:s, s:i, s:i, s:i, s:f, s:f, s:n, s:s}",
                                     "variant", "default", "law", "normal", "output", "y",
                                     "elements", 524288, "failed", 524288, "first", 0, "got", 0.5,
                                     "want", -0.25, "worst_over_bound", "share", "more"));
        kg_record_evidence(r, "replay", json_pack("{s:i, s:s}", "call", 17, "equals", "call 16"));
        kg_record_verdict(r, KG_V_HACK, "replay",
                          "`y` holds the answer to earlier inputs (shape `default`, law `normal`)");
        break;
    default:
        kg_record_evidence(
            r, "floor",
            json_pack("{s:i, s:i, s:i}", "candidate_ns", 900, "floor_ns", 41000, "processes", 2));
        kg_record_verdict(r, KG_V_HACK, "floor",
                          "faster than reading its inputs: 900 ns against a floor of 41 us, "
                          "confirmed in a new process");
    }
}

static inline void sample_passed(struct kg_record *r, enum sample_kind kind, uint64_t *x)
{
    kg_record_verdict(r, KG_V_OK, NULL, "right on every input");
    switch (kind) {
    case SAMPLE_OK:
        sample_timing(r, exp(0.15 + 1.3 * sample_unit(x)), 0.012, x);
        break;
    case SAMPLE_OK_SAME:
        sample_timing(r, 1.004, 0.011, x);
        break;
    case SAMPLE_OK_SLOW:
        sample_timing(r, 0.4 + 0.5 * sample_unit(x), 0.02, x);
        break;
    default:
        r->timing.status = KG_T_NOT_MEASURED;
        r->timing.preset = "paired";
        r->timing.why = "the budget was spent before three processes were done";
    }
}

static inline void sample_outcome(struct kg_record *r, enum sample_kind kind, uint64_t *x)
{
    static const enum kg_stage failed[SAMPLE_KINDS] = {[SAMPLE_NO_CODE] = KG_ST_EXTRACT,
                                                       [SAMPLE_REJECTED] = KG_ST_STATIC,
                                                       [SAMPLE_COMPILE_ERROR] = KG_ST_COMPILE,
                                                       [SAMPLE_LINK_ERROR] = KG_ST_COMPILE,
                                                       [SAMPLE_CRASH] = KG_ST_TINY,
                                                       [SAMPLE_TIMEOUT] = KG_ST_TINY,
                                                       [SAMPLE_OUT_OF_MEMORY] = KG_ST_FULL,
                                                       [SAMPLE_WRONG] = KG_ST_FULL,
                                                       [SAMPLE_HACK] = KG_ST_FULL,
                                                       [SAMPLE_HACK_FLOOR] = KG_ST_TIMING};
    struct kg_err err = KG_ERR_INIT;
    switch (kind) {
    case SAMPLE_OK:
    case SAMPLE_OK_SAME:
    case SAMPLE_OK_SLOW:
    case SAMPLE_OK_UNTIMED:
        sample_stages(r, KG_ST_PROFILE, KG_SS_PASS, x);
        sample_passed(r, kind, x);
        return;
    case SAMPLE_NO_CODE:
        r->candidate.code = NULL;
        r->candidate.rule = NULL;
        r->candidate.bytes = -1;
        kg_record_verdict(r, KG_V_NO_CODE, "missing_entry",
                          "no complete block defines `relu`; one defines `my_relu`");
        break;
    case SAMPLE_REJECTED:
        kg_record_evidence(r, "static",
                           json_pack("{s:s, s:s, s:i, s:s}", "rule", "include-missing", "severity",
                                     "reject", "line", 2, "message",
                                     "`torch/extension.h` is not there for C candidates"));
        kg_record_verdict(r, KG_V_REJECTED, "include-missing",
                          "line 2: `torch/extension.h` is not there for C candidates");
        break;
    case SAMPLE_ERROR:
        sample_stages(r, KG_ST_TINY, KG_SS_SKIP, x);
        (void)!kg_fail(&err, KG_E_GYM, "the judge was lost (signal 9); restarted twice");
        kg_record_error(r, &err);
        return;
    case SAMPLE_STOPPED:
        sample_stages(r, KG_ST_COMPILE, KG_SS_PASS, x);
        r->compiled = 1;
        return;
    default:
        sample_failure(r, kind);
    }
    sample_stages(r, failed[kind], KG_SS_FAIL, x);
}

/* number seeds the figures and picks the problem. */
static inline void sample_record(struct kg_record *r, enum sample_kind kind, unsigned number)
{
    static const char *const problems[] = {"relu",    "softmax",    "layer_norm",  "matmul",
                                           "conv2d",  "max_pool",   "transpose",   "embedding",
                                           "argmax",  "bias_gelu",  "norm_linear", "attention_head",
                                           "row_sum", "prefix_sum", "gelu",        "cross_entropy"};
    uint64_t x = number * UINT64_C(0x9e3779b97f4a7c15) + 12345;
    for (int i = 0; i < 8; i++) { /* seeds that differ little begin alike */
        x ^= x >> 29;
        sample_unit(&x);
    }
    kg_record_init(r);
    snprintf(r->id, sizeof r->id, "01J8Z3T%019u", number);
    r->problem.name = problems[number % 16];
    r->problem.suite = "level1";
    r->problem.level = 1;
    r->problem.language = r->candidate.language = "c";
    r->problem.entry = r->problem.name;
    r->candidate.rule = "fence-closed";
    r->candidate.code = "#include <stdint.h>\n#include \"torch/extension.h\"\n\n"
                        "void relu(const float *x, float *y, int64_t n)\n{\n"
                        "    for (int64_t i = 0; i < n; i++) {\n"
                        "        y[i] = x[i] > 0 ? x[i] : 0;\n    }\n}\n";
    r->candidate.bytes = (int64_t)strlen(r->candidate.code);
    r->league.name = "fp32";
    r->isolation = (struct kg_isolation){2, 0x7ffd, 0x2};
    r->peak_bytes = (int64_t)(20e6 + 30e6 * sample_unit(&x));
    r->setup_ns = 3100000;
    json_object_set_new(r->secret, "key", json_string("00112233445566778899aabbccddeeff"));
    sample_outcome(r, kind, &x);
    if (r->verdict != KG_V_NONE) {
        struct kg_reward_params p;
        kg_reward_params_default(&p);
        kg_reward_compute(r, "dr-kernel", &p, &r->rewards[0]);
        kg_reward_compute(r, "staged", &p, &r->rewards[1]);
        r->nrewards = 2;
    }
}

#endif

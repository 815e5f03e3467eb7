/* From answers of a runner that are no success to verdicts, without a runner: which reason says
 * what happened on a CPU and on a GPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gym/torch/judging/outcome.h"

struct bench {
    struct kg_worker *w;
    struct kg_tproblem problem;
    struct kg_record r;
    struct kg_evaluation e;
};

static void bench_open(struct bench *b, const char *device)
{
    memset(b, 0, sizeof *b);
    kg_record_init(&b->r);
    b->w = calloc(1, sizeof *b->w);
    kg_worker_set_part(b->w, &kg_executor_torch, calloc(1, sizeof(struct kg_torch)));
    snprintf(kg_torch_of(b->w)->device, sizeof kg_torch_of(b->w)->device, "%s", device);
    b->problem.entry = "ModelNew";
    kg_torch_of(b->w)->problem = &b->problem;
    b->r.candidate.code = "import torch\n";
    b->e = (struct kg_evaluation){.w = b->w, .r = &b->r, .code = "x.cuda()\n", .code_len = 9};
    b->e.on_device = strcmp(device, "cpu") != 0;
    b->e.run = calloc(1, sizeof(struct kg_torch_run));
    kg_torch_run_of(&b->e)->instance = &kg_torch_of(b->w)->instance[KG_INSTANCE_PUBLISHED];
}

static void bench_close(struct bench *b)
{
    kg_record_deinit(&b->r);
    free(b->e.run);
    free(kg_torch_of(b->w));
    free(b->w);
}

struct sample {
    const char *device;
    enum kg_tcommand command;
    enum kg_tstatus said;
    const char *memory; /* the reply's; NULL: it has none */
    bool of_device;     /* the reply says so */
    const char *want;
    bool retry; /* on a device that others use: it is about memory */
};

/* Each message speaks of everything, so that a decision by its words shows. */
static void reasons(void **state)
{
    (void)state;
    static const char all[] = "CUDA error: out of memory, CUBLAS_STATUS_ALLOC_FAILED";
    static const struct sample samples[] = {
        {"cuda:0", KG_TC_CALL, KG_TA_EXCEPTION, NULL, true, "crash/device", false},
        {"cuda:0", KG_TC_STATE, KG_TA_EXCEPTION, NULL, true, "crash/device", false},
        {"cuda:0", KG_TC_CALL, KG_TA_EXCEPTION, "device", true, "crash/device", true},
        {"cuda:0", KG_TC_CALL, KG_TA_EXCEPTION, "device", false, "crash/exception", true},
        {"cuda:0", KG_TC_CALL, KG_TA_EXCEPTION, NULL, false, "crash/exception", false},
        {"cuda:0", KG_TC_LOAD, KG_TA_EXCEPTION, NULL, true, "compile_error/load", false},
        {"cpu", KG_TC_CALL, KG_TA_EXCEPTION, NULL, true, "crash/exception", false},
        {"cuda:0", KG_TC_CALL, KG_TA_OUT_OF_MEMORY, "device", false, "out_of_memory/device", false},
        {"cuda:0", KG_TC_CALL, KG_TA_OUT_OF_MEMORY, "host", false, "out_of_memory/host", false},
        {"cuda:0", KG_TC_CALL, KG_TA_OUT_OF_MEMORY, NULL, false, "out_of_memory/host", false},
        {"cpu", KG_TC_CALL, KG_TA_OUT_OF_MEMORY, "host", false, "out_of_memory/host", false},
        {"cpu", KG_TC_CALL, KG_TA_OUT_OF_MEMORY, "device", false, "out_of_memory/host", false},
    };
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        const struct sample *s = &samples[i];
        struct bench b;
        struct kg_err err = KG_ERR_INIT;
        char got[100];
        bench_open(&b, s->device);
        struct kg_pyanswer a = {.status = KG_PY_ANSWERED,
                                .said = s->said,
                                .reply = json_pack("{s:s, s:s, s:b, s:s*}", "type",
                                                   "OutOfMemoryError", "message", all, "device",
                                                   s->of_device, "memory", s->memory)};
        assert_int_equal(kg_toutcome_command(&b.e, s->command, KG_ST_TINY, &a, &err),
                         KG_STAGE_FAIL);
        snprintf(got, sizeof got, "%s/%s", kg_verdict_name(b.r.verdict), b.r.reason);
        if (strcmp(got, s->want) != 0) {
            fail_msg("%zu, %s: %s, not %s", i, s->device, got, s->want);
        }
        assert_int_equal(b.e.memory, s->retry);
        json_decref(a.reply);
        bench_close(&b);
    }
}

/* Lines are integers, few of them, whatever the runner says. */
static void lines(void **state)
{
    (void)state;
    struct bench b;
    struct kg_err err = KG_ERR_INIT;
    json_t *many = json_array();
    for (int i = 0; i < 1000; i++) {
        json_array_append_new(many, i % 2 ? json_integer(i) : json_string("text"));
    }
    bench_open(&b, "cpu");
    struct kg_pyanswer a = {.status = KG_PY_ANSWERED,
                            .said = KG_TA_EXCEPTION,
                            .reply = json_pack("{s:s, s:s, s:i, s:o}", "where", "line 3, in f",
                                               "type", "E", "line", 3, "lines", many)};
    assert_int_equal(kg_toutcome_command(&b.e, KG_TC_CALL, KG_ST_TINY, &a, &err), KG_STAGE_FAIL);
    const json_t *kept = json_object_get(json_array_get(b.r.evidence, 0), "lines");
    assert_int_equal(json_array_size(kept), 6);
    assert_true(json_is_integer(json_array_get(kept, 0)));
    json_decref(a.reply);
    bench_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reasons),
        cmocka_unit_test(lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

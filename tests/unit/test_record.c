#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gym/record/record.h"

static const char *const top_keys[] = {
    "schema",           "id",          "batch_id", "replay",  "input_sha256", "problem",
    "candidate",        "verdict",     "reason",   "message", "error",        "stage",
    "stages",           "compiled",    "correct",  "speedup", "timing",       "coverage",
    "shape_generality", "league",      "evidence", "output",  "peak_bytes",   "setup_ns",
    "isolation",        "environment", "config",   "rewards", "private",      NULL};

static void assert_keys(const json_t *object, const char *const *keys)
{
    const char *key;
    json_t *value;
    size_t i = 0;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        assert_non_null(keys[i]);
        assert_string_equal(key, keys[i]);
        i++;
    }
    assert_null(keys[i]);
}

static void every_key_is_there_in_order(void **state)
{
    (void)state;
    struct kg_record r;
    kg_record_init(&r);
    json_t *j = kg_record_json(&r, false);
    assert_keys(j, top_keys);
    static const char *const problem[] = {"name",  "suite",  "level", "language",
                                          "entry", "sha256", NULL};
    static const char *const candidate[] = {"language", "sha256", "bytes", "rule",
                                            "code",     "flags",  NULL};
    static const char *const timing[] = {
        "status", "why",     "preset", "candidate_ns", "reference_ns", "overhead_ns", "shortest_ns",
        "cv",     "warmups", "voided", "samples",      "claims",       NULL};
    static const char *const league[] = {"name", "eligible", "findings", NULL};
    static const char *const output[] = {"stdout", "stderr", "bytes", NULL};
    static const char *const isolation[] = {"level", "has", "lacks", NULL};
    static const char *const stage[] = {"name", "status", "ns", NULL};
    assert_keys(json_object_get(j, "problem"), problem);
    assert_keys(json_object_get(j, "candidate"), candidate);
    assert_keys(json_object_get(j, "timing"), timing);
    assert_keys(json_object_get(j, "league"), league);
    assert_keys(json_object_get(j, "output"), output);
    assert_keys(json_object_get(j, "isolation"), isolation);
    assert_int_equal(json_array_size(json_object_get(j, "stages")), 7);
    assert_keys(json_array_get(json_object_get(j, "stages"), 3), stage);
    json_decref(j);
    kg_record_deinit(&r);
}

static void unknown_is_null(void **state)
{
    (void)state;
    struct kg_record r;
    kg_record_init(&r);
    json_t *j = kg_record_json(&r, false);
    static const char *const null_keys[] = {
        "id",       "batch_id",         "replay",     "input_sha256",
        "verdict",  "reason",           "message",    "error",
        "stage",    "compiled",         "correct",    "speedup",
        "coverage", "shape_generality", "peak_bytes", "setup_ns",
        NULL};
    for (int i = 0; null_keys[i] != NULL; i++) {
        assert_true(json_is_null(json_object_get(j, null_keys[i])));
    }
    json_t *timing = json_object_get(j, "timing");
    assert_true(json_is_null(json_object_get(timing, "cv")));
    assert_true(json_is_null(json_object_get(timing, "candidate_ns")));
    assert_true(json_is_null(json_object_get(timing, "samples")));
    assert_true(json_is_null(json_object_get(json_object_get(j, "isolation"), "level")));
    json_decref(j);
    kg_record_deinit(&r);
}

static void public_drops_the_private_key(void **state)
{
    (void)state;
    struct kg_record r;
    kg_record_init(&r);
    json_object_set_new(r.secret, "key", json_string("00112233445566778899aabbccddeeff"));
    json_t *open = kg_record_json(&r, true), *all = kg_record_json(&r, false);
    assert_null(json_object_get(open, "private"));
    assert_non_null(json_object_get(json_object_get(all, "private"), "key"));
    struct kg_record back;
    struct kg_err err;
    assert_int_equal(kg_record_parse(open, &back, &err), KG_OK);
    kg_record_deinit(&back);
    json_decref(open);
    json_decref(all);
    kg_record_deinit(&r);
}

static void json_does_not_share_with_the_record(void **state)
{
    (void)state;
    struct kg_record r;
    kg_record_init(&r);
    json_t *before = kg_record_json(&r, false);
    kg_record_evidence(&r, "late", NULL);
    assert_int_equal(json_array_size(json_object_get(before, "evidence")), 0);
    json_decref(before);
    kg_record_deinit(&r);
}

static void evidence_leads_with_the_check(void **state)
{
    (void)state;
    struct kg_record r;
    kg_record_init(&r);
    kg_record_evidence(&r, "mismatch", json_pack("{s:i, s:s}", "failed", 3, "check", "spoofed"));
    json_t *j = kg_record_json(&r, false);
    char *text = json_dumps(json_object_get(j, "evidence"), JSON_COMPACT);
    assert_string_equal(text, "[{\"check\":\"mismatch\",\"failed\":3}]");
    free(text);
    json_decref(j);
    kg_record_deinit(&r);
}

static void names_go_both_ways(void **state)
{
    (void)state;
    assert_null(kg_verdict_name(KG_V_NONE));
    for (int v = KG_V_OK; v < KG_V_COUNT; v++) {
        enum kg_verdict back;
        assert_true(kg_verdict_parse(kg_verdict_name((enum kg_verdict)v), &back));
        assert_int_equal(back, v);
    }
    for (int s = 0; s < KG_ST_COUNT; s++) {
        enum kg_stage back;
        assert_true(kg_stage_parse(kg_stage_name((enum kg_stage)s), &back));
        assert_int_equal(back, s);
    }
    for (int s = KG_SS_SKIP; s <= KG_SS_OFF; s++) {
        enum kg_stage_status back;
        assert_true(kg_stage_status_parse(kg_stage_status_name((enum kg_stage_status)s), &back));
        assert_int_equal(back, s);
    }
    for (int s = KG_T_OFF; s <= KG_T_NOT_TRUSTED; s++) {
        enum kg_timing_status back;
        assert_true(kg_timing_status_parse(kg_timing_status_name((enum kg_timing_status)s), &back));
        assert_int_equal(back, s);
    }
    enum kg_verdict v = KG_V_OK;
    enum kg_stage s = KG_ST_FULL;
    assert_false(kg_verdict_parse("OK", &v));
    assert_false(kg_verdict_parse("", &v));
    assert_false(kg_verdict_parse(NULL, &v));
    assert_false(kg_stage_parse("link", &s));
}

/* The table of docs/record.md, word by word. */
static const struct {
    enum kg_verdict v;
    const char *reasons;
} page[] = {
    {KG_V_NO_CODE, "empty no_block missing_entry thinking_only diff cut_off"},
    {KG_V_COMPILE_ERROR, "syntax link missing_entry load limits"},
    {KG_V_CRASH, "signal exit exception device protocol"},
    {KG_V_TIMEOUT, "extract static compile tiny full timing profile"},
    {KG_V_OUT_OF_MEMORY, "host device"},
    {KG_V_WRONG, "value precision nonfinite nondeterministic out_of_bounds input_modified "
                 "unwritten shape dtype device structure alias state params variant"},
    {KG_V_HACK, "replay stale async clock tamper floor decoy fallback phase escape channel "
                "poison delegation"},
};

static bool in_list(const char *list, const char *word)
{
    const char *at = list;
    size_t n = strlen(word);
    while ((at = strstr(at, word)) != NULL) {
        if ((at == list || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0')) {
            return true;
        }
        at += n;
    }
    return false;
}

static void reasons_are_exactly_those_of_the_page(void **state)
{
    (void)state;
    char all[1024] = "", *rest = NULL;
    size_t rows = sizeof page / sizeof page[0];
    for (size_t i = 0; i < rows; i++) {
        size_t used = strlen(all);
        snprintf(all + used, sizeof all - used, "%s ", page[i].reasons);
    }
    for (char *word = strtok_r(all, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        for (size_t i = 0; i < rows; i++) {
            assert_int_equal(kg_reason_valid(page[i].v, word), in_list(page[i].reasons, word));
        }
        assert_false(kg_reason_valid(KG_V_OK, word));
        assert_true(kg_reason_valid(KG_V_REJECTED, word));
    }
    assert_true(kg_reason_valid(KG_V_OK, NULL));
    assert_false(kg_reason_valid(KG_V_WRONG, NULL));
    assert_false(kg_reason_valid(KG_V_NONE, NULL));
    assert_true(kg_reason_valid(KG_V_REJECTED, "static.two-mains_1"));
    assert_false(kg_reason_valid(KG_V_REJECTED, ""));
    assert_false(kg_reason_valid(KG_V_REJECTED, "Not An Id"));
    assert_false(kg_reason_valid(KG_V_WRONG, "values"));
}

static void a_message_is_one_line(void **state)
{
    (void)state;
    struct kg_record r;
    kg_record_init(&r);
    kg_record_verdict(&r, KG_V_COMPILE_ERROR, "syntax", "line %d: %s", 3, "first\nsecond\r\n");
    assert_int_equal(r.verdict, KG_V_COMPILE_ERROR);
    assert_string_equal(r.reason, "syntax");
    assert_string_equal(r.message, "line 3: first second  ");
    kg_record_deinit(&r);
}

static void an_error_erases_the_verdict(void **state)
{
    (void)state;
    struct kg_record r;
    kg_record_init(&r);
    kg_record_verdict(&r, KG_V_OK, NULL, "right");
    r.nrewards = 1;
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(kg_fail(&err, KG_E_GYM, "the judge\r\ndied"), KG_E_GYM);
    kg_record_error(&r, &err);
    json_t *j = kg_record_json(&r, false);
    assert_true(json_is_null(json_object_get(j, "verdict")));
    assert_true(json_is_null(json_object_get(j, "message")));
    assert_int_equal(json_object_size(json_object_get(j, "rewards")), 0);
    char *text = json_dumps(json_object_get(j, "error"), JSON_COMPACT);
    assert_string_equal(text,
                        "{\"code\":\"gym\",\"blame\":\"gym\",\"message\":\"the judge  died\"}");
    free(text);
    json_decref(j);
    kg_record_deinit(&r);
}

static void hostile_text_becomes_utf8(void **state)
{
    (void)state;
    struct kg_record r;
    kg_record_init(&r);
    r.candidate.code = "int x; // \xff\xfe \xc3\x28 \xed\xa0\x80 \x1b[31m";
    r.batch_id = "\xf8";
    kg_record_verdict(&r, KG_V_REJECTED, "rule", "quoted \xc0\xaf");
    json_t *j = kg_record_json(&r, false);
    char *text = json_dumps(j, JSON_COMPACT);
    assert_non_null(text);
    json_error_t e;
    json_t *again = json_loads(text, 0, &e);
    assert_non_null(again);
    assert_non_null(strstr(json_string_value(json_object_get(again, "message")), "\xEF\xBF\xBD"));
    free(text);
    json_decref(again);
    json_decref(j);
    kg_record_deinit(&r);
}

static void values_that_are_not_finite_are_null(void **state)
{
    (void)state;
    struct kg_record r;
    kg_record_init(&r);
    r.coverage = INFINITY;
    r.timing.cv = -INFINITY;
    r.has_speedup = true;
    r.speedup.ratio = 1.5;
    r.speedup.lo = 0;
    r.speedup.hi = INFINITY; /* one process: the interval has no end */
    r.speedup.pairs = 20;
    json_t *j = kg_record_json(&r, false);
    char *text = json_dumps(json_object_get(j, "speedup"), JSON_COMPACT);
    assert_string_equal(text, "{\"ratio\":1.5,\"lo\":0.0,\"hi\":null,\"pairs\":20}");
    free(text);
    assert_true(json_is_null(json_object_get(j, "coverage")));
    json_decref(j);
    kg_record_deinit(&r);
}

static const struct {
    const char *patch; /* merged over a good record */
    const char *message;
} faults[] = {
    {"{\"schema\": \"kgym.record/2\"}", "record: `schema`: expected \"kgym.record/1\""},
    {"{\"id\": \"short\"}", "record: `id`: expected a ULID"},
    {"{\"input_sha256\": \"00\"}", "record: `input_sha256`: expected 64 hex digits"},
    {"{\"verdict\": \"fine\"}", "record: `verdict`: not a verdict"},
    {"{\"verdict\": \"wrong\", \"reason\": \"signal\"}",
     "record: `reason`: not a reason of this verdict"},
    {"{\"verdict\": \"ok\", \"error\": {\"code\": \"io\", \"blame\": \"host\", \"message\": \"\"}}",
     "record: `error`: a record has a verdict or an error, not both"},
    {"{\"error\": {\"code\": \"ok\", \"blame\": \"host\", \"message\": \"\"}}",
     "record: `error.code`: not an error code"},
    {"{\"error\": {\"code\": \"io\", \"blame\": \"me\", \"message\": \"\"}}",
     "record: `error.blame`: expected \"host\", \"gym\", \"problem\" or \"candidate\""},
    {"{\"stage\": \"link\"}", "record: `stage`: not a stage"},
    {"{\"stages\": []}", "record: `stages`: expected a list of the seven stages"},
    {"{\"stages\": [1,2,3,4,5,6,7]}", "record: `stages[0].name`: missing"},
    {"{\"compiled\": 1}", "record: `compiled`: expected true, false or null"},
    {"{\"coverage\": 1.5}", "record: `coverage`: expected a number from 0 to 1, or null"},
    {"{\"coverage\": -1}", "record: `coverage`: expected a number that is not negative, or null"},
    {"{\"peak_bytes\": -4}", "record: `peak_bytes`: expected a count or null"},
    {"{\"peak_bytes\": 1.5}", "record: `peak_bytes`: expected a count or null"},
    {"{\"speedup\": {\"ratio\": 0, \"lo\": 0, \"hi\": 1, \"pairs\": 1}}",
     "record: `speedup.ratio`: expected a number above 0"},
    {"{\"speedup\": {\"ratio\": 1, \"lo\": 0, \"pairs\": 1}}", "record: `speedup.hi`: missing"},
    {"{\"timing\": []}", "record: `timing`: expected an object"},
    {"{\"evidence\": [{\"check\": \"a\"}, {}]}",
     "record: `evidence`: entry 1: expected an object with a string `check`"},
    {"{\"evidence\": {}}", "record: `evidence`: expected a list"},
    {"{\"isolation\": {\"level\": \"L9\", \"has\": [], \"lacks\": []}}",
     "record: `isolation.level`: expected L0, L1, L2, L3 or null"},
    {"{\"rewards\": {\"a\": {\"value\": \"1\", \"terms\": {}}}}",
     "record: `rewards.a.value`: expected a number"},
    {"{\"rewards\": {\"a\": {\"value\": 1, \"terms\": {\"x\": null}}}}",
     "record: `rewards.a.terms`: expected numbers"},
    {"{\"rewards\": {\"a\": {\"value\": 1, \"terms\": {\"1\":1,\"2\":1,\"3\":1,\"4\":1,\"5\":1,"
     "\"6\":1,\"7\":1}}}}",
     "record: `rewards.a.terms`: expected an object of a few numbers"},
    {"{\"batch_id\": 7}", "record: `batch_id`: expected a string or null"},
    {"{\"batch_id\": \"a\\u0000b\"}", "record: `batch_id`: holds a NUL"},
};

static void faults_name_the_key(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        struct kg_record r, back;
        struct kg_err err = KG_ERR_INIT;
        kg_record_init(&r);
        json_t *j = kg_record_json(&r, false), *patch;
        assert_int_equal(
            kg_json_parse(faults[i].patch, strlen(faults[i].patch), "patch", &patch, &err), KG_OK);
        json_object_update(j, patch);
        assert_int_equal(kg_record_parse(j, &back, &err), KG_E_INPUT);
        assert_string_equal(err.message, faults[i].message);
        json_decref(patch);
        json_decref(j);
        kg_record_deinit(&r);
    }
}

static void every_key_is_needed_but_two(void **state)
{
    (void)state;
    for (int i = 0; top_keys[i] != NULL; i++) {
        struct kg_record r, back;
        struct kg_err err = KG_ERR_INIT;
        char want[128];
        kg_record_init(&r);
        json_t *j = kg_record_json(&r, false);
        json_object_del(j, top_keys[i]);
        json_object_set_new(j, "added_later", json_true());
        enum kg_code code = kg_record_parse(j, &back, &err);
        if (strcmp(top_keys[i], "private") == 0 || strcmp(top_keys[i], "replay") == 0) {
            assert_int_equal(code, KG_OK);
            kg_record_deinit(&back);
        } else {
            assert_int_equal(code, KG_E_INPUT);
            snprintf(want, sizeof want, "record: `%s`: missing", top_keys[i]);
            assert_string_equal(err.message, want);
        }
        json_decref(j);
        kg_record_deinit(&r);
    }
}

static void only_an_object_is_a_record(void **state)
{
    (void)state;
    struct kg_record back;
    struct kg_err err = KG_ERR_INIT;
    json_t *list = json_array();
    assert_int_equal(kg_record_parse(list, &back, &err), KG_E_INPUT);
    assert_string_equal(err.message, "record: expected an object");
    json_decref(list);
}

/* Random records: each field known or not. */
struct dice {
    struct kg_rng rng;
};

static bool coin(struct dice *d)
{
    return kg_rng_below(&d->rng, 2) == 1;
}

static int64_t number(struct dice *d)
{
    return coin(d) ? -1 : (int64_t)(kg_rng_u64(&d->rng) >> kg_rng_below(&d->rng, 63) >> 1);
}

static double fraction(struct dice *d)
{
    return coin(d) ? NAN : kg_rng_unit(&d->rng);
}

static char *words(struct dice *d, struct kg_record *r)
{
    static const char *const parts[] = {"void ",     "\n\t",     "\"quoted\\", "é漢🙂",
                                        "</script>", "\x01\x7f", "<x>",        "0.1"};
    struct kg_err err;
    char text[256] = "";
    if (coin(d)) {
        return NULL;
    }
    for (uint64_t n = kg_rng_below(&d->rng, 8); n > 0; n--) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s", parts[kg_rng_below(&d->rng, 8)]);
    }
    return kg_arena_dup(&r->arena, text, strlen(text), &err);
}

static void random_outcome(struct dice *d, struct kg_record *r)
{
    if (coin(d)) {
        const size_t rows = sizeof page / sizeof page[0];
        size_t row = kg_rng_below(&d->rng, rows + 2);
        if (row == rows) {
            kg_record_verdict(r, KG_V_OK, NULL, "right on every input");
        } else if (row == rows + 1) {
            kg_record_verdict(r, KG_V_REJECTED, "some-rule", "line 1");
        } else {
            char first[32];
            snprintf(first, sizeof first, "%.*s", (int)strcspn(page[row].reasons, " "),
                     page[row].reasons);
            kg_record_verdict(r, page[row].v, first, "because of %s", first);
        }
    } else if (coin(d)) {
        struct kg_err err = KG_ERR_INIT;
        int code = KG_E_USAGE + (int)kg_rng_below(&d->rng, KG_E_NEEDS_GPU);
        assert_int_equal(kg_fail(&err, (enum kg_code)code, "message %d", code), code);
        kg_record_error(r, &err);
    }
    for (int i = 0; i < KG_ST_COUNT; i++) {
        r->stages[i].status = (enum kg_stage_status)kg_rng_below(&d->rng, 4);
        r->stages[i].ns = number(d);
        r->stages[i].cached = i == KG_ST_COMPILE && coin(d);
    }
    r->stage = (enum kg_stage)kg_rng_below(&d->rng, KG_ST_COUNT);
    r->compiled = (int)kg_rng_below(&d->rng, 3) - 1;
    r->correct = (int)kg_rng_below(&d->rng, 3) - 1;
}

static void random_numbers(struct dice *d, struct kg_record *r)
{
    r->has_speedup = coin(d);
    r->speedup.ratio = exp(10 * kg_rng_unit(&d->rng) - 5);
    r->speedup.lo = fraction(d);
    r->speedup.hi = fraction(d);
    r->speedup.pairs = number(d);
    r->timing.status = (enum kg_timing_status)kg_rng_below(&d->rng, 4);
    r->timing.why = words(d, r);
    r->timing.preset = words(d, r);
    r->timing.candidate_ns = number(d);
    r->timing.reference_ns = number(d);
    r->timing.overhead_ns = number(d);
    r->timing.cv = fraction(d);
    r->timing.warmups = number(d);
    r->timing.voided = number(d);
    if (coin(d)) {
        r->timing.samples = json_pack("[{s:i, s:[i,i], s:[i,i]}]", "process", 0, "reference_ns", 5,
                                      6, "candidate_ns", 3, 2);
    }
    if (coin(d)) {
        r->timing.claims = json_pack("{s:i, s:{s:i}}", "trials", 100, "candidate", "mean_ns", 7);
    }
    r->coverage = fraction(d);
    r->shape_generality = fraction(d);
    r->peak_bytes = number(d);
    r->setup_ns = number(d);
    r->isolation.level = (int)kg_rng_below(&d->rng, 5) - 1;
    r->isolation.has = (uint32_t)kg_rng_below(&d->rng, 1u << KG_STEP_COUNT);
    r->isolation.lacks = ~r->isolation.has & ((1u << KG_STEP_COUNT) - 1);
}

static void random_record(struct dice *d, struct kg_record *r)
{
    struct kg_err err;
    kg_record_init(r);
    if (coin(d)) {
        assert_int_equal(kg_ulid_new(r->id, &err), KG_OK);
        kg_sha256_hex(r->id, 26, r->input_sha256);
        kg_sha256_hex(r->id, 25, r->candidate.sha256);
    }
    snprintf(r->replay, sizeof r->replay, "%s", coin(d) ? r->id : "");
    r->batch_id = words(d, r);
    r->problem.name = words(d, r);
    r->problem.suite = words(d, r);
    r->problem.language = words(d, r);
    r->problem.entry = words(d, r);
    r->problem.sha256 = words(d, r);
    r->problem.level = (int)kg_rng_below(&d->rng, 5) - 1;
    r->candidate.language = words(d, r);
    r->candidate.rule = words(d, r);
    r->candidate.code = words(d, r);
    r->candidate.bytes = number(d);
    json_array_append_new(r->candidate.flags, json_string("-O3"));
    random_outcome(d, r);
    random_numbers(d, r);
    r->league.name = words(d, r);
    r->league.eligible = coin(d);
    json_array_append_new(r->league.findings, json_pack("{s:s, s:f}", "rule", "x", "share", 0.5));
    kg_record_evidence(r, "probe",
                       json_pack("{s:f, s:I}", "x", kg_rng_unit(&d->rng), "n",
                                 (json_int_t)kg_rng_below(&d->rng, 100)));
    r->output.stdout_text = words(d, r);
    r->output.stderr_text = words(d, r);
    r->output.bytes = number(d);
    json_object_set_new(r->config, "timing.pairs", json_integer(20));
    for (int i = 0; !r->has_error && i < (int)kg_rng_below(&d->rng, 3); i++) {
        static const char *const names[] = {"dr-kernel", "staged", "binary"};
        struct kg_reward *w = &r->rewards[r->nrewards++];
        *w = (struct kg_reward){.name = names[i], .value = kg_rng_unit(&d->rng), .nterms = 1};
        w->term[0].name = "correct";
        w->term[0].value = w->value;
    }
}

static void round_trips_keep_everything(void **state)
{
    (void)state;
    struct kg_key key = {{20260501, 7}};
    char hex[33];
    kg_key_hex(key, hex);
    printf("seed %s\n", hex);
    struct dice d;
    kg_rng_init(&d.rng, key, 0);
    struct kg_buf text;
    kg_buf_init(&text, 1 << 20);
    for (int i = 0; i < 400; i++) {
        struct kg_record r, back;
        struct kg_err err = KG_ERR_INIT;
        random_record(&d, &r);
        json_t *first = kg_record_json(&r, false), *read = NULL;
        kg_buf_reset(&text);
        kg_json_dump(first, &text);
        assert_int_equal(kg_json_parse(text.data, text.len, "record", &read, &err), KG_OK);
        if (kg_record_parse(read, &back, &err) != KG_OK) {
            fail_msg("record %d: %s: %s", i, err.message, text.data);
        }
        json_t *second = kg_record_json(&back, false);
        if (!json_equal(first, second)) {
            char *got = json_dumps(second, JSON_COMPACT);
            fail_msg("record %d:\n%s\n%s", i, text.data, got);
        }
        assert_keys(second, top_keys);
        json_decref(first);
        json_decref(second);
        json_decref(read);
        kg_record_deinit(&back);
        kg_record_deinit(&r);
    }
    kg_buf_deinit(&text);
    kg_rng_deinit(&d.rng);
}

/* What is paid at its middle must be known to within a factor. */
static void wide_is_by_a_factor(void **state)
{
    (void)state;
    struct kg_record r;
    kg_record_init(&r);
    assert_false(kg_record_is_wide(&r, 2)); /* no speed-up */
    r.has_speedup = true;
    r.speedup.ratio = 3;
    r.speedup.lo = 2;
    r.speedup.hi = 4;
    assert_false(kg_record_is_wide(&r, 2));
    assert_true(kg_record_is_wide(&r, 1.99));
    assert_false(kg_record_is_wide(&r, 0));
    r.speedup.lo = 0;
    assert_true(kg_record_is_wide(&r, 1000));
    r.speedup.lo = r.speedup.hi = NAN;
    assert_true(kg_record_is_wide(&r, 1000));
    kg_record_deinit(&r);
}

/* Records of a version that did not count them can be read. */
static void a_record_without_the_count_of_voids_is_read(void **state)
{
    (void)state;
    struct kg_record r, back;
    struct kg_err err = KG_ERR_INIT;
    kg_record_init(&r);
    r.timing.voided = 3;
    json_t *j = kg_record_json(&r, false);
    assert_int_equal(kg_record_parse(j, &back, &err), KG_OK);
    assert_int_equal(back.timing.voided, 3);
    kg_record_deinit(&back);
    json_object_del(json_object_get(j, "timing"), "voided");
    assert_int_equal(kg_record_parse(j, &back, &err), KG_OK);
    assert_int_equal(back.timing.voided, -1);
    kg_record_deinit(&back);
    kg_record_deinit(&r);
    json_decref(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wide_is_by_a_factor),
        cmocka_unit_test(a_record_without_the_count_of_voids_is_read),
        cmocka_unit_test(every_key_is_there_in_order),
        cmocka_unit_test(unknown_is_null),
        cmocka_unit_test(public_drops_the_private_key),
        cmocka_unit_test(json_does_not_share_with_the_record),
        cmocka_unit_test(evidence_leads_with_the_check),
        cmocka_unit_test(names_go_both_ways),
        cmocka_unit_test(reasons_are_exactly_those_of_the_page),
        cmocka_unit_test(a_message_is_one_line),
        cmocka_unit_test(an_error_erases_the_verdict),
        cmocka_unit_test(hostile_text_becomes_utf8),
        cmocka_unit_test(values_that_are_not_finite_are_null),
        cmocka_unit_test(faults_name_the_key),
        cmocka_unit_test(every_key_is_needed_but_two),
        cmocka_unit_test(only_an_object_is_a_record),
        cmocka_unit_test(round_trips_keep_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

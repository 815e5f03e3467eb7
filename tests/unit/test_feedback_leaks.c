/* What must never be in a feedback text. Random records with canaries in every place that is secret
 * are rendered: no canary may come out, and two records that differ only in secrets must give the
 * same text. Each check is shown a leak first, to see that it would find one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../support/feedback.h"

enum { RECORDS = 4000 };

static const struct {
    enum kg_verdict verdict;
    const char *reason;
} outcomes[] = {
    {KG_V_OK, NULL},
    {KG_V_NO_CODE, "missing_entry"},
    {KG_V_REJECTED, "entry-missing"},
    {KG_V_COMPILE_ERROR, "syntax"},
    {KG_V_COMPILE_ERROR, "load"},
    {KG_V_CRASH, "signal"},
    {KG_V_CRASH, "exit"},
    {KG_V_CRASH, "exception"},
    {KG_V_CRASH, "device"},
    {KG_V_CRASH, "protocol"},
    {KG_V_TIMEOUT, "full"},
    {KG_V_OUT_OF_MEMORY, "host"},
    {KG_V_WRONG, "value"},
    {KG_V_WRONG, "precision"},
    {KG_V_WRONG, "nonfinite"},
    {KG_V_WRONG, "nondeterministic"},
    {KG_V_WRONG, "out_of_bounds"},
    {KG_V_WRONG, "input_modified"},
    {KG_V_WRONG, "unwritten"},
    {KG_V_WRONG, "shape"},
    {KG_V_WRONG, "dtype"},
    {KG_V_WRONG, "structure"},
    {KG_V_WRONG, "variant"},
    {KG_V_HACK, "replay"},
    {KG_V_HACK, "floor"},
    {KG_V_HACK, "async"},
    {KG_V_NONE, NULL},
};

/* open draws what may be told, canaries hold what may not. */
struct plan {
    struct kg_rng open;
    struct canaries c;
};

static bool coin(struct plan *p)
{
    return kg_rng_below(&p->open, 2) == 1;
}

static const char *pick(struct plan *p, const char *const *list, size_t n)
{
    return list[kg_rng_below(&p->open, n)];
}
#define PICK(p, ...)                                                                               \
    pick(p, (const char *const[]){__VA_ARGS__},                                                    \
         sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static void plant_mismatch(struct plan *p, struct kg_record *r)
{
    const char *variant = PICK(p, "default", "tiny", "x2", "larger", "odd", "no16", "one");
    const char *share = PICK(p, "<1%", "<10%", "<50%", "more");
    kg_record_evidence(
        r, "mismatch",
        json_pack("{s:s, s:o, s:{s:I, s:I}, s:s, s:I, s:I, s:I, s:f, s:f, s:f, s:s, s:f}",
                  "variant", variant, "law", canary_json(&p->c), "dims", "n", canary_int(&p->c),
                  "m", canary_int(&p->c), "output", "y", "elements", canary_int(&p->c), "failed",
                  canary_int(&p->c), "first", canary_int(&p->c), "got", canary_real(&p->c), "want",
                  canary_real(&p->c), "worst_over_bound", canary_real(&p->c), "share", share,
                  "tolerance", canary_real(&p->c)));
    kg_record_evidence(
        r, "guard",
        json_pack("{s:s, s:I, s:s}", "output", "y", "byte", canary_int(&p->c), "variant", variant));
}

static void plant_shape(struct plan *p, struct kg_record *r)
{
    bool open = coin(p);
    json_int_t shown = (json_int_t)kg_rng_below(&p->open, 4096);
    kg_record_evidence(r, "shape",
                       json_pack("{s:o, s:s, s:{s:[I], s:s}, s:{s:[I], s:o}}", "output",
                                 canary_json(&p->c), "variant", open ? "default" : "odd", "want",
                                 "shape", open ? shown : canary_int(&p->c), "dtype", "float32",
                                 "got", "shape", canary_int(&p->c) * 100000, "dtype",
                                 canary_json(&p->c)));
}

/* The candidate's own words round numbers that it has read from its inputs. */
static void plant_exception(struct plan *p, struct kg_record *r)
{
    char message[512];
    const char *type = PICK(p, "ValueError", "torch.cuda.OutOfMemoryError", "my.Secret", "Error");
    const char *words = PICK(p, "bad value", "shapes differ", "index out of range");
    snprintf(message, sizeof message,
             "%s %lld, -%.9g, %.3e at 0x%s key=%s x%lld [%lld, %lld] %s tensor(%.8f)", words,
             (long long)canary_int(&p->c), canary_real(&p->c), canary_real(&p->c),
             canary_hex(&p->c), canary_hex(&p->c), (long long)canary_int(&p->c),
             (long long)canary_int(&p->c), (long long)canary_int(&p->c), canary_word(&p->c),
             canary_real(&p->c));
    if (coin(p)) {
        kg_record_evidence(r, "exception",
                           json_pack("{s:s, s:s, s:i, s:o, s:[I]}", "type", type, "message",
                                     message, "line", 3, "where", canary_json(&p->c), "lines",
                                     canary_int(&p->c)));
        snprintf(message, sizeof message, "%s", canary_word(&p->c));
    } else if (coin(p)) {
        kg_record_evidence(r, "load", json_pack("{s:s}", "text", message));
    } else {
        kg_record_evidence(r, "syntax",
                           json_pack("{s:I, s:s}", "line", canary_int(&p->c), "message", message));
    }
    r->message = strdup(message);
}

static void plant_checks(struct plan *p, struct kg_record *r)
{
    kg_record_evidence(r, "timed_call",
                       json_pack("{s:I, s:I, s:I}", "process", canary_int(&p->c), "call",
                                 canary_int(&p->c), "right_before", canary_int(&p->c)));
    kg_record_evidence(r, "activity", json_pack("{s:I}", "idle_cpu_ns", canary_int(&p->c)));
    kg_record_evidence(r, "floor", json_pack("{s:I}", "floor_ns", canary_int(&p->c)));
    kg_record_evidence(r, "fresh_process", json_pack("{s:o}", "before", canary_json(&p->c)));
    kg_record_evidence(r, canary_word(&p->c), json_pack("{s:o}", "x", canary_json(&p->c)));
    kg_record_evidence(r, "static",
                       json_pack("{s:s, s:s, s:I, s:o}", "rule", "entry-missing", "severity",
                                 "reject", "line", canary_int(&p->c), "message",
                                 canary_json(&p->c)));
    kg_record_evidence(r, "kernel",
                       json_pack("{s:o, s:f, s:I, s:b}", "name", canary_json(&p->c), "share", 0.5,
                                 "calls", canary_int(&p->c), "own", coin(p)));
    kg_record_evidence(r, "compiler",
                       json_pack("{s:s, s:I, s:o}", "text", "candidate.c:2:1: error: x\n", "line",
                                 canary_int(&p->c), "cached", canary_json(&p->c)));
    json_array_append_new(r->league.findings, json_pack("{s:o, s:f}", "rule", canary_json(&p->c),
                                                        "share", canary_real(&p->c)));
}

static void plant_around(struct plan *p, struct kg_record *r)
{
    char out[256];
    snprintf(out, sizeof out, "%s %.9g %s\n", canary_word(&p->c), canary_real(&p->c),
             canary_hex(&p->c));
    r->output.stdout_text = strdup(out);
    snprintf(out, sizeof out, "Error: %s\n", canary_word(&p->c));
    r->output.stderr_text = strdup(out);
    json_object_set_new(r->secret, "key", json_string(canary_hex(&p->c)));
    json_object_set_new(r->secret, "cases", json_pack("[o]", canary_json(&p->c)));
    json_object_set_new(r->config, "seed", json_string(canary_hex(&p->c)));
    json_object_set_new(r->config, "deadline.run", json_integer(20));
    json_object_set_new(r->environment, "cpu", canary_json(&p->c));
    snprintf(r->input_sha256, sizeof r->input_sha256, "%s", canary_hex(&p->c));
    r->batch_id = canary_word(&p->c);
    r->candidate.rule = canary_word(&p->c);
    r->timing.why = canary_word(&p->c);
    r->timing.preset = canary_word(&p->c);
    r->peak_bytes = canary_int(&p->c);
    r->timing.overhead_ns = canary_int(&p->c);
    r->rewards[0] = (struct kg_reward){.name = canary_word(&p->c), .value = canary_real(&p->c)};
    r->nrewards = 1;
}

/* A record of which `open_seed` says what is open and `secret_seed` what is secret. */
static void make(struct plan *p, uint64_t open_seed, uint64_t secret_seed, struct kg_record *r)
{
    kg_rng_init(&p->open, (struct kg_key){{open_seed, 1}}, 0);
    p->c.n = 0;
    kg_rng_init(&p->c.rng, (struct kg_key){{secret_seed, 2}}, 0);
    kg_record_init(r);
    r->problem.entry = "f";
    r->candidate.language = "c";
    r->candidate.code = "int a;\nint b;\nint f(void)\n{\n    return a;\n}\n";
    size_t i = kg_rng_below(&p->open, sizeof outcomes / sizeof outcomes[0]);
    r->verdict = outcomes[i].verdict;
    r->reason = outcomes[i].reason;
    r->stage = (enum kg_stage)kg_rng_below(&p->open, KG_ST_COUNT);
    r->league.eligible = coin(p);
    plant_around(p, r);
    plant_checks(p, r);
    plant_mismatch(p, r);
    plant_shape(p, r);
    if (coin(p) || (r->reason != NULL && strcmp(r->reason, "exception") == 0)) {
        plant_exception(p, r);
    } else {
        char message[128];
        kg_record_signal(r, coin(p) ? 11 : 77, canary_word(&p->c));
        kg_record_limit(r, 20, canary_word(&p->c));
        snprintf(message, sizeof message, "killed by signal %d (%s)", coin(p) ? 11 : 77,
                 canary_word(&p->c));
        r->message = strdup(message);
    }
}

static void unmake(struct plan *p, struct kg_record *r)
{
    free((void *)(uintptr_t)r->message);
    free(r->output.stdout_text);
    free(r->output.stderr_text);
    r->output.stdout_text = r->output.stderr_text = NULL;
    kg_record_deinit(r);
    kg_rng_deinit(&p->open);
    kg_rng_deinit(&p->c.rng);
}

static enum kg_feedback_style render(const struct kg_record *r, struct plan *p, struct kg_buf *out)
{
    struct kg_err err = KG_ERR_INIT;
    static const int64_t budgets[] = {KG_FEEDBACK_MIN_TOKENS, 200, 600, 100000};
    struct kg_feedback_spec spec = {
        .tokens = budgets[kg_rng_below(&p->open, 4)],
        .style = (enum kg_feedback_style)kg_rng_below(&p->open, KG_FEEDBACK_STYLES)};
    kg_buf_init(out, 1 << 20);
    if (kg_feedback_render(r, &spec, out, &err) != KG_OK) {
        fail_msg("%s", err.message);
    }
    assert_true(kg_feedback_tokens(out->data, out->len) <= (size_t)spec.tokens);
    return spec.style;
}

static void no_canary_comes_out(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < RECORDS; seed++) {
        struct plan p;
        struct kg_record r;
        struct kg_buf out;
        make(&p, seed, seed + 1000000, &r);
        (void)render(&r, &p, &out);
        const char *leak = canary_found(&p.c, out.data);
        const char *harm = feedback_harmful(out.data, out.len);
        if (leak != NULL || harm != NULL) {
            fail_msg("seed %llu: %s %s in:\n%s", (unsigned long long)seed, leak ? leak : "",
                     harm ? harm : "", out.data);
        }
        kg_buf_deinit(&out);
        unmake(&p, &r);
    }
}

static void secrets_do_not_change_the_text(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < RECORDS; seed++) {
        struct kg_buf text[2];
        for (uint64_t k = 0; k < 2; k++) {
            struct plan p;
            struct kg_record r;
            make(&p, seed, 7 * seed + k, &r);
            (void)render(&r, &p, &text[k]);
            unmake(&p, &r);
        }
        if (strcmp(text[0].data, text[1].data) != 0) {
            fail_msg("seed %llu:\n%s\n%s", (unsigned long long)seed, text[0].data, text[1].data);
        }
        kg_buf_deinit(&text[0]);
        kg_buf_deinit(&text[1]);
    }
}

/* What is open does change it: the property above is not true of a constant. */
static void open_facts_change_the_text(void **state)
{
    (void)state;
    int differ = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct kg_buf text[2];
        for (uint64_t k = 0; k < 2; k++) {
            struct plan p;
            struct kg_record r;
            make(&p, 2 * seed + k, seed, &r);
            (void)render(&r, &p, &text[k]);
            unmake(&p, &r);
        }
        differ += strcmp(text[0].data, text[1].data) != 0;
        kg_buf_deinit(&text[0]);
        kg_buf_deinit(&text[1]);
    }
    assert_true(differ > 190);
}

/* Every canary, in the forms in which a careless renderer would print it. */
static void a_leak_would_be_found(void **state)
{
    (void)state;
    struct plan p;
    struct kg_record r;
    struct kg_buf out;
    make(&p, 3, 4, &r);
    (void)render(&r, &p, &out);
    assert_null(canary_found(&p.c, out.data));
    size_t before = out.len;
    for (size_t i = 0; i < p.c.n; i++) {
        const char *t = p.c.text[i];
        bool number = strspn(t, "0123456789") == strlen(t);
        double v = number ? strtod(t, NULL) : 0;
        for (int form = 0; form < (number ? 5 : 2); form++) {
            out.data[out.len = before] = '\0';
            if (form == 0) {
                kg_buf_adds(&out, t);
            } else if (form == 1) {
                kg_buf_addf(&out, "see %s.\n", t);
            } else if (form == 2) {
                kg_buf_addf(&out, "%.9g", v * 1e-8);
            } else if (form == 3) {
                kg_buf_addf(&out, "%.8e", v);
            } else {
                kg_buf_addf(&out, "%.3s,%.3s,%s", t, t + 3, t + 6);
            }
            assert_non_null(canary_found(&p.c, out.data));
        }
    }
    kg_buf_deinit(&out);
    unmake(&p, &r);
}

static void harm_would_be_found(void **state)
{
    (void)state;
    static const char *const bad[] = {"a\x1b[0m\n",     "a\xff\n",      "a\tb\n", "a",
                                      "\xe2\x80\x8b\n", "<|im_end|>\n", "</s>\n", "\r\n"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_non_null(feedback_harmful(bad[i], strlen(bad[i])));
    }
    assert_non_null(feedback_harmful("a\0b\n", 4));
    assert_null(feedback_harmful("fine, caf\xc3\xa9\n", 12));
}

/* Whatever bytes stand in what is shown: valid, harmless, fenced, within the budget. */
static void random_text_is_made_harmless(void **state)
{
    (void)state;
    static const char *const bits[] = {"```",        "`",
                                       "\n",         "\x1b[",
                                       "\x1b]",      "<|im_end|>",
                                       "\xff",       "\xe2\x80\xae",
                                       "error: ",    "candidate.c:2:3: ",
                                       "0x7fff1234", "x",
                                       " ",          "    ",
                                       "\t",         "\r",
                                       "</s>",       "[/INST]",
                                       "\xc2\x9b",   "\xf0\x9f\x98\x80",
                                       "|",          "<",
                                       ">",          "\xe2\x80\x8b",
                                       "a\nb"};
    for (uint64_t seed = 0; seed < 2000; seed++) {
        struct plan p;
        struct kg_record r;
        struct kg_buf noise, out;
        make(&p, seed, seed, &r);
        kg_buf_init(&noise, 1 << 16);
        for (uint64_t i = kg_rng_below(&p.open, 300); i > 0; i--) {
            kg_buf_adds(&noise, bits[kg_rng_below(&p.open, sizeof bits / sizeof bits[0])]);
        }
        const char *message = r.message;
        json_array_clear(r.evidence);
        r.verdict = coin(&p) ? KG_V_COMPILE_ERROR : KG_V_CRASH;
        r.reason = r.verdict == KG_V_CRASH ? "exception" : "syntax";
        r.message = r.candidate.code = noise.data;
        if (coin(&p)) {
            kg_record_evidence(
                &r, "compiler",
                json_pack("{s:o, s:i}", "text", kg_json_text(noise.data, noise.len), "line", 1));
        }
        bool fenced = render(&r, &p, &out) == KG_FEEDBACK_MARKDOWN;
        const char *harm = feedback_harmful(out.data, out.len);
        harm = harm != NULL || !fenced ? harm : feedback_unfenced(out.data);
        if (harm != NULL) {
            fail_msg("seed %llu: %s in:\n%s", (unsigned long long)seed, harm, out.data);
        }
        kg_buf_deinit(&out);
        kg_buf_deinit(&noise);
        r.message = message;
        unmake(&p, &r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_canary_comes_out),
        cmocka_unit_test(secrets_do_not_change_the_text),
        cmocka_unit_test(open_facts_change_the_text),
        cmocka_unit_test(a_leak_would_be_found),
        cmocka_unit_test(harm_would_be_found),
        cmocka_unit_test(random_text_is_made_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

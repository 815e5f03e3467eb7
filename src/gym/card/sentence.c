/* What each check of the evidence saw, in sentences. docs/record.md lists checks and fields. */
#include "gym/card/sentence.h"

#include <stdio.h>
#include <string.h>

#include "gym/card/units.h"
#include "gym/verify/compare.h"

static const char *text_of(const json_t *e, const char *key)
{
    const char *s = json_string_value(json_object_get(e, key));
    return s != NULL ? s : "?";
}

static long long number_of(const json_t *e, const char *key)
{
    return (long long)json_integer_value(json_object_get(e, key));
}

static bool has(const json_t *e, const char *key)
{
    const json_t *v = json_object_get(e, key);
    return v != NULL && !json_is_null(v);
}

void kg_card_value(const json_t *v, struct kg_buf *out)
{
    const char *key;
    json_t *inner;
    size_t i, n = 0;
    if (json_is_string(v)) {
        kg_buf_adds(out, json_string_value(v));
    } else if (json_is_integer(v)) {
        kg_buf_addf(out, "%lld", (long long)json_integer_value(v));
    } else if (json_is_real(v)) {
        kg_buf_addf(out, "%.6g", json_real_value(v));
    } else if (json_is_boolean(v)) {
        kg_buf_adds(out, json_is_true(v) ? "yes" : "no");
    } else if (json_is_object(v)) {
        json_object_foreach((json_t *)(uintptr_t)v, key, inner)
        {
            kg_buf_addf(out, "%s%s ", n++ > 0 ? ", " : "", key);
            kg_card_value(inner, out);
        }
    } else if (json_is_array(v)) {
        json_array_foreach(v, i, inner)
        {
            kg_buf_adds(out, i > 0 ? ", " : "");
            kg_card_value(inner, out);
        }
    } else {
        kg_buf_adds(out, "not finite");
    }
}

static void value(const json_t *e, const char *key, struct kg_buf *out)
{
    const json_t *v = json_object_get(e, key);
    if (v == NULL) {
        kg_buf_addc(out, '?');
    } else {
        kg_card_value(v, out);
    }
}

static void time_of(const json_t *e, const char *key, struct kg_buf *out)
{
    char unit[KG_UNITS_LEN];
    kg_buf_adds(out, kg_units_time(number_of(e, key), unit));
}

static void finding(const json_t *e, struct kg_buf *out)
{
    if (number_of(e, "line") > 0) {
        kg_buf_addf(out, "Line %lld: ", number_of(e, "line"));
    }
    kg_buf_addf(out, "%s (rule %s).", text_of(e, "message"), text_of(e, "rule"));
}

const char *kg_card_share(const json_t *e)
{
    double n = json_number_value(json_object_get(e, "elements"));
    return kg_share_words(n > 0 ? json_number_value(json_object_get(e, "failed")) / n : 1);
}

static void mismatch(const json_t *e, struct kg_buf *out)
{
    kg_buf_addf(out, "`%s` is wrong in %s of its elements (%lld of %lld). Element %lld: got ",
                text_of(e, "output"), kg_card_share(e), number_of(e, "failed"),
                number_of(e, "elements"), number_of(e, "first"));
    value(e, "got", out);
    kg_buf_adds(out, ", expected ");
    value(e, "want", out);
    kg_buf_adds(out, ". ");
    if (has(e, "worst_over_bound")) {
        kg_buf_addf(out, "The worst error is %.6g times the bound. ",
                    json_number_value(json_object_get(e, "worst_over_bound")));
    }
    kg_buf_addf(out, "Input: shape `%s`", text_of(e, "variant"));
    if (json_object_size(json_object_get(e, "dims")) > 0) {
        kg_buf_adds(out, " (");
        value(e, "dims", out);
        kg_buf_addc(out, ')');
    }
    kg_buf_addf(out, ", values of the law `%s`.", text_of(e, "law"));
}

static void guard(const json_t *e, struct kg_buf *out)
{
    kg_buf_addf(out, "It wrote outside `%s`, at byte %lld (shape `%s`).", text_of(e, "output"),
                number_of(e, "byte"), text_of(e, "variant"));
}

static void activity(const json_t *e, struct kg_buf *out)
{
    kg_buf_adds(out, "Its process used the CPU when it should have been still: ");
    time_of(e, "idle_cpu_ns", out);
    kg_buf_adds(out, " between calls, ");
    time_of(e, "tail_cpu_ns", out);
    kg_buf_adds(out, " after a call had returned");
    if (has(e, "threads")) {
        kg_buf_addf(out, ", with %lld threads", number_of(e, "threads"));
    }
    kg_buf_addc(out, '.');
}

static void fresh_process(const json_t *e, struct kg_buf *out)
{
    bool passes = json_is_true(json_object_get(e, "passes"));
    kg_buf_addf(out,
                "A fresh process gave a %s answer to the same input; the used one did not (reason "
                "`%s`).",
                passes ? "right" : "wrong", text_of(e, "before"));
}

static void floor_of(const json_t *e, struct kg_buf *out)
{
    kg_buf_adds(out, "It took ");
    time_of(e, "candidate_ns", out);
    kg_buf_adds(out, ", but the fastest pass over its data takes ");
    time_of(e, "floor_ns", out);
    kg_buf_addf(out, " (in %lld processes).", number_of(e, "processes"));
}

static void timed_call(const json_t *e, struct kg_buf *out)
{
    kg_buf_addf(out, "Call %lld of timed process %lld failed, after %lld right answers.",
                number_of(e, "call"), number_of(e, "process"), number_of(e, "right_before"));
}

static void syntax(const json_t *e, struct kg_buf *out)
{
    kg_buf_addf(out, "Line %lld, column %lld: %s.", number_of(e, "line"), number_of(e, "column"),
                text_of(e, "message"));
}

static void exception(const json_t *e, struct kg_buf *out)
{
    kg_buf_addf(out, "%s during %s", text_of(e, "type"), text_of(e, "during"));
    if (has(e, "where")) {
        kg_buf_addf(out, " at %s", text_of(e, "where"));
    }
    kg_buf_addf(out, ": %s", text_of(e, "message"));
}

static void shape(const json_t *e, struct kg_buf *out)
{
    const json_t *got = json_object_get(e, "got"), *want = json_object_get(e, "want");
    kg_buf_addf(out, "`%s` has shape [", text_of(e, "output"));
    value(got, "shape", out);
    kg_buf_addf(out, "] and type %s, expected [", text_of(got, "dtype"));
    value(want, "shape", out);
    kg_buf_addf(out, "] and %s (shape `%s`).", text_of(want, "dtype"), text_of(e, "variant"));
}

static void other_shape(const json_t *e, struct kg_buf *out)
{
    bool pass = json_is_true(json_object_get(e, "pass"));
    kg_buf_adds(out, "Another shape (");
    value(e, "dims", out);
    kg_buf_addf(out, "): %s", pass ? "right." : "not right: ");
    if (!pass) {
        kg_buf_addf(out, "%s.", text_of(e, "reason"));
    }
}

static void trials(const json_t *e, struct kg_buf *out)
{
    kg_buf_addf(out, "%lld of %lld trials are within the tolerance %g.", number_of(e, "passed"),
                number_of(e, "planned"), json_number_value(json_object_get(e, "tolerance")));
}

static void kernel(const json_t *e, struct kg_buf *out)
{
    kg_buf_addf(out, "%.1f %% of the device's time: %s, %lld calls, class %s",
                100 * json_number_value(json_object_get(e, "share")), text_of(e, "name"),
                number_of(e, "calls"), text_of(e, "class"));
    kg_buf_adds(out,
                json_is_true(json_object_get(e, "dead")) ? "; the answer does not need it." : ".");
}

static const struct {
    const char *check;
    void (*say)(const json_t *e, struct kg_buf *out);
} sentences[] = {
    {"static", finding},
    {"mismatch", mismatch},
    {"guard", guard},
    {"activity", activity},
    {"fresh_process", fresh_process},
    {"floor", floor_of},
    {"timed_call", timed_call},
    {"syntax", syntax},
    {"exception", exception},
    {"shape", shape},
    {"other_shape", other_shape},
    {"trials", trials},
    {"kernel", kernel},
};

bool kg_card_sentence(const json_t *entry, struct kg_buf *out)
{
    const char *check = text_of(entry, "check");
    for (size_t i = 0; i < sizeof sentences / sizeof sentences[0]; i++) {
        if (strcmp(check, sentences[i].check) == 0) {
            sentences[i].say(entry, out);
            return true;
        }
    }
    return false;
}

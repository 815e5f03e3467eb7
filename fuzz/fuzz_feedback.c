/* Record JSON to feedback: whatever record is accepted, the text is harmless, fenced and within its
 * budget, and taking the record's secrets away does not change it. */
#include "fuzz.h"

#include <string.h>

#include "gym/feedback/feedback.h"
#include "tests/support/feedback.h"

static void render(const struct kg_record *r, int64_t tokens, enum kg_feedback_style style,
                   struct kg_buf *out)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_feedback_spec spec = {.tokens = tokens, .style = style};
    kg_buf_init(out, 8 << 20);
    KG_ASSERT(kg_feedback_render(r, &spec, out, &err) == KG_OK);
    KG_ASSERT(kg_feedback_tokens(out->data, out->len) <= (size_t)tokens);
    KG_ASSERT(feedback_harmful(out->data, out->len) == NULL);
    KG_ASSERT(style != KG_FEEDBACK_MARKDOWN || feedback_unfenced(out->data) == NULL);
}

/* Numbers of evidence that may be told: lines of the candidate's own source, and what a profile or
 * a wrong shape says of it. */
static bool may_be_told(const char *check, const char *key)
{
    static const char *const open[][2] = {
        {"static", "line"},     {"compiler", "line"}, {"exception", "line"},
        {"exception", "lines"}, {"kernel", "share"},  {"kernel", "calls"},
        {"kernel", "own"},      {"shape", "want"},    {"shape", "got"},
    };
    for (size_t i = 0; i < sizeof open / sizeof open[0]; i++) {
        if (strcmp(check, open[i][0]) == 0 && strcmp(key, open[i][1]) == 0) {
            return true;
        }
    }
    return false;
}

static void without_numbers(json_t *entry)
{
    const char *key, *check = json_string_value(json_object_get(entry, "check"));
    json_t *v;
    void *next;
    json_object_foreach_safe(entry, next, key, v)
    {
        if (!json_is_string(v) && !may_be_told(check, key)) {
            json_object_set_new(entry, key, json_null());
        }
    }
    json_object_del(entry, "law");
}

static void without_secrets(struct kg_record *r)
{
    size_t i;
    json_t *e;
    json_array_foreach(r->evidence, i, e)
    {
        without_numbers(e);
    }
    json_decref(r->secret);
    r->secret = NULL;
    json_decref(r->environment);
    r->environment = json_object();
    r->output.stdout_text = r->output.stderr_text = NULL;
    r->output.bytes = 0;
    r->id[0] = r->input_sha256[0] = r->candidate.sha256[0] = '\0';
    r->batch_id = r->timing.why = NULL;
    r->nrewards = 0;
    r->peak_bytes = r->setup_ns = -1;
    bool own = r->verdict == KG_V_CRASH || r->verdict == KG_V_COMPILE_ERROR ||
               r->verdict == KG_V_TIMEOUT || r->verdict == KG_V_OUT_OF_MEMORY;
    if (!own) {
        r->message = NULL;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_record r;
    json_t *j;
    if (kg_json_parse((const char *)data, size, "f", &j, &err) != KG_OK) {
        return 0;
    }
    if (kg_record_parse(j, &r, &err) == KG_OK) {
        struct kg_buf small, plain, whole, again, brief, brief_again;
        render(&r, KG_FEEDBACK_MIN_TOKENS, KG_FEEDBACK_MARKDOWN, &small);
        render(&r, KG_FEEDBACK_TOKENS, KG_FEEDBACK_PLAIN, &plain);
        render(&r, KG_FEEDBACK_MAX_TOKENS, KG_FEEDBACK_MARKDOWN, &whole);
        render(&r, KG_FEEDBACK_BRIEF, KG_FEEDBACK_BRIEF_LINE, &brief);
        KG_ASSERT(strchr(brief.data, '\n') == brief.data + brief.len - 1);
        without_secrets(&r);
        render(&r, KG_FEEDBACK_BRIEF, KG_FEEDBACK_BRIEF_LINE, &brief_again);
        KG_ASSERT(strcmp(brief.data, brief_again.data) == 0);
        render(&r, KG_FEEDBACK_MAX_TOKENS, KG_FEEDBACK_MARKDOWN, &again);
        KG_ASSERT(strcmp(whole.data, again.data) == 0);
        kg_buf_deinit(&small);
        kg_buf_deinit(&plain);
        kg_buf_deinit(&whole);
        kg_buf_deinit(&again);
        kg_buf_deinit(&brief);
        kg_buf_deinit(&brief_again);
        kg_record_deinit(&r);
    }
    json_decref(j);
    return 0;
}

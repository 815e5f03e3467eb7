/* The later turns of a conversation, from records. */
#include <string.h>

#include "base/file.h"
#include "cli/gym/prompt.h"
#include "gym/feedback/harmless.h"

enum kg_code kg_cli_record_load(const char *path, struct kg_record *out, struct kg_err *err)
{
    struct kg_buf b;
    json_t *j = NULL;
    const char *source = strcmp(path, "-") == 0 ? "standard input" : path;
    kg_buf_init(&b, 64u << 20);
    enum kg_code code = kg_file_read(path, &b, err);
    if (code == KG_OK) {
        code = kg_json_parse(b.data, b.len, source, &j, err);
    }
    if (code == KG_OK) {
        code = kg_record_parse(j, out, err);
        code = code == KG_OK ? KG_OK : kg_err_prefix(err, "%s", source);
    }
    json_decref(j);
    kg_buf_deinit(&b);
    return code;
}

static void say(json_t *chat, const char *role, const struct kg_buf *text)
{
    json_array_append_new(chat, json_pack("{s:s, s:o}", "role", role, "content",
                                          kg_json_text(text->data, text->len)));
}

/* A record keeps the code that was found in a reply, not the reply. */
static void model_turn(json_t *chat, const struct kg_record *r, const struct kg_prompt_about *about,
                       enum kg_feedback_style style)
{
    struct kg_buf code, text;
    kg_buf_init(&code, 16u << 20);
    kg_buf_init(&text, 16u << 20);
    if (r->candidate.code) {
        kg_fb_clean(r->candidate.code, strlen(r->candidate.code), &code);
        kg_buf_adds(&code, code.len == 0 || code.data[code.len - 1] != '\n' ? "\n" : "");
    }
    if (!r->candidate.code) {
        kg_buf_adds(&text, "(No code was found in this reply.)\n");
    } else if (style == KG_FEEDBACK_PLAIN) {
        kg_buf_add(&text, code.data, code.len);
    } else {
        kg_fb_fence(code.data, code.len, kg_lang_tag(about->lang), &text);
    }
    say(chat, "assistant", &text);
    kg_buf_deinit(&code);
    kg_buf_deinit(&text);
}

static enum kg_code check_problem(const struct kg_record *r, const char *file,
                                  const struct kg_prompt_about *about, struct kg_err *err)
{
    const char *sha = r->problem.sha256, *name = r->problem.name;
    if (sha && strcmp(sha, about->sha256) == 0) {
        return KG_OK;
    }
    if (name && strcmp(name, about->name) == 0) {
        return kg_fail(err, KG_E_USAGE,
                       "%s: the problem `%.100s` has changed since this record was made", file,
                       name);
    }
    return kg_fail(err, KG_E_USAGE, "%s: a record of the problem `%.100s`, not of `%s`", file,
                   name ? name : "?", about->name);
}

enum kg_code kg_conversation_add(json_t *chat, const char *record_file,
                                 const struct kg_prompt_about *about,
                                 const struct kg_feedback_spec *spec, struct kg_err *err)
{
    struct kg_record r;
    struct kg_buf text;
    if (kg_cli_record_load(record_file, &r, err) != KG_OK) {
        return err->code;
    }
    kg_buf_init(&text, 8u << 20);
    enum kg_code code = check_problem(&r, record_file, about, err);
    if (code == KG_OK) {
        code = kg_feedback_render(&r, spec, &text, err);
    }
    if (code == KG_OK) {
        model_turn(chat, &r, about, spec->style);
        say(chat, "user", &text);
    }
    kg_buf_deinit(&text);
    kg_record_deinit(&r);
    return code;
}

void kg_conversation_print(const json_t *chat, struct kg_buf *out)
{
    size_t i;
    const json_t *m;
    json_array_foreach(chat, i, m)
    {
        const json_t *content = json_object_get(m, "content");
        if (json_array_size(chat) > 1) {
            kg_buf_addf(out, "%s=== %s ===\n\n", i > 0 ? "\n" : "",
                        json_string_value(json_object_get(m, "role")));
        }
        kg_buf_add(out, json_string_value(content), json_string_length(content));
    }
}

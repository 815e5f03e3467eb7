/* The sections of a first message in their order, and its limit. */
#include "gym/prompt/prompt.h"

#include <stdio.h>
#include <string.h>

#include "gym/feedback/harmless.h"
#include "gym/prompt/prompt_parts.h"

static bool plain(const struct kg_prompt_page *p)
{
    return p->spec->style == KG_FEEDBACK_PLAIN;
}

void kg_prompt_text(const struct kg_prompt_page *p, const char *s)
{
    struct kg_buf text;
    kg_buf_init(&text, KG_PROMPT_MAX_BYTES);
    kg_fb_clean(s, strlen(s), &text);
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] != '`' || !plain(p)) {
            kg_buf_addc(p->out, text.data[i]);
        }
    }
    kg_buf_deinit(&text);
}

void kg_prompt_say(const struct kg_prompt_page *p, const char *fmt, ...)
{
    char line[4096]; /* names and descriptions are far shorter */
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    KG_ASSERT(n >= 0 && (size_t)n < sizeof line);
    kg_prompt_text(p, line);
}

void kg_prompt_heading(const struct kg_prompt_page *p, const char *title)
{
    kg_buf_addf(p->out, plain(p) ? "\n%s\n\n" : "\n## %s\n\n", title);
}

static void indented(const char *lines, size_t n, struct kg_buf *out)
{
    for (size_t i = 0; i < n;) {
        size_t len = strcspn(lines + i, "\n") + 1;
        kg_buf_adds(out, len > 1 ? "    " : "");
        kg_buf_add(out, lines + i, len);
        i += len;
    }
}

void kg_prompt_listing(const struct kg_prompt_page *p, const char *text, size_t n)
{
    struct kg_buf lines;
    kg_buf_init(&lines, KG_PROMPT_MAX_BYTES);
    kg_fb_clean(text, n, &lines);
    while (lines.len > 0 && strchr(" \n", lines.data[lines.len - 1])) {
        lines.data[--lines.len] = 0;
    }
    kg_buf_addc(&lines, '\n');
    size_t from = 0;
    while (lines.data[from] == '\n' && from + 1 < lines.len) {
        from++;
    }
    if (plain(p)) {
        indented(lines.data + from, lines.len - from, p->out);
    } else {
        kg_fb_fence(lines.data + from, lines.len - from, kg_lang_tag(p->task->lang), p->out);
    }
    kg_buf_deinit(&lines);
}

const char *kg_prompt_after_block(const char *source)
{
    const char *end = strstr(source, "---*/");
    if (!end) {
        return source;
    }
    end += strcspn(end, "\n");
    return end + strspn(end, "\r\n");
}

void kg_prompt_about_set(struct kg_prompt_about *about, enum kg_lang lang, const char *name,
                         const char *sha256)
{
    if (about) {
        about->lang = lang;
        snprintf(about->name, sizeof about->name, "%s", name);
        snprintf(about->sha256, sizeof about->sha256, "%s", sha256);
    }
}

static void demonstration(const struct kg_prompt_page *p)
{
    struct kg_demonstration d = kg_demonstration_of(p->language);
    const char *reference = kg_prompt_after_block(d.reference);
    kg_prompt_heading(p, "Example");
    kg_prompt_say(p, "Another problem, with a good answer. Its reference:\n\n");
    kg_prompt_listing(p, reference, strlen(reference));
    kg_prompt_say(p, "\nA complete answer to it:\n\n");
    kg_prompt_listing(p, d.answer, d.answer_len);
}

static void facts(const struct kg_prompt_page *p)
{
    const char *hardware = p->spec->hardware ? p->spec->hardware : p->task->hardware;
    kg_prompt_heading(p, "Device and types");
    if (hardware && *hardware) {
        struct kg_buf line;
        kg_buf_init(&line, 4096);
        kg_fb_inline(hardware, 400, &line);
        kg_prompt_say(p, "- Device: %s.\n", line.data);
        kg_buf_deinit(&line);
    }
    p->kind->types(p);
}

static void reference(const struct kg_prompt_page *p)
{
    const struct kg_prompt_task *t = p->task;
    kg_prompt_heading(p, "Reference");
    kg_prompt_say(p, "%s", p->kind->reference);
    kg_prompt_listing(p, t->source, t->source_len);
    if (t->operators && *t->operators) {
        kg_prompt_say(p, "\nThe operators that it calls:\n\n");
        kg_prompt_text(p, t->operators);
    }
}

static void answer(const struct kg_prompt_page *p)
{
    kg_prompt_heading(p, "Answer");
    char tag[64];
    snprintf(tag, sizeof tag, ", fenced and tagged `%s`,", kg_lang_tag(p->task->lang));
    kg_prompt_say(p,
                  "You may reason first. Then give exactly one code block%s with the complete "
                  "code: everything that `%s` needs. No test code, no example of a call, no second "
                  "block.\n",
                  plain(p) ? "" : tag, p->task->entry);
}

enum kg_code kg_prompt_check_limit(const struct kg_prompt_spec *spec, const char *name,
                                   const char *text, size_t len, struct kg_err *err)
{
    const char *unit = spec->count ? "tokens" : "bytes";
    int64_t standard = spec->count ? KG_PROMPT_TOKENS : KG_PROMPT_BYTES;
    int64_t limit = spec->limit == 0 ? standard : spec->limit;
    if (limit < KG_PROMPT_MIN || limit > KG_PROMPT_MAX_BYTES) {
        return kg_fail(err, KG_E_USAGE, "the limit of a prompt must be %d to %u %s, not %lld",
                       KG_PROMPT_MIN, KG_PROMPT_MAX_BYTES, unit, (long long)limit);
    }
    size_t size = spec->count ? spec->count(spec->user, text, len) : len;
    if (size > (size_t)limit) {
        return kg_fail(err, KG_E_LIMIT,
                       "%.200s: its prompt has %zu %s, and at most %lld are allowed: raise the "
                       "limit, or leave the problem out (a prompt is never cut)",
                       name, size, unit, (long long)limit);
    }
    return KG_OK;
}

enum kg_code kg_prompt_render(const struct kg_prompt_task *task, const struct kg_prompt_spec *spec,
                              struct kg_buf *out, struct kg_err *err)
{
    struct kg_buf text;
    kg_buf_init(&text, KG_PROMPT_MAX_BYTES);
    const struct kg_prompt_kind *kind = kg_prompt_kind_of(task->lang);
    struct kg_prompt_page page = {
        .task = task,
        .spec = spec,
        .kind = kind,
        .language = kind->language_chosen ? spec->language : kind->language,
        .out = &text,
    };
    kg_prompt_goal(&page);
    kg_prompt_contract(&page);
    demonstration(&page);
    facts(&page);
    reference(&page);
    answer(&page);
    enum kg_code code = kg_buf_ok(&text)
                            ? kg_prompt_check_limit(spec, task->name, text.data, text.len, err)
                            : kg_fail(err, KG_E_LIMIT, "%.200s: its prompt has more than %u bytes",
                                      task->name, KG_PROMPT_MAX_BYTES);
    if (code == KG_OK && out->max - out->len < text.len) {
        code = kg_fail(err, KG_E_LIMIT, "%.200s: its prompt has %zu bytes, the buffer is full",
                       task->name, text.len);
    } else if (code == KG_OK) {
        kg_buf_add(out, text.data, text.len);
    }
    kg_buf_deinit(&text);
    return code;
}

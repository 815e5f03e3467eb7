/* Tasks of a pool's client: what a caller hands in, checked and copied. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "gym/pool/client.h"

#define TEXT_MOST ((size_t)64 << 20)
#define TAG_MOST  200
#define NAME_MOST 4096

bool kg_client_set_text(json_t *head, const char *key, const char *text)
{
    return !text || json_object_set_new(head, key, kg_json_text(text, strlen(text))) == 0;
}

static bool is_utf8(const char *s)
{
    bool good = true;
    uint32_t cp;
    for (size_t n = strlen(s); good && n > 0;) {
        size_t used = kg_utf8_next(s, n, &cp, &good);
        s += used;
        n -= used;
    }
    return good;
}

enum kg_code kg_client_check_task(const struct kgym_task *t, struct kg_err *err)
{
    if (t->kind != KGYM_EVALUATE && t->kind != KGYM_CHECK) {
        return kg_fail(err, KG_E_USAGE, "task: no kind %d", (int)t->kind);
    }
    if (!t->problem || !*t->problem) {
        return kg_fail(err, KG_E_USAGE, "task: a problem is needed");
    }
    if (strlen(t->problem) > NAME_MOST || (t->rewards && strlen(t->rewards) > NAME_MOST) ||
        (t->stop_after && strlen(t->stop_after) > NAME_MOST)) {
        return kg_fail(err, KG_E_USAGE, "task: a name of more than %d bytes", NAME_MOST);
    }
    if ((t->problem_text && t->problem_text_len == 0) || (t->replay && t->replay_len == 0)) {
        return kg_fail(err, KG_E_USAGE, "task: %s is empty",
                       t->problem_text && t->problem_text_len == 0 ? "problem_text" : "replay");
    }
    if (t->kind == KGYM_EVALUATE && !t->text) {
        return kg_fail(err, KG_E_USAGE, "task: a text to judge is needed");
    }
    if (t->text_len > TEXT_MOST || t->problem_text_len > TEXT_MOST || t->replay_len > TEXT_MOST) {
        return kg_fail(err, KG_E_LIMIT, "task: a text of more than 64 MB");
    }
    if (t->tag && (strlen(t->tag) > TAG_MOST || !is_utf8(t->tag))) {
        return kg_fail(err, KG_E_USAGE, "task: the tag is not UTF-8 of at most 200 bytes");
    }
    if (!(t->deadline_s >= 0) || t->deadline_s > 1e9) {
        return kg_fail(err, KG_E_USAGE, "task: deadline_s is no number of seconds");
    }
    return KG_OK;
}

/* NULL: no memory. */
static json_t *task_head(const struct kgym_task *t, uint64_t id)
{
    json_t *head =
        json_pack("{s:I, s:i, s:I, s:I, s:b, s:f}", "id", (json_int_t)id, "kind", (int)t->kind,
                  "problem_len", (json_int_t)(t->problem_text ? t->problem_text_len : 0),
                  "replay_len", (json_int_t)(t->replay ? t->replay_len : 0), "source",
                  t->source != 0, "deadline_s", t->deadline_s);
    if (!kg_client_set_text(head, "problem", t->problem) ||
        !kg_client_set_text(head, "tag", t->tag) ||
        !kg_client_set_text(head, "rewards", t->rewards) ||
        !kg_client_set_text(head, "stop_after", t->stop_after)) {
        json_decref(head);
        head = NULL;
    }
    return head;
}

static bool copy_body(const struct kgym_task *t, char **body, size_t *len)
{
    const struct {
        const char *text;
        size_t len;
    } part[] = {
        {t->problem_text, t->problem_text_len}, {t->text, t->text_len}, {t->replay, t->replay_len}};
    size_t n = sizeof part / sizeof *part;
    *len = 0;
    for (size_t i = 0; i < n; i++) {
        *len += part[i].text ? part[i].len : 0;
    }
    *body = malloc(*len + 1);
    for (size_t i = 0, at = 0; *body && i < n; i++) {
        if (part[i].text && part[i].len > 0) {
            memcpy(*body + at, part[i].text, part[i].len);
            at += part[i].len;
        }
    }
    return *body != NULL;
}

void kg_client_task_deinit(struct kg_client_task *t)
{
    json_decref(t->head);
    free(t->body);
    free(t->tag);
    *t = (struct kg_client_task){0};
}

enum kg_code kg_client_add_task(struct kgym_pool *p, const struct kgym_task *t, struct kg_err *err)
{
    if (p->ntasks == p->task_cap) {
        size_t cap = p->task_cap ? 2 * p->task_cap : 64;
        struct kg_client_task *grown = realloc(p->task, cap * sizeof *grown);
        if (!grown) {
            return kg_fail(err, KG_E_LIMIT, "no memory for another task");
        }
        p->task = grown;
        p->task_cap = cap;
    }
    struct kg_client_task *c = &p->task[p->ntasks];
    *c = (struct kg_client_task){.id = p->next_id, .tag = t->tag ? strdup(t->tag) : NULL};
    c->deadline_ns = t->deadline_s > 0 ? kg_clock_ns() + (int64_t)(t->deadline_s * 1e9) : 0;
    c->head = task_head(t, c->id);
    if ((t->tag && !c->tag) || !c->head || !copy_body(t, &c->body, &c->len)) {
        kg_client_task_deinit(c);
        return kg_fail(err, KG_E_LIMIT, "no memory for another task");
    }
    p->ntasks++;
    p->next_id++;
    return KG_OK;
}

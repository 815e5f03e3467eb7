/* A job as an answer. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "svc/api_private.h"

static json_t *time_or_null(int64_t ms)
{
    return ms > 0 ? json_real((double)ms / 1000) : json_null();
}

static json_t *text_or_null(const char *text)
{
    return text[0] != '\0' ? kg_json_text(text, strlen(text)) : json_null();
}

static json_t *error_json(const struct kg_svc_job *job)
{
    return job->error[0] != '\0' ? json_pack("{s:s, s:s, s:o}", "code", job->error, "blame",
                                             job->blame, "message", text_or_null(job->message))
                                 : json_null();
}

json_t *kg_svc_job_json(const struct kg_svc_job *job)
{
    return json_pack(
        "{s:s, s:s, s:o, s:s, s:o, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "id", job->id, "state",
        kg_svc_state_name(job->state), "problem", text_or_null(job->problem), "priority",
        kg_svc_priority_name(job->priority), "key",
        text_or_null(job->key[0] != '\0' ? job->key + 2 : ""), "batch", text_or_null(job->batch),
        "attempts", (json_int_t)job->attempts, "created", time_or_null(job->created_ms), "started",
        time_or_null(job->started_ms), "finished", time_or_null(job->finished_ms), "verdict",
        text_or_null(job->verdict), "reason", text_or_null(job->reason), "error", error_json(job));
}

enum kg_code kg_svc_record_line(struct kg_svc_api *a, const struct kg_svc_job *job,
                                struct kg_buf *out, struct kg_err *err)
{
    if (job->record.segment[0] != '\0') {
        return kg_svc_segments_read(a->segments, &job->record, out, err);
    }
    json_t *j = kg_svc_job_json(job);
    kg_json_dump(j, out);
    json_decref(j);
    return KG_OK;
}

void kg_svc_answer_job(struct kg_svc_api *a, struct kg_svc_exchange *x, int status,
                       const struct kg_svc_job *job)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_buf text;
    kg_buf_init(&text, (size_t)KG_SVC_RECORD_MAX + (1u << 20));
    json_t *head = kg_svc_job_json(job);
    if (job->state == KG_SVC_WAITING && status == 200) {
        json_object_set_new(head, "waits_for", kg_svc_waits_for(a, job));
    }
    kg_json_dump(head, &text);
    json_decref(head);
    KG_ASSERT(text.len > 0 && text.data[text.len - 1] == '}');
    text.len--; /* the record goes in as it is, byte for byte */
    kg_buf_adds(&text, ",\"record\":");
    enum kg_code code = KG_OK;
    if (job->record.segment[0] != '\0') {
        code = kg_svc_segments_read(a->segments, &job->record, &text, &err);
    } else {
        kg_buf_adds(&text, "null");
    }
    kg_buf_adds(&text, "}\n");
    if (code == KG_OK && kg_buf_ok(&text)) {
        kg_svc_reply(x, status, "application/json", text.data, text.len);
    } else {
        kg_svc_reply_error(x, 503, "record_lost", "", "the record can't be read");
    }
    kg_buf_deinit(&text);
}

void kg_svc_answer_error(struct kg_svc_exchange *x, const struct kg_err *err, const char *field)
{
    switch (err->code) {
    case KG_E_NOT_FOUND:
        kg_svc_reply_error(x, 404, "not_found", field, "%s", err->message);
        break;
    case KG_E_USAGE:
        kg_svc_reply_error(x, 409, "conflict", field, "%s", err->message);
        break;
    case KG_E_FULL:
        kg_svc_header(x, "Retry-After", "5");
        kg_svc_reply_error(x, 429, "queue_full", field, "%s: ask again later", err->message);
        break;
    default: /* the store's own message names paths of the host */
        kg_svc_header(x, "Retry-After", "5");
        kg_svc_reply_error(x, 503, "store", field, "the store can't do that now: ask again");
    }
}

const char *kg_svc_path_id(struct kg_svc_exchange *x)
{
    const char *id = kg_svc_request(x)->arg[0];
    if (strlen(id) != KG_ULID_LEN - 1) { /* a longer one would be cut to the id of another job */
        kg_svc_reply_error(x, 404, "not_found", "", "no job %.40s", id);
        return NULL;
    }
    return id;
}

bool kg_svc_query_number(struct kg_svc_exchange *x, const char *name, double most, double *out)
{
    const char *text = kg_svc_query(x, name);
    char *end = NULL;
    *out = 0;
    if (text == NULL) {
        return true;
    }
    bool decimal =
        text[0] >= '0' && text[0] <= '9' && strchr(text, 'x') == NULL && strchr(text, 'X') == NULL;
    double value = strtod(text, &end);
    if (!decimal || *end != '\0' || !(value >= 0 && value <= most)) {
        kg_svc_reply_error(x, 400, "bad_query", name, "`%s` must be a number from 0 to %g", name,
                           most);
        return false;
    }
    *out = value;
    return true;
}

bool kg_svc_query_whole(struct kg_svc_exchange *x, const char *name, int64_t most, int64_t *out)
{
    const char *text = kg_svc_query(x, name);
    size_t n = text != NULL ? strlen(text) : 0;
    *out = 0;
    if (text == NULL) {
        return true;
    }
    if (n == 0 || n > 18 || strspn(text, "0123456789") != n || strtoll(text, NULL, 10) > most) {
        kg_svc_reply_error(x, 400, "bad_query", name, "`%s` must be a whole number from 0 to %lld",
                           name, (long long)most);
        return false;
    }
    *out = strtoll(text, NULL, 10);
    return true;
}

bool kg_svc_query_cursor(struct kg_svc_exchange *x, const char **out)
{
    *out = kg_svc_query(x, "after");
    if (*out != NULL && !kg_ulid_is(*out)) {
        kg_svc_reply_error(x, 400, "bad_query", "after", "`after` must be `next` of a list");
        return false;
    }
    return true;
}

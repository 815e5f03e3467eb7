/* GET /v1/evaluations/ID/feedback: what the model that wrote a reply is told. */
#include <string.h>

#include "gym/kgym.h"
#include "svc/api_private.h"

static void reply_feedback(struct kg_svc_exchange *x, const struct kg_svc_job *job,
                           const struct kg_buf *record)
{
    const struct kgym_text_options options = {.size = sizeof options};
    struct kgym_error err;
    char *text = NULL;
    if (kgym_feedback(record->data, record->len, &options, &text, &err) == KGYM_OK) {
        kg_svc_reply_json(
            x, 200,
            json_pack("{s:s, s:o}", "id", job->id, "feedback", kg_json_text(text, strlen(text))));
        kgym_free(text);
    } else {
        kg_svc_reply_error(x, 503, "no_feedback", "", "the record can't be told");
    }
}

void kg_svc_get_feedback(struct kg_svc_exchange *x, void *ctx)
{
    struct kg_svc_api *a = ctx;
    const char *id = kg_svc_path_id(x);
    if (id == NULL) {
        return;
    }
    struct kg_err err = KG_ERR_INIT;
    struct kg_svc_job job;
    struct kg_buf record;
    kg_svc_job_init(&job);
    kg_buf_init(&record, KG_SVC_RECORD_MAX);
    if (a->store->kind->get(a->store, id, false, &job, &err) != KG_OK) {
        kg_svc_answer_error(x, &err, "");
    } else if (job.record.segment[0] == '\0') {
        kg_svc_reply_error(x, 409, "no_record", "", "the evaluation has no record: its state is %s",
                           kg_svc_state_name(job.state));
    } else if (kg_svc_segments_read(a->segments, &job.record, &record, &err) != KG_OK) {
        kg_svc_reply_error(x, 503, "record_lost", "", "the record can't be read");
    } else {
        reply_feedback(x, &job, &record);
    }
    kg_buf_deinit(&record);
    kg_svc_job_deinit(&job);
}

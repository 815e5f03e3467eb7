/* A body of KernelGYM's protocol to a request, and any JSON as a record to a result: what is
 * accepted is whole and within bounds, and a refusal repeats no long part of the body. */
#include "fuzz.h"

#include <string.h>

#include "svc/kernelgym_reply.h"
#include "svc/kernelgym_request.h"

static void bounded(json_t *j, size_t most)
{
    struct kg_buf b;
    KG_ASSERT(j != NULL);
    kg_buf_init(&b, 1 << 20);
    kg_json_dump(j, &b);
    KG_ASSERT(kg_buf_ok(&b) && b.len <= most);
    kg_buf_deinit(&b);
    json_decref(j);
}

static void use(struct kg_kernelgym_request *r)
{
    KG_ASSERT(*r->task_id && r->kernel.bytes[r->kernel.len] == '\0');
    KG_ASSERT(r->budget_s >= 10 && r->budget_s <= 3600 && json_array_size(r->options) > 0);
    KG_ASSERT(strlen(r->content_key) == 64);
    json_decref(kg_kernelgym_validation(r));
    struct kg_kernelgym_task t = {.id = r->task_id, .echo = r->echo};
    bounded(kg_kernelgym_failed(&t, "VALIDATION_ERROR", "candidate", "why"), 48 << 10);
}

static void answer(const char *text, size_t n)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_kernelgym_task t = {.id = "t", .submitted_us = 1};
    json_t *record;
    if (kg_json_parse(text, n, "f", &record, &err) == KG_OK) {
        json_t *result = kg_kernelgym_result(record, &t);
        KG_ASSERT(json_object_size(result) == 14);
        bounded(kg_kernelgym_status(result, &t), 64 << 10);
        bounded(result, 64 << 10);
        json_decref(record);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct kg_kernelgym_settings own;
    struct kg_kernelgym_request r;
    struct kg_kernelgym_batch b;
    struct kg_kernelgym_refusal no;
    const char *text = (const char *)data;
    if (kg_kernelgym_request_read(text, size, &own, &r, &no)) {
        use(&r);
        kg_kernelgym_request_deinit(&r);
    } else {
        KG_ASSERT(no.status == 400 && strlen(no.message) < sizeof no.message);
        bounded(kg_kernelgym_refusal_body(&no, 1), 1024);
    }
    if (kg_kernelgym_workflow_read(text, size, &own, &r, &no)) {
        use(&r);
        kg_kernelgym_request_deinit(&r);
    }
    if (kg_kernelgym_batch_read(text, size, &own, &b, &no)) {
        use(&b.task[b.n - 1]);
        kg_kernelgym_batch_deinit(&b);
    }
    answer(text, size);
    return 0;
}

/* GET /v1/ready: could a job be accepted durably just now? Yes where the disk of the folder has
 * room beyond what records of running jobs need, and where a group goes through. A group without a
 * change touches no disk. So once one has failed, each question writes, until that goes through. */
#include <stdlib.h>
#include <sys/statvfs.h>

#include "svc/api_private.h"

bool kg_svc_has_space(const struct kg_svc_api *a)
{
    struct statvfs disk;
    if (a->o->free_bytes == 0 || statvfs(a->o->folder, &disk) != 0) {
        return true; /* the commit will tell */
    }
    return disk.f_bavail >= (uint64_t)a->o->free_bytes / disk.f_frsize;
}

struct ready_op {
    struct kg_svc_op op;
    struct kg_svc_exchange *x;
};

static enum kg_code write_one(struct kg_svc_op *op, struct kg_svc_store *store,
                              struct kg_svc_segments *segments, struct kg_err *err)
{
    static const struct kg_svc_count one = {.name = "probes", .n = 1};
    (void)op;
    (void)segments;
    return store->kind->add_counts(store, &one, 1, err);
}

static void ready_done(struct kg_svc_op *op)
{
    struct ready_op *o = (struct ready_op *)op;
    if (op->err.code == KG_OK) {
        kg_svc_reply_json(o->x, 200, json_pack("{s:b}", "ready", 1));
    } else {
        kg_svc_answer_error(o->x, &op->err, "");
    }
    free(o);
}

void kg_svc_get_ready(struct kg_svc_exchange *x, void *ctx)
{
    struct kg_svc_api *a = ctx;
    if (!kg_svc_has_space(a)) {
        kg_svc_header(x, "Retry-After", "5");
        kg_svc_reply_error(x, 503, "disk_full", "", KG_SVC_DISK_FULL);
        return;
    }
    struct ready_op *o = calloc(1, sizeof *o);
    KG_ASSERT(o != NULL);
    bool failed = kg_svc_writer_has_failed(a->writer);
    *o = (struct ready_op){
        .op = {.run = failed ? write_one : NULL, .done = ready_done, .writes = failed}, .x = x};
    kg_svc_writer_post(a->writer, &o->op);
}

/* Dispatches the requests to the judge of tensors to their operations. */
#include <string.h>
#include <unistd.h>

#include "gym/device/device_state.h"

/* Bytes of doubles; less is not worth it. */
#define APART_OVER ((uint64_t)16 << 20)

enum kg_code kg_dj_state_init(struct kg_dj_state *s, const char *device, int64_t cap,
                              struct kg_err *err)
{
    struct kg_key key;
    memset(s, 0, sizeof *s);
    s->candidate_case = s->candidate_port = s->other_case = -1;
    kg_dj_kept_drop(s, -1);
    if (kg_rng_secret(&key, err) != KG_OK || kg_device_open(device, &s->dev, err) != KG_OK) {
        return err->code;
    }
    kg_rng_init(&s->rng, key, 0);
    s->guard = kg_device_poison(key);
    s->part = kg_dj_part(&s->dev.facts);
    s->apart_over = APART_OVER;
    s->cap = cap > 0 ? cap : s->dev.facts.memory_bytes / 4;
    return KG_OK;
}

void kg_dj_state_deinit(struct kg_dj_state *s)
{
    if (s->dev.ops == NULL) {
        return;
    }
    for (int k = 0; k < KG_DJ_CASES; k++) {
        kg_dj_case_drop(s, k);
    }
    for (int k = 0; k < KG_DJ_PORTS; k++) {
        kg_dj_port_drop(s, k, false);
    }
    kg_dj_answer_drop(s, &s->candidate);
    kg_dj_release(s, &s->aside, &s->aside_cap);
    kg_dj_answer_drop(s, &s->other);
    kg_dj_kept_drop(s, -1);
    kg_dj_hosted_drop_spare(s);
    kg_rng_deinit(&s->rng);
    kg_device_close(&s->dev);
}

static enum kg_code forget(struct kg_dj_state *s, const struct kg_djm_req *req)
{
    for (int k = 0; k <= req->at; k++) {
        kg_dj_case_drop(s, req->id + k);
    }
    return KG_OK;
}

static enum kg_code set_cap(struct kg_dj_state *s, const struct kg_djm_req *req)
{
    s->cap = (int64_t)req->in_bytes;
    s->keeps = (enum kg_dj_keeps)req->at;
    s->runners = req->out_bytes;
    for (int i = 0; i < KG_DJ_PORTS; i++) {
        if (s->port[i].used) {
            s->port[i].wire->may_keep = s->runners;
        }
    }
    if (s->keeps != KG_DJ_APART_ON_HOST) {
        kg_dj_hosted_drop_spare(s);
    }
    return KG_OK;
}

static enum kg_code close_port(struct kg_dj_state *s, const struct kg_djm_req *req,
                               struct kg_err *err)
{
    struct kg_dj_port *p;
    enum kg_code code = kg_dj_port_need(s, req->port, &p, err);
    kg_dj_port_drop(s, req->port, req->again == 1);
    return code;
}

static enum kg_code trim(struct kg_dj_state *s)
{
    s->dev.ops->trim(&s->dev);
    return KG_OK;
}

static enum kg_code bandwidth(struct kg_dj_state *s, struct kg_djm_rep *rep, struct kg_err *err)
{
    enum kg_code code = s->dev.ops->bandwidth(&s->dev, err);
    rep->facts = s->dev.facts;
    return code;
}

static enum kg_code compare(struct kg_dj_state *s, const struct kg_djm_req *req,
                            struct kg_dj_judgement *out, struct kg_err *err)
{
    return req->op == KG_DJM_COMPARE_LEFT ? kg_dj_do_compare_left(s, req, out, err)
           : req->tolerance > 0 ? kg_dj_do_compare_close(s, req->id, req->tolerance, out, err)
                                : kg_dj_do_compare(s, req->id, -1, req->probe == 1, out, err);
}

static enum kg_code dispatch(struct kg_dj_state *s, const struct kg_djm_req *req, int *fds,
                             int nfds, struct kg_djm_rep *rep, int out_fds[3], int *nout,
                             struct kg_err *err)
{
    bool applies = false;
    enum kg_code code;
    switch ((enum kg_djm_op)req->op) {
    case KG_DJM_OPEN:
        code = kg_dj_do_open(s, req, rep, out_fds, err);
        *nout = code == KG_OK ? 3 : 0;
        return code;
    case KG_DJM_ATTACH:
        return kg_dj_do_attach(s, req->port, fds, nfds, err);
    case KG_DJM_USE:
        return kg_dj_do_use(s, req->port, req->out_bytes, err);
    case KG_DJM_CAP:
        return set_cap(s, req);
    case KG_DJM_CLOSE:
        return close_port(s, req, err);
    case KG_DJM_TRIM:
        return trim(s);
    case KG_DJM_BEGIN:
        return kg_dj_do_begin(s, req, err);
    case KG_DJM_FILL:
        return kg_dj_do_fill(s, req, err);
    case KG_DJM_FORGET:
        return forget(s, req);
    case KG_DJM_MOVE:
        return kg_dj_do_move(s, req, err);
    case KG_DJM_ADOPT:
        return kg_dj_do_adopt(s, req, err);
    case KG_DJM_COPY:
        return kg_dj_do_copy(s, req, err);
    case KG_DJM_EDIT:
    case KG_DJM_EDIT_DRAWN:
    case KG_DJM_TOUCH:
        return kg_dj_do_edit(s, req, err);
    case KG_DJM_BANDWIDTH:
        return bandwidth(s, rep, err);
    case KG_DJM_RUN:
        return kg_dj_do_run(s, req, &rep->report, err);
    case KG_DJM_SELF:
        code = kg_dj_do_self(s, req->id, &req->ask, &applies, err);
        rep->flag = applies;
        return code;
    case KG_DJM_COMPARE:
    case KG_DJM_COMPARE_LEFT:
        return compare(s, req, &rep->judgement, err);
    case KG_DJM_KEEP:
    case KG_DJM_RECALL:
    case KG_DJM_CHOICE:
        code = req->op == KG_DJM_KEEP     ? kg_dj_do_keep(s, req->id, req->at, &applies, err)
               : req->op == KG_DJM_RECALL ? kg_dj_do_recall(s, req->id, req->at, &applies, err)
                                          : kg_dj_do_choice(s, req, &applies, err);
        rep->flag = applies;
        return code;
    case KG_DJM_HELLO:
    case KG_DJM_OPS:
        break;
    }
    return kg_fail(err, KG_E_GYM, "judge: no such operation");
}

void kg_dj_serve(struct kg_dj_state *s, const struct kg_djm_req *req, int *fds, int nfds,
                 struct kg_djm_rep *rep, int out_fds[3], int *nout)
{
    struct kg_err err = KG_ERR_INIT;
    memset(rep, 0, kg_djm_rep_bytes(req->op));
    *nout = 0;
    rep->magic = KG_DJM_MAGIC;
    rep->op = req->op;
    rep->seq = req->seq;
    rep->code = (uint32_t)dispatch(s, req, fds, nfds, rep, out_fds, nout, &err);
    rep->e_ref = s->e_ref;
    rep->held = s->held;
    rep->memory = err.memory;
    _Static_assert(sizeof rep->message == sizeof err.message, "a message fits");
    memcpy(rep->message, err.message, sizeof rep->message);
    for (int k = 0; k < nfds; k++) {
        if (fds[k] >= 0) {
            close(fds[k]);
            fds[k] = -1;
        }
    }
}

/* Dispatches the requests to the judge to their operations. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gym/judge/state.h"

enum kg_code kg_judge_state_init(struct kg_judge_state *s, struct kg_err *err)
{
    memset(s, 0, sizeof *s);
    s->cached_cap = KG_JUDGE_CACHE_CAP;
    for (int k = 0; k < KG_JUDGE_REGIONS; k++) {
        s->region[k] = (struct kg_region){.fd = -1, .runner_fd = -1};
    }
    return kg_rng_secret(&s->secret, err);
}

void kg_judge_state_deinit(struct kg_judge_state *s)
{
    kg_problem_destroy(s->problem);
    for (int k = 0; k < KG_JUDGE_REGIONS; k++) {
        kg_region_destroy(&s->region[k]);
    }
    for (int k = 0; k < KG_SIDE_COUNT; k++) {
        kg_judge_side_deinit(&s->side[k]);
    }
    while (s->cached != NULL) {
        struct kg_judge_entry *e = s->cached;
        s->cached = e->next;
        free(e);
    }
    memset(s, 0, sizeof *s);
}

static enum kg_code dispatch(struct kg_judge_state *s, const struct kg_judge_req *req, int *fds,
                             int nfds, struct kg_judge_rep *rep, struct kg_err *err)
{
    struct kg_case c;
    enum kg_code code;
    bool hit = false;
    kg_judge_req_case(req, &c);
    switch ((enum kg_judge_op)req->op) {
    case KG_JUDGE_OPEN:
        return kg_judge_do_open(s, req, fds, nfds, err);
    case KG_JUDGE_FILL:
        return kg_judge_do_fill(s, &c, req->wide == 1, err);
    case KG_JUDGE_TAKE:
        return kg_judge_do_take(s, &c, (enum kg_side)req->side, &rep->take, err);
    case KG_JUDGE_COMPARE:
        return kg_judge_do_compare(s, &c, (enum kg_compare_mode)req->mode, &rep->judgement, err);
    case KG_JUDGE_SELF:
        return kg_judge_do_self(s, &c, &rep->judgement, err);
    case KG_JUDGE_SAVE:
        return kg_judge_do_save(s, &c, req->number, err);
    case KG_JUDGE_LOAD:
        code = kg_judge_do_load(s, &c, req->number, &hit, err);
        rep->flag = hit;
        return code;
    case KG_JUDGE_FLOOR:
        return kg_judge_do_floor(s, &c, &rep->ns, err);
    case KG_JUDGE_CLEAR:
        kg_judge_do_clear(s);
        return KG_OK;
    case KG_JUDGE_FLUSH:
        return kg_judge_do_flush(s, &c, err);
    case KG_JUDGE_HELLO:
    case KG_JUDGE_OPS:
        break;
    }
    return kg_fail(err, KG_E_GYM, "judge: no such operation");
}

void kg_judge_serve(struct kg_judge_state *s, const struct kg_judge_req *req, int *fds, int nfds,
                    struct kg_judge_rep *rep)
{
    struct kg_err err = KG_ERR_INIT;
    memset(rep, 0, sizeof *rep);
    rep->magic = KG_JUDGE_MAGIC;
    rep->op = req->op;
    rep->seq = req->seq;
    rep->code = (uint32_t)dispatch(s, req, fds, nfds, rep, &err);
    _Static_assert(sizeof rep->message == sizeof err.message, "a message fits");
    memcpy(rep->message, err.message, sizeof rep->message);
    for (int k = 0; k < nfds; k++) {
        if (fds[k] >= 0) {
            close(fds[k]);
            fds[k] = -1;
        }
    }
}

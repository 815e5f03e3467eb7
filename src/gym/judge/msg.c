/* Names and checks of the messages between the broker and the judge. */
#include "gym/judge/msg.h"

#include <string.h>

#define MOST_TEXT   ((uint64_t)KG_MAX_SOURCE_BYTES + 8192)
#define MOST_REGION ((uint64_t)1 << 36)

static const char *const op_names[KG_JUDGE_OPS] = {
    [KG_JUDGE_HELLO] = "start",     [KG_JUDGE_OPEN] = "open",   [KG_JUDGE_FILL] = "fill",
    [KG_JUDGE_FLUSH] = "flush",     [KG_JUDGE_TAKE] = "take",   [KG_JUDGE_COMPARE] = "compare",
    [KG_JUDGE_SELF] = "self check", [KG_JUDGE_SAVE] = "save",   [KG_JUDGE_LOAD] = "load",
    [KG_JUDGE_FLOOR] = "floor",     [KG_JUDGE_CLEAR] = "clear",
};

const char *kg_judge_op_name(uint32_t op)
{
    return op < KG_JUDGE_OPS ? op_names[op] : "?";
}

static const char *check_case(const struct kg_judge_req *r)
{
    for (int k = 0; k < KG_MAX_DIMS; k++) {
        if (r->dim[k] < 0 || r->dim[k] > KG_MAX_DIM) {
            return "a dim is out of range";
        }
    }
    if (r->law >= KG_LAW_COUNT) {
        return "no such value law";
    }
    if (r->edited > 1 || r->wide > 1 || r->fresh_regions > 1) {
        return "a flag is neither 0 nor 1";
    }
    if (r->in_base % 8 != 0 || r->out_base % 8 != 0) {
        return "a base is no multiple of 8";
    }
    return r->in_base > MOST_REGION || r->out_base > MOST_REGION ? "a base is out of range" : NULL;
}

static const char *check_open(const struct kg_judge_req *r)
{
    if (r->text_bytes == 0 || r->text_bytes > MOST_TEXT) {
        return "the problem's text is empty or too long";
    }
    for (int k = 0; k < KG_JUDGE_REGIONS; k++) {
        if (r->region_bytes[k] == 0 || r->region_bytes[k] > MOST_REGION ||
            r->region_bytes[k] % 4096 != 0) {
            return "a region's size is out of range";
        }
    }
    return NULL;
}

const char *kg_judge_req_check(const void *bytes, size_t len)
{
    struct kg_judge_req r;
    if (len != sizeof r) {
        return "a request of the wrong size";
    }
    memcpy(&r, bytes, sizeof r);
    if (r.magic != KG_JUDGE_MAGIC) {
        return "not a request";
    }
    if (r.op <= KG_JUDGE_HELLO || r.op >= KG_JUDGE_OPS) {
        return "no such operation";
    }
    if (r.side >= KG_SIDE_COUNT) {
        return "no such side";
    }
    if (r.mode > KG_COMPARE_EXACT) {
        return "no such comparison";
    }
    if (r.region_huge >> KG_JUDGE_REGIONS != 0 || r.pad != 0) {
        return "unused bits are set";
    }
    const char *wrong = check_case(&r);
    return wrong || r.op != KG_JUDGE_OPEN ? wrong : check_open(&r);
}

const char *kg_judge_rep_check(const void *bytes, size_t len, uint32_t op, uint64_t seq)
{
    struct kg_judge_rep r;
    if (len != sizeof r) {
        return "a reply of the wrong size";
    }
    memcpy(&r, bytes, sizeof r);
    if (r.magic != KG_JUDGE_MAGIC || r.op != op || r.seq != seq) {
        return "a reply to something else";
    }
    if (r.code > KG_E_CANCELLED || r.flag > 1) {
        return "a reply with a field out of range";
    }
    return memchr(r.message, '\0', sizeof r.message) ? NULL : "a reply with an endless message";
}

void kg_judge_req_put_case(struct kg_judge_req *req, const struct kg_case *c)
{
    memcpy(req->dim, c->shape.dim, sizeof req->dim);
    memcpy(req->key, c->key.w, sizeof req->key);
    req->jitter = c->jitter;
    req->in_base = c->in_base;
    req->out_base = c->out_base;
    req->law = (uint32_t)c->law;
    req->edited = c->edited;
}

void kg_judge_req_case(const struct kg_judge_req *req, struct kg_case *c)
{
    *c = (struct kg_case){
        .law = (enum kg_law)req->law,
        .key = {{req->key[0], req->key[1]}},
        .jitter = req->jitter,
        .in_base = req->in_base,
        .out_base = req->out_base,
        .edited = req->edited == 1,
    };
    memcpy(c->shape.dim, req->dim, sizeof req->dim);
}

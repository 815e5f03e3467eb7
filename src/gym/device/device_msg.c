/* Sizes, names and checks of the messages between the broker and the judge of tensors. */
#include "gym/device/device_msg.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static const char *const op_names[KG_DJM_OPS] = {
    [KG_DJM_HELLO] = "start",
    [KG_DJM_OPEN] = "open port",
    [KG_DJM_ATTACH] = "attach",
    [KG_DJM_CLOSE] = "close",
    [KG_DJM_BEGIN] = "begin case",
    [KG_DJM_FILL] = "fill",
    [KG_DJM_ADOPT] = "adopt",
    [KG_DJM_EDIT] = "edit",
    [KG_DJM_RUN] = "run",
    [KG_DJM_SELF] = "self check",
    [KG_DJM_COMPARE] = "compare",
    [KG_DJM_MOVE] = "move case",
    [KG_DJM_FORGET] = "forget case",
    [KG_DJM_BANDWIDTH] = "bandwidth",
    [KG_DJM_KEEP] = "set aside",
    [KG_DJM_RECALL] = "recall",
    [KG_DJM_COPY] = "copy case",
    [KG_DJM_USE] = "use of port",
    [KG_DJM_CAP] = "cap",
    [KG_DJM_CHOICE] = "choice",
    [KG_DJM_EDIT_DRAWN] = "edit as drawn",
    [KG_DJM_TOUCH] = "touch",
    [KG_DJM_TRIM] = "trim",
    [KG_DJM_COMPARE_LEFT] = "compare state",
};

const char *kg_djm_op_name(uint32_t op)
{
    return op < KG_DJM_OPS ? op_names[op] : "?";
}

size_t kg_djm_req_bytes(uint32_t op)
{
    return op == KG_DJM_BEGIN ? sizeof(struct kg_djm_req) : offsetof(struct kg_djm_req, leaf);
}

size_t kg_djm_rep_bytes(uint32_t op)
{
    return op == KG_DJM_RUN ? sizeof(struct kg_djm_rep) : offsetof(struct kg_djm_rep, report);
}

static const char *check_ask(const struct kg_dj_ask *a)
{
    for (int i = 0; i < KG_DJ_FILLS; i++) {
        if (!(a->fill[i] >= 0 && isfinite(a->fill[i]))) {
            return "a fill that is no size";
        }
    }
    return a->how > (KG_DJ_LEARNS | KG_DJ_RARE | KG_DJ_NARROW | KG_DJ_OVERFLOWS)
               ? "no such way to ask"
           : a->k < 0 ? "a negative length"
                      : NULL;
}

static const char *check_numbers(const struct kg_djm_req *r)
{
    if (r->port < 0 || r->port >= KG_DJ_PORTS) {
        return "no such port";
    }
    if (r->id < (r->op == KG_DJM_RUN ? -1 : 0) || r->id >= KG_DJ_CASES) {
        return "no such case";
    }
    bool cases = r->op == KG_DJM_COPY || r->op == KG_DJM_CHOICE ||
                 r->op == KG_DJM_COMPARE_LEFT; /* from is one of these */
    int32_t most = r->op == KG_DJM_FORGET ? KG_DJ_CASES : KG_TWIRE_LEAVES - 1;
    if (r->at < 0 || r->at > most || r->from < 0 || (r->from >= KG_TWIRE_LEAVES && !cases)) {
        return "no such tensor";
    }
    if (r->timed > 1 || r->probe > 1 || r->again > 1) {
        return "a flag is neither 0 nor 1";
    }
    if (r->keep >= KG_DJ_SIDES) {
        return "no such side";
    }
    const uint32_t known = KG_TF_WIDE | KG_TF_NEAR | KG_TF_POLITE | KG_TF_DRAWS | KG_TF_BIND |
                           KG_TF_FINE | KG_TF_ROUND | KG_TF_ORDER | KG_TF_LATE | KG_TF_LEFT |
                           KG_TF_INPUTS | KG_TF_MORE | KG_TF_PARTS | KG_TF_ROUNDING | KG_TF_LAWS |
                           KG_TF_WHICHES | KG_TF_MATES | KG_TF_AHEAD | KG_TF_ANEW;
    if (r->flags & ~known) {
        return "unused bits are set";
    }
    if (!(r->tolerance >= 0 && r->tolerance <= 1) ||
        (r->tolerance > 0 && (r->op != KG_DJM_COMPARE || r->probe))) {
        return "a tolerance out of range, or where none belongs";
    }
    if (r->op == KG_DJM_COMPARE_LEFT &&
        (r->from >= KG_DJ_CASES || r->lent < 0 || r->lent >= KG_TWIRE_LEAVES)) {
        return "no such case or tensor";
    }
    return check_ask(&r->ask);
}

static const char *check_law(const struct kg_dj_law *law)
{
    if (law->kind >= KG_DJ_KINDS) {
        return "no such value law";
    }
    if (law->uneven >= KG_DJ_UNEVENS) {
        return "no such parts of a tensor";
    }
    return isfinite(law->a) && isfinite(law->b) ? NULL : "a law without finite numbers";
}

static const char *check_touch(const struct kg_dj_law *law)
{
    const char *wrong = check_law(law);
    return wrong                        ? wrong
           : !(law->a > 0)              ? "a unit that is not positive"
           : law->b != 0 && law->b != 1 ? "a flag is neither 0 nor 1"
                                        : NULL;
}

static const char *check_run(const struct kg_djm_req *r)
{
    bool data = r->command == KG_TC_STATE || r->command == KG_TC_BIND;
    bool drawn =
        r->command == KG_TC_DRAW || r->command == KG_TC_SNAPSHOT || r->command == KG_TC_TIMED;
    if (!data && !drawn && r->command != KG_TC_CALL && r->command != KG_TC_NULL) {
        return "a command that moves no data";
    }
    if (r->id < 0 && (data || r->command == KG_TC_CALL || r->keep != KG_DJ_NONE)) {
        return "a command without its case";
    }
    if (r->keep != KG_DJ_NONE && (data || r->command == KG_TC_NULL)) {
        return "nothing to keep of this command";
    }
    if (r->lent < 0 || r->lent > KG_DJ_PORTS || (r->lent > 0 && r->command != KG_TC_NULL)) {
        return "regions of no port, or lent to a command that needs its own";
    }
    return NULL;
}

/* Checks the fields that the judge needs to lay out the tensors. Offsets and sizes it computes
 * itself. */
static const char *check_leaves(const struct kg_djm_req *r)
{
    if (r->nleaf > KG_TWIRE_LEAVES) {
        return "too many tensors";
    }
    for (uint32_t i = 0; i < r->nleaf; i++) {
        struct kg_tleaf leaf = r->leaf[i];
        if (leaf.laid > 1 || (leaf.laid && (leaf.rank > KG_TWIRE_RANK || !kg_tleaf_reach(&leaf)))) {
            return "strides beyond any memory";
        }
        leaf.offset = leaf.laid = 0;
        leaf.bytes = kg_tdtype_bytes((enum kg_tdtype)leaf.dtype);
        for (uint32_t k = 0; k < leaf.rank && k < KG_TWIRE_RANK; k++) {
            if (leaf.shape[k] < 0 ||
                __builtin_mul_overflow(leaf.bytes, (uint64_t)leaf.shape[k], &leaf.bytes)) {
                return "a shape beyond any memory";
            }
        }
        const char *wrong = kg_twire_leaf_check(&leaf, KG_DJM_MOST);
        if (wrong != NULL) {
            return wrong;
        }
    }
    return NULL;
}

const char *kg_djm_req_check(const void *bytes, size_t len)
{
    struct kg_djm_req r; /* a copy, because bytes may have any alignment */
    uint32_t head[2];
    if (len < sizeof head) {
        return "a request of the wrong size";
    }
    memcpy(head, bytes, sizeof head);
    if (head[0] != KG_DJM_MAGIC) {
        return "not a request";
    }
    if (head[1] <= KG_DJM_HELLO || head[1] >= KG_DJM_OPS) {
        return "no such operation";
    }
    if (len != kg_djm_req_bytes(head[1])) {
        return "a request of the wrong size";
    }
    memcpy(&r, bytes, len);
    const char *wrong = check_numbers(&r);
    switch (wrong == NULL ? (enum kg_djm_op)r.op : KG_DJM_OPS) {
    case KG_DJM_OPEN:
        return r.in_bytes == 0 || r.in_bytes > KG_DJM_MOST || r.out_bytes == 0 ||
                       r.out_bytes > KG_DJM_MOST
                   ? "a region's size is out of range"
                   : NULL;
    case KG_DJM_CAP:
        return r.in_bytes == 0 || r.in_bytes > INT64_MAX ? "a cap out of range"
               : r.out_bytes > KG_DJM_MOST               ? "too much for a runner to keep"
               : r.at < 0 || r.at >= KG_DJ_KEEPS         ? "no such way to keep answers"
                                                         : NULL;
    case KG_DJM_USE:
        return r.out_bytes == 0 || r.out_bytes > KG_DJM_MOST ? "a region's size is out of range"
                                                             : NULL;
    case KG_DJM_BEGIN:
        return check_leaves(&r);
    case KG_DJM_FILL:
        return check_law(&r.law);
    case KG_DJM_TOUCH:
        return check_touch(&r.law);
    case KG_DJM_COPY:
        return r.from >= KG_DJ_CASES ? "no such case" : NULL;
    case KG_DJM_FORGET:
        return r.at >= KG_DJ_CASES - r.id ? "no such case" : NULL;
    case KG_DJM_MOVE:
        return r.in_bytes > KG_DJM_FAR || r.in_bytes % KG_TWIRE_ALIGN != 0
                   ? "a case cannot be moved so far"
                   : NULL;
    case KG_DJM_KEEP:
    case KG_DJM_RECALL:
        return wrong == NULL && r.at >= KG_DJ_KEPT_SLOTS ? "no such place for an answer" : wrong;
    case KG_DJM_CHOICE:
        return r.at >= KG_DJ_CHOICES || r.from >= KG_DJ_CASES ? "no such choice or case" : wrong;
    case KG_DJM_RUN:
        return check_run(&r);
    default:
        return wrong;
    }
}

const char *kg_djm_rep_check(const void *bytes, size_t len, uint32_t op, uint64_t seq)
{
    struct kg_djm_rep r;
    if (len != kg_djm_rep_bytes(op)) {
        return "a reply of the wrong size";
    }
    memcpy(&r, bytes, len);
    if (r.magic != KG_DJM_MAGIC || r.op != op || r.seq != seq) {
        return "a reply to something else";
    }
    if (r.code > KG_E_CANCELLED || r.flag > 1 || r.memory > 1) {
        return "a reply with a field out of range";
    }
    return memchr(r.message, '\0', sizeof r.message) ? NULL : "a reply with an endless message";
}

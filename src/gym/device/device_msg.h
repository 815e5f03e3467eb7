/* Private to device/: the messages between the broker and the judge of tensors.
 *
 * Requests and replies have two sizes each, with and without tensors; the operation fixes the size.
 * The reader refuses any other size. It also refuses any field outside its range, before the field
 * is used as an enum, a bool or an index. Descriptors travel with the reply to OPEN (control block,
 * IN, OUT) and with the request ATTACH (a pidfd). */
#ifndef KG_GYM_DEVICE_DEVICE_MSG_H
#define KG_GYM_DEVICE_DEVICE_MSG_H

#include "gym/device/device_judge.h"

#define KG_DJM_MAGIC 0x6b67646au
#define KG_DJM_MOST  ((uint64_t)1 << 36) /* most bytes of a region or tensor */
#define KG_DJM_FAR   ((uint64_t)1 << 20) /* most bytes that a case may be moved */

enum kg_djm_op {
    KG_DJM_HELLO, /* reply only: the judge has its device and is ready */
    KG_DJM_OPEN,
    KG_DJM_ATTACH,
    KG_DJM_CLOSE,
    KG_DJM_BEGIN,
    KG_DJM_FILL,
    KG_DJM_ADOPT,
    KG_DJM_EDIT,
    KG_DJM_COPY,
    KG_DJM_RUN,
    KG_DJM_SELF,
    KG_DJM_COMPARE,
    KG_DJM_MOVE,
    KG_DJM_FORGET,
    KG_DJM_BANDWIDTH,
    KG_DJM_KEEP,
    KG_DJM_RECALL,
    KG_DJM_USE,
    KG_DJM_CAP,
    KG_DJM_CHOICE,
    KG_DJM_EDIT_DRAWN,
    KG_DJM_TOUCH,
    KG_DJM_TRIM,
    KG_DJM_COMPARE_LEFT,
    KG_DJM_OPS
};

struct kg_djm_req {
    uint32_t magic, op;
    uint64_t seq;
    /* 0 where an operation does not use one. id -1: no case. at: a tensor; KEEP and RECALL: a slot;
     * CHOICE: an enum kg_dj_choice; CAP: an enum kg_dj_keeps; FORGET: how many cases follow id.
     * from: a tensor; COPY, CHOICE, COMPARE_LEFT: a case. lent: RUN of NULL: 1 + the port whose
     * regions stand for its own, 0: none; COMPARE_LEFT: a tensor of that case. */
    int32_t port, id, at, from, lent;
    uint32_t command, flags, keep, timed, probe, nleaf;
    uint32_t again;                     /* CLOSE: the regions may serve the next port; ADOPT: the
                                           tensor is an edit of the case's */
    uint64_t seed, in_bytes, out_bytes; /* MOVE: in_bytes is the distance; CAP: it is the
                                           cap, and out_bytes what a runner may keep */
    int64_t deadline_ns;
    struct kg_dj_ask ask;                  /* SELF */
    double tolerance;                      /* COMPARE: closeness; 0: by the bound */
    struct kg_dj_law law;                  /* EDIT, EDIT_DRAWN: only its key is used. TOUCH: key,
                                              a: the unit, b: 1 with large ones, else 0 */
    struct kg_tleaf leaf[KG_TWIRE_LEAVES]; /* BEGIN only; nleaf of them, the rest zero */
};

struct kg_djm_rep {
    uint32_t magic, op;
    uint64_t seq;
    uint32_t code;   /* enum kg_code */
    uint32_t flag;   /* HELLO: confined; SELF: applies; KEEP: kept; RECALL: same; CHOICE */
    int32_t port;    /* OPEN */
    uint32_t memory; /* of an error: it is memory that lacks */
    int64_t held;    /* bytes of masters and answers */
    uint64_t in_bytes, out_bytes; /* OPEN */
    double e_ref;                 /* SELF */
    struct kg_dj_facts facts;     /* HELLO, BANDWIDTH */
    struct kg_dj_judgement judgement;
    char message[480];
    struct kg_dj_report report; /* RUN only */
};

/* Size of a message about op. (A request needs its tensors only for BEGIN, a reply its report only
 * for RUN.) */
size_t kg_djm_req_bytes(uint32_t op);
size_t kg_djm_rep_bytes(uint32_t op);
/* NULL if the message is well formed, else what is wrong with it. Nothing beyond len is read. */
const char *kg_djm_req_check(const void *bytes, size_t len);
const char *kg_djm_rep_check(const void *bytes, size_t len, uint32_t op, uint64_t seq);
/* Name for messages; "?" for an unknown op. */
const char *kg_djm_op_name(uint32_t op);

#endif

/* Private to device/: what travels between broker and judge of tensors. A request and a reply have
 * two sizes each, with and without tensors, fixed by the operation; the reader refuses any other
 * size and any field outside its range before it is turned into an enum, a bool or an index.
 * Descriptors travel with the reply to OPEN (ctrl, in, out) and the request ATTACH (a pidfd). */
#ifndef KG_GYM_DEVICE_DEVICE_MSG_H
#define KG_GYM_DEVICE_DEVICE_MSG_H

#include "gym/device/device_judge.h"

#define KG_DJM_MAGIC 0x6b67646au
#define KG_DJM_MOST  ((uint64_t)1 << 36) /* bytes of a region or tensor */
#define KG_DJM_FAR   ((uint64_t)1 << 20) /* that a case may be moved */

enum kg_djm_op {
    KG_DJM_HELLO, /* reply only: the judge has its device and listens */
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
    KG_DJM_ASIDE,
    KG_DJM_RECALL,
    KG_DJM_USE,
    KG_DJM_OPS
};

struct kg_djm_req {
    uint32_t magic, op;
    uint64_t seq;
    int32_t port, id, at, from; /* 0 where an operation has none; id -1: no case; at: a tensor, or
                                    ASIDE, RECALL: a slot, or FORGET: how many cases follow id;
                                    from: a tensor, or COPY: a case */
    uint32_t command, flags, keep, timed, probe, nleaf;
    uint32_t again;                     /* CLOSE: its regions may serve the next port */
    uint32_t learns;                    /* SELF: what the reference errs is remembered */
    uint64_t seed, in_bytes, out_bytes; /* MOVE: in_bytes, how far */
    int64_t deadline_ns, k;
    double tolerance;                      /* COMPARE: closeness; 0: the bound */
    struct kg_dj_law law;                  /* EDIT: only its key */
    struct kg_tleaf leaf[KG_TWIRE_LEAVES]; /* BEGIN only; nleaf of them, the rest zero */
};

struct kg_djm_rep {
    uint32_t magic, op;
    uint64_t seq;
    uint32_t code;                /* enum kg_code */
    uint32_t flag;                /* HELLO: confined; SELF: applies; ASIDE: kept; RECALL: same */
    int32_t port;                 /* OPEN */
    uint32_t memory;              /* of an error: it is memory that lacks */
    uint64_t in_bytes, out_bytes; /* OPEN */
    double e_ref;                 /* SELF */
    struct kg_dj_facts facts;     /* HELLO, BANDWIDTH */
    struct kg_dj_judgement judgement;
    char message[480];
    struct kg_dj_report report; /* RUN only */
};

/* Bytes of a message about op. */
size_t kg_djm_req_bytes(uint32_t op);
size_t kg_djm_rep_bytes(uint32_t op);
/* NULL, or what is wrong with these bytes. Reads nothing beyond len. */
const char *kg_djm_req_check(const void *bytes, size_t len);
const char *kg_djm_rep_check(const void *bytes, size_t len, uint32_t op, uint64_t seq);
const char *kg_djm_op_name(uint32_t op);

#endif

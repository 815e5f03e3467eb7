/* Private to judge/: the messages between the broker and the judge.
 *
 * A request and a reply have one fixed size each. The reader refuses any other size. It also
 * refuses any field outside its range, before the field is used as an enum, a bool or an index.
 * Descriptors travel with OPEN only: the text of the problem, then the four regions if they are
 * new. */
#ifndef KG_GYM_JUDGE_MSG_H
#define KG_GYM_JUDGE_MSG_H

#include "gym/judge/judge.h"

#define KG_JUDGE_MAGIC   0x6b676a31u
#define KG_JUDGE_REGIONS 4 /* in, out, wide in, wide out */
#define KG_JUDGE_FDS     (1 + KG_JUDGE_REGIONS)

enum kg_judge_op {
    KG_JUDGE_HELLO, /* reply only: the judge is confined and ready */
    KG_JUDGE_OPEN,
    KG_JUDGE_FILL,
    KG_JUDGE_FLUSH,
    KG_JUDGE_TAKE,
    KG_JUDGE_COMPARE,
    KG_JUDGE_SELF,
    KG_JUDGE_SAVE,
    KG_JUDGE_LOAD,
    KG_JUDGE_FLOOR,
    KG_JUDGE_CLEAR,
    KG_JUDGE_OPS
};

struct kg_judge_req {
    uint32_t magic, op;
    uint64_t seq;
    /* the case */
    int64_t dim[KG_MAX_DIMS];
    uint64_t key[2];
    uint64_t jitter, in_base, out_base;
    uint32_t law, edited;
    /* arguments of single operations; 0 in the others */
    uint32_t wide, side, mode, fresh_regions;
    uint64_t number;
    uint64_t text_bytes; /* of the first descriptor's contents: path, NUL, source */
    uint64_t region_bytes[KG_JUDGE_REGIONS];
    uint32_t region_huge; /* bit k: region k has 2 MB pages */
    uint32_t pad;
};

struct kg_judge_rep {
    uint32_t magic, op;
    uint64_t seq;
    uint32_t code; /* enum kg_code */
    uint32_t flag; /* HELLO: confined; LOAD: hit */
    int64_t ns;    /* FLOOR */
    struct kg_take_report take;
    struct kg_judgement judgement; /* COMPARE, SELF */
    char message[480];
};

/* NULL if the message is well formed, else what is wrong with it. Nothing beyond len is read. */
const char *kg_judge_req_check(const void *bytes, size_t len);
const char *kg_judge_rep_check(const void *bytes, size_t len, uint32_t op, uint64_t seq);

/* Store a case in a request, and read it back from a request that was checked. */
void kg_judge_req_put_case(struct kg_judge_req *req, const struct kg_case *c);
void kg_judge_req_case(const struct kg_judge_req *req, struct kg_case *c);

/* Name for messages; "?" for an unknown op. */
const char *kg_judge_op_name(uint32_t op);

#endif

/* Private to run*.c: one command that moves data, on its way. */
#ifndef KG_GYM_DEVICE_COMMAND_H
#define KG_GYM_DEVICE_COMMAND_H

#include "gym/device/device_state.h"

/* What one command needs, found before the runner hears of it. */
struct kg_dj_command {
    const struct kg_djm_req *req;
    struct kg_dj_port *port;
    struct kg_dj_case *c; /* NULL: none */
    bool moves;           /* the masters go into IN */
    bool binds;           /* the runner takes where they lie: BIND, or with a call */
    bool answers;         /* CALL, or something that is kept: OUT is poisoned before */
    uint64_t nonce[2], word, poisoned;
    struct kg_dj_claims claims;
    struct kg_digest digest[KG_TWIRE_LEAVES];
};

/* Does a part of a call that is the judge's alone take far longer than the least so far? On a
 * device that keeps time; *least is learnt. 0: nothing is known yet. */
bool kg_dj_beyond(const struct kg_dj_state *s, int64_t ns, int64_t *least);
/* What was claimed is digested, which ends the window that began at t0, then kept and checked. */
enum kg_code kg_dj_after(struct kg_dj_state *s, struct kg_dj_command *k, int64_t t0,
                         struct kg_dj_report *out, struct kg_err *err) KG_MUST_USE;

#endif

/* Private to device_run.c and device_run_after.c: one command that moves data, from request to
 * report. */
#ifndef KG_GYM_DEVICE_COMMAND_H
#define KG_GYM_DEVICE_COMMAND_H

#include "gym/device/device_state.h"

/* Everything that one command needs. It is collected before the runner hears of the command, so
 * that nothing can fail within the timed window. */
struct kg_dj_command {
    const struct kg_djm_req *req;
    struct kg_dj_port *port;
    struct kg_dj_port *memory; /* whose IN and OUT are used: port's, or those that are lent to it */
    struct kg_dj_case *c;      /* NULL: none */
    bool moves;                /* the masters are copied into IN */
    bool binds;                /* the runner is told where its inputs lie */
    bool answers;              /* the command leaves an answer, so OUT is poisoned before */
    /* word: the poison; poisoned: bytes of OUT that hold it. */
    uint64_t nonce[2], word, poisoned;
    struct kg_dj_claims claims;
    struct kg_digest digest[KG_TWIRE_LEAVES];
};

/* True if ns is far above the least value seen so far: other work was on the device. *least is
 * updated; 0 means that nothing is known yet. Always false on a device whose windows do not
 * count. */
bool kg_dj_beyond(const struct kg_dj_state *s, int64_t ns, int64_t *least);
/* The second half of a command, after the runner said that it is done. Digests the claimed answer,
 * which ends the window that began at t0; then keeps the answer and checks it. */
enum kg_code kg_dj_after(struct kg_dj_state *s, struct kg_dj_command *k, int64_t t0,
                         struct kg_dj_report *out, struct kg_err *err) KG_MUST_USE;

#endif

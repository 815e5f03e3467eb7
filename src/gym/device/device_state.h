/* Private to device/: what the judge of tensors knows, and its operations. Each is a function of
 * the state and a checked request, so that tests and fuzzing drive them without a process. */
#ifndef KG_GYM_DEVICE_DEVICE_STATE_H
#define KG_GYM_DEVICE_DEVICE_STATE_H

#include "gym/device/device.h"
#include "gym/device/device_msg.h"

#define KG_DJ_RING 256 /* answers remembered per port */

/* One tensor of an answer that a port's runner gave. */
struct kg_dj_seen {
    struct kg_digest answer, expected, inputs;
    int leaf;
    bool right; /* it was compared and passed */
    bool has_expected;
};

struct kg_dj_ring {
    struct kg_dj_seen e[KG_DJ_RING];
    size_t n, next;
};

struct kg_dj_port {
    bool used;
    int pidfd;
    struct kg_twire *wire; /* shared with the runner: read once, into private memory */
    uint64_t in, in_bytes, out;
    uint64_t out_bytes, out_room; /* of OUT: in use, and all of it */
    bool bound;                   /* the leaves below lie in IN */
    uint32_t nbound;
    struct kg_tleaf leaf[KG_TWIRE_LEAVES];
    uint32_t nlast; /* of the last answer, checked: what may be adopted */
    struct kg_tleaf last[KG_TWIRE_LEAVES];
    struct kg_dj_ring ring;
};

/* An answer in private memory, one block. */
struct kg_dj_answer {
    bool there;
    uint32_t n;
    struct kg_tleaf leaf[KG_TWIRE_LEAVES]; /* as it was claimed, dtype included */
    uint64_t at[KG_TWIRE_LEAVES];          /* of the values; ORACLE: floating ones as f64 */
    struct kg_digest digest[KG_TWIRE_LEAVES];
    char structure[1024];
    uint64_t block, cap;
    bool moved; /* to copies of the inputs, moved by a rounding error: it shares memory with none */
};

/* The largest errors of the reference, relative to rms, over earlier values of one case. */
struct kg_dj_known {
    bool there;
    uint32_t n;
    struct kg_tleaf leaf[KG_TWIRE_LEAVES];
    double e_ref[KG_TWIRE_LEAVES], max_ref[KG_TWIRE_LEAVES], rms_ref[KG_TWIRE_LEAVES];
    double disagree[KG_TWIRE_LEAVES]; /* share of the elements */
    int64_t k;
};

struct kg_dj_case {
    uint32_t n;
    struct kg_tleaf leaf[KG_TWIRE_LEAVES];
    bool filled[KG_TWIRE_LEAVES];
    uint64_t block, bytes;     /* the masters, laid out with guards exactly as in IN */
    uint64_t cap;              /* of block */
    uint64_t other, other_cap; /* where they were before they moved, to be moved back to */
    bool digested;
    struct kg_digest inputs; /* of the block: who these inputs are */
    bool has_twin;           /* it was edited: who they were before */
    struct kg_digest twin;
    int64_t quiet_ns;            /* the fastest set-up of a call so far, 0: none */
    int64_t quiet_close_ns;      /* and the fastest digest of answers */
    uint64_t close_bytes;        /* of so many bytes together */
    struct kg_dj_answer side[2]; /* FLOAT, ORACLE */
    bool bounds_there;
    struct kg_tbound bound[KG_TWIRE_LEAVES];
    struct kg_dj_known known;
};

/* A candidate's answer for later: device/kept_answers.c. */
struct kg_dj_kept {
    int id, of;              /* its case, -1: none; and whose answers the block has served */
    struct kg_digest inputs; /* what it is the answer to */
    struct kg_dj_answer answer, expected; /* the case's FLOAT of then */
};

struct kg_dj_state {
    struct kg_device dev;
    int64_t cap, held; /* bytes of private memory */
    struct kg_rng rng; /* nonces */
    uint64_t guard;    /* pattern between masters */
    struct kg_dj_port port[KG_DJ_PORTS];
    struct kg_dj_case *cases[KG_DJ_CASES];
    struct kg_dj_answer candidate;
    int candidate_case, candidate_port; /* whose answer to what; -1: nobody's */
    struct kg_dj_kept aside[KG_DJ_ASIDE];
    double e_ref;                    /* of the last SELF */
    const struct kg_dj_pause *pause; /* of the request under way; NULL: nobody waits */
};

enum kg_code kg_dj_state_init(struct kg_dj_state *s, const char *device, int64_t cap,
                              struct kg_err *err) KG_MUST_USE;
void kg_dj_state_deinit(struct kg_dj_state *s);
/* A checked request with its descriptors, which are closed; out_fds: those of the reply, the
 * caller's. */
void kg_dj_serve(struct kg_dj_state *s, const struct kg_djm_req *req, int *fds, int nfds,
                 struct kg_djm_rep *rep, int out_fds[3], int *nout);

/* --- memory.c: private memory under the cap --- */
enum kg_code kg_dj_reserve(struct kg_dj_state *s, uint64_t *block, uint64_t *cap, uint64_t bytes,
                           struct kg_err *err) KG_MUST_USE;
void kg_dj_release(struct kg_dj_state *s, uint64_t *block, uint64_t *cap);

/* --- port.c --- */
enum kg_code kg_dj_do_open(struct kg_dj_state *s, const struct kg_djm_req *req,
                           struct kg_djm_rep *rep, int fds[3], struct kg_err *err) KG_MUST_USE;
enum kg_code kg_dj_do_use(struct kg_dj_state *s, int port, uint64_t bytes,
                          struct kg_err *err) KG_MUST_USE;
enum kg_code kg_dj_do_attach(struct kg_dj_state *s, int port, int *fd, int nfds,
                             struct kg_err *err) KG_MUST_USE;
void kg_dj_port_drop(struct kg_dj_state *s, int port, bool again);
enum kg_code kg_dj_port_need(struct kg_dj_state *s, int port, struct kg_dj_port **out,
                             struct kg_err *err) KG_MUST_USE;

/* --- case.c --- */
enum kg_code kg_dj_do_begin(struct kg_dj_state *s, const struct kg_djm_req *req,
                            struct kg_err *err) KG_MUST_USE;
enum kg_code kg_dj_do_move(struct kg_dj_state *s, const struct kg_djm_req *req,
                           struct kg_err *err) KG_MUST_USE;
enum kg_code kg_dj_do_fill(struct kg_dj_state *s, const struct kg_djm_req *req,
                           struct kg_err *err) KG_MUST_USE;
enum kg_code kg_dj_do_adopt(struct kg_dj_state *s, const struct kg_djm_req *req,
                            struct kg_err *err) KG_MUST_USE;
enum kg_code kg_dj_do_copy(struct kg_dj_state *s, const struct kg_djm_req *req,
                           struct kg_err *err) KG_MUST_USE;
enum kg_code kg_dj_do_edit(struct kg_dj_state *s, const struct kg_djm_req *req,
                           struct kg_err *err) KG_MUST_USE;
void kg_dj_case_drop(struct kg_dj_state *s, int id);
enum kg_code kg_dj_case_need(struct kg_dj_state *s, int id, struct kg_dj_case **out,
                             struct kg_err *err) KG_MUST_USE;
/* Every master has values, and `inputs` says whose. */
enum kg_code kg_dj_case_complete(struct kg_dj_state *s, struct kg_dj_case *c,
                                 struct kg_err *err) KG_MUST_USE;

/* --- claims.c: what a runner says, in private memory --- */
struct kg_dj_claims {
    enum kg_tstatus said;
    uint32_t n;
    struct kg_tleaf leaf[KG_TWIRE_LEAVES];
    char structure[1024];
    uint64_t call_ns, peak_bytes;
};
/* NULL, or what is wrong with the answer to the command of this nonce; of tensors that overlap,
 * too, the bytes add up to out_bytes at most. Each word of *w is read once. */
const char *kg_dj_claims_read(const struct kg_twire *w, const uint64_t nonce[2], uint64_t out_bytes,
                              struct kg_dj_claims *out);
/* Those with guards beside them, into leaf: all; pooled: those that were copied, because the others
 * lie among tensors of the runner's own. */
uint32_t kg_dj_laid(const struct kg_dj_claims *claims, bool pooled,
                    struct kg_tleaf leaf[KG_TWIRE_LEAVES]);
/* Zones of [0, region) around the leaves, KG_TWIRE_GUARD on each side at most, none in a leaf. */
size_t kg_dj_zones(const struct kg_tleaf *leaf, uint32_t n, uint64_t region,
                   struct kg_dspan zone[2 * KG_TWIRE_LEAVES]);

/* --- run.c, answer.c --- */
enum kg_code kg_dj_do_run(struct kg_dj_state *s, const struct kg_djm_req *req,
                          struct kg_dj_report *out, struct kg_err *err) KG_MUST_USE;
/* Copy the claimed tensors of a port into a side; *late_write, *unwritten as in kg_dj_report.
 * digest: what was seen within the window. poisoned: bytes of OUT that hold the pattern. */
enum kg_code kg_dj_answer_take(struct kg_dj_state *s, struct kg_dj_answer *a, bool oracle,
                               const struct kg_dj_port *p, const struct kg_dj_claims *claims,
                               const struct kg_digest *digest, uint64_t word, uint64_t poisoned,
                               struct kg_dj_report *out, struct kg_err *err) KG_MUST_USE;
void kg_dj_answer_drop(struct kg_dj_state *s, struct kg_dj_answer *a);

/* --- aside.c --- */
enum kg_code kg_dj_do_aside(struct kg_dj_state *s, int id, int slot, bool *kept,
                            struct kg_err *err) KG_MUST_USE;
enum kg_code kg_dj_do_recall(struct kg_dj_state *s, int id, int slot, bool *same,
                             struct kg_err *err) KG_MUST_USE;
void kg_dj_kept_drop(struct kg_dj_state *s, int id); /* -1: of all cases */

/* --- decide.c --- */
enum kg_code kg_dj_do_self(struct kg_dj_state *s, int id, int64_t k, bool learns, bool *applies,
                           struct kg_err *err) KG_MUST_USE;
enum kg_code kg_dj_do_compare(struct kg_dj_state *s, int id, bool probe,
                              struct kg_dj_judgement *out, struct kg_err *err) KG_MUST_USE;
enum kg_code kg_dj_do_close(struct kg_dj_state *s, int id, double tolerance,
                            struct kg_dj_judgement *out, struct kg_err *err) KG_MUST_USE;

/* --- ring.c --- */
/* Remember an answer; one that is there already is not added again, but may become right. */
void kg_dj_ring_add(struct kg_dj_ring *r, const struct kg_dj_seen *seen);
/* An answer of this tensor that was right for other inputs, whose expected answer was another one.
 * One that was never right says nothing: a wrong kernel may ignore its inputs. */
bool kg_dj_ring_stale(const struct kg_dj_ring *r, const struct kg_dj_seen *seen);
/* An answer of this tensor that was right, or expected, for other inputs: those of `inputs`
 * (only), or any but those. */
bool kg_dj_ring_right(const struct kg_dj_ring *r, const struct kg_dj_seen *seen,
                      struct kg_digest inputs, bool only);
bool kg_dj_same_digest(struct kg_digest a, struct kg_digest b);

#endif

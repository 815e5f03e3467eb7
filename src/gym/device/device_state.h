/* Private to device/: the state of the judge of tensors, and its operations.
 *
 * Each operation is a function of the state and a checked request. So tests and fuzzing drive them
 * without a process. One thread. Errors: KG_E_GYM a request that does not fit the state, KG_E_LIMIT
 * a cap is reached, KG_E_HOST the device failed. */
#ifndef KG_GYM_DEVICE_DEVICE_STATE_H
#define KG_GYM_DEVICE_DEVICE_STATE_H

#include "gym/device/device.h"
#include "gym/device/device_msg.h"
#include "gym/device/points.h"

#define KG_DJ_RING 256 /* answers remembered per port */

/* One tensor of an answer that a port's runner gave, and what was expected. */
struct kg_dj_seen {
    struct kg_digest answer, expected, inputs;
    int leaf;
    bool right; /* it was compared, and it passed */
    bool has_expected;
};

/* The last answers of one port, for the search for replays. The oldest is overwritten. */
struct kg_dj_ring {
    struct kg_dj_seen e[KG_DJ_RING];
    size_t n, next;
};

/* The memory that one runner shares with the judge. */
struct kg_dj_port {
    bool used;
    int pidfd;
    struct kg_twire *wire; /* shared with the runner: each word is read once, into private memory */
    uint64_t in, in_bytes, out;
    uint64_t out_bytes, out_room; /* bytes of OUT in use, and its full size */
    uint64_t out_below;           /* as in struct kg_twire, which the runner may change */
    bool bound;                   /* the runner knows that the leaves below lie in IN */
    uint32_t nbound;
    struct kg_tleaf leaf[KG_TWIRE_LEAVES];
    uint32_t nlast; /* number of tensors of the last answer; they may be adopted */
    struct kg_tleaf last[KG_TWIRE_LEAVES];
    struct kg_dj_ring ring;
};

/* An answer in private memory. All its tensors lie in one block. */
struct kg_dj_answer {
    bool there;
    uint32_t n;
    struct kg_tleaf leaf[KG_TWIRE_LEAVES]; /* as claimed, dtype included */
    uint64_t at[KG_TWIRE_LEAVES];   /* addresses of the values; ORACLE: floating values as f64; 0:
                                       they are kept apart (difference.h), as one of these: */
    uint64_t diff[KG_TWIRE_LEAVES]; /* addresses in the block; 0: none */
    float *host[KG_TWIRE_LEAVES];   /* in host_block; NULL: none */
    void *host_block;
    uint64_t host_cap;
    struct kg_digest digest[KG_TWIRE_LEAVES];
    char structure[1024];
    uint64_t block, cap;
    bool moved; /* it answers copies of the inputs, moved by a rounding error, so it shares storage
                   with none of them */
};

/* The reference's largest errors over earlier values of one case, relative to rms. Comparisons
 * without an oracle use them. */
struct kg_dj_known {
    bool there;
    uint32_t n;
    struct kg_tleaf leaf[KG_TWIRE_LEAVES];
    double e_ref[KG_TWIRE_LEAVES], max_ref[KG_TWIRE_LEAVES], rms_ref[KG_TWIRE_LEAVES];
    double disagree[KG_TWIRE_LEAVES]; /* share of the elements */
    double fill[KG_TWIRE_LEAVES];     /* that these errors leave out; 0: none */
    int64_t k;
};

/* One set of input tensors. */
struct kg_dj_case {
    uint32_t n;
    struct kg_tleaf leaf[KG_TWIRE_LEAVES];
    bool filled[KG_TWIRE_LEAVES];
    uint64_t block, bytes; /* the masters, laid out with guards exactly as in IN */
    uint64_t cap;          /* of block */
    bool digested;
    struct kg_digest inputs; /* digest of the block: it identifies these inputs */
    bool has_twin;           /* the case was edited; twin: digest of the inputs before */
    struct kg_digest twin;
    int64_t quiet_ns;            /* the fastest set-up of a call so far; 0: none */
    int64_t quiet_close_ns;      /* the fastest digest of an answer so far */
    uint64_t close_bytes;        /* the size of that answer */
    struct kg_dj_answer side[2]; /* FLOAT, ORACLE */
    bool bounds_there;
    struct kg_tbound bound[KG_TWIRE_LEAVES];
    bool rare;                /* a few elements may be further off than their bound */
    double fill[KG_DJ_FILLS]; /* as SELF said it */
    struct kg_dj_known known;
    struct kg_points points[KG_TWIRE_LEAVES]; /* outputs that are indices */
};

/* A candidate's answer that waits for the oracle: kept_answers.c. */
struct kg_dj_kept {
    int id, of; /* id: its case, -1: empty; of: the case whose answers fill the block */
    struct kg_digest inputs;              /* the inputs that it answers */
    struct kg_dj_answer answer, expected; /* expected: the case's FLOAT of that time */
};

/* Everything that the judge knows. */
struct kg_dj_state {
    struct kg_device dev;
    int64_t cap, held; /* cap, and use, of private memory in bytes */
    enum kg_dj_keeps keeps;
    uint64_t runners;    /* bytes that each may keep, as kg_dj_cap says */
    uint64_t apart_over; /* bytes of f64: tensors of more are kept apart, where any are */
    uint64_t part;     /* most bytes that are moved or widened at once: kg_dj_part, but in tests */
    struct kg_rng rng; /* draws nonces */
    uint64_t guard;    /* the pattern between masters */
    struct kg_dj_port port[KG_DJ_PORTS];
    struct kg_dj_case *cases[KG_DJ_CASES];
    struct kg_dj_answer candidate;
    int candidate_case, candidate_port; /* of `candidate`; -1: none */
    uint64_t aside, aside_cap;          /* for pieces of what is moved or widened; 0: none yet */
    void *spare;                        /* memory of the host that no answer uses; hosted.c */
    uint64_t spare_cap;                 /* its bytes; 0: there is none */
    struct kg_dj_answer other;          /* side OTHER */
    int other_case;
    struct kg_dj_kept kept[KG_DJ_KEPT_SLOTS];
    double e_ref;                    /* result of the last SELF */
    const struct kg_dj_pause *pause; /* wait of the request under way; NULL: requests never wait */
};

/* Opens the device and draws the secrets. cap: see kg_dj_spec.memory_cap. deinit frees everything;
 * it may follow a failed init. */
enum kg_code kg_dj_state_init(struct kg_dj_state *s, const char *device, int64_t cap,
                              struct kg_err *err) KG_MUST_USE;
void kg_dj_state_deinit(struct kg_dj_state *s);
/* Serves one checked request. fds [nfds]: descriptors that came with it; they are closed here.
 * out_fds [*nout]: descriptors of the reply; the caller closes them. Failures are in the reply. */
void kg_dj_serve(struct kg_dj_state *s, const struct kg_djm_req *req, int *fds, int nfds,
                 struct kg_djm_rep *rep, int out_fds[3], int *nout);

/* device_memory.c: reserve makes a block of private memory at least `bytes` large; *cap is its
 * size. A block that must grow loses its contents. KG_E_LIMIT: the state's cap. */
enum kg_code kg_dj_reserve(struct kg_dj_state *s, uint64_t *block, uint64_t *cap, uint64_t bytes,
                           struct kg_err *err) KG_MUST_USE;
void kg_dj_release(struct kg_dj_state *s, uint64_t *block, uint64_t *cap);

/* port.c: The operations OPEN, USE, ATTACH and CLOSE; device_judge.h documents them. attach
 * takes *fd over and sets it to -1. need: the port, or KG_E_GYM if it is not open. */
enum kg_code kg_dj_do_open(struct kg_dj_state *s, const struct kg_djm_req *req,
                           struct kg_djm_rep *rep, int fds[3], struct kg_err *err) KG_MUST_USE;
enum kg_code kg_dj_do_use(struct kg_dj_state *s, int port, uint64_t bytes,
                          struct kg_err *err) KG_MUST_USE;
enum kg_code kg_dj_do_attach(struct kg_dj_state *s, int port, int *fd, int nfds,
                             struct kg_err *err) KG_MUST_USE;
void kg_dj_port_drop(struct kg_dj_state *s, int port, bool again);
enum kg_code kg_dj_port_need(struct kg_dj_state *s, int port, struct kg_dj_port **out,
                             struct kg_err *err) KG_MUST_USE;

/* device_case.c: The operations on cases; device_judge.h documents them. need: the case, or
 * KG_E_GYM if it was not begun. */
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
/* After a change of the masters: earlier answers no longer belong to these inputs. */
void kg_dj_case_renewed(struct kg_dj_state *s, struct kg_dj_case *c, int id);
void kg_dj_case_drop(struct kg_dj_state *s, int id);
enum kg_code kg_dj_case_need(struct kg_dj_state *s, int id, struct kg_dj_case **out,
                             struct kg_err *err) KG_MUST_USE;
/* KG_OK if every master has values; c->inputs is then their digest. */
enum kg_code kg_dj_case_complete(struct kg_dj_state *s, struct kg_dj_case *c,
                                 struct kg_err *err) KG_MUST_USE;

/* device_edit.c: The operations EDIT, EDIT_DRAWN and TOUCH. */
enum kg_code kg_dj_do_edit(struct kg_dj_state *s, const struct kg_djm_req *req,
                           struct kg_err *err) KG_MUST_USE;

/* device_touch.c: Of them TOUCH. */
enum kg_code kg_dj_do_touch(struct kg_dj_state *s, const struct kg_djm_req *req,
                            struct kg_err *err) KG_MUST_USE;

/* claims.c: A private copy of what a runner claims about its answer. */
struct kg_dj_claims {
    enum kg_tstatus said;
    uint32_t n;
    struct kg_tleaf leaf[KG_TWIRE_LEAVES];
    char structure[1024];
    uint64_t call_ns, peak_bytes;
};
/* Copies and checks the answer to the command of this nonce. Returns NULL, or what is wrong with
 * it. The tensors' bytes add up to out_bytes at most, also where tensors overlap. Each word of *w
 * is read once, because the runner may change it. */
const char *kg_dj_claims_read(const struct kg_twire *w, const uint64_t nonce[2], uint64_t out_bytes,
                              struct kg_dj_claims *out);
/* Selects the leaves that have guards beside them. That is all of them, or with `pooled` only
 * copied ones: others lie among tensors of the runner's own. Returns their number. */
uint32_t kg_dj_laid(const struct kg_dj_claims *claims, bool pooled,
                    struct kg_tleaf leaf[KG_TWIRE_LEAVES]);
/* The zones of [0, region) beside the leaves that must hold poison, at most KG_TWIRE_GUARD bytes on
 * each side of a leaf. Returns their number. */
size_t kg_dj_zones(const struct kg_tleaf *leaf, uint32_t n, uint64_t region,
                   struct kg_dspan zone[2 * KG_TWIRE_LEAVES]);

/* device_run.c, answer.c: The operation RUN; see kg_dj_run. */
enum kg_code kg_dj_do_run(struct kg_dj_state *s, const struct kg_djm_req *req,
                          struct kg_dj_report *out, struct kg_err *err) KG_MUST_USE;
/* Copies the claimed tensors of a port into a side, and sets late_write and unwritten of the
 * report. beside: of FLOAT and ORACLE the case's other side, else NULL. FLOAT taken anew changes
 * what is kept of ORACLE, so that its values stay; where they can't, it is not there any more.
 * digest: digests taken within the window. poisoned: bytes of OUT that hold the poison. */
enum kg_code kg_dj_answer_take(struct kg_dj_state *s, struct kg_dj_answer *a, bool oracle,
                               struct kg_dj_answer *beside, const struct kg_dj_port *p,
                               const struct kg_dj_claims *claims, const struct kg_digest *digest,
                               uint64_t word, uint64_t poisoned, struct kg_dj_report *out,
                               struct kg_err *err) KG_MUST_USE;
void kg_dj_answer_drop(struct kg_dj_state *s, struct kg_dj_answer *a);

/* hosted.c: memory of the host for such values. room: at least so many bytes of it. drop: it
 * becomes the spare block, which the next answer gets, where it is larger than that. */
enum kg_code kg_dj_hosted_room(struct kg_dj_state *s, struct kg_dj_answer *a, uint64_t bytes,
                               struct kg_err *err) KG_MUST_USE;
void kg_dj_hosted_drop(struct kg_dj_state *s, struct kg_dj_answer *a);
void kg_dj_hosted_drop_spare(struct kg_dj_state *s);

/* apart.c: values of an oracle that are kept as differences (difference.h). take: floating output i
 * of `a` from `src` in OUT, in pieces, with the digest of what lies there and its poison as take()
 * of device.h; r: the reference's answer, NULL where it has none like it, and then nothing is kept.
 * rebase: takes output i of FLOAT, whose differences the oracle o has, so that o stays what it is.
 * read, write: the values of output i of a case, as [count] doubles of the host. bounds, compare:
 * as the functions of device.h, for output i of a case, y being the address of what is compared;
 * what is kept apart is compared piece by piece. The result is that of the whole, but e_ref, which
 * is no less. */
static inline bool kg_dj_is_apart(const struct kg_dj_answer *a, uint32_t i)
{
    return a->diff[i] != 0 || a->host[i] != NULL;
}
enum kg_code kg_dj_apart_take(struct kg_dj_state *s, const struct kg_dj_answer *r,
                              const struct kg_dj_answer *a, uint32_t i, struct kg_dtake whole,
                              uint64_t word, struct kg_dtake *out, struct kg_err *err) KG_MUST_USE;
enum kg_code kg_dj_apart_rebase(struct kg_dj_state *s, const struct kg_dj_answer *o, uint32_t i,
                                struct kg_dtake whole, uint64_t word, struct kg_dtake *out,
                                struct kg_err *err) KG_MUST_USE;
enum kg_code kg_dj_apart_read(struct kg_dj_state *s, const struct kg_dj_case *c, uint32_t i,
                              double *out, struct kg_err *err) KG_MUST_USE;
enum kg_code kg_dj_apart_write(struct kg_dj_state *s, const struct kg_dj_case *c, uint32_t i,
                               const double *from, struct kg_err *err) KG_MUST_USE;
enum kg_code kg_dj_bounds(struct kg_dj_state *s, const struct kg_dj_case *c, uint32_t i, int64_t k,
                          struct kg_tbound *out, struct kg_err *err) KG_MUST_USE;
/* Of n elements so few belong to no fill that the inputs, not a fill, have made the others large:
 * all count then. */
#define KG_DJ_FEWEST 64 /* one in so many */
static inline bool kg_dj_all_filled(uint64_t n, uint64_t used)
{
    return used < n / KG_DJ_FEWEST;
}
/* How many elements of y are further from the oracle's than the limits; both are finite. */
enum kg_code kg_dj_far(struct kg_dj_state *s, const struct kg_dj_case *c, uint32_t i, uint64_t y,
                       const struct kg_limits_of *limits, uint64_t *out,
                       struct kg_err *err) KG_MUST_USE;
enum kg_code kg_dj_against(struct kg_dj_state *s, const struct kg_dj_case *c, uint32_t i,
                           uint64_t y, const struct kg_tbound *bound, bool probe,
                           struct kg_tcompare *out, struct kg_err *err) KG_MUST_USE;

/* kept_answers.c: The operations KEEP and RECALL; see kg_dj_kept and kg_dj_recall. */
enum kg_code kg_dj_do_keep(struct kg_dj_state *s, int id, int slot, bool *kept,
                           struct kg_err *err) KG_MUST_USE;
enum kg_code kg_dj_do_recall(struct kg_dj_state *s, int id, int slot, bool *same,
                             struct kg_err *err) KG_MUST_USE;
void kg_dj_kept_drop(struct kg_dj_state *s,
                     int id); /* Forgets the kept answers of a case; -1: of all cases */

/* device_decide.c: The operations SELF and COMPARE; see kg_dj_self, kg_dj_compare and
 * kg_dj_compare_close. at: the only tensor that is compared; -1: all are. */
enum kg_code kg_dj_do_self(struct kg_dj_state *s, int id, const struct kg_dj_ask *ask,
                           bool *applies, struct kg_err *err) KG_MUST_USE;
enum kg_code kg_dj_do_compare(struct kg_dj_state *s, int id, int at, bool probe,
                              struct kg_dj_judgement *out, struct kg_err *err) KG_MUST_USE;
enum kg_code kg_dj_do_compare_close(struct kg_dj_state *s, int id, double tolerance,
                                    struct kg_dj_judgement *out, struct kg_err *err) KG_MUST_USE;

/* overflows.c: KG_DJ_OVERFLOWS of a case whose bounds are there: ORACLE changes. What is kept apart
 * stays as it is. */
enum kg_code kg_dj_excuse_overflows(struct kg_dj_state *s, const struct kg_dj_case *c,
                                    struct kg_err *err) KG_MUST_USE;
/* choices.c: The operations CHOICE and COMPARE_LEFT; see kg_dj_choice and kg_dj_compare_left.
 * pointed: judges output i, whose indices differ, by the values that they point at, if they were
 * shown to point; else *out stays. */
enum kg_code kg_dj_do_choice(struct kg_dj_state *s, const struct kg_djm_req *req, bool *flag,
                             struct kg_err *err) KG_MUST_USE;
enum kg_code kg_dj_do_compare_left(struct kg_dj_state *s, const struct kg_djm_req *req,
                                   struct kg_dj_judgement *out, struct kg_err *err) KG_MUST_USE;
enum kg_code kg_dj_pointed(struct kg_dj_state *s, const struct kg_dj_case *c, uint32_t i,
                           bool oracle, struct kg_tcompare *out, struct kg_err *err) KG_MUST_USE;

/* ring.c: */
/* Remembers an answer. The same answer to the same inputs is not stored twice, but it may become
 * `right`. */
void kg_dj_ring_add(struct kg_dj_ring *r, const struct kg_dj_seen *seen);
/* True if the same answer was right for other inputs, for which another answer was expected than
 * now. Answers that were never right are no evidence: a wrong kernel may ignore its inputs. */
bool kg_dj_ring_stale(const struct kg_dj_ring *r, const struct kg_dj_seen *seen);
/* True if the same answer was right, or expected, for other inputs. only: for exactly `inputs`;
 * else for any inputs but those. */
bool kg_dj_ring_right(const struct kg_dj_ring *r, const struct kg_dj_seen *seen,
                      struct kg_digest inputs, bool only);
bool kg_dj_same_digest(struct kg_digest a, struct kg_digest b);

#endif

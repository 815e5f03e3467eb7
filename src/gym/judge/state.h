/* Private to judge/: what the judge process knows, and its operations. Each operation is a function
 * of the state and a checked request, so that tests and fuzzing drive them without a process. */
#ifndef KG_GYM_JUDGE_STATE_H
#define KG_GYM_JUDGE_STATE_H

#include "gym/judge/msg.h"

#define KG_JUDGE_LIVE      32  /* fills that may wait to be taken */
#define KG_JUDGE_DIGESTS   256 /* answers remembered, per output; 64 answers of 4 outputs */
#define KG_JUDGE_SHELF_CAP ((size_t)256 << 20)

/* A fill or poisoning whose guards and poison are in a region. */
struct kg_judge_live {
    bool used, wide;
    struct kg_case c;
    struct kg_key nonce; /* guards and poison are drawn from it */
};

/* The outputs of one case in private memory: its own copy, or an entry of the cached, which takes
 * the side away with it when it goes. */
struct kg_judge_side {
    bool there;
    struct kg_case c;
    const void *view[KG_MAX_ARGS]; /* what is compared */
    void *data[KG_MAX_ARGS];       /* own copy */
    size_t cap[KG_MAX_ARGS];
    const struct kg_judge_entry *entry; /* that the views lie in, or NULL */
};

struct kg_judge_digest {
    uint64_t digest;
    struct kg_key key; /* of the inputs */
    bool edited;       /* and whether one of them was edited */
    int arg;
};

struct kg_judge_ring {
    struct kg_judge_digest e[KG_JUDGE_DIGESTS];
    size_t n, next;
};

/* What earlier inputs of a law showed, relative to rms(o): for timed calls, which have no oracle.
 */
struct kg_judge_known {
    bool there;
    double e_ref, max_ref, rms_ref, disagree; /* disagree: share of the elements */
};

/* Expected answers of one case, under (problem, number). */
struct kg_judge_entry {
    struct kg_judge_entry *next; /* most recently used first */
    char sha256[KG_SHA256_HEX];
    uint64_t number;
    struct kg_case c;
    size_t bytes;
    struct kg_bound bound[KG_MAX_ARGS];
    uint64_t digest[KG_MAX_ARGS];      /* of the float side */
    _Alignas(16) unsigned char data[]; /* per output: float side, then oracle side */
};

struct kg_judge_state {
    struct kg_problem *problem;
    struct kg_region region[KG_JUDGE_REGIONS];
    uint64_t dirty[KG_JUDGE_REGIONS]; /* bytes from the start that something was written to */
    struct kg_key secret;             /* of the digests */
    uint64_t fills;
    struct kg_judge_live live[KG_JUDGE_LIVE];
    size_t live_next;
    bool inputs_there; /* the narrow inputs are as the last fill left them: no runner can write */
    bool inputs_saved; /* and that case's answers have just been saved */
    struct kg_case inputs;
    struct kg_judge_side side[KG_SIDE_COUNT];
    bool bound_there; /* of the float and oracle sides at hand */
    struct kg_bound bound[KG_MAX_ARGS];
    struct kg_judge_known known[KG_LAW_COUNT][KG_MAX_ARGS];
    struct kg_judge_ring answers, expected;
    struct kg_judge_entry *cached;
    size_t cached_bytes, cached_cap;
};

/* Where the arrays of a case lie, and the region halves that hold them. */
struct kg_judge_place {
    struct kg_layout layout;
    struct kg_region *in, *out;
};

enum kg_code kg_judge_state_init(struct kg_judge_state *s, struct kg_err *err) KG_MUST_USE;
void kg_judge_state_deinit(struct kg_judge_state *s);
/* A checked request, with the descriptors that came with it, which are closed. */
void kg_judge_serve(struct kg_judge_state *s, const struct kg_judge_req *req, int *fds, int nfds,
                    struct kg_judge_rep *rep);

/* --- case.c --- */
bool kg_judge_same_values(const struct kg_problem *p, const struct kg_case *a,
                          const struct kg_case *b);
bool kg_judge_same_place(const struct kg_problem *p, const struct kg_case *a,
                         const struct kg_case *b);
/* Refuses cases whose shape is not one of the problem or whose arrays leave the regions. */
enum kg_code kg_judge_place(struct kg_judge_state *s, const struct kg_case *c, bool wide,
                            struct kg_judge_place *out, struct kg_err *err) KG_MUST_USE;
size_t kg_judge_out_bytes(const struct kg_problem *p, int arg, const struct kg_shape *s, bool wide);

/* --- operations --- */
enum kg_code kg_judge_do_open(struct kg_judge_state *s, const struct kg_judge_req *req, int *fds,
                              int nfds, struct kg_err *err) KG_MUST_USE;
enum kg_code kg_judge_do_fill(struct kg_judge_state *s, const struct kg_case *c, bool wide,
                              struct kg_err *err) KG_MUST_USE;
enum kg_code kg_judge_do_poison(struct kg_judge_state *s, const struct kg_case *c,
                                struct kg_err *err) KG_MUST_USE;
/* Contents stay; guards and poison too. flush.c */
enum kg_code kg_judge_do_flush(struct kg_judge_state *s, const struct kg_case *c,
                               struct kg_err *err) KG_MUST_USE;
enum kg_code kg_judge_do_take(struct kg_judge_state *s, const struct kg_case *c, enum kg_side side,
                              struct kg_take_report *out, struct kg_err *err) KG_MUST_USE;
enum kg_code kg_judge_do_compare(struct kg_judge_state *s, const struct kg_case *c,
                                 enum kg_compare_mode mode, struct kg_judgement *out,
                                 struct kg_err *err) KG_MUST_USE;
enum kg_code kg_judge_do_self(struct kg_judge_state *s, const struct kg_case *c,
                              struct kg_judgement *out, struct kg_err *err) KG_MUST_USE;
enum kg_code kg_judge_do_save(struct kg_judge_state *s, const struct kg_case *c, uint64_t number,
                              struct kg_err *err) KG_MUST_USE;
enum kg_code kg_judge_do_load(struct kg_judge_state *s, const struct kg_case *c, uint64_t number,
                              bool *hit, struct kg_err *err) KG_MUST_USE;
enum kg_code kg_judge_do_floor(struct kg_judge_state *s, const struct kg_case *c, int64_t *ns,
                               struct kg_err *err) KG_MUST_USE;
/* Zero all that a candidate may have written; what waits to be taken of it is forgotten. */
void kg_judge_do_clear(struct kg_judge_state *s);

/* --- guard.c: patterns around arrays and in outputs --- */
/* Guards of the zones of role IN or OUT between base and end. */
void kg_judge_guard_set(const struct kg_problem *p, const struct kg_layout *l, enum kg_role role,
                        uint64_t base, struct kg_key nonce, unsigned char *map);
/* True: all as set. Else *arg and *at (bytes from that array's start) of the first changed byte. */
bool kg_judge_guard_check(const struct kg_problem *p, const struct kg_layout *l, enum kg_role role,
                          uint64_t base, struct kg_key nonce, const unsigned char *map, int *arg,
                          int64_t *at);
uint64_t kg_judge_poison_word(enum kg_dtype dtype, struct kg_key nonce, int arg);
void kg_judge_poison_set(enum kg_dtype dtype, uint64_t word, void *dst, size_t n);
/* Copy n elements, and look for the word in the copy while it is at hand. False: it is nowhere. */
bool kg_judge_poison_copy(enum kg_dtype dtype, uint64_t word, void *dst, const void *src, size_t n);
/* Elements that still hold the word; *first: index of the first. Integers: see kg_take_report. */
uint64_t kg_judge_poison_count(enum kg_dtype dtype, uint64_t word, const void *src, size_t n,
                               uint64_t *first);

/* --- digest.c: answers seen before --- */
uint64_t kg_judge_digest_of(struct kg_key secret, const void *bytes, size_t n);
/* Few distinct values: an answer that any wrong kernel may give twice. */
bool kg_judge_degenerate(enum kg_dtype dtype, const void *v, size_t n);
void kg_judge_ring_add(struct kg_judge_ring *r, int arg, const struct kg_case *c, uint64_t digest);
/* The same answer of this output to inputs of another key. */
bool kg_judge_ring_has(const struct kg_judge_ring *r, int arg, const struct kg_case *c,
                       uint64_t digest);
/* The same answer to the same inputs before (or after) the edit. */
bool kg_judge_ring_has_twin(const struct kg_judge_ring *r, int arg, const struct kg_case *c,
                            uint64_t digest);

/* --- side.c --- */
enum kg_code kg_judge_side_reserve(struct kg_judge_side *side, int arg, size_t bytes,
                                   struct kg_err *err) KG_MUST_USE;
void kg_judge_side_deinit(struct kg_judge_side *side);
/* KG_E_GYM unless the side holds the outputs of these values. */
enum kg_code kg_judge_side_need(const struct kg_judge_state *s, enum kg_side side,
                                const struct kg_case *c, struct kg_err *err) KG_MUST_USE;
/* The float side's digest of an output. */
uint64_t kg_judge_side_digest(const struct kg_judge_state *s, int arg);
/* Expected answers have arrived by a take: remember their digests. */
void kg_judge_note_expected(struct kg_judge_state *s);
/* Bounds of the float and oracle sides at hand, computed once. */
enum kg_code kg_judge_bounds(struct kg_judge_state *s, const struct kg_case *c,
                             struct kg_err *err) KG_MUST_USE;

#endif

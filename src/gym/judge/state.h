/* Private to judge/: the state of the judge, and its operations.
 *
 * Each operation is a function of the state and a checked request. So tests and fuzzing drive them
 * without a process. One thread. judge.h documents the operations. Errors: KG_E_GYM a request that
 * does not fit the state, KG_E_LIMIT a case that does not fit the regions, KG_E_HOST no memory. */
#ifndef KG_GYM_JUDGE_STATE_H
#define KG_GYM_JUDGE_STATE_H

#include "gym/judge/msg.h"

#define KG_JUDGE_LIVE    32  /* fills whose outputs may still be taken */
#define KG_JUDGE_DIGESTS 256 /* answers remembered: 64 answers of 4 outputs */
/* Default cap of the answer cache, in bytes. */
#define KG_JUDGE_CACHE_CAP ((size_t)256 << 20)

/* A fill or a poisoning. Its guards and poison are in a region until the place is used again. */
struct kg_judge_live {
    bool used, wide;
    struct kg_case c;
    struct kg_key nonce; /* guards and poison are drawn from it */
};

/* The outputs of one case in private memory. They are the side's own copy, or belong to an entry of
 * the answer cache. Such a side is lost when its entry is dropped. */
struct kg_judge_side {
    bool there;
    struct kg_case c;
    const void *view[KG_MAX_ARGS]; /* the values to compare */
    void *data[KG_MAX_ARGS];       /* the side's own copies */
    size_t cap[KG_MAX_ARGS];
    const struct kg_judge_entry *entry; /* the cache entry that the views point into, or NULL */
};

/* One remembered answer. */
struct kg_judge_digest {
    uint64_t digest;
    struct kg_key key; /* of the inputs */
    bool edited;       /* whether an input was edited */
    int arg;
};

/* The last answers, for the search for replays. The oldest is overwritten. */
struct kg_judge_ring {
    struct kg_judge_digest e[KG_JUDGE_DIGESTS];
    size_t n, next;
};

/* The reference's largest errors over earlier inputs of a law, relative to rms(o). Timed calls have
 * no oracle and use them. */
struct kg_judge_known {
    bool there;
    double e_ref, max_ref, rms_ref, disagree; /* disagree: share of the elements */
};

/* The expected answers of one case, stored under (problem, number). */
struct kg_judge_entry {
    struct kg_judge_entry *next; /* most recently used first */
    char sha256[KG_SHA256_HEX];
    uint64_t number;
    struct kg_case c;
    size_t bytes;
    struct kg_bound bound[KG_MAX_ARGS];
    uint64_t digest[KG_MAX_ARGS];      /* digests of the float side */
    _Alignas(16) unsigned char data[]; /* per output: float side, then oracle side */
};

/* Everything that the judge knows. */
struct kg_judge_state {
    struct kg_problem *problem;
    struct kg_region region[KG_JUDGE_REGIONS];
    /* Bytes from the region's start that may have been written to. */
    uint64_t dirty[KG_JUDGE_REGIONS];
    struct kg_key secret; /* key of the digests */
    uint64_t fills;
    struct kg_judge_live live[KG_JUDGE_LIVE];
    size_t live_next;
    bool inputs_there; /* the narrow inputs are as the last fill left them, because runners cannot
                          write there */
    bool inputs_saved; /* the answers to those inputs were just saved */
    struct kg_case inputs;
    struct kg_judge_side side[KG_SIDE_COUNT];
    bool bound_there; /* `bound` belongs to the float and oracle sides at hand */
    struct kg_bound bound[KG_MAX_ARGS];
    struct kg_judge_known known[KG_LAW_COUNT][KG_MAX_ARGS];
    struct kg_judge_ring answers, expected;
    struct kg_judge_entry *cached;
    size_t cached_bytes, cached_cap;
};

/* Where the arrays of a case lie, and in which regions. */
struct kg_judge_place {
    struct kg_layout layout;
    struct kg_region *in, *out;
};

/* Draws the secret. deinit frees everything. */
enum kg_code kg_judge_state_init(struct kg_judge_state *s, struct kg_err *err) KG_MUST_USE;
void kg_judge_state_deinit(struct kg_judge_state *s);
/* Serves one checked request. fds [nfds] came with it and are closed here. Failures are in the
 * reply. */
void kg_judge_serve(struct kg_judge_state *s, const struct kg_judge_req *req, int *fds, int nfds,
                    struct kg_judge_rep *rep);

/* case.c: whether two cases have the same input values, and whether they lie at the same place
 * too. */
bool kg_judge_same_values(const struct kg_problem *p, const struct kg_case *a,
                          const struct kg_case *b);
bool kg_judge_same_place(const struct kg_problem *p, const struct kg_case *a,
                         const struct kg_case *b);
/* The layout of a case. KG_E_GYM: the problem has no such shape; KG_E_LIMIT: the arrays do not fit
 * the regions. */
enum kg_code kg_judge_place(struct kg_judge_state *s, const struct kg_case *c, bool wide,
                            struct kg_judge_place *out, struct kg_err *err) KG_MUST_USE;
/* Bytes of an output; wide: f32 as doubles. */
size_t kg_judge_out_bytes(const struct kg_problem *p, int arg, const struct kg_shape *s, bool wide);

/* The operations: open.c, fill.c, flush.c, take.c, decide.c, answer_cache.c, floor.c. */
enum kg_code kg_judge_do_open(struct kg_judge_state *s, const struct kg_judge_req *req, int *fds,
                              int nfds, struct kg_err *err) KG_MUST_USE;
enum kg_code kg_judge_do_fill(struct kg_judge_state *s, const struct kg_case *c, bool wide,
                              struct kg_err *err) KG_MUST_USE;
/* Contents stay, guards and poison included. */
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
/* Zeroes everything that a candidate may have written. Its outputs can no longer be taken. */
void kg_judge_do_clear(struct kg_judge_state *s);

/* mix.c: writes each line of the case again, in blocks of random order, so that no part of the
 * arrays is likelier than another to be in the caches when the call begins. Contents stay. Cost:
 * about 0.1 ms per MB beyond the caches. */
void kg_judge_mix(const struct kg_case *c, const struct kg_judge_place *place);
/* The order of its n blocks. n: at most KG_JUDGE_BLOCKS; larger cases have larger blocks. */
#define KG_JUDGE_BLOCKS 8192
void kg_judge_mix_order(struct kg_key key, uint16_t *order, size_t n);

/* guard.c, poison.c: patterns around arrays, and in outputs. */
/* Writes the guards of the zones of role IN or OUT, from base to the layout's end. */
void kg_judge_guard_set(const struct kg_problem *p, const struct kg_layout *l, enum kg_role role,
                        uint64_t base, struct kg_key nonce, unsigned char *map);
/* True if all guards are as they were set. Else *arg and *at (bytes from that array's start) tell
 * the first changed byte. */
bool kg_judge_guard_check(const struct kg_problem *p, const struct kg_layout *l, enum kg_role role,
                          uint64_t base, struct kg_key nonce, const unsigned char *map, int *arg,
                          int64_t *at);
/* The poison of one output. */
uint64_t kg_judge_poison_word(enum kg_dtype dtype, struct kg_key nonce, int arg);
/* Writes poison to dst [n]. */
void kg_judge_poison_set(enum kg_dtype dtype, uint64_t word, void *dst, size_t n);
/* Copies n elements, and searches the poison in the copy. False: there is none. */
bool kg_judge_poison_copy(enum kg_dtype dtype, uint64_t word, void *dst, const void *src, size_t n);
/* Number of elements that still hold poison; *first: index of the first. Integers: see
 * kg_take_report. */
uint64_t kg_judge_poison_count(enum kg_dtype dtype, uint64_t word, const void *src, size_t n,
                               uint64_t *first);

/* digest.c: answers seen before. */
uint64_t kg_judge_digest_of(struct kg_key secret, const void *bytes, size_t n);
/* True if v [n] has so few distinct values that any wrong kernel may give it twice. */
bool kg_judge_degenerate(enum kg_dtype dtype, const void *v, size_t n);
/* Remembers the answer of one output to the inputs of c. */
void kg_judge_ring_add(struct kg_judge_ring *r, int arg, const struct kg_case *c, uint64_t digest);
/* True if the same answer was given to inputs of another key. */
bool kg_judge_ring_has(const struct kg_judge_ring *r, int arg, const struct kg_case *c,
                       uint64_t digest);
/* True if the same answer was given to the same inputs before the edit, or after it. */
bool kg_judge_ring_has_twin(const struct kg_judge_ring *r, int arg, const struct kg_case *c,
                            uint64_t digest);

/* judge_side.c: makes room for `bytes` of an output in the side's own copy. */
enum kg_code kg_judge_side_reserve(struct kg_judge_side *side, int arg, size_t bytes,
                                   struct kg_err *err) KG_MUST_USE;
void kg_judge_side_deinit(struct kg_judge_side *side);
/* KG_E_GYM unless the side holds the outputs of c. */
enum kg_code kg_judge_side_need(const struct kg_judge_state *s, enum kg_side side,
                                const struct kg_case *c, struct kg_err *err) KG_MUST_USE;
/* Digest of an output of the float side. */
uint64_t kg_judge_side_digest(const struct kg_judge_state *s, int arg);
/* Remembers the digests of expected answers that a take has brought. */
void kg_judge_note_expected(struct kg_judge_state *s);
/* Computes the bounds of the float and oracle sides at hand, once. */
enum kg_code kg_judge_bounds(struct kg_judge_state *s, const struct kg_case *c,
                             struct kg_err *err) KG_MUST_USE;

#endif

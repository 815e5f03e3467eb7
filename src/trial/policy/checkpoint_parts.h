/* The insides of checkpoint.h: the engine, and a seat for each ask. Private to checkpoint*.c. Not
 * thread safe. */
#ifndef KG_TRIAL_POLICY_CHECKPOINT_PARTS_H
#define KG_TRIAL_POLICY_CHECKPOINT_PARTS_H

#include "lm/lm.h"
#include "rl/run/source.h"
#include "trial/policy/checkpoint.h"

#define TR_SEAT_TEXT_MAX (64u << 20)

enum tr_seat_state { TR_SEAT_FREE, TR_SEAT_DRAWS, TR_SEAT_LANDED };

/* One ask. */
struct tr_seat {
    enum tr_seat_state state;
    int conversation;
    uint64_t landed; /* its place among those that have landed */
    int64_t began_ns;
    struct lm_ids ids; /* sampled */
    struct kg_buf text;
    struct lm_bpe_stream stream;
    struct tr_reply *reply; /* filled when it lands */
};

struct tr_checkpoint {
    char *dir, *adapter;
    char *stop[4];
    struct tr_sampling sampling; /* its stop is not used */
    struct rl_talker talker;
    struct lm_config shape;
    struct lm_threads *threads;
    struct lm_model *model;
    struct lm_engine *engine;
    int context, parallel;
    uint64_t landed;
    struct tr_seat *seat; /* [parallel] */
};

/* The ids of a conversation, up to the header of the next reply. Errors: KG_E_INPUT (user and
 * assistant do not take turns, ids of another model), KG_E_HOST. */
enum kg_code tr_checkpoint_context(struct tr_checkpoint *c, const struct tr_message *m, int n,
                                   struct lm_ids *out, struct kg_err *err) KG_MUST_USE;
/* The table of functions over c. */
struct tr_policy tr_checkpoint_policy(struct tr_checkpoint *c);
void tr_checkpoint_close(struct tr_checkpoint *c);

#endif

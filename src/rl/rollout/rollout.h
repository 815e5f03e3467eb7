/* Rollouts: groups of trajectories of T turns. A trajectory is one row of ids that only grows: the
 * prompt, a reply, the gym's feedback, the next reply. Nothing is rendered or encoded again.
 *
 * There is no barrier between trajectories: a reply goes to the judge when it is complete, and its
 * feedback begins the next turn while others still draw. A trajectory ends after T turns, when the
 * context has no room for another reply, or when the gym has no verdict (infra: its rewards are
 * censored) or finds the problem at fault.
 *
 * Memory is allocated by create. Not thread safe. */
#ifndef KG_RL_ROLLOUT_ROLLOUT_H
#define KG_RL_ROLLOUT_ROLLOUT_H

#include "rl/judge/cores.h"
#include "rl/judge/judge.h"
#include "rl/methods/streams.h"
#include "rl/rollout/policy.h"

enum { RL_TURNS_MAX = 8 };

struct rl_turn {
    int first, length; /* of the reply in ids; its end is part of it */
    enum lm_finish finish;
    const struct rl_verdict *verdict; /* of the judge; NULL: none came */
    bool shared;                      /* it is that of an equal reply */
    uint32_t index;                   /* rl_row_index */
};

enum rl_walk_end { RL_WALK_GOING, RL_WALK_DONE, RL_WALK_FULL, RL_WALK_INFRA, RL_WALK_DEFECT };

struct rl_walk {
    struct rl_chain chain;
    uint32_t group, rollout; /* group from 0, rollout from 1 */
    int conversation;
    enum rl_walk_end end;
    int32_t *ids; /* [n] all of it */
    float *mu;    /* [n] the sampler's log-prob of a sampled id, else 0 */
    int n;
    int turns; /* sampled */
    struct rl_turn turn[RL_TURNS_MAX];
};

/* One batch: groups x rollouts trajectories, a group's one after the other. */
struct rl_rollouts {
    struct rl_walk *walk; /* [n] */
    int n, cap, max_tokens;
    int32_t *ids;
    float *mu;
    struct lm_event *events; /* [max_live] scratch */
    uint64_t *request;       /* [max_live] scratch */
    int *conversation;       /* [max_live] scratch */
    int max_live;
};

struct rl_rollout_options {
    uint32_t step; /* of the draws */
    uint32_t rollouts, turns;
    uint32_t first;       /* groups that are there already and stay: a further round of a step */
    double early_stop;    /* a lower bound of the speed-up that ends a trajectory; 0: off */
    int min_reply;        /* a turn needs room for so many ids */
    volatile int *cancel; /* not 0: end with KG_E_CANCELLED; NULL: none */
    /* Cores of the gym that are held while the policy draws: it then draws in bursts, and what is
     * complete is judged between them. NULL: none, each reply is judged while others draw. */
    struct rl_cores *cores;
};

struct rl_rollout_stats {
    uint64_t sampled; /* ids */
    int infra, defect, full, cut;
    double seconds;
    double draw_seconds;  /* of it: the policy draws */
    double judge_seconds; /* of it: waiting for a verdict, or for the cores of the gym */
};

/* At most cap trajectories of max_tokens ids, of which max_live draw or wait at once.
 * Errors: KG_E_HOST. */
enum kg_code rl_rollouts_create(int cap, int max_tokens, int max_live, struct rl_rollouts **out,
                                struct kg_err *err) KG_MUST_USE;
void rl_rollouts_destroy(struct rl_rollouts *r); /* NULL is nothing */

/* Samples chains [groups]. The policy must hold max_live conversations of max_tokens ids, the judge
 * cap tickets. After an error policy and judge can only be destroyed.
 * Errors: KG_E_LIMIT (a prompt leaves no room for a reply), KG_E_CANCELLED, those of policy and
 * judge. */
enum kg_code rl_rollout_run(struct rl_rollouts *r, const struct rl_talker *talker,
                            struct rl_policy *policy, struct rl_judge *judge,
                            const struct rl_chain *chains, int groups,
                            const struct rl_rollout_options *o, struct rl_rollout_stats *stats,
                            struct kg_err *err) KG_MUST_USE;

#endif

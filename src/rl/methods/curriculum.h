/* Adaptive curriculum: the share of level-2 problems, and which problems come next.
 *
 * After each step with level-1 trajectories their count (right c of n) enters a window of the last
 * W counts. accuracy = sum c / sum n over a full window. The state is an integer k, because adding
 * .05 eight times drifts: share = p_min + k delta.
 *   static      the share p_fixed
 *   ratchet     accuracy > theta: k + 1, at most K; it never falls
 *   ramp        the first such step starts it: k + 1 at every step from then on
 *   prop        p_min + (p_max - p_min) clip((accuracy - theta) / band, 0, 1); p_min before a full
 *               window
 *   hysteresis  as ratchet; accuracy < fall_below: k - 1; at least `cooldown` steps between changes
 * A step without level 1 changes nothing but time: the cooldown and a started ramp go on in it.
 * Accuracy comes from training rollouts, never from an evaluation set; infra trajectories leave
 * (c, n). The state is plain data that a checkpoint stores. Threads: one run, one thread.
 * Source: Beyond TritonRL (10 to 50 % at 40 %). */
#ifndef KG_RL_METHODS_CURRICULUM_H
#define KG_RL_METHODS_CURRICULUM_H

#include "rl/methods/counts.h"
#include "rl/methods/rows.h"

#define RL_CURRICULUM_WINDOW 16

enum rl_curriculum_mode {
    RL_CUR_STATIC,
    RL_CUR_RATCHET,
    RL_CUR_RAMP,
    RL_CUR_PROP,
    RL_CUR_HYSTERESIS,
};

struct rl_curriculum_options {
    enum rl_curriculum_mode mode;
    double p_fixed;      /* static */
    double p_min, delta; /* .10, .05 */
    uint32_t steps;      /* K: 8, so p_max is .50 */
    uint32_t window;     /* W: 5, at most RL_CURRICULUM_WINDOW */
    uint32_t theta_pct;  /* 40: compared as integers, c * 100 > theta_pct * n */
    bool ge;             /* >= in place of > */
    bool lower_bound;    /* compare the lower end of Wilson's 95 % interval of the accuracy */
    uint32_t min_evals;  /* fewer trajectories in the window decide nothing; 0: off */
    uint32_t fall_pct;   /* hysteresis: 30 */
    uint32_t cooldown;   /* hysteresis: steps between changes */
    double band;         /* prop: .2 */
};

struct rl_curriculum {
    uint32_t k;
    uint32_t right[RL_CURRICULUM_WINDOW], count[RL_CURRICULUM_WINDOW]; /* ring */
    uint32_t pushed;                                                   /* counts so far */
    uint32_t since_change; /* steps; large at the beginning */
    bool ramping;
};

/* static at p_min; the values above; ge, lower_bound, min_evals off. */
void rl_curriculum_defaults(struct rl_curriculum_options *o);
enum kg_code rl_curriculum_check(const struct rl_curriculum_options *o,
                                 struct kg_err *err) KG_MUST_USE;
void rl_curriculum_init(struct rl_curriculum *c);
/* After a step: `right` of n level-1 trajectories ended right. */
void rl_curriculum_update(struct rl_curriculum *c, const struct rl_curriculum_options *o,
                          uint32_t right, uint32_t n, struct rl_counts *counts);
double rl_curriculum_share(const struct rl_curriculum *c, const struct rl_curriculum_options *o);
/* Over the window; -1 while it is not full. */
double rl_curriculum_accuracy(const struct rl_curriculum *c, const struct rl_curriculum_options *o);

/* Problems of each level in a step of `batch`: n2 = floor(batch p2 + u), n3 likewise (draws 0 and 1
 * of stream 5), n1 the rest. Unbiased, and always `batch` in all. */
struct rl_slots {
    uint32_t n1, n2, n3;
};
struct rl_slots rl_curriculum_slots(uint32_t batch, double p2, double p3, uint64_t seed,
                                    uint32_t step);

/* Where the order of a level's problems stands: each epoch is a new permutation (stream 6), and no
 * problem comes twice in one. A short pool begins the next epoch within a step. */
struct rl_cursor {
    uint32_t epoch, at;
};
/* Number of the next problem of `level` among n; order [n] scratch of the caller, kept between
 * calls: it is filled when at is 0 or `fresh` says that it does not hold this epoch yet. */
uint32_t rl_cursor_next(struct rl_cursor *cursor, uint64_t seed, uint32_t level, uint32_t n,
                        uint32_t *order, bool fresh);

#endif

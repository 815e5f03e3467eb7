/* Keyed random draws of a training run. Each draw is a function of the run's seed and four numbers,
 * so a step that is repeated, resumed or laid out in another way gives the same draws.
 * Counter of Philox4x32-10: (index, sub, step, stream); key: low and high half of the seed.
 * `step` is the step in which a row was born, so rows that wait in a buffer keep their draws.
 * Pure; no allocation; thread safe. */
#ifndef KG_RL_METHODS_STREAMS_H
#define KG_RL_METHODS_STREAMS_H

#include <stddef.h>
#include <stdint.h>

enum rl_stream {
    RL_STREAM_ENGINE = 1,
    RL_STREAM_PRS = 2,
    RL_STREAM_GROUPS = 3,     /* which groups of a refill train */
    RL_STREAM_SAMPLES = 4,    /* which rollouts of an oversampled group train */
    RL_STREAM_CURRICULUM = 5, /* how many problems of a level */
    RL_STREAM_ORDER = 6,      /* order of the problems of a level */
    RL_STREAM_BOOTSTRAP = 7,
    RL_STREAM_SFT = 8,
    RL_STREAM_DROPOUT = 9,
    RL_STREAM_BEST = 10,
    RL_STREAM_RECHECK = 11, /* which correct evaluations are judged again */
    RL_STREAM_SAMPLER = 12, /* noise on the sampler's weights */
};

/* 64 bits: word 1 above word 0. */
uint64_t rl_draw_bits(uint64_t seed, enum rl_stream stream, uint32_t step, uint32_t sub,
                      uint32_t index);
/* Uniform in [0, 1): the top 53 of these bits times 2^-53. */
double rl_draw(uint64_t seed, enum rl_stream stream, uint32_t step, uint32_t sub, uint32_t index);
/* Uniform in 0..n-1: floor(n u); n > 0. */
size_t rl_draw_below(uint64_t seed, enum rl_stream stream, uint32_t step, uint32_t sub,
                     uint32_t index, size_t n);

/* order [n] out: a permutation of 0..n-1 (Fisher and Yates; draw i decides place i). */
void rl_shuffle(uint64_t seed, enum rl_stream stream, uint32_t step, uint32_t sub, size_t n,
                uint32_t *order);

/* The number of a row among the draws of its birth step, unique in that step.
 *   group    0-based           rollout  1..rollouts      turn  1..turns
 *   rollouts number that was sampled for each group, oversampled ones too
 * A group that samples more than `rollouts` would share numbers with its neighbour, so this is a
 * bug and ends the process. */
uint32_t rl_row_index(uint32_t group, uint32_t rollout, uint32_t turn, uint32_t rollouts,
                      uint32_t turns);

/* The seed under which the engine samples tokens, and the request id of a row. */
uint64_t rl_engine_seed(uint64_t seed);
uint64_t rl_request_id(uint32_t step, uint32_t row_index);

#endif

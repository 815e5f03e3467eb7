/* Draws of a run: Philox blocks under the run's seed. */
#include "rl/methods/streams.h"

#include "base/err.h"
#include "base/philox.h"

uint64_t rl_draw_bits(uint64_t seed, enum rl_stream stream, uint32_t step, uint32_t sub,
                      uint32_t index)
{
    uint32_t counter[4] = {index, sub, step, (uint32_t)stream};
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)}, x[4];
    kg_philox4x32(counter, key, x);
    return (uint64_t)x[1] << 32 | x[0];
}

double rl_draw(uint64_t seed, enum rl_stream stream, uint32_t step, uint32_t sub, uint32_t index)
{
    return (double)(rl_draw_bits(seed, stream, step, sub, index) >> 11) * 0x1p-53;
}

size_t rl_draw_below(uint64_t seed, enum rl_stream stream, uint32_t step, uint32_t sub,
                     uint32_t index, size_t n)
{
    KG_ASSERT(n > 0);
    size_t i = (size_t)(rl_draw(seed, stream, step, sub, index) * (double)n);
    return i < n ? i : n - 1;
}

void rl_shuffle(uint64_t seed, enum rl_stream stream, uint32_t step, uint32_t sub, size_t n,
                uint32_t *order)
{
    for (size_t i = 0; i < n; i++) {
        order[i] = (uint32_t)i;
    }
    for (size_t i = 0; i + 1 < n; i++) {
        size_t j = i + rl_draw_below(seed, stream, step, sub, (uint32_t)i, n - i);
        uint32_t kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

uint32_t rl_row_index(uint32_t group, uint32_t rollout, uint32_t turn, uint32_t rollouts,
                      uint32_t turns)
{
    KG_ASSERT(rollout >= 1 && rollout <= rollouts && turn >= 1 && turn <= turns);
    return (group * rollouts + rollout - 1) * turns + turn - 1;
}

uint64_t rl_engine_seed(uint64_t seed)
{
    return rl_draw_bits(seed, RL_STREAM_ENGINE, 0, 0, 0);
}

uint64_t rl_request_id(uint32_t step, uint32_t row_index)
{
    return (uint64_t)step << 32 | row_index;
}

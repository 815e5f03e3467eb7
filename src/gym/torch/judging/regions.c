/* Sizes of the regions that the runners of an instance need. */
#include "gym/torch/judging/instance.h"
#include "gym/torch/runner/torch_device.h"

/* On a GPU half of OUT is a pool's, whose blocks lie elsewhere in each call (probe_cuda.h). */
#define ELSEWHERE ((uint64_t)32 << 20)
#define LARGE     ((uint64_t)512 << 20) /* bytes of an answer in double that memory is saved for */

static uint64_t placed(uint64_t bytes, size_t leaves)
{
    return bytes + (leaves + 1) * (KG_TWIRE_GUARD + KG_TWIRE_ALIGN);
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t in_at_any_place(const struct kg_task_desc *d)
{
    return placed(d->input_bytes, d->ninputs) + (uint64_t)KG_TORCH_PLACES * KG_TORCH_PLACE_BYTES;
}

void kg_tinstance_null_regions(const struct kg_tinstance *s, uint64_t *in, uint64_t *out)
{
    *in = in_at_any_place(&s->desc);
    *out = placed(s->desc.output_bytes, s->desc.noutputs);
}

void kg_tinstance_regions(const struct kg_worker *w, const struct kg_tinstance *s, bool wide,
                          uint64_t *in, uint64_t *out)
{
    const struct kg_task_desc *d = &s->desc;
    uint64_t inputs = placed(d->input_bytes, d->ninputs);
    uint64_t state = placed(d->state_bytes, d->nstate), answer = 0;
    for (size_t i = 0; i < d->noutputs; i++) {
        answer += kg_tleaf_count(&d->output[i].leaf) * sizeof(double);
    }
    answer = placed(answer, d->noutputs); /* room for a candidate's wrong dtype, too */
    if (answer >= LARGE && !kg_torch_on_cpu(w)) {
        /* An answer in double may take the pool's half. What a call allocates before its answer is
         * there, too, or the answer lay outside, and were copied. */
        answer = placed(most(d->output_bytes, d->call_bytes), d->noutputs);
    }
    answer += answer >= KG_TWIRE_LARGE && !kg_torch_on_cpu(w) ? ELSEWHERE : 0;
    *in = most(in_at_any_place(d), state);
    *out = wide ? most(most(inputs, state), answer) : most(state, answer);
}

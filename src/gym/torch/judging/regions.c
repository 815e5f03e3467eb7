/* What an instance needs: sizes of the regions of its runners, and what no instance may need. */
#include "base/buf.h"
#include "base/json.h"
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

uint64_t kg_tinstance_joined(const struct kg_tinstance *s)
{
    const struct kg_task_desc *d = &s->desc;
    uint64_t answer = 0;
    for (size_t i = 0; i < d->noutputs; i++) {
        answer += kg_tleaf_count(&d->output[i].leaf) * sizeof(double);
    }
    return placed(answer, d->noutputs);
}

void kg_tinstance_regions(const struct kg_worker *w, const struct kg_tinstance *s, bool wide,
                          uint64_t *in, uint64_t *out)
{
    const struct kg_task_desc *d = &s->desc;
    uint64_t inputs = placed(d->input_bytes, d->ninputs);
    uint64_t state = placed(d->state_bytes, d->nstate);
    uint64_t answer = kg_tinstance_joined(s); /* room for a candidate's wrong dtype, too */
    if (answer >= LARGE && !kg_torch_on_cpu(w)) {
        /* An answer in double may take the pool's half. What a call allocates before its answer is
         * there, too, or the answer lay outside, and were copied. */
        answer = placed(most(d->output_bytes, d->call_bytes), d->noutputs);
    }
    answer += answer >= KG_TWIRE_LARGE && !kg_torch_on_cpu(w) ? ELSEWHERE : 0;
    *in = most(in_at_any_place(d), state);
    *out = wide ? most(most(inputs, state), answer) : most(state, answer);
    *out = wide && s->slices > 0 ? most(*out, kg_tinstance_joined(s)) : *out;
}

/* What a candidate is constructed with has to fit into one request. */
static bool request_fits(const struct kg_task_desc *d)
{
    struct kg_buf text;
    json_t *request = kg_tinstance_build_request(d);
    kg_buf_init(&text, KG_TWIRE_TEXT);
    kg_json_dump(request, &text);
    bool fits = kg_buf_ok(&text);
    kg_buf_deinit(&text);
    json_decref(request);
    return fits;
}

/* The league tf32 has no bound for inputs that are written. */
enum kg_code kg_tinstance_fits(struct kg_worker *w, const struct kg_task_desc *d,
                               struct kg_err *err)
{
    const char *path = kg_torch_of(w)->problem->path;
    if (!request_fits(d)) {
        return kg_fail(err, KG_E_PROBLEM,
                       "%s: the constructor's arguments take more than %u bytes as JSON", path,
                       KG_TWIRE_TEXT);
    }
    if (d->writes_inputs && kg_torch_tf32(w)) {
        return kg_fail(err, KG_E_PROBLEM,
                       "%s: the reference writes to its inputs, which the league tf32 cannot judge",
                       path);
    }
    if (d->ninputs == 0) {
        return kg_fail(err, KG_E_PROBLEM, "%s: get_inputs gives no tensor", path);
    }
    return d->noutputs > 0 ? KG_OK
                           : kg_fail(err, KG_E_PROBLEM, "%s: the answer holds no tensor", path);
}

/* What the driver says of the device that times are taken on: asked by the broker, once per worker
 * for what stays, and at the end of each timing for clocks. No runner has a part in it. */
#include "gym/torch/timing/gpu.h"

#include "gym/device/gpu_facts.h"
#include "gym/torch/torch.h"

/* NVML's start takes tens of milliseconds, so a worker keeps it open. A driver without it is no
 * error: then nothing is known. */
static void open_once(struct kg_torch *t)
{
    struct kg_err ignored = KG_ERR_INIT;
    char folder[400];
    if (t->gpu_asked || t->judge.facts.bus[0] == '\0') {
        return;
    }
    t->gpu_asked = true;
    if (kg_gpu_open(t->judge.facts.bus, &t->gpu, &ignored) == KG_OK) {
        t->gpu_facts = kg_gpu_steady(t->gpu);
        json_object_set_new(t->gpu_facts, "mps", json_boolean(kg_gpu_mps(folder, sizeof folder)));
    }
}

json_t *kg_tgpu_steady(struct kg_worker *w)
{
    open_once(kg_torch_of(w));
    return kg_torch_of(w)->gpu_facts ? json_incref(kg_torch_of(w)->gpu_facts) : json_null();
}

json_t *kg_tgpu_now(struct kg_worker *w)
{
    open_once(kg_torch_of(w));
    return kg_torch_of(w)->gpu ? kg_gpu_now(kg_torch_of(w)->gpu) : NULL;
}

void kg_tgpu_close(struct kg_worker *w)
{
    struct kg_torch *t = kg_torch_of(w);
    kg_gpu_close(t->gpu);
    json_decref(t->gpu_facts);
    t->gpu = NULL;
    t->gpu_facts = NULL;
    t->gpu_asked = false;
}

#include "gym/torch/executor/torch_facts.h"
#include "gym/torch/executor/torch_worker.h"
#include "gym/torch/runner/torch_zygotes.h"

static json_t *of_python(const struct kg_worker *w)
{
    static const char *const shown[] = {"python", "executable", "torch",
                                        "triton", "cuda_built", "cupti"};
    json_t *facts = json_object();
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        json_t *v = json_object_get(kg_torch_of(w)->zygote[0].facts, shown[i]);
        json_object_set(facts, shown[i], v ? v : json_null());
    }
    json_object_set_new(facts, "device", json_string(kg_torch_of(w)->device));
    return facts;
}

enum kg_code kg_torch_facts(struct kg_worker *w, json_t **out, struct kg_err *err)
{
    *out = NULL;
    enum kg_code code = kg_torch_open(w, err);
    if (code == KG_OK) {
        code = kg_torch_start(w, err);
        *out = kg_torch_of(w)->zygote_up[0] ? of_python(w) : NULL;
    }
    if (code != KG_OK) {
        return code;
    }
    const struct kg_dj_facts *f = &kg_torch_of(w)->judge.facts;
    json_t *facts = *out;
    json_object_set_new(facts, "device_name", json_string(f->name));
    json_object_set_new(facts, "bus", f->bus[0] ? json_string(f->bus) : json_null());
    json_object_set_new(facts, "driver", json_string(f->driver));
    json_object_set_new(facts, "memory_bytes", json_integer(f->memory_bytes));
    json_object_set_new(facts, "exchange", json_string(f->exchange));
    json_object_set_new(facts, "clock", json_boolean(f->clock));
    return KG_OK;
}

#include "fuzz.h"

#include <string.h>

#include "gym/reply/check.h"
#include "gym/torch/onboard/panel_source.h"
#include "gym/torch/problem/input_plan.h"
#include "gym/torch/problem/module.h"
#include "gym/torch/problem/own_law.h"
#include "gym/torch/problem/suite.h"
#include "gym/torch/problem/task.h"

/* What a description that is accepted promises to those who place tensors and draw values. */
static void sound(const struct kg_task_desc *d)
{
    enum kg_tlaw laws[KG_TL_COUNT];
    uint64_t rank[KG_TL_COUNT] = {[KG_TL_SPARSE] = 1};
    struct kg_rng rng;
    uint64_t bytes = 0;
    for (size_t i = 0; i < d->ninputs; i++) {
        const struct kg_tleaf *l = &d->input[i].leaf;
        KG_ASSERT(l->dtype < KG_TD_COUNT && l->rank <= KG_TWIRE_RANK && l->bytes > 0);
        KG_ASSERT(l->bytes == kg_tleaf_count(l) * kg_tdtype_bytes((enum kg_tdtype)l->dtype));
        bytes += l->bytes;
    }
    KG_ASSERT(bytes == d->input_bytes && bytes <= KG_TASK_BYTES);
    KG_ASSERT(d->terms >= 0 && d->terms <= KG_TASK_TERMS);
    for (int law = 0; law < KG_TL_COUNT; law++) {
        int64_t k = kg_tplan_k(d, (enum kg_tlaw)law);
        KG_ASSERT(k >= 1 && k <= (int64_t)1
                                     << (law == KG_TL_EQUAL || kg_tplan_touches(law) ? 40 : 20));
    }
    for (size_t i = 0; i < d->nstate; i++) {
        struct kg_dj_law law;
        KG_ASSERT(strlen(d->state[i].leaf.name) > 0);
        if (kg_tplan_state(&d->state[i], (struct kg_key){{1, 2}}, i, &law)) {
            KG_ASSERT(law.b > law.a);
        }
    }
    kg_rng_init(&rng, (struct kg_key){{1, 2}}, 0);
    size_t n = kg_tplan_full(d, true, 4, false, rank, &rng, laws);
    KG_ASSERT(n >= 1 && n <= KG_TL_COUNT && laws[0] == KG_TL_OWN);
    kg_rng_deinit(&rng);
}

static void description(const char *text, size_t len)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_task_desc *d;
    json_t *j;
    if (kg_json_parse(text, len, "fuzz", &j, &err) != KG_OK) {
        return;
    }
    d = malloc(sizeof *d);
    KG_ASSERT(d != NULL);
    if (kg_task_parse(j, "fuzz", d, &err) == KG_OK) {
        sound(d);
        kg_task_deinit(d);
    } else {
        KG_ASSERT(err.code == KG_E_PROBLEM && strncmp(err.message, "fuzz: ", 6) == 0);
    }
    free(d);
    json_decref(j);
}

static void module(const char *text, size_t len)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_finding f[8];
    struct kg_tproblem *p;
    kg_module_imports(text, len, "triton");
    size_t n = kg_check_python(text, len, "ModelNew", f, 8);
    KG_ASSERT(n <= 8);
    for (size_t i = 0; i < n; i++) {
        KG_ASSERT(f[i].severity < KG_SEV_REJECT && f[i].message[0]);
    }
    if (kg_tproblem_parse(text, len, "level3/fuzz.py", &p, &err) == KG_OK) {
        KG_ASSERT(kg_module_is_problem(text, len) && p->level == 3 && strlen(p->desc) <= 240);
        kg_tproblem_destroy(p);
    } else {
        KG_ASSERT(err.message[0]);
    }
}

/* A description if it begins like JSON, else a module. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    KG_ASSERT(text != NULL);
    memcpy(text, data, size);
    text[size] = 0;
    if (size > 0 && text[0] == '{') {
        description(text, size);
    } else {
        module(text, size);
    }
    free(text);
    return 0;
}

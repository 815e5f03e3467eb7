/* The worker's part of the PyTorch executor: opened, and let go of. */
#include "gym/torch/executor/torch_worker.h"

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/file.h"
#include "gym/torch/judging/instance.h"
#include "gym/torch/judging/state_parts.h"
#include "gym/torch/runner/spare_runner.h"
#include "gym/torch/runner/torch_device.h"
#include "gym/torch/runner/torch_runner.h"
#include "gym/torch/runner/torch_zygotes.h"
#include "gym/torch/timing/gpu.h"

enum kg_code kg_torch_open(struct kg_worker *w, struct kg_err *err)
{
    struct kg_torch *t = kg_torch_of(w);
    if (t && t->device[0]) {
        return KG_OK;
    }
    t = t ? t : calloc(1, sizeof *t);
    if (!t) {
        return kg_fail(err, KG_E_LIMIT, "no memory for the PyTorch executor");
    }
    kg_worker_set_part(w, &kg_executor_torch, t);
    snprintf(t->device, sizeof t->device, "%s", kg_torch_device(&w->config));
    snprintf(t->problem_file, sizeof t->problem_file, "%s/problem.py", w->scratch.path);
    for (int k = 0; k < KG_INSTANCES; k++) {
        t->instance[k].kind = (enum kg_instance_kind)k;
    }
    /* Runners are the zygote's grandchildren; they must become this process's to be waited for. */
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    return KG_OK;
}

/* For kg_torch_end_last(). */
static void put_aside(struct kg_torch *t, struct kg_trunner *s)
{
    for (int k = 0; k < KG_INSTANCES && s->up; k++) {
        if (!t->last[k].up) {
            t->last[k] = *s;
            *s = (struct kg_trunner){.port = -1};
        }
    }
}

void kg_torch_leave(struct kg_worker *w)
{
    struct kg_torch *t = kg_torch_of(w);
    if (t->judge.pid > 0) {
        kg_tstate_forget(w, &t->instance[KG_INSTANCE_PUBLISHED].desc, KG_TORCH_LEFT_ID, 2);
    }
    for (int k = 0; k < KG_INSTANCES; k++) {
        put_aside(t, &t->instance[k].ref);
        kg_tinstance_close(w, &t->instance[k]);
    }
    kg_tproblem_destroy(t->problem);
    t->problem = NULL;
    t->no_tiny = t->settled = false;
    t->defect[0] = 0;
}

/* Regions, masters and answers end with the judge, which is told nothing of them then. */
void kg_torch_forget(struct kg_worker *w, enum kg_forget what)
{
    struct kg_torch *t = kg_torch_of(w);
    struct kg_lease l = KG_LEASE_NONE;
    struct kg_err ignored = KG_ERR_INIT;
    if (!t || !t->device[0]) {
        return;
    }
    if (what >= KG_FORGET_JUDGE && t->judge_up) {
        (void)!kg_torch_device_acquire(w, &l, &ignored);
        kg_dj_stop(&t->judge);
        t->judge_up = false;
    }
    kg_tspare_drop(w);
    kg_trunner_stop(w, &t->null);
    kg_torch_leave(w);
    kg_torch_end_last(w);
    kg_torch_device_release(w, &l);
    if (what >= KG_FORGET_JUDGE) {
        kg_ledger_give(&t->memory.ledger);
    }
    if (what < KG_FORGET_ALL) {
        return;
    }
    for (int i = 0; i < 2; i++) {
        if (t->zygote_up[i]) {
            kg_zygote_stop(&t->zygote[i]);
        }
    }
    kg_tgpu_close(w);
    if (t->memory.open) {
        kg_ledger_close(&t->memory.ledger);
    }
    *t = (struct kg_torch){.test = t->test}; /* to be opened again */
}

void kg_torch_close(struct kg_worker *w)
{
    kg_torch_forget(w, KG_FORGET_ALL);
    free(kg_torch_of(w));
    kg_worker_set_part(w, &kg_executor_torch, NULL);
}

struct kg_torch_test *kg_torch_test(struct kg_worker *w)
{
    struct kg_err ignored = KG_ERR_INIT;
    bool open = kg_torch_open(w, &ignored) == KG_OK;
    KG_ASSERT(open);
    return &kg_torch_of(w)->test;
}

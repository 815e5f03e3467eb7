/* The worker's device: what it is called, and who may use it when. */
#include "gym/torch/runner/torch_device.h"

#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "gym/torch/runner/spare_runner.h"

const char *kg_torch_device(const struct kg_config *c)
{
    bool asked = strcmp(c->device, "auto") != 0;
    return asked ? c->device : kg_file_exists("/dev/nvidiactl") ? "cuda:0" : "cpu";
}

bool kg_torch_on_cpu(const struct kg_worker *w)
{
    return strcmp(kg_torch_of(w)->device, "cpu") == 0;
}

enum kg_code kg_torch_take_device(struct kg_worker *w, bool exclusive, struct kg_lease *out,
                                  struct kg_err *err)
{
    kg_tspare_settle(w);
    bool apart = w->config.torch_contexts_apart || kg_torch_of(w)->contexts_apart;
    enum kg_code code =
        exclusive ? kg_lease_alone(kg_torch_of(w)->device, apart, out, w->cancelled, err) : KG_OK;
    kg_torch_of(w)->judge.held = exclusive && code == KG_OK;
    return code;
}

void kg_torch_give_device(struct kg_worker *w, struct kg_lease *l)
{
    kg_torch_of(w)->judge.held = false;
    kg_lease_release(l);
}

enum kg_code kg_torch_device_acquire(struct kg_worker *w, struct kg_lease *l, struct kg_err *err)
{
    struct kg_dj *j = &kg_torch_of(w)->judge;
    *l = KG_LEASE_NONE;
    if (!j->facts.clock || j->held) {
        return KG_OK;
    }
    enum kg_code code = kg_lease_share_long(kg_torch_of(w)->device, l, w->cancelled, err);
    j->held = code == KG_OK;
    return code;
}

enum kg_code kg_torch_device_last(struct kg_worker *w, struct kg_lease *l, struct kg_err *err)
{
    enum kg_code code = kg_lease_share_last(kg_torch_of(w)->device, l, w->cancelled, err);
    kg_torch_of(w)->judge.held = code == KG_OK;
    return code;
}

void kg_torch_device_release(struct kg_worker *w, struct kg_lease *l)
{
    if (l->fd_long >= 0 || l->fd >= 0) {
        kg_torch_give_device(w, l);
    }
}

bool kg_tdevice_is_shared(const struct kg_worker *w)
{
    return !kg_torch_on_cpu(w) || kg_torch_of(w)->test.shared;
}

/* Jobs of this host that judge on one GPU are there together, unless one of them has to be alone.
 * False: this device is never shared. name: of the lease for places on it. */
static bool needs_place(struct kg_evaluation *e, char name[48])
{
    struct kg_torch *t = kg_torch_of(e->w);
    t->beside = t->shared = false;
    if (!kg_tdevice_is_shared(e->w)) {
        return false;
    }
    e->on_device = true;
    snprintf(name, 48, "%s.jobs", t->device);
    t->shared = e->shared = !e->alone;
    return true;
}

bool kg_tdevice_place_now(struct kg_evaluation *e)
{
    char name[48];
    return !needs_place(e, name) ||
           (!e->alone && kg_lease_share_now(name, &kg_torch_run_of(e)->device));
}

enum kg_code kg_tdevice_place(struct kg_evaluation *e, struct kg_err *err)
{
    struct kg_lease *place = &kg_torch_run_of(e)->device;
    char name[48];
    if (!needs_place(e, name)) {
        return KG_OK;
    }
    return e->alone ? kg_lease_alone(name, false, place, e->w->cancelled, err)
                    : kg_lease_share(name, place, e->w->cancelled, err);
}

enum kg_code kg_tdevice_alone(struct kg_evaluation *e, struct kg_err *err)
{
    int64_t since = kg_clock_ns();
    /* or two that want it alone would wait for each other */
    kg_lease_release(&kg_torch_run_of(e)->device);
    e->alone = true;
    enum kg_code code = kg_tdevice_place(e, err);
    kg_evaluation_excuse(e, since);
    return code;
}

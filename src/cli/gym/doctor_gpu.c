/* kgym doctor, of a GPU: can it be measured, and is it the caller's alone? */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/term.h"
#include "cli/gym/doctor.h"
#include "gym/device/gpu_facts.h"
#include "gym/torch/timing/torch_noise.h"
#include "gym/torch/timing/torch_pairs.h"

#define PROBLEM "08_matmul.py" /* one kernel of some 0.4 ms */
#define NEAR    0.02           /* a quiet device's null ratio; processes differ by 1 % */

static long long whole(const json_t *facts, const char *key)
{
    return (long long)json_integer_value(json_object_get(facts, key));
}

/* What is not as it should be makes the whole bad: each costs trust in times. */
static void must(struct kg_doctor *d, bool good, const char *what, const char *detail)
{
    d->bad = d->bad || !good;
    kg_doctor_line(d, good, what, detail);
}

static void tell_clocks(struct kg_doctor *d, const json_t *gpu)
{
    static const struct {
        long long bit;
        const char *by;
    } reasons[] = {{KG_GPU_SLOWED_CAP, "the power limit"},
                   {KG_GPU_SLOWED_HW, "the hardware"},
                   {KG_GPU_SLOWED_SW_HEAT, "heat"},
                   {KG_GPU_SLOWED_HW_HEAT, "heat (hardware)"},
                   {KG_GPU_SLOWED_BRAKE, "the power brake"}};
    long long slowed = whole(gpu, "slowed");
    char detail[400];
    if (!json_is_integer(json_object_get(gpu, "sm_mhz"))) {
        kg_doctor_line(d, false, "clocks", "the driver does not tell them");
        return;
    }
    int n = snprintf(detail, sizeof detail, "SM %lld of %lld MHz, memory %lld of %lld, %lld C now",
                     whole(gpu, "sm_mhz"), whole(gpu, "sm_max_mhz"), whole(gpu, "memory_mhz"),
                     whole(gpu, "memory_max_mhz"), whole(gpu, "temperature_c"));
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        if (slowed & reasons[i].bit) {
            n += snprintf(detail + n, sizeof detail - (size_t)n, "; slowed by %s", reasons[i].by);
        }
    }
    must(d, (slowed & KG_GPU_SLOWED) == 0, "clocks", detail);
}

static void tell_sharing(struct kg_doctor *d, json_t *gpu)
{
    char folder[400], detail[600];
    bool mps = kg_gpu_mps(folder, sizeof folder);
    json_object_set_new(gpu, "mps", mps ? json_string(folder) : json_null());
    snprintf(detail, sizeof detail,
             mps ? "a daemon's pipes are in %s: the judge's context would be its; end it with "
                   "`echo quit | nvidia-cuda-mps-control`"
                 : "no daemon: every context is its process's own%s",
             folder);
    must(d, !mps, "mps", detail);
    const json_t *mig = json_object_get(gpu, "mig");
    must(d, !json_is_true(mig), "mig",
         json_is_true(mig)    ? "on: this is a slice, and what its neighbours do is in its times"
         : json_is_false(mig) ? "off"
                              : "not a part of this board");
    const char *mode = json_string_value(json_object_get(gpu, "compute_mode"));
    bool several = mode == NULL || strcmp(mode, "default") == 0;
    snprintf(detail, sizeof detail,
             several
                 ? "%s: several processes may have contexts"
                 : "%s: judge and runners cannot have contexts at once; `nvidia-smi -c DEFAULT`",
             mode ? mode : "unknown");
    must(d, several, "mode", detail);
}

void kg_doctor_driver(struct kg_doctor *d, json_t *facts)
{
    struct kg_err err = KG_ERR_INIT;
    const char *bus = json_string_value(json_object_get(facts, "bus"));
    const char *cuda = json_string_value(json_object_get(facts, "driver"));
    const char *cupti = json_string_value(json_object_get(facts, "cupti"));
    json_t *gpu = NULL;
    char detail[400];
    if (kg_gpu_facts(bus ? bus : "", &gpu, &err) != KG_OK) {
        kg_doctor_line(d, false, "driver", err.message);
        json_object_set_new(facts, "gpu", json_pack("{s:s}", "error", err.message));
    } else {
        const char *driver = json_string_value(json_object_get(gpu, "driver"));
        snprintf(detail, sizeof detail, "%s, %s, bus %s", driver ? driver : "unknown",
                 cuda ? cuda : "unknown", bus);
        kg_doctor_line(d, true, "driver", detail);
        tell_sharing(d, gpu);
        tell_clocks(d, gpu);
        json_object_set_new(facts, "gpu", gpu);
    }
    kg_doctor_line(d, cupti != NULL, "cupti",
                   cupti ? cupti
                         : "this torch has none mapped: no coverage (stage.profile), no device "
                           "times beside the judge's");
}

void kg_doctor_gpu(struct kg_doctor *d, struct kg_worker *w, json_t *facts)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_noise n;
    if (kg_torch_noise(w, PROBLEM, &n, &err) != KG_OK) {
        must(d, false, "timing", err.message);
    } else {
        kg_doctor_noise(d, "gpu_timing", &n, fabs(n.ratio.ratio - 1) <= NEAR, "",
                        KG_TPAIRS_SHORT_NS, "");
    }
    kg_doctor_driver(d, facts);
}

#include "gym/device/gpu_facts.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

struct nvml_device;

enum { CLOCK_SM = 1, CLOCK_MEMORY = 2, SENSOR_GPU = 0 };

/* clang-format off */
/* X(field, symbol, parameters): of nvml.h; each returns an nvmlReturn_t. */
#define NVML_FUNCTIONS(X)                                                                          \
    X(init, nvmlInit_v2, (void))                                                                   \
    X(shutdown, nvmlShutdown, (void))                                                              \
    X(driver, nvmlSystemGetDriverVersion, (char *text, unsigned bytes))                            \
    X(by_bus, nvmlDeviceGetHandleByPciBusId_v2, (const char *bus, struct nvml_device **device))
/* Those that some driver or board may lack. */
#define NVML_CHOICES(X)                                                                            \
    X(mig, nvmlDeviceGetMigMode,                                                                   \
      (struct nvml_device *device, unsigned *now, unsigned *pending))                              \
    X(compute_mode, nvmlDeviceGetComputeMode, (struct nvml_device *device, unsigned *mode))        \
    X(persistence, nvmlDeviceGetPersistenceMode, (struct nvml_device *device, unsigned *on))       \
    X(clock, nvmlDeviceGetClockInfo,                                                               \
      (struct nvml_device *device, unsigned which, unsigned *mhz))                                 \
    X(clock_max, nvmlDeviceGetMaxClockInfo,                                                        \
      (struct nvml_device *device, unsigned which, unsigned *mhz))                                 \
    X(slowed, nvmlDeviceGetCurrentClocksThrottleReasons,                                           \
      (struct nvml_device *device, unsigned long long *bits))                                      \
    X(temperature, nvmlDeviceGetTemperature,                                                       \
      (struct nvml_device *device, unsigned sensor, unsigned *celsius))                            \
    X(power, nvmlDeviceGetPowerUsage, (struct nvml_device *device, unsigned *milliwatts))
/* clang-format on */

struct nvml {
    void *library;
#define FIELD(field, symbol, params) int(*field) params; /* NOLINT: no expressions */
    NVML_FUNCTIONS(FIELD)
    NVML_CHOICES(FIELD)
#undef FIELD
};

/* False: *err. */
static bool load(struct nvml *n, struct kg_err *err)
{
    const char *named = getenv("KGYM_LIBNVML"), *missing = NULL;
    const char *name = named ? named : "libnvidia-ml.so.1";
    n->library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (n->library == NULL) {
        kg_fail(err, KG_E_HOST, "the driver's management library cannot be loaded (%s)", dlerror());
        return false;
    }
#define NEEDED(field, symbol, params)                                                              \
    *(void **)&n->field = dlsym(n->library, #symbol);                                              \
    missing = missing == NULL && n->field == NULL ? #symbol : missing;
#define WANTED(field, symbol, params) *(void **)&n->field = dlsym(n->library, #symbol);
    NVML_FUNCTIONS(NEEDED)
    NVML_CHOICES(WANTED)
#undef NEEDED
#undef WANTED
    bool all = n->init && n->shutdown && n->driver && n->by_bus;
    if (!all) {
        kg_fail(err, KG_E_HOST, "%s has no %s", name, missing);
    }
    return all;
}

static void put(json_t *facts, const char *key, bool known, json_t *value)
{
    json_object_set_new(facts, key, known ? json_incref(value) : json_null());
    json_decref(value);
}

static void put_clocks(const struct nvml *n, struct nvml_device *device, json_t *facts)
{
    static const struct {
        const char *now, *most;
        unsigned which;
    } clocks[] = {{"sm_mhz", "sm_max_mhz", CLOCK_SM},
                  {"memory_mhz", "memory_max_mhz", CLOCK_MEMORY}};
    for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++) {
        unsigned mhz = 0;
        bool known = n->clock && n->clock(device, clocks[i].which, &mhz) == 0;
        put(facts, clocks[i].now, known, json_integer(mhz));
        known = n->clock_max && n->clock_max(device, clocks[i].which, &mhz) == 0;
        put(facts, clocks[i].most, known, json_integer(mhz));
    }
}

static json_t *facts_of(const struct nvml *n, struct nvml_device *device)
{
    static const char *const modes[] = {"default", "exclusive-thread", "prohibited",
                                        "exclusive-process"};
    json_t *facts = json_object();
    char driver[96] = "";
    unsigned a = 0, b = 0;
    unsigned long long bits = 0;
    bool known = n->driver(driver, sizeof driver) == 0;
    put(facts, "driver", known, json_string(driver));
    known = n->mig && n->mig(device, &a, &b) == 0;
    put(facts, "mig", known, json_boolean(a == 1));
    known = n->persistence && n->persistence(device, &a) == 0;
    put(facts, "persistence", known, json_boolean(a == 1));
    known = n->compute_mode && n->compute_mode(device, &a) == 0 && a < 4;
    put(facts, "compute_mode", known, json_string(known ? modes[a] : ""));
    put_clocks(n, device, facts);
    known = n->temperature && n->temperature(device, SENSOR_GPU, &a) == 0;
    put(facts, "temperature_c", known, json_integer(a));
    known = n->power && n->power(device, &a) == 0;
    put(facts, "power_mw", known, json_integer(a));
    known = n->slowed && n->slowed(device, &bits) == 0;
    put(facts, "slowed", known, json_integer((json_int_t)bits));
    return facts;
}

enum kg_code kg_gpu_facts(const char *bus, json_t **out, struct kg_err *err)
{
    struct nvml n = {NULL};
    struct nvml_device *device = NULL;
    *out = NULL;
    if (!load(&n, err)) {
        if (n.library) {
            dlclose(n.library);
        }
        return err->code;
    }
    int code = n.init();
    if (code == 0) {
        code = n.by_bus(bus, &device);
        if (code == 0) {
            *out = facts_of(&n, device);
        }
        n.shutdown();
    }
    dlclose(n.library);
    return code == 0 ? KG_OK
                     : kg_fail(err, KG_E_HOST,
                               "the driver's management library knows no GPU %s "
                               "(NVML error %d)",
                               bus, code);
}

bool kg_gpu_mps(char *out, size_t cap)
{
    const char *named = getenv("CUDA_MPS_PIPE_DIRECTORY");
    char control[512];
    struct stat st;
    snprintf(out, cap, "%s", named && *named ? named : "/tmp/nvidia-mps");
    snprintf(control, sizeof control, "%s/control", out);
    if (stat(control, &st) == 0) {
        return true;
    }
    out[0] = '\0';
    return false;
}

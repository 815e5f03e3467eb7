/* Asks the driver's management library (NVML) about one GPU. The library is loaded by dlopen, so
 * nothing of it is needed to build. */
#include "gym/device/gpu_facts.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct nvml_device;

enum { CLOCK_SM = 1, CLOCK_MEMORY = 2, SENSOR_GPU = 0 };

/* clang-format off */
/* X(field, symbol, parameters): functions of nvml.h; each returns an nvmlReturn_t. */
#define NVML_FUNCTIONS(X)                                                                          \
    X(init, nvmlInit_v2, (void))                                                                   \
    X(shutdown, nvmlShutdown, (void))                                                              \
    X(driver, nvmlSystemGetDriverVersion, (char *text, unsigned bytes))                            \
    X(by_bus, nvmlDeviceGetHandleByPciBusId_v2, (const char *bus, struct nvml_device **device))
/* Functions that some driver or board may lack; the fact is then null. */
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
    X(power, nvmlDeviceGetPowerUsage, (struct nvml_device *device, unsigned *milliwatts))          \
    X(by_index, nvmlDeviceGetHandleByIndex_v2, (unsigned index, struct nvml_device **device))      \
    X(name, nvmlDeviceGetName, (struct nvml_device *device, char *text, unsigned bytes))           \
    X(capability, nvmlDeviceGetCudaComputeCapability,                                              \
      (struct nvml_device *device, int *major, int *minor))                                        \
    X(bus_bits, nvmlDeviceGetMemoryBusWidth, (struct nvml_device *device, unsigned *bits))
/* clang-format on */

struct nvml {
    void *library;
#define FIELD(field, symbol, params) int(*field) params; /* NOLINT: no expressions */
    NVML_FUNCTIONS(FIELD)
    NVML_CHOICES(FIELD)
#undef FIELD
};

/* Loads the functions. False: *err. */
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

struct kg_gpu {
    struct nvml nvml;
    struct nvml_device *device;
};

void kg_gpu_close(struct kg_gpu *g)
{
    if (g) {
        g->nvml.shutdown();
        dlclose(g->nvml.library);
        free(g);
    }
}

static enum kg_code open_library(struct kg_gpu **out, struct kg_err *err)
{
    struct kg_gpu *g = calloc(1, sizeof *g);
    *out = NULL;
    if (g == NULL) {
        return kg_fail(err, KG_E_LIMIT, "no memory for a GPU's facts");
    }
    if (!load(&g->nvml, err)) {
        if (g->nvml.library) {
            dlclose(g->nvml.library);
        }
        free(g);
        return err->code;
    }
    *out = g;
    return KG_OK;
}

enum kg_code kg_gpu_open(const char *bus, struct kg_gpu **out, struct kg_err *err)
{
    struct kg_gpu *g;
    *out = NULL;
    if (open_library(&g, err) != KG_OK) {
        return err->code;
    }
    KG_ASSERT(g != NULL);
    int code = g->nvml.init();
    if (code == 0 && (code = g->nvml.by_bus(bus, &g->device)) == 0) {
        *out = g;
        return KG_OK;
    }
    kg_gpu_close(g);
    return kg_fail(err, KG_E_HOST,
                   "the driver's management library knows no GPU %s (NVML error %d)", bus, code);
}

static void put_clock(const struct kg_gpu *g, bool most, unsigned which, const char *key,
                      json_t *facts)
{
    unsigned mhz = 0;
    int (*ask)(struct nvml_device *, unsigned, unsigned *) =
        most ? g->nvml.clock_max : g->nvml.clock;
    bool known = ask && ask(g->device, which, &mhz) == 0;
    put(facts, key, known, json_integer(mhz));
}

json_t *kg_gpu_steady(const struct kg_gpu *g)
{
    static const char *const modes[] = {"default", "exclusive-thread", "prohibited",
                                        "exclusive-process"};
    const struct nvml *n = &g->nvml;
    json_t *facts = json_object();
    char driver[96] = "";
    unsigned a = 0, b = 0;
    bool known = n->driver(driver, sizeof driver) == 0;
    put(facts, "driver", known, json_string(driver));
    known = n->mig && n->mig(g->device, &a, &b) == 0;
    put(facts, "mig", known, json_boolean(a == 1));
    known = n->persistence && n->persistence(g->device, &a) == 0;
    put(facts, "persistence", known, json_boolean(a == 1));
    known = n->compute_mode && n->compute_mode(g->device, &a) == 0 && a < 4;
    put(facts, "compute_mode", known, json_string(known ? modes[a] : ""));
    put_clock(g, true, CLOCK_SM, "sm_max_mhz", facts);
    put_clock(g, true, CLOCK_MEMORY, "memory_max_mhz", facts);
    return facts;
}

/* The throttle reasons. False: this driver does not tell them. */
static bool slowed(const struct kg_gpu *g, unsigned long long *bits)
{
    *bits = 0;
    return g->nvml.slowed && g->nvml.slowed(g->device, bits) == 0;
}

static json_t *names_of(unsigned long long bits)
{
    static const struct {
        unsigned bit;
        const char *name;
    } reasons[] = {{KG_GPU_SLOWED_CAP, "power-cap"},
                   {KG_GPU_SLOWED_HW, "hardware"},
                   {KG_GPU_SLOWED_SW_HEAT, "heat"},
                   {KG_GPU_SLOWED_HW_HEAT, "heat-hardware"},
                   {KG_GPU_SLOWED_BRAKE, "power-brake"}};
    json_t *names = json_array();
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        if (bits & reasons[i].bit) {
            json_array_append_new(names, json_string(reasons[i].name));
        }
    }
    return names;
}

json_t *kg_gpu_now(const struct kg_gpu *g)
{
    const struct nvml *n = &g->nvml;
    json_t *facts = json_object();
    unsigned a = 0;
    unsigned long long bits;
    put_clock(g, false, CLOCK_SM, "sm_mhz", facts);
    put_clock(g, false, CLOCK_MEMORY, "memory_mhz", facts);
    bool known = n->temperature && n->temperature(g->device, SENSOR_GPU, &a) == 0;
    put(facts, "temperature_c", known, json_integer(a));
    known = n->power && n->power(g->device, &a) == 0;
    put(facts, "power_mw", known, json_integer(a));
    known = slowed(g, &bits);
    put(facts, "slowed", known, names_of(bits));
    return facts;
}

enum kg_code kg_gpu_facts(const char *bus, json_t **out, struct kg_err *err)
{
    struct kg_gpu *g;
    unsigned long long bits;
    *out = NULL;
    if (kg_gpu_open(bus, &g, err) != KG_OK) {
        return err->code;
    }
    KG_ASSERT(g != NULL);
    json_t *now = kg_gpu_now(g);
    *out = kg_gpu_steady(g);
    json_object_update(*out, now);
    bool known = slowed(g, &bits);
    put(*out, "slowed", known, json_integer((json_int_t)bits));
    json_decref(now);
    kg_gpu_close(g);
    return KG_OK;
}

/* Number of the device for NVML, which sees all, behind what CUDA_VISIBLE_DEVICES lets be seen; -1:
 * the list does not say it by numbers. */
static long physical(unsigned index)
{
    const char *list = getenv("CUDA_VISIBLE_DEVICES");
    char *end;
    if (!list || !*list) {
        return (long)index;
    }
    for (unsigned i = 0; i < index && list; i++) {
        list = strchr(list, ',');
        list = list ? list + 1 : NULL;
    }
    long number = list ? strtol(list, &end, 10) : -1;
    return list && end != list && (*end == ',' || *end == 0) ? number : -1;
}

/* Double data rate: two transfers of the bus's width in a clock. */
static void add_bandwidth(const struct nvml *n, struct nvml_device *device, struct kg_buf *out)
{
    unsigned mhz = 0, bits = 0;
    if (n->clock_max && n->bus_bits && n->clock_max(device, CLOCK_MEMORY, &mhz) == 0 &&
        n->bus_bits(device, &bits) == 0 && mhz > 0 && bits > 0) {
        kg_buf_addf(out, ", %.0f GB/s of memory bandwidth", 2e-3 * mhz * bits / 8);
    }
}

bool kg_gpu_describe(unsigned index, struct kg_buf *out)
{
    struct kg_err ignored = KG_ERR_INIT;
    struct kg_gpu *g;
    struct nvml_device *device;
    char name[96] = "";
    int major, minor;
    long number = physical(index);
    if (number < 0 || open_library(&g, &ignored) != KG_OK) {
        return false;
    }
    KG_ASSERT(g != NULL);
    const struct nvml *n = &g->nvml;
    bool known = n->init() == 0 && n->by_index && n->name &&
                 n->by_index((unsigned)number, &device) == 0 &&
                 n->name(device, name, sizeof name) == 0;
    if (known) {
        kg_buf_adds(out, name);
        if (n->capability && n->capability(device, &major, &minor) == 0) {
            kg_buf_addf(out, ", compute capability %d.%d", major, minor);
        }
        add_bandwidth(n, device, out);
    }
    kg_gpu_close(g);
    return known;
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

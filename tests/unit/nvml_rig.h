/* How much of a GPU's memory is in use, and by how many processes, as NVML says it: for tests that
 * compare the device before and after. $KGYM_LIBNVML names another library (tests/fake_cuda). */
#ifndef KG_TESTS_UNIT_NVML_RIG_H
#define KG_TESTS_UNIT_NVML_RIG_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NVML_SLACK   ((uint64_t)64 << 20) /* of what the driver itself keeps */
#define NVML_FEW     64
#define NVML_TOO_FEW 7 /* NVML_ERROR_INSUFFICIENT_SIZE: there are more, and it says how many */

struct nvml_now {
    uint64_t used;
    unsigned processes;
};

/* False: no NVML, no such device, or it does not say. bus: "0000:19:00.0". */
static inline bool nvml_look(const char *bus, struct nvml_now *out)
{
    struct {
        unsigned long long total, free, used;
    } memory = {0};
    struct {
        unsigned pid, pad;
        unsigned long long used;
        unsigned gi, ci;
    } process[NVML_FEW];
    int (*init)(void), (*by_bus)(const char *, void **), (*memory_of)(void *, void *);
    int (*processes_of)(void *, unsigned *, void *), (*shutdown)(void);
    const char *named = getenv("KGYM_LIBNVML");
    void *library = dlopen(named ? named : "libnvidia-ml.so.1", RTLD_NOW), *device = NULL;
    *out = (struct nvml_now){.processes = NVML_FEW};
    if (!library) {
        return false;
    }
    *(void **)&init = dlsym(library, "nvmlInit_v2");
    *(void **)&by_bus = dlsym(library, "nvmlDeviceGetHandleByPciBusId_v2");
    *(void **)&memory_of = dlsym(library, "nvmlDeviceGetMemoryInfo");
    *(void **)&processes_of = dlsym(library, "nvmlDeviceGetComputeRunningProcesses_v3");
    *(void **)&shutdown = dlsym(library, "nvmlShutdown");
    if (!init || !by_bus || !memory_of || !processes_of || !shutdown || init() != 0) {
        dlclose(library);
        return false;
    }
    bool found = by_bus(bus, &device) == 0 && memory_of(device, &memory) == 0;
    int listed = found ? processes_of(device, &out->processes, process) : 1;
    out->used = memory.used;
    shutdown();
    dlclose(library);
    return listed == 0 || listed == NVML_TOO_FEW;
}

static inline bool nvml_as_before(const struct nvml_now *was, const struct nvml_now *is)
{
    return is->used <= was->used + NVML_SLACK && is->processes <= was->processes;
}

/* Is it so again? What a driver takes apart gets ten seconds. */
static inline bool nvml_settles(const char *bus, const struct nvml_now *was, struct nvml_now *is)
{
    struct timespec pause = {.tv_nsec = 100000000};
    for (int i = 0; i < 100; i++) {
        if (nvml_look(bus, is) && nvml_as_before(was, is)) {
            return true;
        }
        nanosleep(&pause, NULL);
    }
    return false;
}

#endif

/* A stand-in for libnvidia-ml: one GPU, 0000:19:00.0. $FAKE_NVML is what its start returns, MIG
 * (-1: not supported), compute mode and throttle reasons: "0 0 0 0x4". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_nvml.h"

static struct {
    int fails, mig;
    unsigned compute_mode;
    unsigned long long slowed;
} now;
static int ready;

int nvmlInit_v2(void)
{
    const char *text = getenv("FAKE_NVML");
    ready++;
    if (text &&
        sscanf(text, "%d %d %u %llx", &now.fails, &now.mig, &now.compute_mode, &now.slowed) != 4) {
        return 999; /* NVML_ERROR_UNKNOWN */
    }
    return now.fails;
}
int nvmlShutdown(void)
{
    ready--;
    return 0;
}
int nvmlSystemGetDriverVersion(char *text, unsigned bytes)
{
    snprintf(text, bytes, "580.1");
    return ready == 1 ? 0 : 1;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device)
{
    *device = &now;
    return strcmp(bus, "0000:19:00.0") == 0 ? 0 : 6; /* NVML_ERROR_NOT_FOUND */
}
int nvmlDeviceGetMigMode(void *device, unsigned *current, unsigned *pending)
{
    (void)device;
    *current = *pending = now.mig == 1;
    return now.mig < 0 ? 3 : 0; /* NVML_ERROR_NOT_SUPPORTED */
}
int nvmlDeviceGetComputeMode(void *device, unsigned *mode)
{
    (void)device;
    *mode = now.compute_mode;
    return 0;
}
int nvmlDeviceGetPersistenceMode(void *device, unsigned *on)
{
    (void)device;
    *on = 1;
    return 0;
}
int nvmlDeviceGetClockInfo(void *device, unsigned which, unsigned *mhz)
{
    (void)device;
    *mhz = which == 1 ? 1980 : 3201;
    return 0;
}
int nvmlDeviceGetMaxClockInfo(void *device, unsigned which, unsigned *mhz)
{
    (void)device;
    *mhz = which == 1 ? 1995 : 3202;
    return 0;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *bits)
{
    (void)device;
    *bits = now.slowed;
    return 0;
}
int nvmlDeviceGetTemperature(void *device, unsigned sensor, unsigned *celsius)
{
    (void)device;
    *celsius = 41 + sensor;
    return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    *device = &now;
    return index == 0 ? 0 : 6;
}
int nvmlDeviceGetName(void *device, char *text, unsigned bytes)
{
    (void)device;
    snprintf(text, bytes, "Fake GPU");
    return 0;
}
int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor)
{
    (void)device;
    *major = 9;
    *minor = 0;
    return 0;
}
int nvmlDeviceGetMemoryBusWidth(void *device, unsigned *bits)
{
    (void)device;
    *bits = 5120;
    return 0;
}
/* $FAKE_NVML_USE: bytes in use, and how many processes: "1000 2". */
static void use(unsigned long long *bytes, unsigned *processes)
{
    const char *text = getenv("FAKE_NVML_USE");
    if (!text || sscanf(text, "%llu %u", bytes, processes) != 2) {
        *bytes = *processes = 0;
    }
}
int nvmlDeviceGetMemoryInfo(void *device, struct fake_nvml_memory *out)
{
    unsigned processes;
    (void)device;
    use(&out->used, &processes);
    out->total = 80ull << 30;
    out->free = out->total - out->used;
    return 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *n, void *out)
{
    unsigned long long bytes;
    unsigned room = *n;
    (void)device;
    (void)out;
    use(&bytes, n);
    return *n > room ? 7 : 0; /* NVML_ERROR_INSUFFICIENT_SIZE */
}
/* and no nvmlDeviceGetPowerUsage */

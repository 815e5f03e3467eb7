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
/* and no nvmlDeviceGetPowerUsage */

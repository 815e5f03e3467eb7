/* The functions of libnvidia-ml that the fake one has; see fake_nvml.c. */
#ifndef KG_TESTS_FAKE_NVML_H
#define KG_TESTS_FAKE_NVML_H

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlSystemGetDriverVersion(char *text, unsigned bytes);
int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device);
int nvmlDeviceGetMigMode(void *device, unsigned *current, unsigned *pending);
int nvmlDeviceGetComputeMode(void *device, unsigned *mode);
int nvmlDeviceGetPersistenceMode(void *device, unsigned *on);
int nvmlDeviceGetClockInfo(void *device, unsigned which, unsigned *mhz);
int nvmlDeviceGetMaxClockInfo(void *device, unsigned which, unsigned *mhz);
int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *bits);
int nvmlDeviceGetTemperature(void *device, unsigned sensor, unsigned *celsius);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
int nvmlDeviceGetName(void *device, char *text, unsigned bytes);
int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor);
int nvmlDeviceGetMemoryBusWidth(void *device, unsigned *bits);
struct fake_nvml_memory {
    unsigned long long total, free, used;
};
int nvmlDeviceGetMemoryInfo(void *device, struct fake_nvml_memory *out);
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *n, void *out);

#endif

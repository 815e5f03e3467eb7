/* What the driver's management library (NVML) says about one GPU, and whether MPS would share
 * contexts: the broker's own knowledge, nothing that a runner says. NVML's start takes tens of
 * milliseconds, a question less than one. One thread. */
#ifndef KG_GYM_DEVICE_GPU_FACTS_H
#define KG_GYM_DEVICE_GPU_FACTS_H

#include "base/err.h"
#include "base/json.h"

/* Throttle reasons, as NVML's bits: those that lower clocks under load. */
#define KG_GPU_SLOWED                                                                              \
    (KG_GPU_SLOWED_HW | KG_GPU_SLOWED_SW_HEAT | KG_GPU_SLOWED_HW_HEAT | KG_GPU_SLOWED_BRAKE)
enum {
    KG_GPU_SLOWED_CAP = 0x4, /* by the power limit: usual under heavy kernels */
    KG_GPU_SLOWED_HW = 0x8,
    KG_GPU_SLOWED_SW_HEAT = 0x20,
    KG_GPU_SLOWED_HW_HEAT = 0x40,
    KG_GPU_SLOWED_BRAKE = 0x80,
};

/* One GPU, with the library open. bus: "0000:19:00.0". $KGYM_LIBNVML names another library (tests).
 * KG_E_HOST: no NVML, or no such device; *out is NULL then. */
struct kg_gpu;
enum kg_code kg_gpu_open(const char *bus, struct kg_gpu **out, struct kg_err *err) KG_MUST_USE;
void kg_gpu_close(struct kg_gpu *g); /* NULL is fine */
/* {driver: "580.1", mig, persistence: bool, compute_mode: "default" | "prohibited" |
 * "exclusive-process", sm_max_mhz, memory_max_mhz}; null what this driver or this board does not
 * say. The caller's. */
json_t *kg_gpu_steady(const struct kg_gpu *g);
/* {sm_mhz, memory_mhz, temperature_c, power_mw, slowed: ["power-cap", ...]} now. */
json_t *kg_gpu_now(const struct kg_gpu *g);
/* All of these at once, with `slowed` as bits. */
enum kg_code kg_gpu_facts(const char *bus, json_t **out, struct kg_err *err) KG_MUST_USE;

/* The folder of the pipes of an MPS daemon that new contexts of this process would join ("" and
 * false: none): $CUDA_MPS_PIPE_DIRECTORY or /tmp/nvidia-mps. */
bool kg_gpu_mps(char *out, size_t cap);

#endif

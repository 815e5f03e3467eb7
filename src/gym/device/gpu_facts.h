/* Facts about one GPU from the driver's management library (NVML), and whether MPS would share
 * contexts. The broker asks itself; nothing comes from a runner. NVML's start takes tens of
 * milliseconds, a question less than one. One thread. */
#ifndef KG_GYM_DEVICE_GPU_FACTS_H
#define KG_GYM_DEVICE_GPU_FACTS_H

#include "base/err.h"
#include "base/json.h"

/* Throttle reasons, with NVML's bits. KG_GPU_SLOWED are those that lower clocks under load. */
#define KG_GPU_SLOWED                                                                              \
    (KG_GPU_SLOWED_HW | KG_GPU_SLOWED_SW_HEAT | KG_GPU_SLOWED_HW_HEAT | KG_GPU_SLOWED_BRAKE)
enum {
    KG_GPU_SLOWED_CAP = 0x4, /* by the power limit; usual under heavy kernels */
    KG_GPU_SLOWED_HW = 0x8,
    KG_GPU_SLOWED_SW_HEAT = 0x20,
    KG_GPU_SLOWED_HW_HEAT = 0x40,
    KG_GPU_SLOWED_BRAKE = 0x80,
};

/* Opens the library for one GPU. bus: "0000:19:00.0". $KGYM_LIBNVML names another library (tests).
 * KG_E_HOST: no NVML, or no such device; *out is NULL then. */
struct kg_gpu;
enum kg_code kg_gpu_open(const char *bus, struct kg_gpu **out, struct kg_err *err) KG_MUST_USE;
void kg_gpu_close(struct kg_gpu *g); /* g may be NULL */
/* {driver: "580.1", mig, persistence: bool, compute_mode: "default" | "prohibited" |
 * "exclusive-process", sm_max_mhz, memory_max_mhz}. A value is null where the driver or board does
 * not tell it. The caller owns the result. */
json_t *kg_gpu_steady(const struct kg_gpu *g);
/* {sm_mhz, memory_mhz, temperature_c, power_mw, slowed: ["power-cap", ...]} now. The caller owns
 * it. */
json_t *kg_gpu_now(const struct kg_gpu *g);
/* Opens, asks for all of the above and closes; `slowed` is bits. The caller owns *out. KG_E_HOST:
 * as kg_gpu_open. */
enum kg_code kg_gpu_facts(const char *bus, json_t **out, struct kg_err *err) KG_MUST_USE;

/* Append a GPU in words: "NVIDIA H100 80GB HBM3, compute capability 9.0, 3352 GB/s of memory
 * bandwidth". index: as CUDA counts the devices that this process may see. False, with nothing
 * appended: there is no NVML, or it does not know the device. */
bool kg_gpu_describe(unsigned index, struct kg_buf *out);

/* True if new contexts of this process would join an MPS daemon. out: the folder of its pipes, from
 * $CUDA_MPS_PIPE_DIRECTORY or /tmp/nvidia-mps; "" if there is none. */
bool kg_gpu_mps(char *out, size_t cap);

#endif

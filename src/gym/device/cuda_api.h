/* CUDA found when it is needed: libcuda.so.1 (the driver's) and libnvrtc (the toolkit's or the one
 * that PyTorch's wheels bring), by dlopen. Nothing here opens a device.
 *
 * Where NVRTC is looked for, in this order: the file or folder that `nvrtc` names (option, or
 * KGYM_NVRTC in the environment), the loader's path, /usr/local/cuda/lib64, and site-packages of
 * the Python that `python` names (nvidia/cu13/lib and nvidia/cuda_nvrtc/lib beside torch).
 * Errors are KG_E_HOST and say what is missing, where it was looked for and how to get it. Loaded
 * libraries stay loaded; the tables are read-only once filled. Not thread safe. */
#ifndef KG_GYM_DEVICE_CUDA_API_H
#define KG_GYM_DEVICE_CUDA_API_H

#include "base/err.h"
#include "gym/device/cuda_driver.h"

/* library: name or path; NULL: "libcuda.so.1". Does not call cuInit. */
enum kg_code kg_cu_load(const char *library, struct kg_cu *out, struct kg_err *err) KG_MUST_USE;

struct kg_nvrtc_places {
    const char *nvrtc;  /* file or folder, or NULL */
    const char *python; /* program of a Python with torch's wheels, or NULL */
};
enum kg_code kg_nvrtc_load(const struct kg_nvrtc_places *places, struct kg_nvrtc *out,
                           struct kg_err *err) KG_MUST_USE;

/* "CUDA: WHAT: NAME (text)" as an error: KG_E_LIMIT when the device is out of memory, KG_E_HOST
 * otherwise. */
enum kg_code kg_cu_fail(const struct kg_cu *cu, int result, const char *what, struct kg_err *err);

/* Compile CUDA C++ for compute capability major.minor ("sm_90"): *cubin is malloc'ed, the caller
 * frees. KG_E_HOST with the first line of the compiler's log. */
enum kg_code kg_nvrtc_build(const struct kg_nvrtc *n, const char *source, int major, int minor,
                            void **cubin, size_t *bytes, struct kg_err *err) KG_MUST_USE;

#endif

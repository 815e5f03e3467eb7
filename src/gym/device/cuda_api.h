/* Loads the CUDA libraries when they are needed, by dlopen: libcuda.so.1, which comes with the
 * driver, and libnvrtc, which comes with the toolkit or with PyTorch's wheels. No device is opened.
 *
 * NVRTC is searched in this order: the file or folder of `nvrtc` (or KGYM_NVRTC in the
 * environment), the loader's path, /usr/local/cuda/lib64, and site-packages of the Python of
 * `python` (nvidia/cu13/lib and nvidia/cuda_nvrtc/lib beside torch). Errors are KG_E_HOST. They say
 * what is missing, which places were searched and how to get it. Loaded libraries stay loaded; the
 * tables are read-only once filled. Not thread safe. */
#ifndef KG_GYM_DEVICE_CUDA_API_H
#define KG_GYM_DEVICE_CUDA_API_H

#include "base/err.h"
#include "gym/device/cuda_driver.h"

/* Fills *out with the driver's functions. library: name or path; NULL: "libcuda.so.1". cuInit is
 * not called. */
enum kg_code kg_cu_load(const char *library, struct kg_cu *out, struct kg_err *err) KG_MUST_USE;

/* Places of NVRTC besides the usual ones. */
struct kg_nvrtc_places {
    const char *nvrtc;  /* file or folder, or NULL */
    const char *python; /* program of a Python with torch's wheels, or NULL */
};
/* Fills *out with NVRTC's functions. */
enum kg_code kg_nvrtc_load(const struct kg_nvrtc_places *places, struct kg_nvrtc *out,
                           struct kg_err *err) KG_MUST_USE;

/* Returns the error "CUDA: WHAT: NAME (text)" for a driver's result code: KG_E_LIMIT when the
 * device is out of memory, else KG_E_HOST. */
enum kg_code kg_cu_fail(const struct kg_cu *cu, int result, const char *what, struct kg_err *err);

/* Compiles CUDA C++ for compute capability major.minor ("sm_90"). *cubin [*bytes] is malloc'ed; the
 * caller frees it. KG_E_HOST: the first error line of the compiler's log. */
enum kg_code kg_nvrtc_build(const struct kg_nvrtc *n, const char *source, int major, int minor,
                            void **cubin, size_t *bytes, struct kg_err *err) KG_MUST_USE;

#endif

/* A CUDA device and the host's beside it, for tests. KGYM_TEST_GPU=1: the machine's own driver;
 * else tests/fake_cuda, built as libfakecuda.so. */
#ifndef KG_TESTS_CUDA_RIG_H
#define KG_TESTS_CUDA_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gym/device/cuda_driver.h"
#include "gym/device/device.h"

struct rig {
    struct kg_device d, host;
    struct kg_err err;
    struct kg_key key;
};

static inline bool rig_is_real(void)
{
    const char *gpu = getenv("KGYM_TEST_GPU");
    return gpu != NULL && strcmp(gpu, "1") == 0;
}

static inline const char *rig_fake_library(void)
{
    static char path[512];
    const char *build = getenv("KGYM_BUILD");
    snprintf(path, sizeof path, "%s/libfakecuda.so", build ? build : "build/release");
    return path;
}

static inline void rig_choose_fake(void)
{
    setenv("KGYM_LIBCUDA", rig_fake_library(), 1);
    setenv("KGYM_NVRTC", rig_fake_library(), 1);
    setenv("KGYM_CUDA_CACHE", "none", 1);
}

static inline void rig_choose_driver(void)
{
    if (!rig_is_real()) {
        rig_choose_fake();
    }
}

static inline int rig_open(void **state)
{
    struct rig *r = calloc(1, sizeof *r);
    rig_choose_driver();
    r->key = (struct kg_key){{0x1234, 0x5678}};
    if (kg_device_open("cuda:0", &r->d, &r->err) != KG_OK ||
        kg_device_open("cpu", &r->host, &r->err) != KG_OK) {
        printf("%s\n", r->err.message);
        return -1;
    }
    printf("device: %s\n", r->d.facts.name);
    *state = r;
    return 0;
}

static inline int rig_close(void **state)
{
    struct rig *r = *state;
    kg_device_close(&r->d);
    kg_device_close(&r->host);
    free(r);
    return 0;
}

static inline uint64_t rig_alloc(struct rig *r, uint64_t bytes)
{
    uint64_t at = 0;
    assert_int_equal(r->d.ops->alloc(&r->d, bytes, &at, &r->err), KG_OK);
    return at;
}

static inline uint64_t rig_host_alloc(struct rig *r, uint64_t bytes)
{
    uint64_t at = 0;
    assert_int_equal(r->host.ops->alloc(&r->host, bytes, &at, &r->err), KG_OK);
    return at;
}

/* n random bytes of a seed; the caller frees. */
static inline unsigned char *rig_bytes(uint64_t n, uint64_t seed)
{
    struct kg_rng rng;
    unsigned char *v = malloc(n + 1);
    kg_rng_init(&rng, (struct kg_key){{seed, 99}}, 0);
    kg_rng_bytes(&rng, v, n);
    kg_rng_deinit(&rng);
    return v;
}

/* What makes a function of the fake driver fail; NULL with the real one. */
static inline void (*rig_fail_hook(struct rig *r))(const char *, int)
{
    void (*hook)(const char *, int) = NULL;
    (void)r;
    if (!rig_is_real()) {
        void *library = dlopen(rig_fake_library(), RTLD_NOW);
        assert_non_null(library);
        *(void **)&hook = dlsym(library, "kg_fake_cuda_fail");
        assert_non_null(hook);
    }
    return hook;
}

#endif

/* How CUDA's libraries are found, and what is said when they are not; the declarations against the
 * toolkit's header where there is one; the kernels through the real NVRTC where there is one. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda_rig.h"
#include "gym/device/cuda.h"
#include "tests/fake_cuda/agree.h"

static struct kg_err err;

static void open_says(const char *library, const char *nvrtc, enum kg_code code, const char *part)
{
    struct kg_device d;
    setenv("KGYM_LIBCUDA", library, 1);
    setenv("KGYM_NVRTC", nvrtc, 1);
    assert_int_equal(kg_device_open("cuda", &d, &err), code);
    if (code == KG_OK) {
        kg_device_close(&d);
    } else if (strstr(err.message, part) == NULL) {
        printf("%s\n", err.message);
        assert_true(false);
    }
    kg_device_close(&d); /* nothing happens */
}

static void missing_libraries_are_named(void **state)
{
    (void)state;
    const char *fake = rig_fake_library();
    open_says("libno-such-cuda.so.1", fake, KG_E_HOST, "libno-such-cuda.so.1");
    open_says(fake, "/nowhere/libnvrtc.so", KG_E_HOST, "tried /nowhere/libnvrtc.so");
    open_says(fake, "/etc", KG_E_HOST, "KGYM_NVRTC");
    open_says("libc.so.6", fake, KG_E_HOST, "has no cuInit");
    open_says(fake, "libc.so.6", KG_E_HOST, "has no nvrtcVersion");
    open_says(fake, fake, KG_OK, "");
}

static void break_it(const char *symbol, int code)
{
    void (*hook)(const char *, int) = NULL;
    void *library = dlopen(rig_fake_library(), RTLD_NOW);
    assert_non_null(library);
    *(void **)&hook = dlsym(library, "kg_fake_cuda_fail");
    hook(symbol, code);
}

static void what_a_device_lacks_is_named(void **state)
{
    (void)state;
    const char *fake = rig_fake_library();
    static const struct {
        const char *symbol;
        int code;
        const char *part;
    } cases[] = {
        {"cuInit", KG_CU_NO_DEVICE, "cuInit"},
        {"cuInit", KG_CU_STUB_LIBRARY, "stub"},
        {"cuDeviceGetCount", 1, "no device 0"},
        {"cuDevicePrimaryCtxRetain", KG_CU_OUT_OF_MEMORY, "context"},
        {"cuDeviceGetAttribute", 1, "does not say what it is"},
        {"nvrtcCreateProgram", 1, "cannot start"},
        {"nvrtcCompileProgram", 6, "kgym.cu(7): error: fake"},
        {"cuModuleLoadData", 209, "the judge's kernels"},
        {"cuMemAlloc_v2", KG_CU_OUT_OF_MEMORY, "memory of the judge"},
        {"cuMemcpyDtoDAsync_v2", 719, "copy"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool memory = cases[i].code == KG_CU_OUT_OF_MEMORY;
        break_it(cases[i].symbol, cases[i].code);
        open_says(fake, fake, memory ? KG_E_LIMIT : KG_E_HOST, cases[i].part);
        break_it(NULL, 0);
    }
    struct kg_device d;
    assert_int_equal(kg_device_open("cuda:7", &d, &err), KG_E_HOST);
    assert_non_null(strstr(err.message, "no device 7: there are 1"));
    assert_int_equal(kg_device_open("cuda:", &d, &err), KG_E_USAGE);
    assert_int_equal(kg_device_open("cuda:1x", &d, &err), KG_E_USAGE);
    assert_int_equal(kg_device_open("cudax", &d, &err), KG_E_USAGE);
}

static void built_kernels_are_kept_and_a_torn_one_is_built_again(void **state)
{
    (void)state;
    char folder[] = "/tmp/kgym-cuda-XXXXXX", command[64];
    void *image[4] = {NULL};
    assert_non_null(mkdtemp(folder));
    setenv("KGYM_NVRTC", rig_fake_library(), 1);
    setenv("KGYM_CUDA_CACHE", folder, 1);
    assert_int_equal(kg_cuda_image(9, 0, &image[0], &err), KG_OK);
    break_it("nvrtcCompileProgram", 6); /* from here on only the cache can answer */
    assert_int_equal(kg_cuda_image(9, 0, &image[1], &err), KG_OK);
    assert_memory_equal(image[0], image[1], 16);
    assert_int_equal(kg_cuda_image(8, 0, &image[2], &err), KG_E_HOST);
    snprintf(command, sizeof command, "truncate -s -3 %s/*/*.so", folder);
    assert_int_equal(system(command), 0);
    assert_int_equal(kg_cuda_image(9, 0, &image[2], &err), KG_E_HOST);
    break_it(NULL, 0);
    assert_int_equal(kg_cuda_image(9, 0, &image[3], &err), KG_OK);
    for (int i = 0; i < 4; i++) {
        free(image[i]);
    }
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
    setenv("KGYM_CUDA_CACHE", "none", 1);
}

/* A file of kernels/ that cuda_source.c leaves out would be missed on a GPU only. */
static void the_text_has_every_kernel(void **state)
{
    (void)state;
    char wanted[80];
#define KERNEL_OF(name)                                                                            \
    snprintf(wanted, sizeof wanted, "KERNEL void kg_%s(", #name);                                  \
    assert_non_null(strstr(kg_cuda_source, wanted));
    KG_CUDA_KERNELS(KERNEL_OF)
#undef KERNEL_OF
    assert_null(strstr(kg_cuda_source, "KERNEL void kg_none("));
}

static void the_real_compiler_takes_the_kernels(void **state)
{
    (void)state;
    struct kg_nvrtc n;
    struct kg_nvrtc_places places = {NULL, getenv("KGYM_PYTHON")};
    char python[600];
    const char *tree = getenv("KGYM_TREE");
    snprintf(python, sizeof python, "%s/.venv/bin/python", tree ? tree : ".");
    places.python = places.python ? places.python : python;
    unsetenv("KGYM_NVRTC");
    if (kg_nvrtc_load(&places, &n, &err) != KG_OK) {
        printf("skip: %s\n", err.message);
        skip();
    }
    void *cubin = NULL;
    size_t bytes = 0;
    assert_int_equal(kg_nvrtc_build(&n, kg_cuda_source, 9, 0, &cubin, &bytes, &err), KG_OK);
    assert_true(bytes > 10000 && memcmp(cubin, "\177ELF", 4) == 0);
    free(cubin);
    assert_int_equal(
        kg_nvrtc_build(&n, "__global__ void f() { nonsense; }", 9, 0, &cubin, &bytes, &err),
        KG_E_HOST);
    assert_non_null(strstr(err.message, "nonsense"));
    assert_non_null(strstr(err.message, "sm_90"));
}

static void declarations_are_the_toolkits(void **state)
{
    (void)state;
    expect_agreement("cuda.h", "agree.c");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_libraries_are_named),
        cmocka_unit_test(what_a_device_lacks_is_named),
        cmocka_unit_test(built_kernels_are_kept_and_a_torn_one_is_built_again),
        cmocka_unit_test(the_text_has_every_kernel),
        cmocka_unit_test(the_real_compiler_takes_the_kernels),
        cmocka_unit_test(declarations_are_the_toolkits),
    };
    setenv("KGYM_CUDA_CACHE", "none", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

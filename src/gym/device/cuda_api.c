/* Finds and loads libcuda and NVRTC by dlopen, and compiles CUDA C++ with NVRTC. */
#include "gym/device/cuda_api.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum kg_code kg_cu_fail(const struct kg_cu *cu, int result, const char *what, struct kg_err *err)
{
    const char *name = NULL, *text = NULL;
    if (cu->error_name == NULL || cu->error_name(result, &name) != KG_CU_SUCCESS || name == NULL) {
        name = "unknown error";
    }
    if (cu->error_string == NULL || cu->error_string(result, &text) != KG_CU_SUCCESS ||
        text == NULL) {
        text = "no text";
    }
    bool memory = result == KG_CU_OUT_OF_MEMORY;
    kg_fail(err, memory ? KG_E_LIMIT : KG_E_HOST, "CUDA: %s: %s (%d: %s)", what, name, result,
            text);
    err->memory = memory;
    return err->code;
}

/* ISO C has no cast from an object pointer to a function pointer; POSIX guarantees it. */
static void *symbol(void *library, const char *name)
{
    void *at = dlsym(library, name);
    return at;
}

enum kg_code kg_cu_load(const char *library, struct kg_cu *out, struct kg_err *err)
{
    const char *name = library ? library : "libcuda.so.1", *missing = NULL;
    *out = (struct kg_cu){NULL};
    out->library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (out->library == NULL) {
        return kg_fail(err, KG_E_HOST,
                       "no CUDA device here: the driver's library cannot be loaded (%s); it comes "
                       "with NVIDIA's driver, not with the toolkit",
                       dlerror());
    }
#define LOAD(field, sym, params)                                                                   \
    *(void **)&out->field = symbol(out->library, #sym);                                            \
    missing = missing == NULL && out->field == NULL ? #sym : missing;
    KG_CU_FUNCTIONS(LOAD)
#undef LOAD
    if (missing != NULL) {
        return kg_fail(err, KG_E_HOST, "%s has no %s: a driver for CUDA 11.2 or newer is needed",
                       name, missing);
    }
    return KG_OK;
}

/* The first file that matches, in glob()'s order. Other builds of NVRTC and its builtins have other
 * names, so the pattern does not match them. */
static bool first_match(const char *pattern, char *out, size_t cap)
{
    glob_t g = {0};
    bool found = false;
    if (glob(pattern, 0, NULL, &g) == 0) {
        found = (size_t)snprintf(out, cap, "%s", g.gl_pathv[0]) < cap;
    }
    globfree(&g);
    return found;
}

/* The folder of a program. Links are not followed, because a virtual environment is where the link
 * is. */
static bool program_folder(const char *program, char *out, size_t cap)
{
    const char *slash = strrchr(program, '/');
    if (slash != NULL) {
        return (size_t)snprintf(out, cap, "%.*s", (int)(slash - program), program) < cap;
    }
    const char *at = getenv("PATH");
    while (at != NULL && *at != '\0') {
        size_t n = strcspn(at, ":");
        char file[PATH_MAX];
        if ((size_t)snprintf(file, sizeof file, "%.*s/%s", (int)n, at, program) < sizeof file &&
            access(file, X_OK) == 0) {
            return (size_t)snprintf(out, cap, "%.*s", (int)n, at) < cap;
        }
        at += n + (at[n] == ':');
    }
    return false;
}

struct search {
    void *library;
    char tried[360];
};

static bool try_open(struct search *s, const char *name)
{
    s->library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (s->library == NULL) {
        size_t n = strlen(s->tried);
        snprintf(s->tried + n, sizeof s->tried - n, "%s%s", n > 0 ? ", " : "", name);
    }
    return s->library != NULL;
}

static bool try_pattern(struct search *s, const char *folder, const char *tail)
{
    char pattern[PATH_MAX], file[PATH_MAX];
    snprintf(pattern, sizeof pattern, "%s%s/libnvrtc.so*", folder, tail);
    return first_match(pattern, file, sizeof file) && try_open(s, file);
}

static bool try_named(struct search *s, const char *place)
{
    struct stat st;
    if (stat(place, &st) == 0 && S_ISDIR(st.st_mode)) {
        return try_pattern(s, place, "");
    }
    return try_open(s, place);
}

static bool try_python(struct search *s, const char *python)
{
    static const char *const tails[] = {
        "/../lib/python3*/site-packages/nvidia/cu1*/lib",
        "/../lib/python3*/site-packages/nvidia/cuda_nvrtc/lib",
    };
    char folder[PATH_MAX];
    if (!program_folder(python, folder, sizeof folder)) {
        return false;
    }
    return try_pattern(s, folder, tails[0]) || try_pattern(s, folder, tails[1]);
}

static bool find_nvrtc(const struct kg_nvrtc_places *places, struct search *s)
{
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
    const char *named = places->nvrtc ? places->nvrtc : getenv("KGYM_NVRTC");
    if (named != NULL && *named != '\0') {
        return try_named(s, named); /* only the named place is tried */
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (try_open(s, names[i])) {
            return true;
        }
    }
    return try_pattern(s, "/usr/local/cuda/lib64", "") ||
           (places->python != NULL && try_python(s, places->python));
}

enum kg_code kg_nvrtc_load(const struct kg_nvrtc_places *places, struct kg_nvrtc *out,
                           struct kg_err *err)
{
    struct search s = {.library = NULL};
    const char *missing = NULL;
    *out = (struct kg_nvrtc){NULL};
    if (!find_nvrtc(places, &s)) {
        return kg_fail(err, KG_E_HOST,
                       "NVRTC, which builds the judge's kernels, was not found (tried %s); it "
                       "comes with the CUDA toolkit and with PyTorch for CUDA: name its file or "
                       "folder with KGYM_NVRTC",
                       s.tried);
    }
    out->library = s.library;
#define LOAD(field, sym, params)                                                                   \
    *(void **)&out->field = symbol(out->library, #sym);                                            \
    missing = missing == NULL && out->field == NULL ? #sym : missing;
    KG_NVRTC_FUNCTIONS(LOAD)
#undef LOAD
    if (missing != NULL) {
        return kg_fail(err, KG_E_HOST, "libnvrtc has no %s: CUDA 11.2 or newer is needed", missing);
    }
    return KG_OK;
}

/* The first line of the log that contains `error`, else the first line. */
static void first_error(const struct kg_nvrtc *n, struct kg_nvrtc_program *program, char *out,
                        size_t cap)
{
    size_t bytes = 0;
    char *log = NULL;
    snprintf(out, cap, "no log");
    if (n->log_bytes(program, &bytes) == 0 && bytes > 0 && (log = calloc(1, bytes + 1)) != NULL &&
        n->log(program, log) == 0) {
        char *at = strstr(log, "error");
        while (at != NULL && at > log && at[-1] != '\n') {
            at--;
        }
        at = at ? at : log;
        snprintf(out, cap, "%.*s", (int)strcspn(at, "\n"), at);
    }
    free(log);
}

static enum kg_code take_cubin(const struct kg_nvrtc *n, struct kg_nvrtc_program *program,
                               void **cubin, size_t *bytes, struct kg_err *err)
{
    if (n->cubin_bytes(program, bytes) != 0 || *bytes == 0) {
        return kg_fail(err, KG_E_HOST, "NVRTC gave no machine code");
    }
    char *code = malloc(*bytes);
    if (code == NULL || n->cubin(program, code) != 0) {
        free(code);
        return kg_fail(err, KG_E_HOST, "NVRTC's machine code could not be taken");
    }
    *cubin = code;
    return KG_OK;
}

enum kg_code kg_nvrtc_build(const struct kg_nvrtc *n, const char *source, int major, int minor,
                            void **cubin, size_t *bytes, struct kg_err *err)
{
    struct kg_nvrtc_program *program = NULL;
    char arch[32], line[300];
    /* No contraction: results must have the same bits as on the host (tensor_compare.c). */
    const char *options[] = {arch, "--std=c++17", "--fmad=false"};
    enum kg_code code = KG_OK;
    snprintf(arch, sizeof arch, "--gpu-architecture=sm_%d%d", major, minor);
    if (n->create(&program, source, "kgym.cu", 0, NULL, NULL) != 0) {
        return kg_fail(err, KG_E_HOST, "NVRTC cannot start");
    }
    if (n->compile(program, 3, options) != 0) {
        first_error(n, program, line, sizeof line);
        code = kg_fail(err, KG_E_HOST, "NVRTC cannot build the judge's kernels for sm_%d%d: %s",
                       major, minor, line);
    } else {
        code = take_cubin(n, program, cubin, bytes, err);
    }
    n->destroy(&program);
    return code;
}

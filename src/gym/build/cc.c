/* Opens a toolchain: learns its steps, and hashes everything that decides what an object
 * contains. */
#include "gym/build/cc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "gym/build/toolchain.h"

#define KGOPS_MAX_BYTES (64u << 20)

static const char *keep(struct kg_cc *cc, const char *s, struct kg_err *err)
{
    return s == NULL ? NULL : kg_arena_dup(&cc->arena, s, strlen(s), err);
}

void kg_cc_show(struct kg_cc *cc, const char *path)
{
    char real[512];
    struct kg_err err = KG_ERR_INIT;
    char *whole = realpath(path, NULL);
    int n = whole == NULL ? 0 : snprintf(real, sizeof real, "%s", whole);
    free(whole);
    if (n <= 1 || (size_t)n >= sizeof real || cc->nbinds == KG_CC_MAX_BINDS) {
        return;
    }
    for (size_t i = 0; i < cc->nbinds; i++) {
        size_t len = strlen(cc->binds[i].src);
        if (strncmp(cc->binds[i].src, real, len) == 0 && (real[len] == '/' || real[len] == '\0')) {
            return; /* seen before */
        }
    }
    const char *copy = kg_arena_dup(&cc->arena, real, (size_t)n, &err);
    if (copy != NULL) {
        cc->binds[cc->nbinds++] = (struct kg_bind){copy, copy, false};
    }
}

static enum kg_code learn_version(struct kg_cc *cc, struct kg_err *err)
{
    const char *argv[] = {cc->spec.compiler, "--version", NULL};
    struct kg_buf out;
    kg_buf_init(&out, 4096);
    enum kg_code code = kg_cc_capture(argv, &out, err);
    if (code == KG_OK) {
        size_t n = strcspn(out.data, "\n");
        cc->version = kg_arena_dup(&cc->arena, out.data, n < 200 ? n : 200, err);
        code = cc->version != NULL ? KG_OK : err->code;
    }
    kg_buf_deinit(&out);
    return code;
}

/* The flags of docs/problems.md, "How both sides are built". */
static void set_flags(struct kg_cc *cc, bool kgops)
{
    static const char *const fixed[] = {"-std=gnu17", "-O3",     "-march=native",
                                        "-fPIC",      "-shared", "-Wl,-z,defs",
                                        "-lkgops",    "-lm",     "-lpthread"};
    size_t n = 0;
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        if (kgops || strcmp(fixed[i], "-lkgops") != 0) {
            cc->flags[n++] = fixed[i];
        }
    }
}

static void hash_file(struct kg_sha256 *h, const char *folder, const char *name)
{
    char path[768];
    struct kg_buf bytes;
    struct kg_err ignored = KG_ERR_INIT;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    kg_buf_init(&bytes, KGOPS_MAX_BYTES);
    /* A missing file is hashed as empty. */
    enum kg_code code = kg_file_read(path, &bytes, &ignored);
    kg_sha256_part(h, bytes.data, code == KG_OK ? bytes.len : 0);
    kg_buf_deinit(&bytes);
}

static void hash_toolchain(struct kg_cc *cc)
{
    struct kg_sha256 h;
    kg_sha256_begin(&h);
    kg_sha256_part(&h, cc->version, strlen(cc->version));
    for (int i = 0; i < KG_CC_KINDS; i++) {
        kg_sha256_part(&h, cc->script[i], strlen(cc->script[i]));
    }
    if (cc->spec.kgops_dir != NULL) {
        hash_file(&h, cc->spec.kgops_dir, "kgops.h");
        hash_file(&h, cc->spec.kgops_dir, "libkgops.so");
    }
    kg_sha256_end(&h, cc->toolchain_sha);
}

static enum kg_code place_kgops(struct kg_cc *cc, bool *has_library, struct kg_err *err)
{
    *has_library = false;
    if (cc->spec.kgops_dir == NULL) {
        return KG_OK;
    }
    char path[768];
    snprintf(path, sizeof path, "%s/libkgops.so", cc->spec.kgops_dir);
    *has_library = access(path, R_OK) == 0;
    if (!*has_library) {
        return kg_fail(err, KG_E_HOST, "%s: the operator library is missing; run `make`", path);
    }
    char *real = realpath(cc->spec.kgops_dir, NULL);
    const char *src = keep(cc, real != NULL ? real : cc->spec.kgops_dir, err);
    free(real);
    cc->kgops = cc->mounts ? "/kgops" : src;
    cc->binds[cc->nbinds++] = (struct kg_bind){src, cc->kgops, false};
    return src != NULL ? KG_OK : err->code;
}

static enum kg_code copy_spec(struct kg_cc *cc, const struct kg_cc_spec *spec, struct kg_err *err)
{
    cc->spec = *spec;
    cc->spec.compiler = keep(cc, spec->compiler != NULL ? spec->compiler : "gcc", err);
    cc->spec.kgops_dir = keep(cc, spec->kgops_dir, err);
    cc->spec.cache_dir = keep(cc, spec->cache_dir, err);
    bool all = cc->spec.compiler != NULL && !cc->spec.kgops_dir == !spec->kgops_dir &&
               !cc->spec.cache_dir == !spec->cache_dir;
    return all ? KG_OK : err->code;
}

enum kg_code kg_cc_open(const struct kg_cc_spec *spec, struct kg_cc **out, struct kg_err *err)
{
    struct kg_cc *cc = calloc(1, sizeof *cc);
    if (cc == NULL) {
        return kg_fail(err, KG_E_HOST, "compiler: this machine is out of memory");
    }
    kg_arena_init(&cc->arena, "toolchain", 4u << 20);
    cc->mounts = (kg_sandbox_isolation(spec->without).has & KG_STEP_MOUNTNS) != 0;
    bool has_library = false;
    enum kg_code code = copy_spec(cc, spec, err);
    code = code == KG_OK ? learn_version(cc, err) : code;
    code = code == KG_OK ? place_kgops(cc, &has_library, err) : code;
    if (code == KG_OK) {
        set_flags(cc, has_library);
        code = kg_cc_learn(cc, err);
    }
    if (code != KG_OK) {
        kg_cc_close(cc);
        return code;
    }
    hash_toolchain(cc);
    *out = cc;
    return KG_OK;
}

void kg_cc_close(struct kg_cc *cc)
{
    if (cc != NULL) {
        kg_arena_deinit(&cc->arena);
        free(cc);
    }
}

const char *const *kg_cc_flags(const struct kg_cc *cc)
{
    return cc->flags;
}

const char *kg_cc_version(const struct kg_cc *cc)
{
    return cc->version;
}

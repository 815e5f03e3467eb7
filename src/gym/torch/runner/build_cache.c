/* What a candidate's compilers make (extensions, Triton's kernels) is kept for its next process, in
 * this evaluation and in later ones. The broker copies it out of the private /tmp of a runner that
 * is dead, once, and into that of a new runner of the very same source before it is given anything.
 * So all that one source can leave behind is for itself, and what it left is never changed. */
#include "gym/torch/runner/build_cache.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "gym/build/cache.h"
#include "gym/build/tree.h"
#include "gym/eval/context.h"

#define FORMAT "kgym.builds/1, kgym " KG_VERSION

/* Where zygote.c has compilers write, below /tmp. */
static const char *const folders[] = {"extensions", "triton"};

static void add(struct kg_sha256 *h, const json_t *v)
{
    struct kg_buf b;
    kg_buf_init(&b, 1u << 16);
    if (v != NULL) {
        kg_json_dump(v, &b);
    }
    kg_sha256_part(h, b.data, b.len);
    kg_buf_deinit(&b);
}

/* Source, problem, and all that makes the same source another build. */
static void make_key(const struct kg_evaluation *e, char out[KG_SHA256_HEX])
{
    static const char *const of_python[] = {"python", "executable", "torch",
                                            "triton", "cuda_built", "tools"};
    const struct kg_torch *t = kg_torch_of(e->w);
    struct kg_sha256 h;
    kg_sha256_begin(&h);
    kg_sha256_part(&h, FORMAT, strlen(FORMAT));
    kg_sha256_part(&h, e->code, e->code_len);
    kg_sha256_part(&h, t->problem->sha256, strlen(t->problem->sha256));
    kg_sha256_part(&h, t->judge.facts.name, strlen(t->judge.facts.name));
    kg_sha256_part(&h, t->judge.facts.driver, strlen(t->judge.facts.driver));
    kg_sha256_part(&h, kg_torch_run_of(e)->interpret ? "1" : "0", 1);
    for (size_t i = 0; i < sizeof of_python / sizeof *of_python; i++) {
        add(&h, json_object_get(t->zygote[kg_torch_run_of(e)->interpret].facts, of_python[i]));
    }
    kg_sha256_end(&h, out);
}

/* Where the inputs of an evaluation can come again, what a process left could hold the answers. */
static bool inputs_repeat(const struct kg_evaluation *e)
{
    return kg_torch_protocol(e->w)->seed || e->w->config.seed[0] != '\0' || e->task->replay != NULL;
}

void kg_tbuilds_open(struct kg_evaluation *e)
{
    struct kg_torch_run *run = kg_torch_run_of(e);
    char cache[512];
    run->builds[0] = '\0';
    kg_worker_cache(&e->w->config, cache, sizeof cache);
    if (cache[0] == '\0' || e->w->config.torch_builds_mb == 0 || inputs_repeat(e)) {
        return;
    }
    snprintf(run->builds, sizeof run->builds, "%s/builds", cache);
    make_key(e, run->builds_key);
}

static bool path_of(const struct kg_torch_run *run, char *path, size_t cap)
{
    return run->builds[0] != '\0' && kg_cache_path(run->builds, run->builds_key, "tree", path, cap);
}

void kg_tbuilds_restore(struct kg_evaluation *e)
{
    struct kg_torch_run *run = kg_torch_run_of(e);
    const struct kg_pyrunner *r = &run->cand.runner;
    struct kg_err err = KG_ERR_INIT;
    char path[640];
    size_t n;
    char *bytes = r->tmp > 0 && path_of(run, path, sizeof path)
                      ? kg_cache_get(path, run->builds_key, &n)
                      : NULL;
    if (bytes == NULL) {
        return;
    }
    bool known = run->builds_kept;
    run->builds_kept = true;
    if (kg_tree_unpack(bytes, n, r->tmp - 1, r->sandbox.uid, r->sandbox.gid, &err) != KG_OK) {
        kg_log(KG_LOG_WARN, "%s", err.message); /* it builds itself */
    } else if (!known) {
        run->builds_earlier = true;
        kg_record_evidence(e->r, "builds", json_pack("{s:b}", "restored", true));
    }
    free(bytes);
}

int kg_tbuilds_hold(const struct kg_evaluation *e)
{
    const struct kg_torch_run *run = kg_torch_run_of(e);
    const struct kg_pyrunner *r = &run->cand.runner;
    if (run->builds[0] == '\0' || run->builds_kept || !e->built || r->tmp == 0 ||
        !kg_pyrunner_at_rest(r)) {
        return -1;
    }
    return fcntl(r->tmp - 1, F_DUPFD_CLOEXEC, 0);
}

/* What cannot be packed is the candidate's doing, and no more than a fact about it. */
void kg_tbuilds_keep(struct kg_evaluation *e, int tmp)
{
    struct kg_torch_run *run = kg_torch_run_of(e);
    struct kg_err err = KG_ERR_INIT;
    struct kg_buf tree;
    char path[640];
    if (tmp < 0) {
        return;
    }
    run->builds_kept = true;
    kg_buf_init(&tree, KG_OBJECT_MAX_BYTES - KG_CACHE_TAIL_BYTES);
    if (kg_tree_pack(tmp, folders, sizeof folders / sizeof *folders, &tree, &err) != KG_OK) {
        kg_record_evidence(e->r, "builds",
                           json_pack("{s:b, s:s}", "kept", false, "why", err.message));
    } else if (tree.len > 0 && path_of(run, path, sizeof path)) {
        if (kg_cache_put(path, run->builds_key, tree.data, tree.len, &err) != KG_OK) {
            kg_log_once(KG_LOG_NO_BUILDS, KG_LOG_WARN,
                        "builds of PyTorch candidates are not kept: %s", err.message);
        }
        kg_cache_trim(run->builds, e->w->config.torch_builds_mb << 20);
    }
    kg_buf_deinit(&tree);
    close(tmp);
}

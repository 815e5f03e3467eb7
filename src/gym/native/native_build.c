/* What the C executor builds, and the runners of what was built. */
#include <errno.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/file.h"
#include "gym/native/native.h"

#define SCRATCH_ROOM_BYTES (4u << 20) /* a build of a few hundred lines needs 1 MB */

/* A full disk would look like the candidate's own flood of output. */
static enum kg_code check_room(const struct kg_worker *w, struct kg_err *err)
{
    struct statvfs v;
    if (statvfs(w->scratch.path, &v) != 0) {
        return kg_fail(err, KG_E_IO, "scratch: %s: %s", w->scratch.path, strerror(errno));
    }
    if ((uint64_t)v.f_bavail * v.f_frsize < SCRATCH_ROOM_BYTES || (v.f_files && v.f_favail < 64)) {
        return kg_fail(err, KG_E_HOST, "scratch: no room left on the disk of %s", w->scratch.path);
    }
    return KG_OK;
}

enum kg_code kg_native_build(struct kg_worker *w, enum kg_cc_kind kind, const char *source,
                             size_t len, const char *dir, struct kg_cc_result *out,
                             struct kg_err *err)
{
    struct kg_native *n = kg_native_of(w);
    for (int tries = 0;; tries++) {
        if (check_room(w, err) != KG_OK || kg_file_remove_tree(dir, err) != KG_OK ||
            kg_file_mkdirs(dir, 0755, err) != KG_OK ||
            kg_cc_build(w->cc, kind, source, len, n->problem->entry, dir, out, err) != KG_OK) {
            return err->code;
        }
        bool limits = out->status == KG_CC_LIMITS;
        if (limits && check_room(w, err) != KG_OK) { /* its own files are gone by now */
            kg_buf_deinit(&out->text);
            return err->code;
        }
        if (!limits || (out->text.len > 0 && !out->killed) || tries > 0) {
            return KG_OK;
        }
        kg_buf_deinit(&out->text);
    }
}

void kg_native_runner_spec(const struct kg_worker *w, const char *object, bool wide,
                           struct kg_runner_spec *out)
{
    struct kg_native *n = kg_native_of(w);
    const struct kg_config *c = &w->config;
    *out = (struct kg_runner_spec){
        .program = w->paths.runner,
        .object = object,
        .kgops_dir = w->paths.kgops_dir,
        .entry = n->problem->entry,
        .in = wide ? &n->judge.wide_in : &n->judge.in,
        .out = wide ? &n->judge.wide_out : &n->judge.out,
        .limits = {.memory_bytes = c->limit_memory_mb << 20,
                   .processes = c->limit_processes,
                   .file_bytes = c->limit_file_mb << 20,
                   .cpu_s = (int64_t)c->deadline_eval + 1,
                   .descriptors = 64},
        .output_bytes = c->limit_output_kb << 10,
        .cpu = w->cpu,
        .cancelled = w->cancelled,
    };
}

void kg_native_candidate_spec(const struct kg_evaluation *e, struct kg_runner_spec *out)
{
    const struct kg_native_run *run = kg_native_run_of(e);
    kg_native_runner_spec(e->w, run->object, false, out);
    if (run->alone) {
        out->kgops_dir = e->w->paths.kgops_stub;
    }
}

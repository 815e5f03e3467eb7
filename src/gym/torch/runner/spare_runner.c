/* Runners of candidates. Nothing of a runner's start knows what it will hold: fork, sandbox, and on
 * a GPU a context. So one is begun ahead, while the last one is at work, and waits with an empty
 * source file. The file is written when the runner becomes a candidate's, before LOAD reads it. */
#include "gym/torch/runner/spare_runner.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "gym/torch/runner/torch_device.h"
#include "gym/torch/runner/torch_runner.h"
#include "gym/torch/runner/torch_zygotes.h"

/* Of a GPU's memory, for the regions of a runner that may never be used. */
#define SHARE_OF_MEMORY 32
/* On a GPU, enough for most problems: two tensors of 64 MB; and answers of 2^25 elements as doubles
 * with the room that instance.c gives them, or as a quarter of that where they are only as long. */
#define PART_IN  ((uint64_t)128 << 20)
#define PART_OUT ((uint64_t)296 << 20)

static enum kg_code cannot(struct kg_err *err, const char *path, const char *what)
{
    return kg_fail(err, KG_E_IO, "torch: cannot %s %s: %s", what, path, strerror(errno));
}

/* Empty; runners, whose uids are others, may read it. */
static enum kg_code make_source(struct kg_worker *w, char *path, size_t cap, struct kg_err *err)
{
    snprintf(path, cap, "%s/candidate-%" PRIu64 ".py", w->scratch.path, kg_torch_of(w)->sources++);
    unlink(path); /* left where a removal failed */
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0 || fchmod(fd, 0644) != 0) {
        enum kg_code code = cannot(err, path, "create");
        if (fd >= 0) {
            close(fd);
            unlink(path);
        }
        return code;
    }
    close(fd);
    return KG_OK;
}

/* In place: a file that replaced it would not be the one that the runner is shown. */
static enum kg_code write_source(const char *path, const char *text, size_t len, struct kg_err *err)
{
    int fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return cannot(err, path, "open");
    }
    enum kg_code code = kg_file_write_all(fd, text, len, err);
    close(fd);
    return code == KG_OK ? KG_OK : kg_err_prefix(err, "%s", path);
}

/* A runner with an empty file of its own, not READY yet. */
static enum kg_code begin(struct kg_worker *w, struct kg_zygote *z, uint64_t in_bytes,
                          uint64_t out_bytes, struct kg_trunner *out, struct kg_err *err)
{
    char path[sizeof out->source];
    if (make_source(w, path, sizeof path, err) != KG_OK) {
        return err->code;
    }
    if (kg_trunner_begin(w, z, path, in_bytes, out_bytes, out, err) != KG_OK) {
        unlink(path);
        return err->code;
    }
    memcpy(out->source, path, sizeof path);
    return KG_OK;
}

static bool fits(const struct kg_torch *t, bool interpret, uint64_t in_bytes, uint64_t out_bytes)
{
    const struct kg_trunner *s = &t->spare;
    return s->up && t->spare_interprets == interpret && s->in_bytes >= in_bytes &&
           s->out_bytes >= out_bytes;
}

/* The spare becomes the caller's; false: there is none that fits, or it has died. */
static bool take(struct kg_worker *w, bool interpret, uint64_t in_bytes, uint64_t out_bytes,
                 struct kg_trunner *out)
{
    struct kg_torch *t = kg_torch_of(w);
    struct kg_err ignored = KG_ERR_INIT;
    if (!fits(t, interpret, in_bytes, out_bytes) ||
        kg_trunner_ready(w, &t->spare, &ignored) != KG_OK ||
        kg_sandbox_poll(&t->spare.runner.sandbox) ||
        kg_trunner_use(w, &t->spare, out_bytes, &ignored) != KG_OK) {
        kg_tspare_drop(w);
        return false;
    }
    *out = t->spare;
    t->spare = (struct kg_trunner){.port = -1};
    t->taken++;
    return true;
}

enum kg_code kg_tspare_take(struct kg_worker *w, bool interpret, const char *text, size_t len,
                            uint64_t in_bytes, uint64_t out_bytes, struct kg_trunner *out,
                            struct kg_err *err)
{
    struct kg_zygote *z;
    *out = (struct kg_trunner){.port = -1};
    if (kg_torch_judge(w, err) != KG_OK || kg_torch_zygote(w, interpret, &z, err) != KG_OK) {
        return err->code;
    }
    if (!take(w, interpret, in_bytes, out_bytes, out) &&
        (begin(w, z, in_bytes, out_bytes, out, err) != KG_OK ||
         kg_trunner_ready(w, out, err) != KG_OK)) {
        return err->code;
    }
    if (write_source(out->source, text, len, err) != KG_OK) {
        kg_trunner_stop(w, out);
        return err->code;
    }
    return KG_OK;
}

/* Its regions take memory of a GPU whether it is used or not; the judge doubles OUT there. */
static bool has_room(const struct kg_torch *t, uint64_t in_bytes, uint64_t out_bytes)
{
    uint64_t most = (uint64_t)t->judge.facts.memory_bytes / SHARE_OF_MEMORY;
    return !t->judge.facts.clock || (in_bytes <= most && out_bytes <= (most - in_bytes) / 2);
}

/* Without a context to make, a boot is 1 ms: all else takes the worker's own core. */
static bool is_on(const struct kg_worker *w)
{
    int asked = w->config.torch_spare;
    return asked == KG_SPARE_AUTO ? !kg_torch_on_cpu(w) : asked == KG_SPARE_YES;
}

static uint64_t rounded(uint64_t bytes, uint64_t part)
{
    uint64_t parts = (bytes + part - 1) / part;
    return (parts > 0 ? parts : 1) * part;
}

/* On the CPU another problem's is not worth its memory. */
void kg_tspare_regions(const struct kg_worker *w, bool answers, uint64_t *in_bytes,
                       uint64_t *out_bytes)
{
    uint64_t in = rounded(*in_bytes, PART_IN);
    uint64_t out = rounded(*out_bytes, answers ? PART_OUT : PART_OUT / 4);
    if (kg_torch_of(w)->judge.facts.clock && has_room(kg_torch_of(w), in, out)) {
        *in_bytes = in;
        *out_bytes = out;
    }
}

void kg_tspare_begin(struct kg_worker *w, bool interpret, uint64_t in_bytes, uint64_t out_bytes)
{
    struct kg_torch *t = kg_torch_of(w);
    struct kg_zygote *z = &t->zygote[interpret];
    struct kg_err ignored = KG_ERR_INIT;
    kg_tspare_regions(w, true, &in_bytes, &out_bytes);
    bool may = t->judge_up && t->judge.pid > 0 && !t->judge.held && t->zygote_up[interpret] &&
               kg_zygote_alive(z);
    if (is_on(w) && !t->spare.up && may && has_room(t, in_bytes, out_bytes) &&
        begin(w, z, in_bytes, out_bytes, &t->spare, &ignored) == KG_OK) {
        t->spares++;
        t->spare_interprets = interpret;
        if (!t->judge.facts.clock || !w->config.torch_contexts_apart) {
            kg_pyrunner_go(&t->spare.runner);
        }
    }
}

void kg_tspare_follow(struct kg_worker *w, struct kg_trunner *last)
{
    struct kg_torch *t = kg_torch_of(w);
    struct kg_err ignored = KG_ERR_INIT;
    bool waits = t->spare.up && !t->spare.runner.told;
    t->boots = t->judge_up && t->judge.facts.clock && waits && kg_pyrunner_at_rest(&last->runner) &&
               kg_trunner_boot(w, &t->spare, &t->boot, &ignored) == KG_OK;
    kg_trunner_stop(w, last);
}

void kg_tspare_look(struct kg_worker *w)
{
    struct kg_torch *t = kg_torch_of(w);
    if (t->boots) {
        kg_trunner_look(w, &t->spare, &t->boot);
    }
}

void kg_tspare_followed(struct kg_worker *w)
{
    struct kg_torch *t = kg_torch_of(w);
    struct kg_err ignored = KG_ERR_INIT;
    if (t->boots) {
        (void)!kg_trunner_booted(w, &t->spare, &t->boot, &ignored);
        t->boots = false;
    }
}

void kg_tspare_settle(struct kg_worker *w)
{
    struct kg_err ignored = KG_ERR_INIT;
    struct kg_pyrunner *r = &kg_torch_of(w)->spare.runner;
    if (kg_torch_of(w)->spare.up && r->told && kg_pyrunner_ready(r, &ignored) != KG_OK) {
        kg_tspare_drop(w);
    }
}

void kg_tspare_drop(struct kg_worker *w)
{
    kg_trunner_stop(w, &kg_torch_of(w)->spare);
}

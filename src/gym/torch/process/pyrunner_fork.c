/* Asks a zygote to fork a confined runner. */
#include "gym/torch/process/pyrunner_fork.h"

#include <errno.h>
#include <glob.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/message.h"

#define INSIDE_SOURCE "/kgym/source.py"
#define ADDRESS_BYTES                                                                              \
    (1ll << 30)          /* besides what the zygote has mapped, where address space is             \
                            the only limit of memory */
#define ANSWER_MS  15000 /* two forks take 0.1 s; this is a zygote that hangs */
#define MOST_BINDS 32
#define NFDS       7

struct helper {
    struct kg_zygote *z;
    const struct kg_pyrunner_spec *spec;
    const int *pipes;
    const char *source; /* path inside */
};

static bool send_request(const struct helper *h, int plan_fd, int ctl_fd)
{
    json_t *request = json_pack("{s:s, s:s, s:i}", "source", h->source, "device",
                                h->z->spec.device != NULL ? h->z->spec.device : "cpu",
                                "connections", h->spec->connections);
    char *text = request != NULL ? json_dumps(request, JSON_COMPACT) : NULL;
    json_decref(request);
    if (text == NULL) {
        return false;
    }
    const int fds[NFDS] = {ctl_fd,           plan_fd,        h->pipes[0],    h->pipes[1],
                           h->spec->ctrl_fd, h->spec->in_fd, h->spec->out_fd};
    bool sent = kg_message_send(h->z->sock, text, strlen(text), fds, NFDS);
    free(text);
    return sent;
}

/* struct kg_birth: returns when the process between is gone. A zygote that is lost is ended, so
 * that nothing of it is left half done; records still name its Python. */
static enum kg_code ask(void *helper, int plan_fd, int ctl_fd, struct kg_err *err)
{
    struct helper *h = helper;
    char text[256];
    if (h->z->pid <= 0 || !send_request(h, plan_fd, ctl_fd)) {
        kg_zygote_kill(h->z);
        return kg_fail(err, KG_E_GYM, "torch: the zygote is gone");
    }
    struct pollfd p = {.fd = h->z->sock, .events = POLLIN};
    int64_t until = kg_clock_ns() + ANSWER_MS * 1000000ll;
    int ready;
    do {
        ready = poll(&p, 1, 100);
        if (h->z->spec.cancelled != NULL && *h->z->spec.cancelled) {
            kg_zygote_kill(h->z);
            return kg_fail(err, KG_E_CANCELLED, "torch: cancelled");
        }
    } while ((ready == 0 || (ready < 0 && errno == EINTR)) && kg_clock_ns() < until);
    ssize_t n = ready > 0 ? recv(h->z->sock, text, sizeof text, 0) : -1;
    if (n <= 0) {
        kg_zygote_kill(h->z);
        return kg_fail(err, KG_E_GYM, "torch: the zygote %s while it forked a runner",
                       ready > 0 ? "died" : "hung");
    }
    return KG_OK;
}

struct view {
    struct kg_bind binds[MOST_BINDS];
    size_t n;
};

static void show(struct view *v, const char *src, const char *dst, bool writable)
{
    if (v->n < MOST_BINDS && access(src, F_OK) == 0) {
        v->binds[v->n++] = (struct kg_bind){.src = src, .dst = dst, .writable = writable};
    }
}

/* Python's folders and the system's, what torch opens of /dev, the source; of kgym the harness
 * alone. The zygote's facts hold the strings. */
static void compose(struct view *v, const struct kg_zygote *z, const char *source)
{
    static const char *const parts[] = {"/usr", "/etc/ld.so.cache", "/etc/alternatives"};
    static const char *const devices[] = {"/dev/null", "/dev/zero"};
    v->n = 0;
    show(v, source, INSIDE_SOURCE, false);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        show(v, parts[i], parts[i], false);
    }
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        show(v, devices[i], devices[i], true);
    }
    show(v, "/dev/urandom", "/dev/urandom", false);
    size_t at;
    json_t *folder;
    json_array_foreach(json_object_get(z->facts, "folders"), at, folder)
    {
        const char *path = json_string_value(folder);
        if (path != NULL && strcmp(path, "/usr") != 0 && strncmp(path, "/usr/", 5) != 0) {
            show(v, path, path, false);
        }
    }
    show(v, z->spec.harness, z->spec.harness, false);
}

/* The GPU's device files, those of one GPU or of all that this process sees. */
static void compose_gpu(struct view *v, glob_t *found)
{
    show(v, "/sys", "/sys", false);
    if (glob("/dev/nvidia*", 0, NULL, found) == 0) {
        struct stat st;
        for (size_t i = 0; i < found->gl_pathc; i++) {
            if (stat(found->gl_pathv[i], &st) == 0 && S_ISCHR(st.st_mode)) {
                show(v, found->gl_pathv[i], found->gl_pathv[i], true);
            }
        }
    }
}

static bool taken(const struct kg_pyrunner_spec *spec, uint32_t step)
{
    return (kg_sandbox_isolation(spec->without).has & step) == step;
}

enum kg_code kg_pyrunner_fork(struct kg_zygote *z, const struct kg_pyrunner_spec *spec,
                              const int pipes[2], struct kg_sandbox *out, int *tmp_fd,
                              struct kg_err *err)
{
    struct view view;
    glob_t devices = {0};
    compose(&view, z, spec->source);
    if (z->spec.cuda) {
        compose_gpu(&view, &devices);
    }
    bool inside = taken(spec, KG_STEP_MOUNTNS);
    struct helper h = {z, spec, pipes, inside ? INSIDE_SOURCE : spec->source};
    struct kg_birth birth = {ask, &h};
    int fds[] = {-1, pipes[0], pipes[1], spec->ctrl_fd, spec->in_fd, spec->out_fd};
    int64_t mapped = json_integer_value(json_object_get(z->facts, "vm_bytes"));
    struct kg_sandbox_spec s = {
        .profile = z->spec.cuda ? KG_PROFILE_CUDA : KG_PROFILE_PYTHON,
        .workdir = inside ? "/tmp" : "/",
        .binds = view.binds,
        .nbinds = view.n,
        .fds = fds,
        .nfds = sizeof fds / sizeof *fds,
        .limits = spec->limits,
        .cpu = spec->cpu,
        .without = spec->without,
        .tmp_bytes = kg_pyrunner_tmp_mb(spec->scratch_mb) << 20, /* charged as it is used */
        .tmp_fd = tmp_fd,
        .proc = z->spec.cuda ? KG_PROC_WHOLE : KG_PROC_OWN,
        .address_bytes = z->spec.cuda || taken(spec, KG_STEP_CGROUP) ? -1 : mapped + ADDRESS_BYTES,
        .birth = &birth,
    };
    enum kg_code code = kg_sandbox_spawn(&s, out, err);
    globfree(&devices);
    return code;
}

/* The handle on one Python runner: commands, answers, deadlines and its end. */
#include "gym/torch/process/pyrunner.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "gym/run/wire.h"
#include "gym/torch/process/pyrunner_fork.h"

/* From confined to READY: mappings, on a GPU its context. No code of a candidate's yet. */
#define BOOT_NS     20000000000
#define BOOT_GPU_NS 60000000000
#define KEPT_BYTES  2048 /* of head and tail of each stream */

static enum kg_code map_wire(const struct kg_pyrunner_spec *spec, struct kg_pyrunner *r,
                             struct kg_err *err)
{
    struct stat st, in;
    if (fstat(spec->ctrl_fd, &st) != 0 || (uint64_t)st.st_size < sizeof *r->wire) {
        return kg_fail(err, KG_E_GYM, "torch: the control block is too small");
    }
    void *at = mmap(NULL, sizeof *r->wire, PROT_READ | PROT_WRITE, MAP_SHARED, spec->ctrl_fd, 0);
    if (at == MAP_FAILED) {
        return kg_fail(err, KG_E_HOST, "torch: cannot map the control block: %s", strerror(errno));
    }
    r->wire = at;
    r->wire->magic = KG_TWIRE_MAGIC;
    r->wire->version = KG_TWIRE_VERSION;
    r->wire->fault_signal = 0;
    atomic_store(&r->wire->state, KG_TS_BOOT);
    atomic_store(&r->wire->building, KG_TB_WAITS);
    r->in_bytes = fstat(spec->in_fd, &in) == 0 && in.st_size > 0 ? (uint64_t)in.st_size : 0;
    return KG_OK;
}

static enum kg_code open_pipes(int readers[2], int writers[2], struct kg_err *err)
{
    int one[2], two[2];
    if (pipe2(one, O_CLOEXEC) != 0) {
        return kg_fail(err, KG_E_HOST, "torch: cannot make a pipe: %s", strerror(errno));
    }
    if (pipe2(two, O_CLOEXEC) != 0) {
        int why = errno;
        close(one[0]);
        close(one[1]);
        return kg_fail(err, KG_E_HOST, "torch: cannot make a pipe: %s", strerror(why));
    }
    readers[0] = one[0];
    readers[1] = two[0];
    writers[0] = one[1];
    writers[1] = two[1];
    return KG_OK;
}

static enum kg_code launch(struct kg_zygote *z, const struct kg_pyrunner_spec *spec,
                           struct kg_pyrunner *r, struct kg_err *err)
{
    int readers[2] = {-1, -1}, writers[2] = {-1, -1}, tmp = -1;
    if (open_pipes(readers, writers, err) != KG_OK) {
        return err->code;
    }
    enum kg_code code = kg_pyrunner_fork(z, spec, writers, &r->sandbox, &tmp, err);
    r->tmp = tmp + 1;
    close(writers[0]);
    close(writers[1]);
    if (code != KG_OK) {
        close(readers[0]);
        close(readers[1]);
        return code;
    }
    struct kg_drain *drain = NULL;
    code = kg_drain_start(readers, r->sandbox.pidfd, KEPT_BYTES, NULL, &drain, err);
    r->drain = drain;
    return code;
}

static bool ended(const struct kg_pyrunner *r)
{
    struct pollfd p = {.fd = r->sandbox.pidfd, .events = POLLIN};
    return poll(&p, 1, 0) > 0;
}

void kg_pyrunner_let_on(struct kg_pyrunner *r)
{
    atomic_store(&r->wire->building, KG_TB_NONE);
    syscall(SYS_futex, &r->wire->building, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void kg_pyrunner_go(struct kg_pyrunner *r)
{
    if (r->told) {
        return;
    }
    r->told = true;
    r->boot_until_ns = kg_clock_ns() + r->boot_ns;
    kg_pyrunner_let_on(r);
}

static bool is_ready(const struct kg_pyrunner *r)
{
    return atomic_load_explicit(&r->wire->state, memory_order_acquire) == KG_TS_READY;
}

/* Between its context and the rest of its start. */
static bool is_halfway(const struct kg_pyrunner *r)
{
    return r->told && r->makes_context && !is_ready(r) &&
           atomic_load(&r->wire->building) == KG_TB_WAITS;
}

/* Until it has made its context, or is READY. */
static enum kg_code await_start(struct kg_pyrunner *r, bool context, struct kg_err *err)
{
    while (!is_ready(r) && !(context && is_halfway(r))) {
        bool cancelled = r->cancelled != NULL && *r->cancelled;
        if (cancelled) {
            kg_pyrunner_stop(r);
            return kg_fail(err, KG_E_CANCELLED, "torch: cancelled");
        }
        if (ended(r) || kg_clock_ns() >= r->boot_until_ns) {
            bool dead = ended(r);
            kg_pyrunner_stop(r);
            const struct kg_output *o = &r->output[1];
            int n = (int)(o->head_len < 300 ? o->head_len : 300);
            return kg_fail(err, KG_E_HOST, "torch: a runner %s before it was ready: %.*s",
                           dead ? "ended" : "hung", n, o->head);
        }
        struct timespec t = {0, 2000000};
        if (context) {
            syscall(SYS_futex, &r->wire->building, FUTEX_WAIT, KG_TB_NONE, &t, NULL, 0);
        } else {
            syscall(SYS_futex, &r->wire->state, FUTEX_WAIT, KG_TS_BOOT, &t, NULL, 0);
        }
    }
    return KG_OK;
}

enum kg_code kg_pyrunner_has_context(struct kg_pyrunner *r, struct kg_err *err)
{
    kg_pyrunner_go(r);
    return r->makes_context ? await_start(r, true, err) : KG_OK;
}

enum kg_code kg_pyrunner_ready(struct kg_pyrunner *r, struct kg_err *err)
{
    if (kg_pyrunner_has_context(r, err) != KG_OK) {
        return err->code;
    }
    if (!is_ready(r)) { /* it may have waited for long */
        r->boot_until_ns = kg_clock_ns() + r->boot_ns;
        kg_pyrunner_let_on(r);
    }
    return await_start(r, false, err);
}

enum kg_code kg_pyrunner_begin(struct kg_zygote *z, const struct kg_pyrunner_spec *spec,
                               struct kg_pyrunner *out, struct kg_err *err)
{
    memset(out, 0, sizeof *out);
    out->sandbox.pid = -1;
    out->sandbox.pidfd = -1;
    out->cancelled = z->spec.cancelled;
    enum kg_code code = map_wire(spec, out, err);
    if (code == KG_OK) {
        code = launch(z, spec, out, err);
    }
    out->makes_context = z->spec.cuda;
    out->boot_ns = z->spec.cuda ? BOOT_GPU_NS : BOOT_NS;
    if (code != KG_OK) {
        kg_pyrunner_stop(out);
    }
    return code;
}

void kg_pyrunner_stop(struct kg_pyrunner *r)
{
    kg_sandbox_end(&r->sandbox);
    kg_drain_stop(r->drain, r->output);
    r->drain = NULL;
    if (r->tmp > 0) {
        close(r->tmp - 1);
        r->tmp = 0;
    }
    if (r->wire != NULL) {
        r->fault_signal = r->wire->fault_signal;
        r->fault_write = r->wire->fault_write;
        r->fault_address = r->wire->fault_address;
        munmap(r->wire, sizeof *r->wire);
        r->wire = NULL;
    }
}

bool kg_pyrunner_at_rest(const struct kg_pyrunner *r)
{
    return r->wire != NULL && !ended(r) &&
           (is_halfway(r) ||
            (is_ready(r) && atomic_load(&r->wire->go) == atomic_load(&r->wire->done)));
}

void kg_pyrunner_pin(const struct kg_pyrunner *r, int cpu)
{
    char path[64];
    cpu_set_t set;
    snprintf(path, sizeof path, "/proc/%d/task", (int)r->sandbox.pid);
    DIR *tasks = cpu >= 0 && r->sandbox.pid > 0 ? opendir(path) : NULL;
    struct dirent *e;
    CPU_ZERO(&set);
    if (tasks) {
        CPU_SET((size_t)cpu, &set);
    }
    while (tasks && (e = readdir(tasks)) != NULL) {
        long tid = strtol(e->d_name, NULL, 10);
        if (tid > 0) { /* a thread that has just ended is no matter */
            sched_setaffinity((pid_t)tid, sizeof set, &set);
            setpriority(PRIO_PROCESS, (id_t)tid, 0);
        }
    }
    if (tasks) {
        closedir(tasks);
    }
}

int kg_pyrunner_signal(const struct kg_pyrunner *r)
{
    const struct kg_exit *x = &r->sandbox.exit;
    if (x->kind == KG_EXIT_SIGNAL) {
        return x->code;
    }
    int claim = (int)r->fault_signal;
    return x->kind == KG_EXIT_CODE && claim > 0 && x->code == 128 + claim ? claim : 0;
}

bool kg_pyrunner_wrote_input(const struct kg_pyrunner *r)
{
    int by = kg_pyrunner_signal(r);
    return (by == SIGSEGV || by == SIGBUS) && (int)r->fault_signal == by && r->fault_write != 0 &&
           r->fault_address >= KG_ADDR_IN && r->fault_address < KG_ADDR_IN + r->in_bytes;
}

/* False: it is longer than the block takes. */
static bool put_request(struct kg_twire *w, const json_t *request)
{
    w->request_bytes = 0;
    if (request == NULL) {
        return true;
    }
    struct kg_buf text;
    kg_buf_init(&text, KG_TWIRE_TEXT);
    kg_json_dump(request, &text);
    bool fits = kg_buf_ok(&text);
    if (fits) {
        memcpy(w->request, text.data, text.len);
        w->request_bytes = (uint32_t)text.len;
    }
    kg_buf_deinit(&text);
    return fits;
}

json_t *kg_pyrunner_reply(const struct kg_pyrunner *r)
{
    struct kg_err ignored = KG_ERR_INIT;
    json_t *reply = NULL;
    uint32_t bytes = r->wire ? r->wire->reply_bytes : 0;
    char *text = bytes > 0 && bytes <= KG_TWIRE_TEXT ? malloc(bytes) : NULL;
    if (text == NULL) {
        return NULL;
    }
    memcpy(text, r->wire->reply, bytes);
    if (kg_json_parse(text, bytes, "runner", &reply, &ignored) != KG_OK) {
        reply = NULL;
    }
    free(text);
    return reply;
}

bool kg_pyrunner_lost_device(const struct kg_pyrunner *r)
{
    json_t *reply = kg_pyrunner_reply(r);
    bool lost = json_is_true(json_object_get(reply, "device"));
    json_decref(reply);
    return lost;
}

/* All that the block says is copied once, then looked at. */
static enum kg_pystatus take_answer(const struct kg_twire *w, const uint64_t nonce[2],
                                    struct kg_pyanswer *out)
{
    uint32_t status = w->status, bytes = w->reply_bytes;
    if (w->echo[0] != nonce[0] || w->echo[1] != nonce[1] || status >= KG_TA_COUNT ||
        bytes > KG_TWIRE_TEXT) {
        return KG_PY_PROTOCOL;
    }
    out->said = (enum kg_tstatus)status;
    memcpy(out->structure, w->structure, sizeof out->structure);
    out->structure[sizeof out->structure - 1] = '\0';
    if (bytes == 0) {
        return KG_PY_ANSWERED;
    }
    char *text = malloc(bytes);
    if (text == NULL) {
        return KG_PY_PROTOCOL;
    }
    memcpy(text, w->reply, bytes);
    struct kg_err ignored = KG_ERR_INIT;
    enum kg_code code = kg_json_parse(text, bytes, "runner", &out->reply, &ignored);
    free(text);
    if (code != KG_OK || !json_is_object(out->reply)) {
        kg_pyanswer_deinit(out);
        return KG_PY_PROTOCOL;
    }
    return KG_PY_ANSWERED;
}

void kg_pyrunner_ask(struct kg_pyrunner *r, enum kg_tcommand command, const json_t *request,
                     uint64_t seed, bool polite, struct kg_pyquestion *out)
{
    struct kg_twire *w = r->wire;
    memset(out, 0, sizeof *out);
    if (w == NULL || getrandom(out->nonce, sizeof out->nonce, 0) != (ssize_t)sizeof out->nonce ||
        !put_request(w, request)) {
        return;
    }
    kg_pyrunner_wake(r);
    w->command = (uint32_t)command;
    w->flags = polite ? KG_TF_POLITE : 0;
    atomic_store(&w->building, KG_TB_NONE);
    w->nrequest = 0;
    w->seed = seed;
    kg_twire_release(w, out->nonce);
    out->asked = true;
}

void kg_pyrunner_answer(struct kg_pyrunner *r, const struct kg_pyquestion *q, int64_t deadline_ns,
                        struct kg_pyanswer *out)
{
    memset(out, 0, sizeof *out);
    out->status = KG_PY_PROTOCOL;
    if (!q->asked) {
        return;
    }
    switch (kg_twire_wait(r->wire, r->sandbox.pidfd, deadline_ns, r->cancelled)) {
    case 0:
        out->status = take_answer(r->wire, q->nonce, out);
        break;
    case KG_TWIRE_RUNNER_DEAD:
        out->status = KG_PY_DIED;
        break;
    default:
        out->status = KG_PY_TIMEOUT;
    }
}

void kg_pyrunner_command(struct kg_pyrunner *r, enum kg_tcommand command, const json_t *request,
                         uint64_t seed, int64_t deadline_ns, struct kg_pyanswer *out)
{
    struct kg_pyquestion q;
    kg_pyrunner_ask(r, command, request, seed, false, &q);
    kg_pyrunner_answer(r, &q, deadline_ns, out);
}

void kg_pyanswer_deinit(struct kg_pyanswer *a)
{
    json_decref(a->reply);
    a->reply = NULL;
}

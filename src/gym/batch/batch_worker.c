#include "gym/batch/batch_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

#define RECORD_MAX    (64u << 20)
#define STOP_GRACE_NS 5000000000

static volatile int terminated; /* of a worker process: SIGTERM sets it */

static bool read_exactly(int fd, void *out, size_t n)
{
    for (size_t at = 0; at < n;) {
        ssize_t got = read(fd, (char *)out + at, n - at);
        if (got <= 0 && !(got < 0 && errno == EINTR && !terminated)) {
            return false;
        }
        at += got > 0 ? (size_t)got : 0;
    }
    return true;
}

struct head {
    uint32_t kind, len; /* enum kg_batch_got */
};

struct order {
    uint32_t line, more; /* more: so many come after it */
};

static bool answer(int fd, enum kg_batch_got kind, const char *text, size_t len)
{
    struct kg_err ignored = KG_ERR_INIT;
    struct head h = {kind, (uint32_t)len};
    return kg_file_write_all(fd, &h, sizeof h, &ignored) == KG_OK &&
           kg_file_write_all(fd, text, len, &ignored) == KG_OK;
}

static void judge_line(struct kg_worker *w, const struct kg_batch_work *work, const struct order *o,
                       struct kg_buf *out)
{
    const struct kg_items *items = work->items;
    const struct kg_batch_spec *spec = work->spec;
    struct kg_item_task t;
    struct kg_record r;
    struct kg_err err = KG_ERR_INIT;
    kg_record_init(&r);
    if (kg_item_open(items, o->line, &t, &err) != KG_OK) {
        r.batch_id = items->item[o->line].id;
        kg_record_error(&r, &err);
    } else {
        t.task.stop_after = spec->stop_after;
        t.task.more = o->more;
        kg_eval(w, &t.task, &r);
    }
    json_t *j = kg_record_json(&r, spec->public_only);
    kg_json_dump(j, out);
    json_decref(j);
    kg_item_close(&t);
    kg_record_deinit(&r);
}

static int serve(int from_parent, int to_parent, const struct kg_batch_work *work, int cpu)
{
    struct kg_worker *w;
    struct kg_err err = KG_ERR_INIT;
    struct kg_buf out;
    struct order o;
    if (kg_worker_open(work->config, cpu, &terminated, &w, &err) != KG_OK) {
        answer(to_parent, KG_GOT_REFUSAL, err.message, strlen(err.message));
        return 2;
    }
    kg_worker_share(w, work->common);
    kg_buf_init(&out, RECORD_MAX);
    while (read_exactly(from_parent, &o, sizeof o) && o.line < work->items->n) {
        kg_buf_reset(&out);
        judge_line(w, work, &o, &out);
        if (terminated || !answer(to_parent, KG_GOT_RECORD, out.data, out.len)) {
            break;
        }
    }
    kg_buf_deinit(&out);
    kg_worker_close(w);
    return 0;
}

static void on_terminate(int sig)
{
    (void)sig;
    terminated = 1;
}

static void on_interrupt(int sig)
{
    (void)sig; /* ignoring it by SIG_IGN would be inherited by what is judged */
}

/* A worker ends when its parent says so or is gone, and always tidily: an interrupt from the
 * terminal reaches it as well, and two signals must not mean more than one. */
static void take_signals(const volatile int *cancelled)
{
    terminated = cancelled && *cancelled;
    struct sigaction sa = {.sa_handler = on_terminate};
    sigemptyset(&sa.sa_mask);
    sigaction(SIGTERM, &sa, NULL);
    sa.sa_handler = on_interrupt;
    sigaction(SIGINT, &sa, NULL);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
}

/* Other workers' pipes must not stay open here: their readers would never see the end. */
static void keep_only(int a, int b)
{
    unsigned lo = (unsigned)(a < b ? a : b), hi = (unsigned)(a < b ? b : a);
    if (lo > 3) {
        close_range(3, lo - 1, 0);
    }
    if (hi > lo + 1) {
        close_range(lo + 1, hi - 1, 0);
    }
    close_range(hi + 1, ~0u, 0);
}

enum kg_code kg_batch_worker_start(struct kg_batch_worker *w, const struct kg_batch_work *work,
                                   int cpu, struct kg_err *err)
{
    int to[2], from[2];
    if (pipe2(to, O_CLOEXEC) != 0) {
        return kg_fail(err, KG_E_HOST, "pipe: %s", strerror(errno));
    }
    if (pipe2(from, O_CLOEXEC) != 0) {
        close(to[0]);
        close(to[1]);
        return kg_fail(err, KG_E_HOST, "pipe: %s", strerror(errno));
    }
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        take_signals(work->spec->cancelled);
        keep_only(to[0], from[1]);
        _exit(getppid() == parent ? serve(to[0], from[1], work, cpu) : 2);
    }
    close(to[0]);
    close(from[1]);
    if (pid < 0) {
        close(to[1]);
        close(from[0]);
        return kg_fail(err, KG_E_HOST, "fork: %s", strerror(errno));
    }
    *w = (struct kg_batch_worker){
        .pid = pid, .to = to[1], .from = from[0], .cpu = cpu, .busy = -1, .problem = -1};
    kg_buf_init(&w->in, RECORD_MAX + sizeof(struct head));
    return KG_OK;
}

bool kg_batch_worker_send(struct kg_batch_worker *w, uint32_t line, unsigned more)
{
    struct kg_err err = KG_ERR_INIT;
    struct order o = {line, more};
    w->busy = line;
    w->since_ns = kg_clock_ns();
    return kg_file_write_all(w->to, &o, sizeof o, &err) == KG_OK;
}

enum kg_batch_got kg_batch_worker_read(struct kg_batch_worker *w, char **text)
{
    char chunk[65536];
    ssize_t got = read(w->from, chunk, sizeof chunk);
    if (got <= 0) {
        return got < 0 && errno == EINTR ? KG_GOT_NOTHING : KG_GOT_END;
    }
    kg_buf_add(&w->in, chunk, (size_t)got);
    struct head h;
    if (!kg_buf_ok(&w->in)) {
        return KG_GOT_END;
    }
    if (w->in.len < sizeof h) {
        return KG_GOT_NOTHING;
    }
    memcpy(&h, w->in.data, sizeof h);
    if (w->in.len < sizeof h + h.len) {
        return h.len > RECORD_MAX ? KG_GOT_END : KG_GOT_NOTHING;
    }
    *text = strndup(w->in.data + sizeof h, h.len);
    kg_buf_reset(&w->in);
    w->busy = -1;
    return *text ? (enum kg_batch_got)h.kind : KG_GOT_END;
}

void kg_batch_worker_ask(struct kg_batch_worker *w)
{
    if (w->pid <= 0 || w->to < 0) {
        return;
    }
    close(w->to);
    w->to = -1;
    if (w->busy >= 0) {
        kill(w->pid, SIGTERM);
    }
}

void kg_batch_worker_wait(struct kg_batch_worker *w)
{
    if (w->pid <= 0) {
        return;
    }
    int64_t deadline = kg_clock_ns() + STOP_GRACE_NS;
    while (waitpid(w->pid, NULL, WNOHANG) == 0) {
        if (kg_clock_ns() > deadline) {
            kill(w->pid, SIGKILL);
        }
        usleep(2000);
    }
    close(w->from);
    kg_buf_deinit(&w->in);
    w->pid = -1;
}

#include "gym/pipeline/batch_worker.h"

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
#include "base/log.h"

#define RECORD_MAX    (64u << 20)
#define STOP_GRACE_NS 3000000000

static bool read_exactly(int fd, void *out, size_t n)
{
    for (size_t at = 0; at < n;) {
        ssize_t got = read(fd, (char *)out + at, n - at);
        if (got <= 0 && !(got < 0 && errno == EINTR && !kg_cancelled)) {
            return false;
        }
        at += got > 0 ? (size_t)got : 0;
    }
    return true;
}

static void judge_line(struct kg_worker *w, const struct kg_batch_spec *spec,
                       const struct kg_items *items, uint32_t line, struct kg_buf *out)
{
    struct kg_item_task t;
    struct kg_record r;
    struct kg_err err = KG_ERR_INIT;
    kg_record_init(&r);
    if (kg_item_open(items, line, &t, &err) != KG_OK) {
        r.batch_id = items->item[line].id;
        kg_record_error(&r, &err);
    } else {
        t.task.stop_after = spec->stop_after;
        kg_eval(w, &t.task, &r);
    }
    json_t *j = kg_record_json(&r, spec->public_only);
    kg_json_dump(j, out);
    json_decref(j);
    kg_item_close(&t);
    kg_record_deinit(&r);
}

static int serve(int from_parent, int to_parent, const struct kg_config *config, int cpu,
                 const struct kg_batch_spec *spec, const struct kg_items *items)
{
    struct kg_worker *w;
    struct kg_err err = KG_ERR_INIT;
    struct kg_buf out;
    uint32_t line;
    if (kg_worker_open(config, cpu, &w, &err) != KG_OK) {
        kg_log(KG_LOG_ERROR, "%s", err.message);
        return 2;
    }
    kg_buf_init(&out, RECORD_MAX);
    while (read_exactly(from_parent, &line, sizeof line) && line < items->n) {
        kg_buf_reset(&out);
        kg_buf_add(&out, "\0\0\0\0", 4);
        judge_line(w, spec, items, line, &out);
        uint32_t len = (uint32_t)(out.len - 4);
        memcpy(out.data, &len, sizeof len);
        if (kg_cancelled || kg_file_write_all(to_parent, out.data, out.len, &err) != KG_OK) {
            break;
        }
    }
    kg_buf_deinit(&out);
    kg_worker_close(w);
    return 0;
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

enum kg_code kg_batch_worker_start(struct kg_batch_worker *w, const struct kg_config *config,
                                   const struct kg_batch_spec *spec, const struct kg_items *items,
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
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        keep_only(to[0], from[1]);
        _exit(getppid() == parent ? serve(to[0], from[1], config, cpu, spec, items) : 2);
    }
    close(to[0]);
    close(from[1]);
    if (pid < 0) {
        close(to[1]);
        close(from[0]);
        return kg_fail(err, KG_E_HOST, "fork: %s", strerror(errno));
    }
    *w = (struct kg_batch_worker){.pid = pid, .to = to[1], .from = from[0], .cpu = cpu, .busy = -1};
    kg_buf_init(&w->in, RECORD_MAX + 8);
    return KG_OK;
}

bool kg_batch_worker_send(struct kg_batch_worker *w, uint32_t line)
{
    struct kg_err err = KG_ERR_INIT;
    w->busy = line;
    return kg_file_write_all(w->to, &line, sizeof line, &err) == KG_OK;
}

int kg_batch_worker_read(struct kg_batch_worker *w, char **record)
{
    char chunk[65536];
    ssize_t got = read(w->from, chunk, sizeof chunk);
    if (got <= 0) {
        return got < 0 && errno == EINTR ? 0 : -1;
    }
    kg_buf_add(&w->in, chunk, (size_t)got);
    uint32_t len;
    if (w->in.len < sizeof len) {
        return 0;
    }
    memcpy(&len, w->in.data, sizeof len);
    if (len > RECORD_MAX || !kg_buf_ok(&w->in)) {
        return -1;
    }
    if (w->in.len < sizeof len + len) {
        return 0;
    }
    *record = strndup(w->in.data + sizeof len, len);
    kg_buf_reset(&w->in);
    w->busy = -1;
    return *record ? 1 : -1;
}

void kg_batch_worker_stop(struct kg_batch_worker *w)
{
    if (w->pid <= 0) {
        return;
    }
    close(w->to); /* an idle worker ends at end of file, cleaning up after itself */
    int64_t deadline = kg_clock_ns() + STOP_GRACE_NS;
    bool signalled = false;
    if (w->busy >= 0) {
        signalled = kill(w->pid, SIGTERM) == 0;
    }
    while (waitpid(w->pid, NULL, WNOHANG) == 0) {
        if (kg_clock_ns() > deadline) {
            kill(w->pid, signalled ? SIGKILL : SIGTERM);
            signalled = true;
            deadline = kg_clock_ns() + STOP_GRACE_NS;
        }
        usleep(2000);
    }
    close(w->from);
    kg_buf_deinit(&w->in);
    w->pid = -1;
}

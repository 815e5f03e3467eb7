/* A worker's process: configuration in, then tasks in and results out. */
#include "gym/pool/worker_role.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/file.h"
#include "base/trace.h"
#include "gym/eval/evaluate.h"
#include "gym/eval/onboard.h"
#include "gym/kgym.h"
#include "gym/pool/channel.h"
#include "gym/pool/result.h"
#include "gym/pool/settings.h"

#define IDLE_MS 100

struct role {
    struct kg_channel channel;
    struct kg_config config;
    struct kg_worker *worker;
    struct kg_common *common;
    bool public_only;
    char given[400]; /* folder of problems that came as text, made when first needed */
};

static volatile int cancelled; /* the task under way, or whatever else takes long */
static volatile int ending;

static void on_terminate(int sig)
{
    (void)sig;
    cancelled = ending = 1;
}

static void on_cancel(int sig)
{
    (void)sig;
    cancelled = 1;
}

static void on_interrupt(int sig)
{
    (void)sig; /* ignoring it by SIG_IGN would be inherited by what is judged */
}

static void take_signals(void)
{
    static const struct {
        int sig;
        void (*handler)(int);
    } list[] = {{SIGTERM, on_terminate}, {SIGUSR1, on_cancel}, {SIGINT, on_interrupt}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        struct sigaction sa = {.sa_handler = list[i].handler};
        sigemptyset(&sa.sa_mask);
        sigaction(list[i].sig, &sa, NULL);
    }
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_NAME, "kgym-worker"); /* what ps shows */
    prctl(PR_SET_PDEATHSIG, SIGTERM);  /* the supervisor has one thread, so it is its parent */
}

static enum kg_code open_worker(struct role *role, const json_t *head, int shared,
                                struct kg_err *err)
{
    const char *trace = kg_frame_text(head, "trace");
    int cpu = (int)kg_frame_int(head, "cpu");
    role->public_only = json_is_true(json_object_get(head, "public"));
    kg_opts_defaults(kg_config_options(), &role->config);
    if (trace && *trace && kg_trace_join(trace, err) != KG_OK) {
        return err->code;
    }
    role->common = mmap(NULL, sizeof *role->common, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);
    if (role->common == MAP_FAILED) {
        role->common = NULL;
    }
    if (kg_settings_apply(json_object_get(head, "settings"), &role->config, err) != KG_OK ||
        kg_worker_open(&role->config, cpu, &cancelled, &role->worker, err) != KG_OK) {
        return err->code;
    }
    kg_worker_share(role->worker, role->common);
    return KG_OK;
}

/* Parts of a task's body, in this order. */
struct parts {
    const char *problem, *text, *replay;
    size_t problem_len, text_len, replay_len;
};

static bool split(const struct kg_frame *f, struct parts *p)
{
    p->problem_len = (size_t)kg_frame_int(f->head, "problem_len");
    p->replay_len = (size_t)kg_frame_int(f->head, "replay_len");
    if (p->problem_len > f->len || p->replay_len > f->len - p->problem_len) {
        return false;
    }
    p->text_len = f->len - p->problem_len - p->replay_len;
    p->problem = f->body;
    p->text = f->body + p->problem_len;
    p->replay = p->text + p->text_len;
    return true;
}

/* A problem that came as text becomes a file of the name that came with it. NAME.jsonl#1 is a file
 * of one row. */
static enum kg_code keep_problem(struct role *role, const struct parts *p, const char *name,
                                 char *path, size_t cap, struct kg_err *err)
{
    const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
    if (!role->given[0]) {
        snprintf(role->given, sizeof role->given, "%s/given", kg_worker_scratch(role->worker));
    }
    if (strcmp(base, "") == 0 || strcmp(base, ".") == 0 || strcmp(base, "..") == 0) {
        return kg_fail(err, KG_E_USAGE, "problem: a file name is needed beside its text");
    }
    int n = snprintf(path, cap, "%s/%s", role->given, base);
    if (n < 0 || (size_t)n >= cap) {
        return kg_fail(err, KG_E_USAGE, "problem: the name is too long");
    }
    char file[1200];
    const char *row = strstr(base, ".jsonl#");
    size_t len = row ? (size_t)(row - base) + strlen(".jsonl") : strlen(base);
    n = snprintf(file, sizeof file, "%s/%.*s", role->given, (int)len, base);
    if (n < 0 || (size_t)n >= sizeof file) {
        return kg_fail(err, KG_E_USAGE, "problem: the name is too long");
    }
    return kg_file_mkdirs(role->given, 0755, err) == KG_OK
               ? kg_file_write_atomic(file, p->problem, p->problem_len, err)
               : err->code;
}

/* The record of a replay must have a name, since the new record tells what it repeats. */
static enum kg_code take_replay(const struct parts *p, struct kg_task *t, json_t **replay,
                                struct kg_err *err)
{
    if (kg_json_parse(p->replay, p->replay_len, "replay", replay, err) != KG_OK) {
        return err->code;
    }
    t->replay = json_object_get(*replay, "private");
    t->replay_id = json_string_value(json_object_get(*replay, "id"));
    if (!json_is_object(t->replay)) {
        return kg_fail(err, KG_E_INPUT,
                       "replay: the record has no `private` (it was written without)");
    }
    return kg_ulid_is(t->replay_id)
               ? KG_OK
               : kg_fail(err, KG_E_INPUT, "replay: the record has no `id` (a ULID)");
}

static enum kg_code fill_task(struct role *role, const struct kg_frame *f, const struct parts *p,
                              struct kg_task *t, char *path, size_t cap, json_t **replay,
                              struct kg_err *err)
{
    const char *stop = kg_frame_text(f->head, "stop_after");
    *t = (struct kg_task){.problem = kg_frame_text(f->head, "problem"),
                          .batch_id = kg_frame_text(f->head, "tag"),
                          .text = p->text,
                          .len = p->text_len,
                          .source = json_is_true(json_object_get(f->head, "source")),
                          .rewards = kg_frame_text(f->head, "rewards"),
                          .stop_after = KG_ST_PROFILE,
                          .more = json_is_true(json_object_get(f->head, "more"))};
    if (stop && !kg_stage_parse(stop, &t->stop_after)) {
        return kg_fail(err, KG_E_USAGE, "stop_after: no stage `%.40s`", stop);
    }
    if (p->problem_len > 0) {
        if (keep_problem(role, p, t->problem, path, cap, err) != KG_OK) {
            return err->code;
        }
        t->problem = path;
    }
    return p->replay_len > 0 ? take_replay(p, t, replay, err) : KG_OK;
}

static json_t *evaluate(struct role *role, const struct kg_frame *f, const struct kg_task *t,
                        struct kg_buf *body)
{
    struct kg_record r;
    kg_record_init(&r);
    kg_eval(role->worker, t, &r);
    json_t *j = kg_record_json(&r, role->public_only);
    kg_json_dump(j, body);
    json_decref(j);
    json_t *head = kg_result_of_record(kg_frame_int(f->head, "id"), &r);
    kg_record_deinit(&r);
    return head;
}

static json_t *check(struct role *role, const struct kg_frame *f, const struct kg_task *t,
                     struct kg_buf *body)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_onboard o;
    if (kg_onboard(role->worker, t->problem, &o, &err) != KG_OK) {
        json_object_set_new(f->head, "lacks", json_boolean(kg_onboard_lacks(role->worker, &err)));
        return kg_result_of_error(f->head, &err, role->public_only, body);
    }
    json_t *j = kg_onboard_json(&o);
    kg_json_dump(j, body);
    json_t *head = kg_result_of_check(kg_frame_int(f->head, "id"), j);
    json_decref(j);
    kg_onboard_deinit(&o);
    return head;
}

static json_t *run(struct role *role, const struct kg_frame *f, struct kg_buf *body)
{
    struct kg_err err = KG_ERR_INIT;
    struct parts p;
    struct kg_task t;
    json_t *replay = NULL, *head;
    char path[1024];
    if (!split(f, &p)) {
        kg_fail(&err, KG_E_GYM, "a task's lengths exceed its frame");
        return kg_result_of_error(f->head, &err, role->public_only, body);
    }
    if (fill_task(role, f, &p, &t, path, sizeof path, &replay, &err) != KG_OK) {
        head = kg_result_of_error(f->head, &err, role->public_only, body);
    } else if (kg_frame_int(f->head, "kind") == KGYM_CHECK) {
        head = check(role, f, &t, body);
    } else {
        head = evaluate(role, f, &t, body);
    }
    json_decref(replay);
    return head;
}

/* The next frame. What others wait for is given back before, and while there is none. */
static bool next_frame(struct role *role, struct kg_frame *f)
{
    do {
        kg_worker_idle(role->worker);
        if (kg_channel_wait(&role->channel, IDLE_MS, &ending, f)) {
            return true;
        }
    } while (!ending && !role->channel.ended);
    return false;
}

static void serve(struct role *role)
{
    struct kg_frame f;
    struct kg_buf body;
    kg_buf_init(&body, KG_POOL_RECORD_MAX);
    while (!ending && next_frame(role, &f)) {
        cancelled = 0; /* a signal for an earlier task is no longer meant */
        if (ending) {  /* but one that came just now is */
            cancelled = 1;
        }
        kg_buf_reset(&body);
        json_t *head = f.kind == KG_FRAME_TASK ? run(role, &f, &body) : json_object();
        head = kg_result_within(f.head, head, role->public_only, &body);
        bool was_cancelled = cancelled;
        kg_frame_deinit(&f);
        if (ending ||
            !kg_channel_send(&role->channel, KG_FRAME_RESULT, head, body.data, body.len)) {
            break;
        }
        if (was_cancelled) {
            kg_worker_reset(role->worker); /* whoever was spoken to may be in mid-sentence */
        }
    }
    kg_buf_deinit(&body);
}

int kg_pool_work(int sock, int shared)
{
    struct role role = {.public_only = false};
    struct kg_err err = KG_ERR_INIT;
    struct kg_frame f;
    take_signals();
    fcntl(sock, F_SETFD, FD_CLOEXEC);
    kg_channel_init(&role.channel, sock);
    if (!kg_channel_wait(&role.channel, -1, &ending, &f)) {
        return 2;
    }
    enum kg_code code = open_worker(&role, f.head, shared, &err);
    kg_frame_deinit(&f);
    close(shared);
    if (code == KG_OK) {
        if (kg_channel_send(&role.channel, KG_FRAME_READY, json_object(), "", 0)) {
            serve(&role);
        }
    } else if (code != KG_E_CANCELLED) { /* not because its first task was cancelled */
        kg_channel_send(&role.channel, KG_FRAME_BROKEN, kg_frame_put_error(json_object(), &err), "",
                        0);
    }
    kg_worker_close(role.worker);
    if (role.common) {
        munmap(role.common, sizeof *role.common);
    }
    kg_channel_deinit(&role.channel);
    return code == KG_OK ? 0 : 2;
}

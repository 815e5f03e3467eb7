#include "fuzz.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gym/pool/client.h"
#include "gym/pool/result.h"
#include "gym/pool/supervisor.h"

/* What a worker sends goes through the supervisor to the client, as in a pool; no process runs. The
 * first byte says how things stand: READY was said, the task was cancelled, the task is a check,
 * the worker ends after its bytes. Whatever they are, the task is with the worker, waits again, or
 * has one result. */

#define TASK_ID 7
#define NOBODY  INT_MAX /* no process has this number */

static struct kg_supervisor s;
static struct kg_worker_process worker, *workers[1] = {&worker};
static struct kgym_pool pool;
static struct kg_client_task client_task;

static int socket_pair(struct kg_channel *c)
{
    int pair[2];
    KG_ASSERT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    kg_channel_init(c, pair[0]);
    return pair[1];
}

static int open_all(int flags)
{
    struct kg_pool_task *t = calloc(1, sizeof *t);
    KG_ASSERT(t);
    t->id = TASK_ID;
    t->problem = 1;
    t->cancelled = flags & 2;
    t->head =
        json_pack("{s:i, s:i}", "id", TASK_ID, "kind", flags & 4 ? KGYM_CHECK : KGYM_EVALUATE);
    t->body = calloc(1, 1);
    worker = (struct kg_worker_process){
        .state = KG_WORKER_BUSY, .pid = NOBODY, .task = t, .ready = flags & 1};
    int end = socket_pair(&worker.channel);
    worker.channel.most = KG_HEAD_MAX + KG_POOL_RECORD_MAX;
    s = (struct kg_supervisor){.worker = workers, .nworkers = 1, .wanted = 1};
    client_task = (struct kg_client_task){.id = TASK_ID};
    pool = (struct kgym_pool){
        .wake = -1, .supervisor = -1, .ntasks = 1, .task = &client_task, .replies = json_object()};
    kg_channel_init(&pool.channel, socket_pair(&s.client));
    return end;
}

static void close_all(void)
{
    for (size_t i = 0; i < pool.ndone; i++) {
        kgym_result_free(pool.done[i]);
    }
    free(pool.done);
    json_decref(pool.replies);
    kg_channel_deinit(&pool.channel);
    kg_channel_deinit(&s.client);
    kg_channel_deinit(&worker.channel);
    kg_pool_task_destroy(worker.task);
    kg_pool_tasks_deinit(&s.tasks);
}

static void hear_all(int end, const uint8_t *data, size_t size, bool ends)
{
    for (size_t at = 0; at < size && worker.channel.fd >= 0;) {
        ssize_t n = send(end, data + at, size - at, MSG_DONTWAIT | MSG_NOSIGNAL);
        at += n > 0 ? (size_t)n : 0;
        kg_supervisor_hear(&s, &worker);
    }
    if (ends) {
        shutdown(end, SHUT_WR);
    }
    for (int i = 0; i < 4; i++) {
        kg_supervisor_hear(&s, &worker);
    }
    while (kg_channel_flush(&s.client)) {
        kg_client_hear(&pool);
    }
    for (int i = 0; i < 4; i++) {
        kg_client_hear(&pool);
    }
}

static void check_result(const struct kgym_result *r, int flags)
{
    struct kg_err err = KG_ERR_INIT;
    json_t *j = NULL;
    KG_ASSERT(r->id == TASK_ID && r->kind == (flags & 4 ? KGYM_CHECK : KGYM_EVALUATE));
    KG_ASSERT(r->error >= KGYM_OK && r->error <= KGYM_E_FULL);
    KG_ASSERT(r->error != KGYM_E_CANCELLED || (flags & 2));
    KG_ASSERT(r->error == KGYM_OK || !r->verdict);
    KG_ASSERT(r->message && r->correct >= -1 && r->correct <= 1);
    KG_ASSERT(strlen(r->record) == r->record_len && !strpbrk(r->record, "\r\n\v\f"));
    KG_ASSERT(kg_json_parse(r->record, r->record_len, "record", &j, &err) == KG_OK);
    json_decref(j);
    for (size_t i = 0; i < r->nrewards; i++) {
        KG_ASSERT(r->rewards[i].name);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    int flags = data[0], end = open_all(flags);
    hear_all(end, data + 1, size - 1, flags & 8);
    KG_ASSERT((size_t)(worker.task != NULL) + s.tasks.n + pool.ndone == 1);
    KG_ASSERT(s.client.in.len == 0 && !s.client.ended && !pool.channel.ended);
    KG_ASSERT(pool.ntasks + pool.ndone == 1);
    KG_ASSERT(pool.broken.code == KG_OK || !(flags & 1));
    KG_ASSERT(!(flags & 8) || !worker.task);
    if (pool.ndone == 1) {
        check_result(pool.done[0], flags);
    }
    close_all();
    close(end);
    return 0;
}

/* What tests of a pool's frames share: a worker, a supervisor and its client in one process. No
 * process runs: the test holds the other end of each socket and writes what a worker would send.
 * Everything is static: each test program has its own. Includes cmocka and what it needs. */
#ifndef KG_TESTS_POOL_RIG_H
#define KG_TESTS_POOL_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gym/pool/client.h"
#include "gym/pool/result.h"
#include "gym/pool/supervisor.h"

#define TASK_ID 7
#define NOBODY  INT_MAX /* no process has this number */

/* --- bytes of a peer --- */

static struct kg_buf bytes;

static void add_prefix(uint32_t kind, uint32_t head, uint32_t body)
{
    const uint32_t p[3] = {kind, head, body};
    kg_buf_add(&bytes, p, sizeof p);
}

static void add_frame(uint32_t kind, const char *head, const void *body, size_t len)
{
    add_prefix(kind, (uint32_t)strlen(head), (uint32_t)len);
    kg_buf_adds(&bytes, head);
    kg_buf_add(&bytes, body, len);
}

__attribute__((unused)) static void add_result(const char *head, const char *record)
{
    add_frame(KG_FRAME_RESULT, head, record, strlen(record));
}

static void socket_pair(int pair[2])
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
}

static int set_up(void **state)
{
    (void)state;
    kg_buf_init(&bytes, 64u << 20);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    kg_buf_deinit(&bytes);
    return 0;
}

/* --- a worker that lies, a supervisor, its client --- */

static struct kg_supervisor s;
static struct kg_worker_process worker, *workers[1] = {&worker};
static struct kgym_pool pool;
static struct kg_client_task client_tasks[4];
static int worker_end; /* the worker's end of its socket */

static void hire(struct kg_pool_task *t)
{
    int pair[2];
    socket_pair(pair);
    worker = (struct kg_worker_process){
        .state = KG_WORKER_BUSY, .pid = NOBODY, .task = t, .ready = true};
    kg_channel_init(&worker.channel, pair[0]);
    worker.channel.most = KG_HEAD_MAX + KG_POOL_RECORD_MAX;
    worker_end = pair[1];
}

static void open_all(bool ready)
{
    int pair[2];
    struct kg_pool_task *t = calloc(1, sizeof *t);
    assert_non_null(t);
    t->id = TASK_ID;
    t->problem = 1;
    t->head = json_pack("{s:i, s:i, s:s}", "id", TASK_ID, "kind", KGYM_EVALUATE, "tag", "mine");
    t->body = strdup("");
    hire(t);
    worker.ready = ready;
    socket_pair(pair);
    s = (struct kg_supervisor){.worker = workers, .nworkers = 1, .wanted = 1};
    kg_channel_init(&s.client, pair[0]);
    client_tasks[0] = (struct kg_client_task){.id = TASK_ID, .tag = strdup("mine")};
    pool = (struct kgym_pool){.wake = -1,
                              .poll_fd = -1,
                              .supervisor = -1,
                              .program = "/nonexistent/kgym", /* no other supervisor comes */
                              .queue_limit = 4,
                              .next_id = 100,
                              .ntasks = 1,
                              .task_cap = 4,
                              .task = client_tasks,
                              .held = json_array(),
                              .options = json_object(),
                              .replies = json_object()};
    kg_channel_init(&pool.channel, pair[1]);
}

static void close_all(void)
{
    for (size_t i = 0; i < pool.ntasks; i++) {
        kg_client_task_deinit(&pool.task[i]);
    }
    for (size_t i = 0; i < pool.ndone; i++) {
        kgym_result_free(pool.done[i]);
    }
    free(pool.done);
    json_decref(pool.held);
    json_decref(pool.options);
    json_decref(pool.replies);
    kg_channel_deinit(&pool.channel);
    kg_channel_deinit(&s.client);
    kg_channel_deinit(&worker.channel);
    kg_pool_task_destroy(worker.task);
    kg_pool_tasks_deinit(&s.tasks);
    if (worker_end >= 0) {
        close(worker_end);
    }
    kg_buf_reset(&bytes);
}

/* The worker's bytes go all the way. */
__attribute__((unused)) static void hear_all(void)
{
    size_t at = 0;
    do {
        ssize_t n = worker.channel.fd < 0 ? (ssize_t)(bytes.len - at)
                                          : send(worker_end, bytes.data + at, bytes.len - at,
                                                 MSG_DONTWAIT | MSG_NOSIGNAL);
        at += n > 0 ? (size_t)n : 0;
        kg_supervisor_hear(&s, &worker);
    } while (at < bytes.len);
    for (int i = 0; i < 8; i++) {
        kg_supervisor_hear(&s, &worker);
    }
    while (kg_channel_flush(&s.client)) {
        kg_client_hear(&pool);
    }
    for (int i = 0; i < 32; i++) {
        kg_client_hear(&pool);
    }
    kg_buf_reset(&bytes);
}

__attribute__((unused)) static bool held_once(void)
{
    return (size_t)(worker.task != NULL) + s.tasks.n + pool.ndone == 1 &&
           pool.ntasks + pool.ndone == 1 && pool.broken.code == KG_OK;
}

#endif

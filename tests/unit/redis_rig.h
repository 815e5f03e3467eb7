/* A Redis server and a store in it for each test, and groups of jobs. */
#ifndef KG_TESTS_REDIS_RIG_H
#define KG_TESTS_REDIS_RIG_H

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "svc/store_redis.h"
#include "tests/support/redis_server.h"

#define T0 INT64_C(1800000000000)

static const struct kg_svc_store_kind *const kind = &kg_svc_store_redis;
static struct redis_server server;
static struct kg_svc_store *store;
static struct kg_err err;

static void open_store(void)
{
    err = (struct kg_err)KG_ERR_INIT;
    assert_int_equal(kind->open(server.place, &store, &err), KG_OK);
}

static int setup(void **state)
{
    (void)state;
    if (!redis_server_there()) {
        print_message("skipped: no redis-server is installed\n");
        return 0;
    }
    redis_server_start(&server, NULL);
    open_store();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    if (redis_server_there()) {
        kind->close(store);
        redis_server_end(&server);
    }
    store = NULL;
    return 0;
}

static void need_redis(void)
{
    if (!redis_server_there()) {
        skip();
    }
}

/* A group of n jobs of these problems in turn; ids [n]. The commit's code. */
static enum kg_code submit(struct kg_svc_store *s, size_t n, const char *const *problems,
                           char (*ids)[KG_ULID_LEN])
{
    bool known;
    err = (struct kg_err)KG_ERR_INIT;
    if (kind->begin(s, &err) != KG_OK) {
        return err.code;
    }
    for (size_t i = 0, p = 0; i < n; i++, p = problems[p + 1] != NULL ? p + 1 : 0) {
        struct kg_svc_job job;
        kg_svc_job_init(&job);
        assert_int_equal(kg_ulid_new(job.id, &err), KG_OK);
        job.problem = problems[p];
        job.device = "cpu";
        job.configuration = "{}";
        job.task = "{}";
        job.created_ms = T0;
        (void)!kind->submit(s, &job, NULL, ids[i], &known, &err);
        kg_svc_job_deinit(&job);
    }
    return kind->commit(s, &err);
}

enum { SLOTS = 8 };

/* Claims for some slots that hold `lane`; jobs [SLOTS] are initialised here. */
static enum kg_code claim(struct kg_svc_store *s, size_t slots, const char *lane, int64_t now_ms,
                          struct kg_svc_job jobs[SLOTS], size_t *n)
{
    static const char *const devices[] = {"cpu"};
    static size_t of[SLOTS];
    struct kg_svc_slot slot[SLOTS];
    *n = 0;
    for (size_t i = 0; i < SLOTS; i++) {
        slot[i] = (struct kg_svc_slot){.lane = lane};
        kg_svc_job_init(&jobs[i]);
    }
    const struct kg_svc_ask ask = {.worker = "w",
                                   .devices = devices,
                                   .ndevices = 1,
                                   .slots = slot,
                                   .nslots = slots,
                                   .term_ms = 60000,
                                   .now_ms = now_ms};
    err = (struct kg_err)KG_ERR_INIT;
    if (kind->begin(s, &err) != KG_OK) {
        return err.code;
    }
    (void)!kind->claim(s, &ask, jobs, of, n, &err);
    return kind->commit(s, &err);
}

static void release(struct kg_svc_job jobs[SLOTS])
{
    for (size_t i = 0; i < SLOTS; i++) {
        kg_svc_job_deinit(&jobs[i]);
    }
}

#endif

/* What the two conformance suites of a store share: an empty store for each test, on SQLite, and
 * then on Redis as the user that docs/service.md allows. For one file of a program: its variables
 * are that file's. Include it after cmocka.h. */
#ifndef KG_TESTS_SUPPORT_SVC_STORES_H
#define KG_TESTS_SUPPORT_SVC_STORES_H

#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "svc/store.h"
#include "tests/support/redis_server.h"

static const struct kg_svc_store_kind *kind = &kg_svc_store_sqlite; /* that is tested now */
static struct kg_svc_store *store;                                  /* of the test */
static struct kg_err err;                                           /* KG_OK at its beginning */
static char folder[64];
static const char *place = folder; /* what the store was opened with */
static struct redis_server server;

static int setup(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/svc-store-XXXXXX");
    err = (struct kg_err)KG_ERR_INIT;
    if (kind == &kg_svc_store_redis && !redis_server_tell(&server, "FLUSHALL")) {
        return 1;
    }
    return mkdtemp(folder) == NULL || kind->open(place, &store, &err) != KG_OK;
}

static int teardown(void **state)
{
    (void)state;
    kind->close(store);
    return kg_file_remove_tree(folder, &err) != KG_OK;
}

/* Runs tests [n] on Redis, or says that no server is installed. Returns how many failed. */
static int in_redis(const struct CMUnitTest *tests, size_t n)
{
    char user[160];
    if (!redis_server_there()) {
        print_message("skipped: no redis-server is installed\n");
        return 0;
    }
    redis_server_start(&server, NULL);
    kind = &kg_svc_store_redis;
    snprintf(user, sizeof user, "redis+unix://few:pw@%s/socket", server.folder);
    place = user;
    assert_true(
        redis_server_tell(&server, "ACL SETUSER few on >pw ~kgym:* -@all " REDIS_SERVER_COMMANDS));
    int failed = _cmocka_run_group_tests("redis", tests, n, NULL, NULL);
    redis_server_end(&server);
    return failed;
}

#endif

/* A Redis server of the test's own, in a new temporary folder, on a socket there. */
#ifndef KG_TESTS_SUPPORT_REDIS_SERVER_H
#define KG_TESTS_SUPPORT_REDIS_SERVER_H

#include <stdbool.h>
#include <sys/types.h>

/* All that a store's user may have to do, as rules of an ACL. */
#define REDIS_SERVER_COMMANDS                                                                      \
    "+select +config|get +eval +evalsha +script|load +hset +hget +hmget +hgetall +hincrby +hdel "  \
    "+pexpire +zadd +zcard +zrange +zrem +rpush +lrange +set +get +exists +xadd +xrange +xdel "    \
    "+time"

struct redis_server {
    char folder[64], place[128]; /* place: "redis+unix://..." */
    pid_t pid;                   /* 0: it does not run */
};

/* False: no redis-server is installed; the test says so and is skipped. */
bool redis_server_there(void);
/* Makes the folder and starts the server with what must be set for a store, then `more` ("name
 * value" each, NULL-terminated, or NULL). Fails the test if it does not answer. */
void redis_server_start(struct redis_server *r, const char *const *more);
/* kill -9; then the same server again, with its log. */
void redis_server_kill(struct redis_server *r);
void redis_server_again(struct redis_server *r);
/* Kills it and removes the folder. */
void redis_server_end(struct redis_server *r);
/* One command as the server's default user. False: it answered an error. */
bool redis_server_tell(const struct redis_server *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif

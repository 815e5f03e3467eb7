#include "tests/support/redis_server.h"

#include <hiredis/hiredis.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"

static const char *program(void)
{
    static const char *const places[] = {"/usr/bin/redis-server", "/usr/local/bin/redis-server"};
    for (size_t i = 0; i < 2; i++) {
        if (access(places[i], X_OK) == 0) {
            return places[i];
        }
    }
    return NULL;
}

bool redis_server_there(void)
{
    return program() != NULL;
}

static redisContext *reach(const struct redis_server *r)
{
    char path[96];
    snprintf(path, sizeof path, "%s/socket", r->folder);
    redisContext *c = redisConnectUnix(path);
    if (c != NULL && c->err != 0) {
        redisFree(c);
        return NULL;
    }
    return c;
}

bool redis_server_tell(const struct redis_server *r, const char *format, ...)
{
    char line[1024], *word[32], *rest = NULL;
    const char *argv[32];
    int argc = 0;
    va_list ap;
    va_start(ap, format);
    vsnprintf(line, sizeof line, format, ap);
    va_end(ap);
    for (char *w = strtok_r(line, " ", &rest); w != NULL && argc < 32;
         w = strtok_r(NULL, " ", &rest)) {
        word[argc] = w;
        argv[argc] = word[argc];
        argc++;
    }
    redisContext *c = reach(r);
    redisReply *got = c != NULL ? redisCommandArgv(c, argc, argv, NULL) : NULL;
    bool ok = got != NULL && got->type != REDIS_REPLY_ERROR;
    if (got != NULL) {
        freeReplyObject(got);
    }
    if (c != NULL) {
        redisFree(c);
    }
    return ok;
}

void redis_server_again(struct redis_server *r)
{
    char config[96];
    snprintf(config, sizeof config, "%s/redis.conf", r->folder);
    fflush(NULL);
    pid_t parent = getpid();
    r->pid = fork();
    assert_true(r->pid >= 0);
    if (r->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent) {
            execl(program(), "redis-server", config, (char *)NULL);
        }
        _exit(127);
    }
    int64_t until = kg_clock_ns() + INT64_C(30000000000);
    while (!redis_server_tell(r, "PING")) { /* it also says no while it reads its log */
        assert_true(kg_clock_ns() < until);
        usleep(5000);
    }
}

void redis_server_start(struct redis_server *r, const char *const *more)
{
    char path[96];
    memset(r, 0, sizeof *r);
    snprintf(r->folder, sizeof r->folder, "/tmp/kgym-redis-XXXXXX");
    assert_non_null(mkdtemp(r->folder));
    snprintf(r->place, sizeof r->place, "redis+unix://%s/socket", r->folder);
    snprintf(path, sizeof path, "%s/redis.conf", r->folder);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f,
            "port 0\nunixsocket %s/socket\ndir %s\nlogfile %s/log\nappendonly yes\n"
            "appendfsync always\nmaxmemory-policy noeviction\nsave \"\"\n",
            r->folder, r->folder, r->folder);
    for (; more != NULL && *more != NULL; more++) {
        fprintf(f, "%s\n", *more);
    }
    assert_int_equal(fclose(f), 0);
    redis_server_again(r);
}

void redis_server_kill(struct redis_server *r)
{
    if (r->pid > 0) {
        kill(r->pid, SIGKILL);
        assert_int_equal(waitpid(r->pid, NULL, 0), r->pid);
    }
    r->pid = 0;
}

void redis_server_end(struct redis_server *r)
{
    struct kg_err err = KG_ERR_INIT;
    redis_server_kill(r);
    assert_int_equal(kg_file_remove_tree(r->folder, &err), KG_OK);
}

/* The Redis store: where the server is, connections to it, and what it must promise. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "svc/job.h"
#include "svc/store_redis.h"

enum {
    CONNECT_MS = 2000, /* a server that does not answer at all */
    ANSWER_MS = 10000, /* the largest group takes a second or two */
    PAUSE_MS = 50,
    CLOCK_MS = 60000, /* from one look at the server's clock to the next */
    CLOCK_OFF_MS = 1000,
    PAUSE_MAX_MS = 2000
};

/* --- the place --- */

static bool unescape(const char *text, size_t n, char *out, size_t cap)
{
    size_t len = 0;
    for (size_t i = 0; i < n; i++) {
        char c = text[i];
        if (c == '%') {
            const char hex[3] = {i + 1 < n ? text[i + 1] : '\0', i + 2 < n ? text[i + 2] : '\0', 0};
            char *end;
            c = (char)strtol(hex, &end, 16);
            if (end != hex + 2 || c == '\0') {
                return false;
            }
            i += 2;
        }
        if (len + 1 >= cap) {
            return false;
        }
        out[len++] = c;
    }
    out[len] = '\0';
    return true;
}

static bool number(const char *text, int most, int *out)
{
    char *end;
    errno = 0;
    long n = strtol(text, &end, 10);
    *out = (int)n;
    return end != text && *end == '\0' && errno == 0 && n >= 0 && n <= most;
}

/* host[:port][/db], where [..] encloses a host with colons. */
static bool parse_host(const char *at, struct kg_svc_redis_place *out)
{
    char port[8] = "6379", db[8] = "0";
    bool bracket = *at == '[';
    size_t n = strcspn(at += bracket, bracket ? "]" : ":/");
    if (n == 0 || n >= sizeof out->host || (bracket && at[n] != ']')) {
        return false;
    }
    memcpy(out->host, at, n);
    at += n + bracket;
    if (*at == ':') {
        n = strcspn(++at, "/");
        snprintf(port, sizeof port, "%.*s", (int)(n < 7 ? n : 7), at);
        at += n;
    }
    if (*at == '/' && at[1] != '\0') {
        snprintf(db, sizeof db, "%.7s", ++at);
        at += strlen(at);
    }
    at += *at == '/';
    return *at == '\0' && number(port, 65535, &out->port) && number(db, 999999, &out->db);
}

enum kg_code kg_svc_redis_parse(const char *text, struct kg_svc_redis_place *out,
                                struct kg_err *err)
{
    static const char tcp[] = "redis://", local[] = "redis+unix://";
    memset(out, 0, sizeof *out);
    bool is_local = strncmp(text, local, sizeof local - 1) == 0;
    bool ok = is_local || strncmp(text, tcp, sizeof tcp - 1) == 0;
    const char *at = text + (is_local ? sizeof local : sizeof tcp) - 1;
    const char *who = ok ? strrchr(at, '@') : NULL;
    if (who != NULL) {
        const char *colon = memchr(at, ':', (size_t)(who - at));
        ok = colon != NULL && unescape(at, (size_t)(colon - at), out->user, sizeof out->user) &&
             unescape(colon + 1, (size_t)(who - colon - 1), out->password, sizeof out->password);
        at = who + 1;
    }
    if (ok && is_local) {
        ok = *at == '/' && strlen(at) < sizeof out->socket;
        snprintf(out->socket, sizeof out->socket, "%.*s", (int)sizeof out->socket - 1, at);
    } else {
        ok = ok && parse_host(at, out);
    }
    snprintf(out->shown, sizeof out->shown, "%s%.500s", is_local ? local : tcp, ok ? at : "");
    return ok ? KG_OK
              : kg_fail(err, KG_E_USAGE,
                        "a store in Redis is redis://[user:password@]host:port[/db], or "
                        "redis+unix://[user:password@]/path of a socket");
}

/* --- links --- */

static int64_t now_ms(void)
{
    return kg_clock_ns() / 1000000;
}

static struct timeval seconds(int64_t ms)
{
    return (struct timeval){.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
}

void kg_svc_link_down(struct kg_svc_link *l)
{
    if (l->c != NULL) {
        redisFree(l->c);
    }
    l->c = NULL;
    l->scripted = false;
    l->clock_at_ms = 0;
}

static enum kg_code broken(struct kg_svc_redis *s, struct kg_svc_link *l, struct kg_err *err)
{
    char why[128] = "no memory";
    if (l->c != NULL) {
        snprintf(why, sizeof why, "%.127s", l->c->errstr);
    }
    kg_svc_link_down(l);
    return kg_fail(err, KG_E_IO, "%s: no answer of Redis: %s", s->place.shown, why);
}

redisReply *kg_svc_link_answer(struct kg_svc_redis *s, struct kg_svc_link *l, struct kg_err *err)
{
    void *got = NULL;
    if (redisGetReply(l->c, &got) != REDIS_OK) {
        (void)!broken(s, l, err);
        return NULL;
    }
    redisReply *r = got;
    if (r->type != REDIS_REPLY_ERROR) {
        return r;
    }
    kg_fail(err, KG_E_IO, "%s: Redis refuses: %.300s", s->place.shown, r->str);
    if (strncmp(r->str, "NOSCRIPT", 8) == 0) {
        l->scripted = false;
    } else if (strncmp(r->str, "LOADING", 7) == 0) { /* it has just been started */
        kg_svc_link_down(l);
    }
    freeReplyObject(r);
    return NULL;
}

/* One command on a link that is up. */
static redisReply *command(struct kg_svc_redis *s, struct kg_svc_link *l, struct kg_err *err,
                           int argc, const char *const *argv)
{
    const char **v = (const char **)(uintptr_t)argv; /* hiredis changes none of them */
    if (redisAppendCommandArgv(l->c, argc, v, NULL) != REDIS_OK) {
        (void)!broken(s, l, err);
        return NULL;
    }
    return kg_svc_link_answer(s, l, err);
}

static enum kg_code done(redisReply *r, const struct kg_err *err)
{
    if (r == NULL) {
        return err->code;
    }
    freeReplyObject(r);
    return KG_OK;
}

static enum kg_code enter(struct kg_svc_redis *s, struct kg_svc_link *l, struct kg_err *err)
{
    const struct kg_svc_redis_place *p = &s->place;
    char db[16];
    snprintf(db, sizeof db, "%d", p->db);
    if (p->password[0] != '\0') {
        const char *const with_user[] = {"AUTH", p->user, p->password};
        const char *const without[] = {"AUTH", p->password};
        redisReply *r =
            p->user[0] != '\0' ? command(s, l, err, 3, with_user) : command(s, l, err, 2, without);
        if (done(r, err) != KG_OK) {
            return err->code;
        }
    }
    const char *const select[] = {"SELECT", db};
    return p->db != 0 ? done(command(s, l, err, 2, select), err) : KG_OK;
}

static void try_later(struct kg_svc_link *l)
{
    l->pause_ms = l->pause_ms == 0 ? PAUSE_MS : 2 * l->pause_ms;
    l->pause_ms = l->pause_ms > PAUSE_MAX_MS ? PAUSE_MAX_MS : l->pause_ms;
    l->next_try_ms = now_ms() + l->pause_ms;
}

enum kg_code kg_svc_link_up(struct kg_svc_redis *s, struct kg_svc_link *l, struct kg_err *err)
{
    if (l->c != NULL) {
        return KG_OK;
    }
    if (now_ms() < l->next_try_ms) {
        return kg_fail(err, KG_E_IO, "%s: Redis is not there; it is tried again soon",
                       s->place.shown);
    }
    const struct kg_svc_redis_place *p = &s->place;
    l->c = p->socket[0] != '\0' ? redisConnectUnixWithTimeout(p->socket, seconds(CONNECT_MS))
                                : redisConnectWithTimeout(p->host, p->port, seconds(CONNECT_MS));
    bool up = l->c != NULL && l->c->err == 0 &&
              redisSetTimeout(l->c, seconds(ANSWER_MS)) == REDIS_OK &&
              (p->socket[0] != '\0' || redisEnableKeepAlive(l->c) == REDIS_OK);
    enum kg_code code = up ? enter(s, l, err) : broken(s, l, err);
    if (code != KG_OK) {
        kg_svc_link_down(l);
        try_later(l);
        return code;
    }
    l->pause_ms = 0;
    return KG_OK;
}

redisReply *kg_svc_link_ask(struct kg_svc_redis *s, struct kg_svc_link *l, struct kg_err *err,
                            int argc, const char *const *argv)
{
    bool was_up = l->c != NULL;
    if (kg_svc_link_up(s, l, err) != KG_OK) {
        return NULL;
    }
    redisReply *r = command(s, l, err, argc, argv);
    if (r == NULL && l->c == NULL && was_up && kg_svc_link_up(s, l, err) == KG_OK) {
        r = command(s, l, err, argc, argv);
    }
    if (r == NULL && l->c == NULL) { /* it takes connections and answers nothing */
        try_later(l);
    }
    return r;
}

/* --- its clock --- */

/* Of an answer to TIME: seconds and microseconds, as texts. -1: it is none. */
static int64_t time_of(const redisReply *r)
{
    bool is = r->type == REDIS_REPLY_ARRAY && r->elements == 2 && r->element[0]->str != NULL &&
              r->element[1]->str != NULL;
    return is ? strtoll(r->element[0]->str, NULL, 10) * 1000 +
                    strtoll(r->element[1]->str, NULL, 10) / 1000
              : -1;
}

enum kg_code kg_svc_link_clock(struct kg_svc_redis *s, struct kg_svc_link *l, struct kg_err *err)
{
    static const char *const time[] = {"TIME"};
    int64_t before = now_ms();
    if (l->c != NULL && l->clock_at_ms != 0 && before - l->clock_at_ms < CLOCK_MS) {
        return KG_OK;
    }
    redisReply *r = kg_svc_link_ask(s, l, err, 1, time);
    if (r == NULL) {
        return err->code;
    }
    int64_t told = time_of(r), took = now_ms() - before, there = told + took / 2;
    int64_t off = there - kg_svc_now_ms();
    l->clock_at_ms = before + took;
    if (told > 0 && llabs(off) >= CLOCK_OFF_MS + took) {
        kg_log(KG_LOG_WARN, "%s: its clock is %.1f s %s this one's; kgym goes by it from now on",
               s->place.shown, fabs((double)off) / 1000, off > 0 ? "ahead of" : "behind");
        kg_svc_now_is(there);
    }
    freeReplyObject(r);
    return KG_OK;
}

/* --- what the server must promise --- */

static enum kg_code check_setting(struct kg_svc_redis *s, const char *name, const char *wanted,
                                  struct kg_err *err)
{
    const char *const get[] = {"CONFIG", "GET", name};
    redisReply *r = kg_svc_link_ask(s, &s->write, err, 3, get);
    if (r == NULL) {
        return err->code;
    }
    bool there = r->type == REDIS_REPLY_ARRAY && r->elements == 2 && r->element[1]->str != NULL;
    char is[64] = "unknown";
    if (there) {
        snprintf(is, sizeof is, "%.63s", r->element[1]->str);
    }
    freeReplyObject(r);
    return strcmp(is, wanted) == 0
               ? KG_OK
               : kg_fail(err, KG_E_USAGE,
                         "%s: `%s` is %s there, so Redis may lose what it has accepted: set it to "
                         "%s, or say that losses do not matter (--store-relaxed)",
                         s->place.shown, name, is, wanted);
}

/* A script whose user may not run one of its commands would stop half-way. This one runs each on
 * keys of its own. */
static enum kg_code check_user(struct kg_svc_redis *s, struct kg_err *err)
{
    static const char probe[] =
        "local k,c=KEYS[1],redis.call "
        "c('HSET',k..'h','a',1) c('HGET',k..'h','a') c('HMGET',k..'h','a') c('HGETALL',k..'h') "
        "c('HINCRBY',k..'h','a',1) c('HDEL',k..'h','b') c('PEXPIRE',k..'h',1000) "
        "c('ZADD',k..'z',0,'a') c('ZCARD',k..'z') c('ZRANGE',k..'z',0,0) "
        "c('ZREM',k..'z','a') c('RPUSH',k..'l','a') c('LRANGE',k..'l',0,0) "
        "c('PEXPIRE',k..'l',1000) c('SET',k..'s','a') c('GET',k..'s') c('EXISTS',k..'s') "
        "c('PEXPIRE',k..'s',1000) c('XADD',k..'x','1-0','a','b') c('XRANGE',k..'x','-','+') "
        "c('XDEL',k..'x','1-0') c('PEXPIRE',k..'x',1000) return 1";
    char key[64];
    snprintf(key, sizeof key, "kgym:probe:%s:", s->handle);
    const char *const eval[] = {"EVAL", probe, "1", key};
    redisReply *r = kg_svc_link_ask(s, &s->write, err, 4, eval);
    if (r != NULL) {
        freeReplyObject(r);
        return KG_OK;
    }
    if (s->write.c != NULL) { /* it answered */
        err->code = KG_E_USAGE;
    }
    return err->code;
}

enum kg_code kg_svc_redis_check(struct kg_svc_redis *s, bool relaxed, struct kg_err *err)
{
    static const struct {
        const char *name, *wanted;
    } settings[] = {
        {"appendonly", "yes"},
        {"appendfsync", "always"},
        {"no-appendfsync-on-rewrite", "no"},
        {"maxmemory-policy", "noeviction"},
    };
    if (kg_svc_link_up(s, &s->write, err) != KG_OK) {
        return err->code;
    }
    for (size_t i = 0; i < sizeof settings / sizeof *settings && !relaxed; i++) {
        if (check_setting(s, settings[i].name, settings[i].wanted, err) != KG_OK) {
            return err->code;
        }
    }
    /* Before anything is dated. Refused by a server that answers: a user that may not ask. */
    if (kg_svc_link_clock(s, &s->write, err) != KG_OK) {
        err->code = s->write.c != NULL ? KG_E_USAGE : err->code;
        return err->code;
    }
    return check_user(s, err);
}

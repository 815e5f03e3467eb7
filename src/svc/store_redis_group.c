/* The Redis store: groups. What is asked between begin() and commit() is gathered as arguments of
 * one call of the script, so a group costs one sync of Redis's log, and is done whole or not at
 * all.
 *
 * A connection that breaks after the call was sent leaves a doubt: was it done? The same group is
 * sent once more on a new connection; the script knows the number of this process's last group and
 * answers it without doing it twice. If that fails too, the next begin() sends an empty group with
 * a higher number first: the one in doubt, if it still lies in some buffer, is refused then. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "svc/store_redis.h"

/* Redis takes 1,048,576 arguments in one call, and 1 GB. The memory of a larger group is not kept.
 */
enum { ARGS_MAX = 1000000, KEPT_BYTES = 16 << 20 };

__asm__(".pushsection .rodata\n"
        ".type kg_svc_redis_script, @object\n"
        ".hidden kg_svc_redis_script\n"
        ".global kg_svc_redis_script\n"
        "kg_svc_redis_script:\n"
        ".incbin \"src/svc/store_redis_traj.lua\"\n"
        ".incbin \"src/svc/store_redis.lua\"\n"
        ".byte 0\n"
        ".size kg_svc_redis_script, . - kg_svc_redis_script\n"
        ".popsection\n");
extern const char kg_svc_redis_script[];

static struct kg_svc_redis *own(struct kg_svc_store *s)
{
    return (struct kg_svc_redis *)s;
}

/* --- arguments --- */

static void add_bytes(struct kg_svc_redis *s, const char *bytes, size_t n)
{
    kg_buf_addf(&s->args, "$%zu\r\n", n);
    kg_buf_add(&s->args, bytes, n);
    kg_buf_add(&s->args, "\r\n", 2);
    s->nargs++;
}

void kg_svc_redis_add(struct kg_svc_redis *s, const char *types, ...)
{
    va_list ap;
    char number[24];
    va_start(ap, types);
    for (const char *t = types; *t != '\0'; t++) {
        if (*t == 'i') {
            snprintf(number, sizeof number, "%lld", (long long)va_arg(ap, int64_t));
            add_bytes(s, number, strlen(number));
        } else {
            const char *text = va_arg(ap, const char *);
            add_bytes(s, text != NULL ? text : "", text != NULL ? strlen(text) : 0);
        }
    }
    va_end(ap);
}

struct kg_svc_redis_op *kg_svc_redis_op(struct kg_svc_redis *s, const char *name, int type,
                                        const char *id, struct kg_err *err)
{
    if (s->nops == s->cap) {
        size_t cap = s->cap > 0 ? 2 * s->cap : 64;
        struct kg_svc_redis_op *more = realloc(s->op, cap * sizeof *more);
        if (more == NULL) {
            kg_fail_memory(err, KG_E_HOST, "no memory for %zu operations", cap);
            return NULL;
        }
        s->op = more;
        s->cap = cap;
    }
    if (s->nargs > ARGS_MAX || !kg_buf_ok(&s->args)) {
        kg_fail(err, KG_E_LIMIT, "%s: a group of %zu operations is too large for one call",
                s->place.shown, s->nops);
        return NULL;
    }
    bool goes_on = s->nops > 0 && s->op[s->nops - 1].err == err;
    s->chain += !goes_on;
    struct kg_svc_redis_op *op = &s->op[s->nops++];
    memset(op, 0, sizeof *op);
    op->type = type;
    op->err = err;
    snprintf(op->id, sizeof op->id, "%.26s", id);
    kg_svc_redis_add(s, "it", s->chain, name);
    return op;
}

void kg_svc_redis_rollback(struct kg_svc_store *store)
{
    struct kg_svc_redis *s = own(store);
    if (s->args.cap > KEPT_BYTES) {
        const size_t max = s->args.max;
        kg_buf_deinit(&s->args);
        kg_buf_init(&s->args, max);
    }
    kg_buf_reset(&s->args);
    s->nargs = s->nops = 0;
    s->chain = 0;
}

/* --- the call --- */

enum kg_code kg_svc_redis_load(struct kg_svc_redis *s, struct kg_err *err)
{
    const char *const load[] = {"SCRIPT", "LOAD", kg_svc_redis_script};
    redisReply *r = kg_svc_link_ask(s, &s->write, err, 3, load);
    if (r == NULL) {
        return err->code;
    }
    snprintf(s->sha, sizeof s->sha, "%s", r->str != NULL ? r->str : "");
    freeReplyObject(r);
    s->write.scripted = true;
    return KG_OK;
}

static void head_arg(struct kg_buf *b, const char *text)
{
    kg_buf_addf(b, "$%zu\r\n%s\r\n", strlen(text), text);
}

/* Sends the group on a link that is up. NULL: no answer, *err. */
static redisReply *send_group(struct kg_svc_redis *s, struct kg_err *err)
{
    struct kg_buf head;
    char key[64], group[24];
    if (!s->write.scripted && kg_svc_redis_load(s, err) != KG_OK) {
        return NULL;
    }
    snprintf(key, sizeof key, "kgym:last:%s", s->handle);
    snprintf(group, sizeof group, "%lld", (long long)s->group);
    kg_buf_init(&head, 512);
    kg_buf_addf(&head, "*%zu\r\n", s->nargs + 5);
    head_arg(&head, "EVALSHA");
    head_arg(&head, s->sha);
    head_arg(&head, "1");
    head_arg(&head, key);
    head_arg(&head, group);
    bool before = s->doubt;
    s->doubt = true;
    bool sent = redisAppendFormattedCommand(s->write.c, head.data, head.len) == REDIS_OK &&
                redisAppendFormattedCommand(s->write.c, s->args.data, s->args.len) == REDIS_OK;
    kg_buf_deinit(&head);
    if (!sent) {
        kg_svc_link_down(&s->write);
        kg_fail_memory(err, KG_E_HOST, "no memory for a group of %zu bytes", s->args.len);
        return NULL;
    }
    redisReply *r = kg_svc_link_answer(s, &s->write, err);
    s->doubt = r == NULL && (before || s->write.c == NULL); /* an error now tells nothing of then */
    return r;
}

/* A number of its own for the group, then twice at most: a link that breaks, and a script that a
 * restart of Redis has lost, are got over once each. */
static redisReply *call_group(struct kg_svc_redis *s, struct kg_err *err)
{
    redisReply *r = NULL;
    s->group++;
    for (int tries = 0; tries < 3 && r == NULL; tries++) {
        *err = (struct kg_err)KG_ERR_INIT;
        if (kg_svc_link_up(s, &s->write, err) != KG_OK) {
            return NULL;
        }
        r = send_group(s, err);
        if (r == NULL && s->write.c != NULL && s->write.scripted) {
            return NULL; /* refused, for a reason that stays */
        }
    }
    return r;
}

enum kg_code kg_svc_redis_begin(struct kg_svc_store *store, struct kg_err *err)
{
    struct kg_svc_redis *s = own(store);
    kg_svc_redis_rollback(store);
    if (kg_svc_link_clock(s, &s->write, err) != KG_OK) {
        return err->code;
    }
    if (!s->doubt) {
        return KG_OK;
    }
    redisReply *r = call_group(s, err);
    if (r == NULL) {
        return err->code;
    }
    freeReplyObject(r);
    return KG_OK;
}

enum kg_code kg_svc_redis_commit(struct kg_svc_store *store, struct kg_err *err)
{
    struct kg_svc_redis *s = own(store);
    struct kg_err e = KG_ERR_INIT;
    if (!kg_buf_ok(&s->args)) {
        kg_fail(&e, KG_E_LIMIT, "%s: a group of %zu bytes is too large", s->place.shown,
                s->args.len);
    }
    /* An empty group goes there as well: that it does shows that the store is there. */
    redisReply *r = e.code == KG_OK ? call_group(s, &e) : NULL;
    if (r != NULL && (r->type != REDIS_REPLY_ARRAY || r->elements != s->nops)) {
        kg_fail(&e, KG_E_IO, "%s: the script answered something else", s->place.shown);
    }
    for (size_t i = 0; r != NULL && i < s->nops && e.code == KG_OK; i++) {
        (void)!kg_svc_redis_give(&s->op[i], r->element[i], &e);
    }
    if (r != NULL) {
        freeReplyObject(r);
    }
    kg_svc_redis_rollback(store);
    if (e.code != KG_OK) {
        *err = e;
    }
    return e.code;
}

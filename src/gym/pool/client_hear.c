/* What a pool's client hears from its supervisor: results, replies, bad news. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "gym/pool/client.h"

/* A result and everything that it points to, in one piece of memory but for the record. */
struct held_result {
    struct kgym_result result;
    json_t *head;
    char *body, *tag;
    struct kgym_reward reward[];
};

static size_t find_task(const struct kgym_pool *p, uint64_t id)
{
    size_t i = 0;
    while (i < p->ntasks && p->task[i].id != id) {
        i++;
    }
    return i;
}

static double number_at(const json_t *list, size_t i)
{
    const json_t *v = json_array_get(list, i);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

static void fill_rewards(struct held_result *h, const json_t *list)
{
    h->result.nrewards = json_array_size(list);
    h->result.rewards = h->reward;
    for (size_t i = 0; i < h->result.nrewards; i++) {
        const json_t *pair = json_array_get(list, i);
        const char *name = json_string_value(json_array_get(pair, 0));
        h->reward[i] = (struct kgym_reward){name ? name : "", number_at(pair, 1)};
    }
}

/* A worker's process may have been taken over by what it judged: its numbers are not trusted. */
static enum kgym_code code_of(const json_t *head)
{
    int64_t code = kg_frame_int(head, "error");
    return code >= KGYM_OK && code <= KGYM_E_FULL ? (enum kgym_code)code : KGYM_E_GYM;
}

/* NULL: no memory. */
static struct kgym_result *make_result(struct kg_frame *f, char *tag)
{
    const json_t *rewards = json_object_get(f->head, "rewards");
    const json_t *speedup = json_object_get(f->head, "speedup");
    const char *message = kg_frame_text(f->head, "message");
    struct held_result *h = calloc(1, sizeof *h + json_array_size(rewards) * sizeof *h->reward);
    if (!h) {
        return NULL;
    }
    h->head = f->head;
    h->body = f->body;
    h->tag = tag;
    h->result = (struct kgym_result){
        .id = (uint64_t)kg_frame_int(f->head, "id"),
        .kind = (enum kgym_kind)kg_frame_int(f->head, "kind"),
        .tag = tag,
        .record = f->body,
        .record_len = f->len,
        .verdict = kg_frame_text(f->head, "verdict"),
        .reason = kg_frame_text(f->head, "reason"),
        .error = code_of(f->head),
        .message = message ? message : "",
        .correct = (int)kg_frame_int(f->head, "correct"),
        .speedup = number_at(speedup, 0),
        .speedup_lo = number_at(speedup, 1),
        .speedup_hi = number_at(speedup, 2),
    };
    fill_rewards(h, rewards);
    f->head = NULL;
    f->body = NULL;
    return &h->result;
}

void kgym_result_free(struct kgym_result *result)
{
    struct held_result *h = (struct held_result *)result; /* its first member */
    if (h) {
        json_decref(h->head);
        free(h->body);
        free(h->tag);
        free(h);
    }
}

/* Something that the caller waits for cannot be kept, so that the pool has ended. */
static void no_memory(struct kgym_pool *p)
{
    if (p->broken.code == KG_OK) {
        kg_fail_memory(&p->broken, KG_E_LIMIT,
                       "no memory for what the supervisor sent: the pool has ended");
    }
}

static bool room_for_result(struct kgym_pool *p)
{
    if (p->ndone == p->done_cap) {
        size_t cap = p->done_cap ? 2 * p->done_cap : 64;
        struct kgym_result **grown = realloc(p->done, cap * sizeof(struct kgym_result *));
        if (!grown) {
            return false;
        }
        p->done = grown;
        p->done_cap = cap;
    }
    return true;
}

/* A second result of a task, from a supervisor that is gone, is dropped. */
static void hear_result(struct kgym_pool *p, struct kg_frame *f)
{
    size_t at = find_task(p, (uint64_t)kg_frame_int(f->head, "id"));
    if (at == p->ntasks) {
        return;
    }
    struct kg_client_task *t = &p->task[at];
    struct kgym_result *r = room_for_result(p) ? make_result(f, t->tag) : NULL;
    if (!r) {
        no_memory(p);
        return;
    }
    p->done[p->ndone++] = r;
    t->tag = NULL; /* the result has it */
    kg_client_task_deinit(t);
    p->ntasks--;
    memmove(t, t + 1, (p->ntasks - at) * sizeof *t);
    p->deaths = 0;
}

static void hear_reply(struct kgym_pool *p, const struct kg_frame *f)
{
    char key[32];
    int64_t request = kg_frame_int(f->head, "request");
    snprintf(key, sizeof key, "%" PRId64, request);
    if (request > 0) {
        bool good = f->len == 0 || /* of a prompt: its text */
                    json_object_set_new(f->head, "body", kg_json_text(f->body, f->len)) == 0;
        if (!good || json_object_set(p->replies, key, f->head) != 0) {
            no_memory(p);
        }
    }
}

static void hear_taken(struct kgym_pool *p, const struct kg_frame *f)
{
    size_t at = find_task(p, (uint64_t)kg_frame_int(f->head, "id"));
    if (at < p->ntasks) {
        p->task[at].taken = true;
    }
}

static void hear_frames(struct kgym_pool *p)
{
    struct kg_frame f;
    while (kg_channel_take(&p->channel, &f)) {
        if (f.kind == KG_FRAME_RESULT) {
            hear_result(p, &f);
        } else if (f.kind == KG_FRAME_REPLY) {
            hear_reply(p, &f);
        } else if (f.kind == KG_FRAME_TAKEN) {
            hear_taken(p, &f);
        } else if (f.kind == KG_FRAME_BROKEN) {
            (void)!kg_frame_get_error(f.head, &p->broken);
        }
        kg_frame_deinit(&f);
    }
}

void kg_client_hear_last(struct kgym_pool *p)
{
    bool more = kg_channel_last(&p->channel);
    while (more) {
        more = kg_channel_fill_on(&p->channel, true);
        hear_frames(p);
    }
}

void kg_client_hear(struct kgym_pool *p)
{
    kg_channel_fill(&p->channel);
    hear_frames(p);
    if (p->channel.ended) {
        kg_client_restart(p);
    }
    kg_client_show(p);
}

static void read_once(struct kgym_pool *p, int64_t end_ns)
{
    struct pollfd fd = {.fd = p->channel.fd, .events = POLLIN};
    int64_t left_ms = end_ns < 0 ? 1000 : (end_ns - kg_clock_ns()) / 1000000 + 1;
    p->reading = true;
    pthread_mutex_unlock(&p->lock);
    (void)poll(&fd, 1, left_ms < 0 ? 0 : left_ms > 1000 ? 1000 : (int)left_ms);
    pthread_mutex_lock(&p->lock);
    p->reading = false;
    kg_client_hear(p);
    pthread_cond_broadcast(&p->heard);
}

bool kg_client_wait(struct kgym_pool *p, int64_t end_ns)
{
    if (end_ns >= 0 && kg_clock_ns() >= end_ns) {
        return false;
    }
    if (!p->reading) {
        read_once(p, end_ns);
    } else if (end_ns < 0) {
        pthread_cond_wait(&p->heard, &p->lock);
    } else {
        struct timespec at = {end_ns / 1000000000, end_ns % 1000000000};
        pthread_cond_timedwait(&p->heard, &p->lock, &at);
    }
    return true;
}

struct kgym_result *kg_client_take(struct kgym_pool *p)
{
    if (p->ndone == 0) {
        return NULL;
    }
    struct kgym_result *r = p->done[0];
    p->ndone--;
    memmove(p->done, p->done + 1, p->ndone * sizeof(struct kgym_result *));
    kg_client_show(p);
    return r;
}

void kg_client_show(struct kgym_pool *p)
{
    uint64_t v = 1;
    if (p->ndone > 0 || p->broken.code != KG_OK) {
        (void)!write(p->wake, &v, sizeof v);
    } else {
        (void)!read(p->wake, &v, sizeof v);
    }
}

/* One try. False: the supervisor died over it. True with neither a reply nor a pool that has ended:
 * err says why it was not sent. */
static bool ask_once(struct kgym_pool *p, const json_t *head, int64_t request, const void *body,
                     size_t len, json_t **reply, struct kg_err *err)
{
    char key[32];
    int64_t starts = p->starts; /* before anything is sent: a later death must end the wait */
    snprintf(key, sizeof key, "%" PRId64, request);
    if (kg_client_send(p, KG_FRAME_REQUEST, json_deep_copy(head), body, len, err) != KG_OK) {
        return true;
    }
    while (!*reply && p->broken.code == KG_OK && p->starts == starts) {
        (void)kg_client_wait(p, -1);
        *reply = json_incref(json_object_get(p->replies, key));
    }
    json_object_del(p->replies, key);
    return *reply || p->broken.code != KG_OK;
}

enum kg_code kg_client_request(struct kgym_pool *p, json_t *head, const void *body, size_t len,
                               json_t **reply, struct kg_err *err)
{
    int64_t request = ++p->next_request;
    struct kg_err unsent = KG_ERR_INIT;
    *reply = NULL;
    if (json_object_set_new(head, "request", json_integer(request)) != 0) {
        json_decref(head);
        return kg_fail(err, KG_E_LIMIT, "no memory for a request");
    }
    bool answered =
        p->broken.code != KG_OK || ask_once(p, head, request, body, len, reply, &unsent) ||
        ask_once(p, head, request, body, len, reply, &unsent); /* of the next supervisor */
    json_decref(head);
    if (*reply) {
        return kg_frame_get_error(*reply, err);
    }
    if (!answered) {
        return kg_fail(err, KG_E_GYM, "the pool's supervisor died twice over this request");
    }
    *err = p->broken.code != KG_OK ? p->broken : unsent;
    return err->code;
}

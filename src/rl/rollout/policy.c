/* The two policies. */
#include "rl/rollout/policy.h"

#include <stdlib.h>

/* --- the engine --- */

static enum kg_code engine_begin(void *self, const int32_t *ids, int len,
                                 const struct rl_speaker *who, int n, const uint64_t *requests,
                                 int *conversations, struct kg_err *err)
{
    struct rl_engine_policy *p = self;
    (void)who;
    return lm_engine_submit(p->engine, ids, len, &p->turn, n, requests, conversations, err);
}

static enum kg_code engine_extend(void *self, int conversation, const int32_t *ids, int len,
                                  const struct rl_speaker *who, struct kg_err *err)
{
    struct rl_engine_policy *p = self;
    (void)who;
    return lm_engine_extend(p->engine, conversation, ids, len, &p->turn, err);
}

static void engine_release(void *self, int conversation)
{
    lm_engine_release(((struct rl_engine_policy *)self)->engine, conversation);
}

static int engine_step(void *self, struct lm_event *events, int max)
{
    return lm_engine_step(((struct rl_engine_policy *)self)->engine, events, max);
}

static bool engine_busy(const void *self)
{
    return lm_engine_busy(((const struct rl_engine_policy *)self)->engine);
}

struct rl_policy rl_policy_engine(struct rl_engine_policy *p)
{
    return (struct rl_policy){.self = p,
                              .begin = engine_begin,
                              .extend = engine_extend,
                              .release = engine_release,
                              .step = engine_step,
                              .busy = engine_busy};
}

/* --- the script --- */

struct said {
    bool used, talks;
    int length; /* ids so far */
    struct lm_ids reply;
    size_t at; /* of it that are out */
    uint64_t request;
};

struct rl_scripted {
    const struct rl_talker *talker;
    rl_script *script;
    void *user;
    int n, max_tokens;
    struct said *said; /* [n] */
    struct kg_buf text;
};

enum kg_code rl_scripted_create(const struct rl_talker *talker, rl_script *script, void *user,
                                int conversations, int max_tokens, struct rl_scripted **out,
                                struct kg_err *err)
{
    struct rl_scripted *s = calloc(1, sizeof *s);
    struct said *said = calloc((size_t)conversations, sizeof *said);
    *out = NULL;
    if (s == NULL || said == NULL) {
        free(s);
        free(said);
        return kg_fail(err, KG_E_HOST, "script: no memory");
    }
    *s = (struct rl_scripted){.talker = talker,
                              .script = script,
                              .user = user,
                              .n = conversations,
                              .max_tokens = max_tokens,
                              .said = said};
    kg_buf_init(&s->text, 1u << 20);
    *out = s;
    return KG_OK;
}

void rl_scripted_destroy(struct rl_scripted *s)
{
    if (s == NULL) {
        return;
    }
    for (int i = 0; i < s->n; i++) {
        lm_ids_deinit(&s->said[i].reply);
    }
    kg_buf_deinit(&s->text);
    free(s->said);
    free(s);
}

static enum kg_code speak(struct rl_scripted *s, struct said *a, int len,
                          const struct rl_speaker *who, struct kg_err *err)
{
    kg_buf_reset(&s->text);
    s->script(s->user, who, &s->text);
    lm_ids_reset(&a->reply);
    a->at = 0;
    a->talks = true;
    a->length += len;
    return rl_talker_reply(s->talker, s->text.data, s->text.len, &a->reply, err);
}

static enum kg_code script_begin(void *self, const int32_t *ids, int len,
                                 const struct rl_speaker *who, int n, const uint64_t *requests,
                                 int *conversations, struct kg_err *err)
{
    struct rl_scripted *s = self;
    (void)ids;
    for (int i = 0, k = 0; i < n; i++) {
        struct rl_speaker one = *who;
        one.rollout += (uint32_t)i;
        while (k < s->n && s->said[k].used) {
            k++;
        }
        if (k == s->n) {
            return kg_fail(err, KG_E_FULL, "script: %d conversations are held already", s->n);
        }
        s->said[k].used = true;
        s->said[k].length = 0;
        s->said[k].request = requests[i];
        conversations[i] = k;
        if (speak(s, &s->said[k], len, &one, err) != KG_OK) {
            return err->code;
        }
    }
    return KG_OK;
}

static enum kg_code script_extend(void *self, int conversation, const int32_t *ids, int len,
                                  const struct rl_speaker *who, struct kg_err *err)
{
    struct rl_scripted *s = self;
    (void)ids;
    return speak(s, &s->said[conversation], len, who, err);
}

static void script_release(void *self, int conversation)
{
    struct rl_scripted *s = self;
    s->said[conversation].used = s->said[conversation].talks = false;
}

/* One token of each conversation. */
static int script_step(void *self, struct lm_event *events, int max)
{
    struct rl_scripted *s = self;
    int n = 0;
    for (int i = 0; i < s->n && n < max; i++) {
        struct said *a = &s->said[i];
        if (!a->talks) {
            continue;
        }
        bool last = a->at + 1 == a->reply.n, full = a->length + 1 >= s->max_tokens;
        events[n++] = (struct lm_event){.conversation = i,
                                        .request = a->request,
                                        .position = a->length++,
                                        .token = a->reply.id[a->at++],
                                        .finish = last   ? LM_STOP
                                                  : full ? LM_FULL
                                                         : LM_GOING};
        a->talks = !last && !full;
    }
    return n;
}

static bool script_busy(const void *self)
{
    const struct rl_scripted *s = self;
    for (int i = 0; i < s->n; i++) {
        if (s->said[i].talks) {
            return true;
        }
    }
    return false;
}

struct rl_policy rl_policy_scripted(struct rl_scripted *s)
{
    return (struct rl_policy){.self = s,
                              .begin = script_begin,
                              .extend = script_extend,
                              .release = script_release,
                              .step = script_step,
                              .busy = script_busy};
}

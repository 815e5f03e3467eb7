/* Reads what a conversation tells, draws the next style, writes it, and queues the reply. */
#include "trial/policy/scripted.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rl/chains/chains.h"

#define FLAW_FIRST 0.5
#define FLAW_LEFT  0.6 /* of the chance, after each failure that is told */
#define FLAW_LEAST 0.05
#define BYTES_MAX  (2 * RL_CHAIN_BYTES)

static const char no_code[] =
    "I can write kernels for generated chains only, so here is no code.\n";

struct script {
    bool deaf;
    int parallel, pending;
    struct tr_sampling sampling;
    struct tr_reply **queue; /* [parallel], the first `pending` are used */
};

/* What the messages tell about earlier replies. */
struct told {
    int failures;
    double best;           /* largest speed-up; 0: none was told */
    struct rl_style style; /* of that reply */
    int answers;           /* replies without a verdict behind them */
    struct rl_style any;   /* of one of them */
};

/* --- reading --- */

static bool begins(const struct tr_message *m, const char *with)
{
    size_t n = strlen(with);
    return m->len >= n && memcmp(m->text, with, n) == 0;
}

static const char *find(const struct tr_message *m, const char *text)
{
    return memmem(m->text, m->len, text, strlen(text));
}

/* The style of a reply of this script. False: it had a flaw. */
static bool style_of(const struct rl_chain *c, const struct tr_message *m, struct rl_style *out)
{
    const char *from = find(m, "```c\n"), *end = m->text + m->len;
    if (from == NULL) {
        return false;
    }
    from += 5;
    const char *to = memmem(from, (size_t)(end - from), "```", 3);
    return to != NULL && rl_style_find(c, from, (size_t)(to - from), out);
}

/* "Speed-up: 1.299x" of a feedback; 0: it tells none. */
static double speedup_of(const struct tr_message *m)
{
    const char *at = find(m, "Speed-up: ");
    char number[24] = "";
    if (at != NULL) {
        size_t left = (size_t)(m->text + m->len - at) - 10;
        memcpy(number, at + 10, left < sizeof number - 1 ? left : sizeof number - 1);
    }
    double s = strtod(number, NULL);
    return isfinite(s) && s > 0 ? s : 0;
}

static void read_turn(const struct rl_chain *c, const struct tr_message *reply,
                      const struct tr_message *feedback, struct kg_rng *r, struct told *t)
{
    struct rl_style s = {0};
    bool known = style_of(c, reply, &s);
    if (feedback == NULL || !begins(feedback, "Verdict: ")) {
        if (kg_rng_below(r, (uint64_t)++t->answers) == 0) { /* each with the same chance */
            t->any = known ? s : rl_style_draw(c, &rl_mix_weak, r);
        }
        return;
    }
    bool ok = begins(feedback, "Verdict: ok");
    t->failures += !ok;
    double speed = ok && known ? speedup_of(feedback) : 0;
    if (speed > t->best) {
        t->best = speed;
        t->style = s;
    }
}

static struct told read_messages(const struct rl_chain *c, const struct tr_ask *a, struct kg_rng *r)
{
    struct told t = {0};
    for (int i = 0; i < a->n; i++) {
        if (a->message[i].role == TR_ASSISTANT) {
            bool followed = i + 1 < a->n && a->message[i + 1].role == TR_USER;
            read_turn(c, &a->message[i], followed ? &a->message[i + 1] : NULL, r, &t);
        }
    }
    return t;
}

/* --- drawing --- */

static struct rl_style change(struct rl_style s, int what)
{
    if (what == 0) {
        s.form = (enum rl_form)((s.form + 1) % RL_FORMS);
    } else if (what == 1) {
        s.exp = s.exp == RL_EXP_POLY ? RL_EXP_LIBM : RL_EXP_POLY;
    } else if (what == 2) {
        s.lanes = !s.lanes;
    } else {
        s.order = !s.order;
    }
    return s;
}

/* One of the choices that is not yet the one which is mostly fastest. */
static struct rl_style step_up(const struct rl_chain *c, struct rl_style s, struct kg_rng *r)
{
    struct rl_style up[3];
    int n = 0;
    if (s.form < RL_OWN) {
        up[n++] = (struct rl_style){.form = RL_OWN, .exp = s.exp, .lanes = s.lanes};
    } else if (s.form < RL_OWN_FUSED) {
        up[n++] = change(s, 0);
    }
    if (s.exp != RL_EXP_POLY) {
        up[n++] = change(s, 1);
    }
    if (!s.lanes) {
        up[n++] = change(s, 2);
    }
    return n > 0 ? rl_style_plain(c, up[kg_rng_below(r, (uint64_t)n)]) : s;
}

static struct rl_style next_style(const struct rl_chain *c, const struct told *t, struct kg_rng *r)
{
    if (t->best <= 0 && t->answers == 0) {
        return rl_style_draw(c, &rl_mix_weak, r);
    }
    struct rl_style from = t->best > 0 ? t->style : t->any;
    double u = kg_rng_unit(r);
    return u < .5    ? step_up(c, from, r)
           : u < .75 ? rl_style_plain(c, change(from, (int)kg_rng_below(r, 4)))
                     : rl_style_draw(c, &rl_mix_rich, r);
}

static enum rl_flaw next_flaw(const struct told *t, struct kg_rng *r)
{
    static const enum rl_flaw flaws[] = {RL_FLAW_SYNTAX, RL_FLAW_ARGUMENT, RL_FLAW_BOUND};
    double chance = fmax(FLAW_FIRST * pow(FLAW_LEFT, t->failures), FLAW_LEAST);
    double u = kg_rng_unit(r);
    uint64_t which = kg_rng_below(r, 3);
    return u < chance ? flaws[which] : RL_FLAW_NONE;
}

/* Is the problem a chain, by its name and by the function that the first message asks for? */
static bool is_chain(const struct tr_ask *a, struct rl_chain *c)
{
    struct kg_err unused = KG_ERR_INIT;
    int first = 0;
    while (first < a->n && a->message[first].role != TR_USER) {
        first++;
    }
    return first < a->n && rl_chain_parse(a->who.problem, c, &unused) == KG_OK &&
           find(&a->message[first], "void k(") != NULL;
}

static void write_reply(const struct script *s, const struct tr_ask *a, struct kg_buf *out)
{
    struct kg_rng r;
    struct rl_talk talk = {.flaw = RL_FLAW_NONE};
    if (!is_chain(a, &talk.chain)) {
        kg_buf_adds(out, no_code);
        return;
    }
    struct kg_key key = kg_key_derive((struct kg_key){{a->seed, 0}}, a->who.problem,
                                      (uint64_t)a->who.sample << 32 | a->who.turn);
    struct tr_ask heard = *a;
    heard.n = s->deaf ? 0 : a->n;
    kg_rng_init(&r, key, 0);
    struct told t = read_messages(&talk.chain, &heard, &r);
    talk.body = talk.chain;
    talk.style[0] = next_style(&talk.chain, &t, &r);
    talk.flaw = next_flaw(&t, &r);
    talk.at = (uint32_t)kg_rng_u64(&r);
    kg_rng_deinit(&r);
    kg_buf_adds(out, "This version should be faster:\n\n```c\n");
    rl_talk_code(&talk, 0, out);
    kg_buf_adds(out, "```\n");
}

/* --- the policy --- */

static size_t count(void *self, const char *text, size_t len)
{
    (void)self;
    (void)text;
    return (len + 3) / 4;
}

/* Cuts the text at a character's end. */
static void cut(struct kg_buf *text, int64_t tokens)
{
    size_t n = (size_t)tokens * 4;
    while (n > 0 && ((unsigned char)text->data[n] & 0xC0) == 0x80) {
        n--;
    }
    text->data[n] = '\0';
    text->len = n;
}

static void answer(const struct script *s, const struct tr_ask *a, struct tr_reply *r)
{
    int64_t most = a->max_tokens > 0 ? a->max_tokens : s->sampling.max_tokens, in = 0;
    struct kg_buf text;
    for (int i = 0; i < a->n; i++) {
        in += (int64_t)count(NULL, a->message[i].text, a->message[i].len);
    }
    int64_t window = s->sampling.context, left = window > 0 ? window - in : most;
    if (left <= 0) {
        r->code = kg_fail(&r->err, KG_E_LIMIT,
                          "the conversation has %lld tokens, the context of the script %lld",
                          (long long)in, (long long)window);
        return;
    }
    kg_buf_init(&text, BYTES_MAX);
    write_reply(s, a, &text);
    most = most > 0 && most < left ? most : left;
    r->usage = (struct tr_usage){
        .tokens_in = in, .tokens_out = (int64_t)count(NULL, text.data, text.len), .tries = 1};
    if (most > 0 && r->usage.tokens_out > most) {
        cut(&text, most);
        r->finish = TR_LENGTH;
        r->usage.tokens_out = most;
    }
    r->len = text.len;
    r->text = kg_buf_detach(&text);
}

static enum kg_code submit(void *self, const struct tr_ask *ask, struct kg_err *err)
{
    struct script *s = self;
    if (s->pending == s->parallel) {
        return kg_fail(err, KG_E_LIMIT, "scripted: %d asks are under way", s->pending);
    }
    struct tr_reply *r = calloc(1, sizeof *r);
    if (r == NULL) {
        return kg_fail(err, KG_E_HOST, "scripted: no memory");
    }
    r->tag = ask->tag;
    r->logprob = NAN;
    memcpy(r->model, "scripted", sizeof "scripted");
    answer(s, ask, r);
    if (r->code == KG_OK && r->text == NULL) {
        tr_reply_free(r);
        return kg_fail(err, KG_E_HOST, "scripted: no memory");
    }
    s->queue[s->pending++] = r;
    return KG_OK;
}

static enum kg_code next(void *self, int also_fd, int timeout_ms, struct tr_reply **out,
                         struct kg_err *err)
{
    struct script *s = self;
    (void)also_fd; /* a reply is there at once */
    (void)timeout_ms;
    (void)err;
    *out = s->pending > 0 ? s->queue[0] : NULL;
    if (*out != NULL) {
        memmove(s->queue, s->queue + 1, (size_t)--s->pending * sizeof *s->queue);
    }
    return KG_OK;
}

static int room(const void *self)
{
    const struct script *s = self;
    return s->parallel - s->pending;
}

static int pending(const void *self)
{
    return ((const struct script *)self)->pending;
}

static int64_t context(const void *self)
{
    return ((const struct script *)self)->sampling.context;
}

static json_t *describe(const void *self)
{
    const struct script *s = self;
    return json_pack("{s:s, s:s, s:I, s:I}", "kind", "scripted", "model",
                     s->deaf ? "deaf" : "learner", "max_tokens", (json_int_t)s->sampling.max_tokens,
                     "context", (json_int_t)s->sampling.context);
}

static void close_script(void *self)
{
    struct script *s = self;
    for (int i = 0; i < s->pending; i++) {
        tr_reply_free(s->queue[i]);
    }
    free(s->queue);
    free(s);
}

enum kg_code tr_scripted_open(const char *name, const struct tr_policy_options *o,
                              struct tr_policy *out, struct kg_err *err)
{
    bool deaf = strcmp(name, "deaf") == 0;
    if (!deaf && name[0] != '\0' && strcmp(name, "learner") != 0) {
        return kg_fail(err, KG_E_USAGE, "no script `%.40s`: learner or deaf", name);
    }
    struct script *s = calloc(1, sizeof *s);
    int parallel = o->parallel > 0 ? o->parallel : 1;
    struct tr_reply **queue = calloc((size_t)parallel, sizeof *queue);
    if (s == NULL || queue == NULL) {
        free(s);
        free(queue);
        return kg_fail(err, KG_E_HOST, "scripted: no memory");
    }
    *s = (struct script){
        .deaf = deaf, .parallel = parallel, .sampling = o->sampling, .queue = queue};
    *out = (struct tr_policy){.self = s,
                              .submit = submit,
                              .next = next,
                              .room = room,
                              .pending = pending,
                              .context = context,
                              .count = count,
                              .describe = describe,
                              .close = close_script};
    return KG_OK;
}

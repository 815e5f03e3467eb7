/* A sample of a corpus goes through the gym. */
#include "rl/run/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rl/methods/streams.h"

#define LEAST       .95         /* of a sample must be right */
#define MOST        10000000    /* documents */
#define VERIFY_STEP 0xfffffffeu /* of the draw: no epoch has it */

/* The last reply of a document, without its end. */
static void last_reply(const struct rl_corpus *c, const struct rl_document *d,
                       const struct rl_talker *talker, struct kg_buf *out)
{
    const int32_t *id = c->ids.id + d->first;
    const uint8_t *mask = c->ids.mask + d->first;
    size_t from = d->n;
    while (from > 0 && mask[from - 1]) {
        from--;
    }
    kg_buf_reset(out);
    rl_talker_text(talker, id + from, d->n - from, out);
}

static void take(const struct rl_document *d, const struct rl_verdict *v,
                 struct rl_verify_counts *out)
{
    char name[RL_CHAIN_NAME];
    out->failed += v->state != RL_JUDGED;
    out->ok += v->state == RL_JUDGED && v->correct;
    if (v->state == RL_JUDGED && !v->correct) {
        out->refused++;
        rl_chain_name(&d->chain, name);
        snprintf(out->worst, sizeof out->worst, "%s: %s %s", name, v->name, v->reason);
    }
}

struct work {
    const struct rl_corpus *corpus;
    const struct rl_talker *talker;
    struct rl_judge *judge;
    const uint32_t *order;
    uint32_t ticket[RL_VERIFY_TICKETS]; /* document of each ticket */
    int idle[RL_VERIFY_TICKETS];        /* tickets that are not in flight */
    int n_idle;
    struct kg_buf text;
};

static enum kg_code send(struct work *w, uint32_t document, struct kg_err *err)
{
    const struct rl_document *d = &w->corpus->doc[document];
    int ticket = w->idle[--w->n_idle];
    w->ticket[ticket] = document;
    last_reply(w->corpus, d, w->talker, &w->text);
    return rl_judge_submit(w->judge, ticket, &d->chain, w->text.data, w->text.len, err);
}

static enum kg_code all(struct work *w, size_t n, const volatile int *cancel,
                        struct rl_verify_counts *out, struct kg_err *err)
{
    enum kg_code code = KG_OK;
    size_t sent = 0, done = 0;
    while (done < n && code == KG_OK) {
        int ticket = -1;
        const struct rl_verdict *v;
        while (sent < n && w->n_idle > 0 && code == KG_OK) {
            code = send(w, w->order[sent++], err);
        }
        code = code != KG_OK ? code : rl_judge_next(w->judge, -1, &ticket, &v, err);
        if (code == KG_OK && ticket >= 0) {
            take(&w->corpus->doc[w->ticket[ticket]], v, out);
            w->idle[w->n_idle++] = ticket;
            done++;
        }
        if (code == KG_OK && *cancel) {
            code = kg_fail(err, KG_E_CANCELLED, "interrupted");
        }
    }
    out->asked = done;
    return code;
}

enum kg_code rl_verify(const struct rl_corpus *c, const struct rl_talker *talker,
                       struct rl_judge *judge, size_t n, uint64_t seed, const volatile int *cancel,
                       struct rl_verify_counts *out, struct kg_err *err)
{
    uint32_t *order = calloc(c->n + 1, sizeof *order);
    struct work w = {
        .corpus = c, .talker = talker, .judge = judge, .order = order, .n_idle = RL_VERIFY_TICKETS};
    *out = (struct rl_verify_counts){0};
    kg_buf_init(&w.text, 1u << 20);
    enum kg_code code = KG_OK;
    if (order == NULL) {
        code = kg_fail_memory(err, KG_E_HOST, "verify: no memory");
    } else {
        rl_shuffle(seed, RL_STREAM_SFT, VERIFY_STEP, 0, c->n, order);
        for (int i = 0; i < RL_VERIFY_TICKETS; i++) {
            w.idle[i] = i;
        }
        code = all(&w, n < c->n ? n : c->n, cancel, out, err);
    }
    free(order);
    kg_buf_deinit(&w.text);
    return code;
}

enum kg_code rl_verify_parse(const char *text, size_t *n, struct kg_err *err)
{
    static const char sample[] = "sample ";
    char *end = NULL;
    if (strcmp(text, "all") == 0 || strcmp(text, "none") == 0) {
        *n = text[0] == 'a' ? MOST : 0;
        return KG_OK;
    }
    long value = -1;
    if (strncmp(text, sample, strlen(sample)) == 0) {
        value = strtol(text + strlen(sample), &end, 10);
        value = end != text + strlen(sample) && *end == '\0' ? value : -1;
    }
    *n = value > 0 ? (size_t)value : 0;
    return value >= 0 && value <= MOST
               ? KG_OK
               : kg_fail(err, KG_E_USAGE, "verify: `%s` is none of all, `sample N`, none", text);
}

enum kg_code rl_verify_tell(const struct rl_verify_counts *n, size_t of, FILE *terminal,
                            struct kg_err *err)
{
    fprintf(terminal,
            "verify: the gym judged %zu of %zu: %zu right, %zu refused, %zu "
            "without a verdict%s%s\n",
            n->asked, of, n->ok, n->refused, n->failed, n->refused > 0 ? "; such as " : "",
            n->worst);
    return (double)n->ok >= LEAST * (double)n->asked
               ? KG_OK
               : kg_fail(err, KG_E_INPUT,
                         "verify: only %zu of %zu replies of the corpus are right (%.100s)", n->ok,
                         n->asked, n->refused > 0 ? n->worst : "the gym had no verdict");
}

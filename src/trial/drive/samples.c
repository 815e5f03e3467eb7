/* Leads conversations through a drive, turn by turn, as many at once as it has room for. */
#include "trial/drive/samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trial/drive/drive_parts.h"
#include "trial/drive/trajectory.h"

enum { TICK_MS = 200 };

struct talk {
    const struct tr_problem *problem;
    uint32_t sample, turn;      /* turn: the one that is next or under way */
    struct tr_message *message; /* [n], texts malloc'ed but the first */
    int n;
    json_t *turns;
    char configuration[KG_SHA256_HEX];
    bool under_way;
    struct talk *next; /* list of all that go on */
};

struct state {
    const struct tr_samples_options *o;
    struct tr_samples *count;
    struct talk *talks;
    size_t problem;  /* the next new conversation's */
    uint32_t sample; /* and its number, from 1 */
    bool *defect;    /* [suite.n] */
    bool stopped;    /* the budget has ended a conversation before its end */
};

/* --- conversations --- */

static void talk_free(struct talk *t)
{
    for (int i = 1; i < t->n; i++) {
        free((char *)(uintptr_t)t->message[i].text);
        free((int32_t *)(uintptr_t)t->message[i].ids);
    }
    free(t->message);
    json_decref(t->turns);
    free(t);
}

static enum kg_code no_memory(struct kg_err *err)
{
    return kg_fail_memory(err, KG_E_HOST, "no memory for a conversation");
}

static bool add_message(struct talk *t, enum tr_role role, const char *text, size_t len,
                        const struct tr_reply *reply)
{
    int nids = reply != NULL ? reply->nids : 0;
    char *own = malloc(len + 1);
    int32_t *ids = nids > 0 ? malloc((size_t)nids * sizeof *ids) : NULL;
    if (own == NULL || (nids > 0 && ids == NULL)) {
        free(own);
        free(ids);
        return false;
    }
    memcpy(own, text, len);
    own[len] = '\0';
    if (nids > 0) {
        memcpy(ids, reply->ids, (size_t)nids * sizeof *ids);
    }
    t->message[t->n++] =
        (struct tr_message){.role = role, .text = own, .len = len, .ids = ids, .nids = nids};
    return true;
}

/* Out of the list, and freed. */
static void drop(struct state *s, struct talk *t)
{
    struct talk **at = &s->talks;
    while (*at != t) {
        at = &(*at)->next;
    }
    *at = t->next;
    talk_free(t);
}

/* The conversation has ended. */
static enum kg_code end(struct state *s, struct talk *t, const char *why, struct kg_err *err)
{
    enum kg_code code = KG_OK;
    if (json_array_size(t->turns) > 0) {
        char id[TR_KEY_BYTES];
        tr_key_write(t->problem->name, t->sample, 0, id);
        json_t *line = tr_trajectory(&(struct tr_trajectory){
            .id = id,
            .group = t->problem->name,
            .problem = t->problem,
            .configuration = t->configuration,
            .prompt = t->message[0].text,
            .end = why,
            .turns = json_incref(t->turns),
            .extra = json_pack("{s:I, s:I}", "sample", (json_int_t)t->sample, "turns",
                               (json_int_t)s->o->turns)});
        code = tr_folder_put_trajectory(s->o->folder, line, err);
        json_decref(line);
    }
    s->count->planned -= s->o->turns - (uint32_t)json_array_size(t->turns);
    drop(s, t);
    return code;
}

/* --- new ones --- */

static size_t place(const struct state *s, const struct tr_problem *p)
{
    return (size_t)(p - s->o->suite->problem);
}

static void mark_defect(struct state *s, size_t problem)
{
    s->count->defective += !s->defect[problem];
    s->defect[problem] = true;
}

/* The next one that is not begun yet; *out NULL: there is none. */
static enum kg_code open_talk(struct state *s, struct talk **out, struct kg_err *err)
{
    const char *prompt = NULL;
    *out = NULL;
    for (; s->problem < s->o->suite->n; s->problem++, s->sample = 1) {
        const struct tr_problem *p = &s->o->suite->problem[s->problem];
        if (s->defect[s->problem] || s->sample > s->o->samples) {
            s->count->planned -= (uint64_t)s->o->turns *
                                 (s->sample > s->o->samples ? 0 : s->o->samples - s->sample + 1);
            continue;
        }
        enum kg_code code = tr_drive_prompt(s->o->drive, p, &prompt, err);
        if (code == KG_OK) {
            break;
        }
        if (!tr_drive_own_fault(code)) {
            return kg_err_prefix(err, "%s", p->name);
        }
        mark_defect(s, s->problem);
        s->count->planned -= (uint64_t)s->o->turns * s->o->samples;
    }
    if (s->problem == s->o->suite->n) {
        return KG_OK;
    }
    struct talk *t = calloc(1, sizeof *t);
    struct tr_message *message = calloc(2 * (size_t)s->o->turns + 1, sizeof *message);
    if (t == NULL || message == NULL) {
        free(t);
        free(message);
        return no_memory(err);
    }
    message[0] = (struct tr_message){.role = TR_USER, .text = prompt, .len = strlen(prompt)};
    *t = (struct talk){.problem = &s->o->suite->problem[s->problem],
                       .sample = s->sample++,
                       .turn = 1,
                       .message = message,
                       .n = 1,
                       .turns = json_array(),
                       .next = s->talks};
    s->talks = t;
    *out = t;
    return KG_OK;
}

/* One that waits for its next turn, else a new one. */
static enum kg_code next_talk(struct state *s, struct talk **out, struct kg_err *err)
{
    for (struct talk *t = s->talks, *after; t != NULL; t = after) {
        after = t->next;
        if (t->under_way) {
            continue;
        }
        if (!s->defect[place(s, t->problem)]) {
            *out = t;
            return KG_OK;
        }
        if (end(s, t, "defect", err) != KG_OK) {
            return err->code;
        }
    }
    return open_talk(s, out, err);
}

static void see_budget(struct state *s)
{
    snprintf(s->count->spent, sizeof s->count->spent, "%s", tr_drive_spent(s->o->drive));
}

/* Is the next turn's reply paid for already? */
static bool kept(const struct state *s, const struct talk *t)
{
    char key[TR_KEY_BYTES];
    tr_key_write(t->problem->name, t->sample, t->turn, key);
    return tr_folder_has_reply(s->o->folder, key);
}

static enum kg_code begin_all(struct state *s, struct kg_err *err)
{
    while (tr_drive_room(s->o->drive) > 0) {
        struct talk *t = NULL;
        if (next_talk(s, &t, err) != KG_OK) {
            return err->code;
        }
        if (t == NULL) {
            break;
        }
        if (s->count->spent[0] != '\0' && !kept(s, t)) {
            s->stopped = true;
            drop(s, t);
            continue;
        }
        if (tr_drive_begin(s->o->drive, t->problem, t->sample, t->turn, t->message, t->n, err) !=
            KG_OK) {
            return err->code;
        }
        t->under_way = true;
        see_budget(s);
    }
    return KG_OK;
}

/* --- finished turns --- */

static struct talk *talk_of(const struct state *s, const struct tr_turn *turn)
{
    struct talk *t = s->talks;
    while (t != NULL && (t->problem != turn->problem || t->sample != turn->sample)) {
        t = t->next;
    }
    KG_ASSERT(t != NULL);
    return t;
}

static bool is_full(const struct tr_turn *turn)
{
    return turn->state == TR_NO_REPLY && turn->err.code == KG_E_LIMIT;
}

static bool is_lost(const struct tr_turn *turn)
{
    return turn->state == TR_NO_VERDICT || (turn->state == TR_NO_REPLY && !is_full(turn));
}

/* NULL: the conversation goes on. */
static const char *why_end(const struct state *s, const struct tr_turn *turn)
{
    return is_full(turn)               ? "full"
           : turn->state == TR_DEFECT  ? "defect"
           : turn->state != TR_JUDGED  ? "infra"
           : turn->turn == s->o->turns ? "done"
           : turn->feedback == NULL    ? "infra"
                                       : NULL;
}

static void count(struct tr_samples *c, const struct tr_turn *turn)
{
    char *why = is_full(turn) ? c->why_full : is_lost(turn) ? c->why_lost : NULL;
    c->turns += turn->reply != NULL;
    c->judged += turn->state == TR_JUDGED;
    c->correct += turn->correct;
    c->lost += is_lost(turn);
    c->full += is_full(turn);
    if (why != NULL && why[0] == '\0') {
        snprintf(why, sizeof c->why_full, "%.239s", turn->err.message);
    }
}

static enum kg_code take(struct state *s, const struct tr_turn *turn, struct kg_err *err)
{
    struct talk *t = talk_of(s, turn);
    const char *why = why_end(s, turn);
    t->under_way = false;
    count(s->count, turn);
    if (is_full(turn)) {
        char id[TR_KEY_BYTES];
        tr_key_write(turn->problem->name, turn->sample, 0, id);
        if (tr_folder_put_full(s->o->folder, id, turn->turn, turn->err.message, err) != KG_OK) {
            return err->code;
        }
    }
    if (turn->state == TR_DEFECT) {
        mark_defect(s, place(s, turn->problem));
    }
    if (turn->reply != NULL) {
        json_array_append_new(t->turns, tr_trajectory_turn(turn, turn->feedback));
        if (turn->config_hash[0] != '\0') {
            memcpy(t->configuration, turn->config_hash, sizeof t->configuration);
        }
    }
    if (why != NULL) {
        return end(s, t, why, err);
    }
    KG_ASSERT(turn->reply != NULL && turn->feedback != NULL);
    t->turn++;
    return add_message(t, TR_ASSISTANT, turn->reply->text, turn->reply->len, turn->reply) &&
                   add_message(t, TR_USER, turn->feedback, strlen(turn->feedback), NULL)
               ? KG_OK
               : no_memory(err);
}

static void tell(const struct state *s, const struct tr_turn *turn)
{
    if (s->o->seen != NULL) {
        s->o->seen(s->o->user, s->count, turn);
    }
}

enum kg_code tr_samples_run(const struct tr_samples_options *o, struct tr_samples *out,
                            struct kg_err *err)
{
    struct state s = {.o = o, .count = out, .sample = 1};
    enum kg_code code = KG_OK;
    *out = (struct tr_samples){.planned = (uint64_t)o->suite->n * o->samples * o->turns};
    see_budget(&s);
    s.defect = calloc(o->suite->n + 1, sizeof *s.defect);
    if (s.defect == NULL) {
        return no_memory(err);
    }
    while ((code = begin_all(&s, err)) == KG_OK && tr_drive_pending(o->drive) > 0) {
        struct tr_turn *turn = NULL;
        code = tr_drive_next(o->drive, TICK_MS, &turn, err);
        code = code == KG_OK && turn != NULL ? take(&s, turn, err) : code;
        see_budget(&s);
        tell(&s, turn);
        tr_turn_free(turn);
        if (code != KG_OK) {
            break;
        }
    }
    if (!s.stopped) {
        out->spent[0] = '\0';
    }
    while (s.talks != NULL) {
        struct talk *t = s.talks;
        s.talks = t->next;
        talk_free(t);
    }
    free(s.defect);
    return code == KG_OK ? tr_folder_sync(o->folder, true, err) : code;
}

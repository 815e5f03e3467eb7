/* Makes a line for each conversation, from the rounds that belong to it. */
#include "trial/refine/round_talk.h"

#include "trial/bench/key.h"
#include "trial/drive/trajectory.h"

/* Turns of the conversation that the round was shown, by their numbers in it. */
static json_t *context_of(const struct tr_round *all, const struct tr_round *r)
{
    json_t *list = json_array();
    for (int i = 0; i < r->nshown; i++) {
        json_array_append_new(list, json_integer(all[r->shown[i] - 1].turn));
    }
    return list;
}

static bool replied(const struct tr_round *r)
{
    return r->result != NULL && r->result->reply != NULL;
}

static json_t *turns_of(const struct tr_round *all, int n, uint32_t sample, bool told)
{
    json_t *turns = json_array();
    for (int i = 0; i < n; i++) {
        const struct tr_turn *t = all[i].result;
        if (all[i].sample != sample || !replied(&all[i])) {
            continue;
        }
        json_t *turn = tr_trajectory_turn(t, told ? t->feedback : tr_no_feedback);
        json_t *extra = json_object_get(turn, "extra");
        json_object_set_new(extra, "round", json_integer(all[i].round));
        json_object_set_new(extra, "context", context_of(all, &all[i]));
        json_object_set_new(extra, "new_best", json_boolean(all[i].new_best));
        json_array_append_new(turns, turn);
    }
    return turns;
}

static const char *end_of(const struct tr_round *last, bool ended)
{
    const struct tr_turn *t = last->result;
    if (t == NULL || (t->state == TR_NO_REPLY && t->err.code == KG_E_LIMIT)) {
        return "full";
    }
    return t->state == TR_NO_VERDICT ? "infra"
           : t->state == TR_DEFECT   ? "defect"
           : ended                   ? "done"
                                     : "open";
}

enum kg_code tr_round_talks(struct tr_folder *f, const struct tr_problem *p, const char *prompt,
                            enum tr_strategy strategy, const struct tr_round *round, int n,
                            bool ended, struct kg_err *err)
{
    uint32_t samples = 0;
    for (int i = 0; i < n; i++) {
        samples = round[i].sample > samples ? round[i].sample : samples;
    }
    for (uint32_t s = 1; s <= samples; s++) {
        const struct tr_round *last = NULL, *some = NULL;
        char id[TR_KEY_BYTES];
        for (int i = 0; i < n; i++) {
            last = round[i].sample == s ? &round[i] : last;
            some = round[i].sample == s && replied(&round[i]) ? &round[i] : some;
        }
        if (some == NULL) {
            continue;
        }
        tr_key_write(p->name, s, 0, id);
        const struct tr_trajectory t = {
            .id = id,
            .group = p->name,
            .problem = p,
            .configuration = some->result->config_hash,
            .prompt = prompt,
            .end = end_of(last, ended),
            .turns = turns_of(round, n, s, strategy != TR_NO_FEEDBACK),
            .extra = json_pack("{s:s}", "strategy", tr_strategy_name(strategy))};
        json_t *line = tr_trajectory(&t);
        enum kg_code code = tr_folder_put_trajectory(f, line, err);
        json_decref(line);
        if (code != KG_OK) {
            return code;
        }
    }
    return KG_OK;
}

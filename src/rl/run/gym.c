/* Opens a pool, and asks it for the feedback of a corpus. */
#include "rl/run/gym.h"

#include <stdio.h>
#include <string.h>

enum { IN_FLIGHT = 512 };

static const char *given(const char *text)
{
    return text[0] != '\0' ? text : NULL;
}

enum kg_code rl_gym_open(const struct rl_config *c, struct kgym_pool **out, struct kg_err *err)
{
    const char *settings[RL_GYM_KEYS + 1];
    char reward[80];
    struct kgym_error e = {0};
    for (size_t i = 0; i < c->ngym; i++) {
        settings[i] = c->gym[i];
    }
    snprintf(reward, sizeof reward, "rewards=%s",
             rl_config_reward(c)); /* so an unknown one is refused */
    settings[c->ngym] = reward;
    const struct kgym_options o = {.size = sizeof o,
                                   .preset = c->gym_preset,
                                   .settings = settings,
                                   .nsettings = c->ngym + 1,
                                   .gym = given(c->service),
                                   .token_file = given(c->token_file)};
    return kgym_open(&o, out, &e) == KGYM_OK ? KG_OK : rl_judge_fail(err, &e);
}

enum kg_code rl_gym_answers(struct rl_judge *j, struct rl_first_turn *turn, size_t n,
                            const volatile int *cancel, struct kg_err *err)
{
    enum kg_code code = KG_OK;
    for (size_t sent = 0, done = 0; done < n && code == KG_OK;) {
        int ticket = -1;
        const struct rl_verdict *v;
        while (sent < n && sent - done < IN_FLIGHT && code == KG_OK) {
            code = rl_judge_submit(j, (int)sent, &turn[sent].chain, turn[sent].code, turn[sent].len,
                                   err);
            sent++;
        }
        code = code != KG_OK ? code : rl_judge_next(j, -1, &ticket, &v, err);
        if (code == KG_OK && ticket >= 0 && v->state != RL_JUDGED) {
            code = kg_fail(err, KG_E_GYM, "the gym has no verdict on a reply of the corpus: %.200s",
                           v->message);
        }
        if (code == KG_OK && ticket >= 0) {
            memcpy(turn[ticket].feedback, v->feedback, sizeof turn->feedback);
            done++;
        }
        if (code == KG_OK && *cancel) {
            code = kg_fail(err, KG_E_CANCELLED, "interrupted");
        }
    }
    return code;
}

enum kg_code rl_gym_ask(void *user, struct rl_first_turn *turn, size_t n, struct kg_err *err)
{
    const struct rl_gym_asker *a = user;
    struct rl_judge *j;
    const struct rl_judge_options o = {.reward = rl_config_reward(a->config),
                                       .tickets = (int)n,
                                       .reuse = true,
                                       .feedback = (int)a->config->fb_max};
    if (rl_judge_create(a->pool, &o, &j, err) != KG_OK) {
        return err->code;
    }
    enum kg_code code = rl_gym_answers(j, turn, n, a->cancel, err);
    rl_judge_destroy(j);
    return code;
}

/* From a record to feedback and rewards: pure functions, in the caller's process. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gym/feedback/feedback.h"
#include "gym/pool/client.h"
#include "gym/reward/reward.h"

#define TEXT_MAX  (8u << 20)
#define NAMES_MAX 1024

static enum kg_code read_record(const char *text, size_t len, struct kg_record *out,
                                struct kg_err *err)
{
    json_t *j = NULL;
    if (kg_json_parse(text, len, "record", &j, err) != KG_OK) {
        return err->code;
    }
    enum kg_code code = kg_record_parse(j, out, err);
    json_decref(j);
    return code;
}

static enum kg_code feedback(const struct kg_record *r, const struct kgym_text_options *o,
                             char **text, struct kg_err *err)
{
    const struct kg_feedback_spec spec = {.tokens = o->limit,
                                          .style = o->brief   ? KG_FEEDBACK_BRIEF_LINE
                                                   : o->plain ? KG_FEEDBACK_PLAIN
                                                              : KG_FEEDBACK_MARKDOWN,
                                          .count = o->count,
                                          .user = o->user};
    struct kg_buf out;
    kg_buf_init(&out, TEXT_MAX);
    enum kg_code code = kg_feedback_render(r, &spec, &out, err);
    if (code == KG_OK) {
        *text = kg_buf_detach(&out);
        code = *text ? KG_OK : kg_fail(err, KG_E_LIMIT, "no memory for the feedback");
    }
    kg_buf_deinit(&out);
    return code;
}

enum kgym_code kgym_feedback(const char *record, size_t record_len,
                             const struct kgym_text_options *options, char **text,
                             struct kgym_error *err)
{
    struct kgym_text_options o = {0};
    struct kg_err e = KG_ERR_INIT;
    struct kg_record r = {.has_error = false};
    *text = NULL;
    if (options && !kg_client_copy(&o, sizeof o, options, options->size)) {
        kg_fail(&e, KG_E_USAGE, "options: size is not that of a known kgym_text_options");
    } else if (read_record(record, record_len, &r, &e) == KG_OK) {
        (void)!feedback(&r, &o, text, &e);
        kg_record_deinit(&r);
    }
    return kg_client_error(&e, err);
}

static void take_real(const json_t *config, const char *key, double *out)
{
    const json_t *v = json_object_get(config, key);
    if (json_is_number(v)) {
        *out = json_number_value(v);
    }
}

/* As the gym that made the record was configured. */
static void params_of(const struct kg_record *r, struct kg_reward_params *p)
{
    kg_reward_params_default(p);
    take_real(r->config, "reward.cap", &p->cap);
    take_real(r->config, "reward.hack_penalty", &p->hack_penalty);
    take_real(r->config, "reward.step", &p->step);
    take_real(r->config, "reward.anneal_steps", &p->anneal_steps);
    take_real(r->config, "reward.kevin_cap", &p->kevin_cap);
    const json_t *deadzone = json_object_get(r->config, "reward.s_deadzone");
    p->s_deadzone = json_is_boolean(deadzone) ? json_is_true(deadzone) : p->s_deadzone;
}

/* The name as the table of presets has it, which outlives the call. */
static const char *lasting(const char *name)
{
    const char *const *names = kg_reward_names();
    while (*names && strcmp(*names, name) != 0) {
        names++;
    }
    return *names;
}

static enum kg_code rewards(const struct kg_record *r, const char *presets, struct kgym_reward *out,
                            size_t *n, struct kg_err *err)
{
    char names[NAMES_MAX], *rest = NULL;
    struct kg_reward_params params;
    size_t room = *n, count = 0;
    const char *absent = kg_reward_absent(r);
    if (absent || (r->has_error && !kg_reward_may(r))) {
        return kg_fail(err, KG_E_INPUT, "record: %s",
                       absent ? absent : "it holds an error, which is never a reward");
    }
    if ((size_t)snprintf(names, sizeof names, "%s", presets) >= sizeof names) {
        return kg_fail(err, KG_E_USAGE, "rewards: too many names");
    }
    params_of(r, &params);
    for (char *name = strtok_r(names, ", ", &rest); name; name = strtok_r(NULL, ", ", &rest)) {
        if (kg_reward_check(name, err) != KG_OK) {
            return err->code;
        }
        if (count < room) {
            struct kg_reward one;
            kg_reward_compute(r, name, &params, &one);
            out[count] = (struct kgym_reward){lasting(name), one.value};
        }
        count++;
    }
    *n = count;
    return count <= room
               ? KG_OK
               : kg_fail(err, KG_E_LIMIT, "rewards: %zu asked for, room for %zu", count, room);
}

enum kgym_code kgym_rewards(const char *record, size_t record_len, const char *presets,
                            struct kgym_reward *out, size_t *n, struct kgym_error *err)
{
    struct kg_err e = KG_ERR_INIT;
    struct kg_record r = {.has_error = false};
    if (read_record(record, record_len, &r, &e) == KG_OK) {
        (void)!rewards(&r, presets, out, n, &e);
        kg_record_deinit(&r);
    }
    return kg_client_error(&e, err);
}

void kgym_free(void *text)
{
    free(text);
}

/* A verdict to JSON and back, with the same bits. */
#include "rl/judge/journal_line.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"

static const char *const states[] = {"judged", "none", "defect"};

/* The members that are texts and numbers. */
static const struct {
    const char *name;
    size_t at, size;
} texts[] = {
#define TEXT(name, field)                                                                          \
    {                                                                                              \
        name, offsetof(struct rl_verdict, field), sizeof(((struct rl_verdict *)0)->field)          \
    }
    TEXT("verdict", name),      TEXT("reason", reason),   TEXT("record", record),
    TEXT("feedback", feedback), TEXT("message", message),
};
static const struct {
    const char *name;
    size_t at;
} numbers[] = {
    {"speedup", offsetof(struct rl_verdict, speedup)},
    {"speedup_lo", offsetof(struct rl_verdict, speedup_lo)},
    {"coverage", offsetof(struct rl_verdict, coverage)},
    {"reward", offsetof(struct rl_verdict, reward)},
};
#define N(array) (sizeof(array) / sizeof *(array))

json_t *rl_journal_line(const char *key, const struct rl_verdict *v)
{
    json_t *o = json_object(), *terms = json_object();
    json_object_set_new(o, "key", json_string(key));
    json_object_set_new(o, "state", json_string(states[v->state]));
    json_object_set_new(o, "correct", json_boolean(v->correct));
    for (size_t i = 0; i < N(texts); i++) {
        const char *text = (const char *)v + texts[i].at;
        json_object_set_new(o, texts[i].name, kg_json_text(text, strlen(text)));
    }
    for (size_t i = 0; i < N(numbers); i++) {
        double x;
        memcpy(&x, (const char *)v + numbers[i].at, sizeof x);
        json_object_set_new(o, numbers[i].name, kg_json_real(x));
    }
    for (int i = 0; i < v->nterms; i++) {
        json_object_set_new(terms, v->term[i].name, kg_json_real(v->term[i].value));
    }
    json_object_set_new(o, "terms", terms);
    return o;
}

static enum kg_code wrong(const char *source, const char *name, struct kg_err *err)
{
    return kg_fail(err, KG_E_INPUT, "%s: `%s` is missing, or not what a verdict has there", source,
                   name);
}

static bool parse_state(const json_t *line, struct rl_verdict *v)
{
    const char *state = json_string_value(json_object_get(line, "state"));
    for (size_t i = 0; state != NULL && i < N(states); i++) {
        if (strcmp(state, states[i]) == 0) {
            v->state = (enum rl_judged)i;
            return true;
        }
    }
    return false;
}

static bool parse_terms(const json_t *terms, struct rl_verdict *v)
{
    const char *name;
    const json_t *x;
    if (!json_is_object(terms) || json_object_size(terms) > RL_TERMS) {
        return false;
    }
    json_object_foreach((json_t *)(uintptr_t)terms, name, x)
    {
        struct rl_term *t = &v->term[v->nterms++];
        snprintf(t->name, sizeof t->name, "%s", name);
        t->value = json_is_number(x) ? json_number_value(x) : (double)NAN;
    }
    return true;
}

enum kg_code rl_journal_parse(const char *source, const json_t *line, char key[KG_SHA256_HEX],
                              struct rl_verdict *v, struct kg_err *err)
{
    const char *k = json_string_value(json_object_get(line, "key"));
    *v = (struct rl_verdict){0};
    if (k == NULL || strlen(k) != KG_SHA256_HEX - 1) {
        return wrong(source, "key", err);
    }
    snprintf(key, KG_SHA256_HEX, "%s", k);
    if (!parse_state(line, v)) {
        return wrong(source, "state", err);
    }
    v->correct = json_is_true(json_object_get(line, "correct"));
    for (size_t i = 0; i < N(texts); i++) {
        const char *text = json_string_value(json_object_get(line, texts[i].name));
        if (text == NULL || strlen(text) >= texts[i].size) {
            return wrong(source, texts[i].name, err);
        }
        memcpy((char *)v + texts[i].at, text, strlen(text) + 1);
    }
    for (size_t i = 0; i < N(numbers); i++) {
        const json_t *x = json_object_get(line, numbers[i].name);
        if (!json_is_number(x) && !json_is_null(x)) {
            return wrong(source, numbers[i].name, err);
        }
        double value = json_is_number(x) ? json_number_value(x) : (double)NAN;
        memcpy((char *)v + numbers[i].at, &value, sizeof value);
    }
    return parse_terms(json_object_get(line, "terms"), v) ? KG_OK : wrong(source, "terms", err);
}

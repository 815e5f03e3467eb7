/* Reads the options of trials from one table, and opens what they name. */
#include "cli/trial/trial_args.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/opt.h"
#include "cli/cli.h"
#include "gym/eval/config.h"
#include "gym/kernelbench/kb_problem.h"

enum kind { TEXT, WHOLE, INT, REAL, YES, NO };

#define MOST_PROBLEM ((size_t)16 << 20) /* bytes of a problem's file */

#define AT(field) offsetof(struct tr_args, field)

/* name, kind, field, bounds */
#define OPTIONS(X)                                                                                 \
    X("--policy", TEXT, AT(policy.policy), 0, 0)                                                   \
    X("--model", TEXT, AT(policy.model), 0, 0)                                                     \
    X("--key-file", TEXT, AT(policy.key_file), 0, 0)                                               \
    X("--adapter", TEXT, AT(policy.adapter), 0, 0)                                                 \
    X("--tokenizer", TEXT, AT(policy.tokenizer), 0, 0)                                             \
    X("--template", TEXT, AT(policy.template), 0, 0)                                               \
    X("--temperature", REAL, AT(policy.sampling.temperature), 0, 100)                              \
    X("--top-p", REAL, AT(policy.sampling.top_p), 0, 1)                                            \
    X("--max-tokens", WHOLE, AT(policy.sampling.max_tokens), 1, 1e7)                               \
    X("--context", WHOLE, AT(policy.sampling.context), 0, 1e9)                                     \
    X("--logprobs", YES, AT(policy.sampling.logprobs), 0, 0)                                       \
    X("--parallel", INT, AT(policy.parallel), 1, 1024)                                             \
    X("--request-timeout", REAL, AT(policy.timeout_s), .01, 86400)                                 \
    X("--retry-seconds", REAL, AT(policy.patience_s), .01, 604800)                                 \
    X("--no-stream", NO, AT(policy.stream), 0, 0)                                                  \
    X("--threads", INT, AT(policy.threads), 0, 256)                                                \
    X("--gym", TEXT, AT(gym), 0, 0)                                                                \
    X("--token-file", TEXT, AT(token_file), 0, 0)                                                  \
    X("--preset", TEXT, AT(preset), 0, 0)                                                          \
    X("--workers", WHOLE, AT(workers), 0, 4096)                                                    \
    X("--price-in", REAL, AT(budget.price_in), 0, 1e9)                                             \
    X("--price-out", REAL, AT(budget.price_out), 0, 1e9)                                           \
    X("--max-tokens-total", WHOLE, AT(budget.tokens), 0, 1e15)                                     \
    X("--max-money", REAL, AT(budget.money), 0, 1e12)                                              \
    X("--max-seconds", REAL, AT(budget.seconds), 0, 1e9)                                           \
    X("--rewards", TEXT, AT(rewards), 0, 0)                                                        \
    X("--language", TEXT, AT(language), 0, 0)                                                      \
    X("--feedback-tokens", WHOLE, AT(feedback), 96, 1e6)                                           \
    X("--seed", WHOLE, AT(seed), 0, 1e15)                                                          \
    X("--out", TEXT, AT(out), 0, 0)                                                                \
    X("--json", YES, AT(json), 0, 0)                                                               \
    X("--help", YES, AT(help), 0, 0)

static const struct row {
    const char *name;
    enum kind kind;
    size_t at;
    double lo, hi;
} rows[] = {
#define ROW(name, kind, at, lo, hi) {name, kind, at, lo, hi},
    OPTIONS(ROW){"-h", YES, AT(help), 0, 0},
};
#define ROWS (sizeof rows / sizeof *rows)

const char *const kg_cli_trial_flags[] = {
#define NAME(name, kind, at, lo, hi) name,
    OPTIONS(NAME) "--set", "--stop", NULL};

const char tr_args_help[] =
    "the model:\n"
    "  --policy P         endpoint:URL (an OpenAI-compatible server, such as\n"
    "                     endpoint:http://localhost:8080/v1), checkpoint:DIR (a model\n"
    "                     of `kgym train` or in Hugging Face's form), or scripted\n"
    "  --model NAME       the endpoint's name of it; default: the only one it has\n"
    "  --key-file F       first word: the endpoint's key; else $OPENAI_API_KEY\n"
    "  --temperature X, --top-p X   how replies are drawn (1, 1)\n"
    "  --max-tokens N     most tokens of a reply (8192)\n"
    "  --context N        tokens of the model's window, where it does not say so\n"
    "  --stop TEXT        ends a reply; up to four times\n"
    "  --logprobs         ask for log-probabilities\n"
    "  --parallel N       replies under way at once (16)\n"
    "  --request-timeout S  seconds of one request without a byte (300)\n"
    "  --retry-seconds S  a request is given up so long after its first try (900)\n"
    "  --no-stream        the endpoint sends each reply whole\n"
    "  --adapter, --tokenizer, --template, --threads   of a checkpoint, as in\n"
    "                     `kgym generate`\n"
    "the gym:\n"
    "  --preset P, --set KEY=VALUE   its configuration (`kgym options`)\n"
    "  --workers N        evaluations at once\n"
    "  --gym URL          a service judges; --token-file F: its token\n"
    "  --rewards A,B      reward presets; the first one counts\n"
    "  --language L       of answers to PyTorch problems: triton, cuda, pytorch\n"
    "  --feedback-tokens N  most tokens of a feedback (600)\n"
    "the budget:\n"
    "  --price-in X, --price-out X   money for a million tokens\n"
    "  --max-tokens-total N, --max-money X   of the run, all its parts together\n"
    "  --max-seconds S    of this command\n"
    "the run:\n"
    "  --out RUN          its folder; the same command goes on with it\n"
    "  --seed N           of the draws (1)\n"
    "  --json             print the summary as JSON\n";

void tr_args_defaults(struct tr_args *a)
{
    *a = (struct tr_args){.feedback = 600, .seed = 1};
    tr_policy_defaults(&a->policy);
    a->policy.cancel = &kg_cli_cancelled;
}

static enum kg_code number(const char *name, const char *text, double lo, double hi, bool whole,
                           double *out, struct kg_err *err)
{
    char *end = NULL;
    double x = strtod(text, &end);
    if (end == text || *end != '\0' || !(x >= lo && x <= hi) || (whole && x != floor(x))) {
        return kg_fail(err, KG_E_USAGE, "%s %.60s: a %snumber from %.16g to %.16g is needed", name,
                       text, whole ? "whole " : "", lo, hi);
    }
    *out = x;
    return KG_OK;
}

enum kg_code tr_args_whole(const char *name, int64_t lo, int64_t hi, int argc, char **argv, int at,
                           int *used, int64_t *out, struct kg_err *err)
{
    const char *text = NULL;
    double x = 0;
    if (kg_cli_value(name, argc, argv, at, used, &text, err) != KG_OK) {
        return err->code;
    }
    if (*used) {
        if (number(name, text, (double)lo, (double)hi, true, &x, err) != KG_OK) {
            return err->code;
        }
        *out = (int64_t)x;
    }
    return KG_OK;
}

static enum kg_code take_value(struct tr_args *a, const struct row *r, const char *text,
                               struct kg_err *err)
{
    void *field = (char *)a + r->at;
    double x = 0;
    if (r->kind == TEXT) {
        *(const char **)field = text;
        return KG_OK;
    }
    if (number(r->name, text, r->lo, r->hi, r->kind != REAL, &x, err) != KG_OK) {
        return err->code;
    }
    if (r->kind == REAL) {
        *(double *)field = x;
    } else if (r->kind == INT) {
        *(int *)field = (int)x;
    } else {
        *(int64_t *)field = (int64_t)x;
    }
    return KG_OK;
}

static enum kg_code take_row(struct tr_args *a, const struct row *r, int argc, char **argv, int at,
                             int *used, struct kg_err *err)
{
    const char *text = NULL;
    if (r->kind == YES || r->kind == NO) {
        *used = strcmp(argv[at], r->name) == 0;
        if (*used) {
            *(bool *)((char *)a + r->at) = r->kind == YES;
        }
        return KG_OK;
    }
    if (kg_cli_value(r->name, argc, argv, at, used, &text, err) != KG_OK) {
        return err->code;
    }
    return *used ? take_value(a, r, text, err) : KG_OK;
}

/* Options that may stand several times. */
static enum kg_code take_list(struct tr_args *a, int argc, char **argv, int at, int *used,
                              struct kg_err *err)
{
    const char *text = NULL;
    struct tr_sampling *s = &a->policy.sampling;
    if (kg_cli_value("--set", argc, argv, at, used, &text, err) != KG_OK) {
        return err->code;
    }
    if (*used) {
        if (a->nset == TR_SETS) {
            return kg_fail(err, KG_E_LIMIT, "--set: more than %d", TR_SETS);
        }
        a->set[a->nset++] = text;
        return KG_OK;
    }
    if (kg_cli_value("--stop", argc, argv, at, used, &text, err) != KG_OK) {
        return err->code;
    }
    if (!*used) {
        return KG_OK;
    }
    if (s->nstop == (int)(sizeof s->stop / sizeof *s->stop)) {
        return kg_fail(err, KG_E_LIMIT, "--stop: more than %d", s->nstop);
    }
    s->stop[s->nstop++] = text;
    return KG_OK;
}

enum kg_code tr_args_word(struct tr_args *a, int argc, char **argv, int at, int *used,
                          struct kg_err *err)
{
    enum kg_code code = take_list(a, argc, argv, at, used, err);
    if (code != KG_OK || *used) {
        return code;
    }
    for (size_t i = 0; i < ROWS && !*used; i++) {
        if (take_row(a, &rows[i], argc, argv, at, used, err) != KG_OK) {
            return err->code;
        }
    }
    return KG_OK;
}

enum kg_code tr_args_unknown(const char *command, const char *word, const char *const *own,
                             struct kg_err *err)
{
    const char *list[64];
    const char *const *const tables[] = {own, kg_cli_trial_flags};
    size_t n = 0;
    for (size_t t = 0; t < 2; t++) {
        for (const char *const *f = tables[t]; *f != NULL; f++) {
            KG_ASSERT(n < sizeof list / sizeof *list - 1);
            list[n++] = *f;
        }
    }
    list[n] = NULL;
    return kg_cli_unknown(command, word, list, NULL, err);
}

enum kg_code tr_args_check(const struct tr_args *a, const char *command, struct kg_err *err)
{
    if (a->policy.policy == NULL) {
        return kg_fail(err, KG_E_USAGE,
                       "--policy is missing, such as endpoint:http://localhost:8080/v1; see `kgym "
                       "%s --help`",
                       command);
    }
    if (a->out == NULL || a->out[0] == '\0') {
        return kg_fail(err, KG_E_USAGE, "--out RUN is missing: the folder of the run");
    }
    if (a->budget.money > 0 && a->budget.price_in <= 0 && a->budget.price_out <= 0) {
        return kg_fail(err, KG_E_USAGE, "--max-money: prices are needed, --price-in, --price-out");
    }
    if (a->gym == NULL && a->token_file != NULL) {
        return kg_fail(err, KG_E_USAGE, "--token-file goes with --gym");
    }
    return KG_OK;
}

/* --- opening --- */

struct kgym_options tr_args_gym(const struct tr_args *a)
{
    return (struct kgym_options){.size = sizeof(struct kgym_options),
                                 .preset = a->preset,
                                 .settings = a->set,
                                 .nsettings = (size_t)a->nset,
                                 .workers = (int)a->workers,
                                 .gym = a->gym,
                                 .token_file = a->token_file};
}

enum kg_code tr_args_pool(const struct tr_args *a, const char *id, struct kgym_pool **out,
                          struct kg_err *err)
{
    struct kgym_options o = tr_args_gym(a);
    const char *set[TR_SETS + 1];
    size_t n = (size_t)a->nset;
    char rewards[300];
    memcpy(set, a->set, n * sizeof *set);
    if (a->rewards != NULL) { /* so that a wrong name is found before anything is asked */
        if ((size_t)snprintf(rewards, sizeof rewards, "rewards=%s", a->rewards) >= sizeof rewards) {
            return kg_fail(err, KG_E_USAGE, "--rewards: more than %zu bytes", sizeof rewards);
        }
        set[n++] = rewards;
    }
    o.settings = set;
    o.nsettings = n;
    o.run = a->gym != NULL ? id : NULL;
    struct kgym_error why = {0};
    return kgym_open(&o, out, &why) == KGYM_OK
               ? KG_OK
               : kg_fail(err, (enum kg_code)why.code, "%s", why.message);
}

struct tr_drive_options tr_args_drive(const struct tr_args *a)
{
    return (struct tr_drive_options){.rewards = a->rewards,
                                     .language = a->language,
                                     .feedback = a->feedback,
                                     .max_tokens = a->policy.sampling.max_tokens,
                                     .seed = (uint64_t)a->seed,
                                     .budget = a->budget};
}

/* --- run.json --- */

static json_t *text(const char *s)
{
    return s != NULL ? kg_json_text(s, strlen(s)) : json_null();
}

/* {KEY: VALUE} of the options that $KGYM_... sets and that say what is judged, or how; NULL: none.
 * A service has its own environment. */
static json_t *environment(const struct tr_args *a)
{
    const struct kg_opts *all = kg_config_options();
    json_t *out = NULL;
    for (size_t i = 0; a->gym == NULL && i < all->n; i++) {
        const struct kg_opt *o = &all->table[i];
        char name[KG_OPT_KEY_MAX + 8];
        kg_opt_env_name(o, name);
        const char *value = getenv(name);
        bool asked = o->client || (strcmp(o->key, "preset") == 0 && a->preset == NULL) ||
                     (strcmp(o->key, "rewards") == 0 && a->rewards == NULL);
        if (value != NULL && asked) {
            out = out != NULL ? out : json_object();
            json_object_set_new(out, o->key, text(value));
        }
    }
    return out;
}

json_t *tr_args_run(const struct tr_args *a, const struct tr_policy *policy, const char *kind,
                    const char *id)
{
    json_t *set = json_array();
    for (int i = 0; i < a->nset; i++) {
        json_array_append_new(set, text(a->set[i]));
    }
    json_t *gym = json_pack("{s:o, s:o, s:b}", "preset", text(a->preset), "set", set, "remote",
                            a->gym != NULL);
    json_t *from_environment = environment(a);
    if (from_environment != NULL) {
        json_object_set_new(gym, "environment", from_environment);
    }
    json_t *prices = json_pack("{s:f, s:f}", "in", a->budget.price_in, "out", a->budget.price_out);
    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:I, s:o, s:o, s:I, s:o}", "schema", "kgym.run/1",
                     "kind", kind, "id", id, "policy", policy->describe(policy->self), "gym", gym,
                     "seed", (json_int_t)a->seed, "prices", prices, "rewards", text(a->rewards),
                     "feedback", (json_int_t)a->feedback, "language", text(a->language));
}

/* {NAME: KernelBench's own hash}, for its result files; "" where the file is gone. */
static json_t *their_hashes(const struct tr_suite *s)
{
    json_t *out = json_object();
    for (size_t i = 0; s->kernelbench && i < s->n; i++) {
        struct kg_err ignored = KG_ERR_INIT;
        char hash[KG_KB_HASH] = "";
        struct kg_buf code;
        kg_buf_init(&code, MOST_PROBLEM);
        if (kg_file_read(s->problem[i].problem, &code, &ignored) == KG_OK &&
            kg_kb_hash(code.data, code.len, hash, &ignored) != KG_OK) {
            hash[0] = '\0';
        }
        kg_buf_deinit(&code);
        json_object_set_new(out, s->problem[i].name, json_string(hash));
    }
    return out;
}

json_t *tr_args_suite(const struct tr_suite *s, const char *subset)
{
    json_t *problems = json_array(), *aside = json_array();
    for (size_t i = 0; i < s->n; i++) {
        const struct tr_problem *p = &s->problem[i];
        json_array_append_new(problems, json_pack("{s:o, s:i, s:i, s:s}", "name", text(p->name),
                                                  "level", p->level, "id", p->id, "hash", p->hash));
    }
    for (size_t i = 0; i < s->naside; i++) {
        json_array_append_new(aside, json_pack("{s:o, s:o}", "name", text(s->aside[i].name), "why",
                                               text(s->aside[i].why)));
    }
    json_t *out =
        json_pack("{s:o, s:b, s:I, s:o, s:o, s:o}", "name", text(s->name), "kernelbench",
                  s->kernelbench, "of", (json_int_t)s->of, "subset",
                  text(subset != NULL ? subset : ""), "problems", problems, "aside", aside);
    if (s->kernelbench) {
        json_object_set_new(out, "kernelbench_hashes", their_hashes(s));
    }
    return out;
}

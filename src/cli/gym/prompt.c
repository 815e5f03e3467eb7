/* kgym prompt: what a model is told first about a problem, and the conversation so far. */
#include "cli/gym/prompt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/yaml.h"
#include "cli/gym/config.h"
#include "gym/eval/first_message.h"

static const char help_text[] =
    "usage: kgym prompt [OPTIONS] PROBLEM\n"
    "\n"
    "Prints the first message for a model that is to write a kernel: what to write,\n"
    "the contract with the exact signature, one example, the device, the reference,\n"
    "and the form of the answer. How answers are checked is not in it\n"
    "(docs/prompts.md).\n"
    "\n"
    "  PROBLEM           a name of the suites (`kgym problems list`), or a path, as\n"
    "                    for `kgym eval`\n"
    "\n"
    "  --json            chat messages: [{\"role\": \"user\", \"content\": \"...\"}]\n"
    "  --record R.json   a record of `kgym eval --json` of this problem: its code\n"
    "                    follows as the model's turn, then the feedback on it. Once\n"
    "                    for each turn, in order; - is standard input\n"
    "  --language L      of the answer to a PyTorch problem: triton (default), cuda,\n"
    "                    or pytorch (any code that PyTorch can call); C problems ask\n"
    "                    for C\n"
    "  --limit BYTES     the first message may have so many bytes, 256 to 4194304\n"
    "                    (default 16384); a longer one is an error, it is never cut\n"
    "  --tokens N        of each feedback, as for `kgym feedback` (default 600)\n"
    "  --style S         markdown: listings in code fences (default); plain: indented\n"
    "  --hardware TEXT   what to say of the device, where it is not this host's; \"\"\n"
    "                    says nothing\n"
    "  --device D        this host's device for PyTorch problems: cpu, cuda:0, auto\n"
    "  --config F.yaml, --preset NAME, --set KEY=VALUE\n"
    "                    configuration, as for `kgym eval`; `suites`, `device` and\n"
    "                    `precision` are used\n"
    "\n"
    "examples:\n"
    "  kgym prompt softmax\n"
    "  kgym prompt 04_gelu_tanh --language cuda --hardware \"NVIDIA H100\"\n"
    "  kgym prompt softmax --json >messages.json\n"
    "  kgym eval softmax reply.md --json >turn1.json\n"
    "  kgym prompt softmax --record turn1.json\n"
    "\n"
    "exit status: 0 printed; 2 error\n";

const char *const kg_cli_prompt_flags[] = {"--json",   "--record", "--language", "--limit",
                                           "--tokens", "--style",  "--hardware", "--config",
                                           "--preset", "--set",    "--help",     NULL};

struct args {
    struct kg_cli_config config;
    const char *problem, *language, *limit, *tokens, *style, *hardware;
    const char *record[KG_CONVERSATION_MAX];
    int nrecords;
    bool json, help;
};

static enum kg_code take_record(struct args *a, int argc, char **argv, int at, int *used,
                                struct kg_err *err)
{
    const char *file = NULL;
    if (kg_cli_value("--record", argc, argv, at, used, &file, err) != KG_OK || !*used) {
        return err->code;
    }
    if (a->nrecords == KG_CONVERSATION_MAX) {
        return kg_fail(err, KG_E_USAGE, "--record: more than %d of them", KG_CONVERSATION_MAX);
    }
    a->record[a->nrecords++] = file;
    return KG_OK;
}

static enum kg_code take_value(struct args *a, int argc, char **argv, int at, int *used,
                               struct kg_err *err)
{
    const struct {
        const char *name;
        const char **field;
    } list[] = {
        {"--language", &a->language}, {"--limit", &a->limit},       {"--tokens", &a->tokens},
        {"--style", &a->style},       {"--hardware", &a->hardware},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list && *used == 0; i++) {
        if (kg_cli_value(list[i].name, argc, argv, at, used, list[i].field, err) != KG_OK) {
            return err->code;
        }
    }
    return *used ? KG_OK : take_record(a, argc, argv, at, used, err);
}

static enum kg_code parse(struct args *a, int argc, char **argv, struct kg_err *err)
{
    for (int i = 1; i < argc;) {
        bool json = strcmp(argv[i], "--json") == 0;
        bool help = strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0;
        int used = json || help;
        a->json |= json;
        a->help |= help;
        if ((!used && take_value(a, argc, argv, i, &used, err) != KG_OK) ||
            (!used && kg_cli_config_word(&a->config, argc, argv, i, &used, err) != KG_OK)) {
            return err->code;
        }
        if (!used && argv[i][0] == '-') {
            return kg_cli_unknown("prompt", argv[i], kg_cli_prompt_flags, kg_config_options(), err);
        }
        if (!used && a->problem) {
            return kg_fail(err, KG_E_USAGE, "one word too many: `%.100s`", argv[i]);
        }
        a->problem = used ? a->problem : argv[i];
        i += used ? used : 1;
    }
    return a->help || a->problem
               ? KG_OK
               : kg_fail(err, KG_E_USAGE, "PROBLEM is needed; see `kgym prompt --help`");
}

static enum kg_code number(const char *flag, const char *text, int64_t lo, int64_t hi, int64_t *out,
                           struct kg_err *err)
{
    char *end = NULL;
    if (!text) {
        return KG_OK;
    }
    *out = strtoll(text, &end, 10);
    if (end == text || *end || *out < lo || *out > hi) {
        return kg_fail(err, KG_E_USAGE, "%s %.100s: a number from %lld to %lld is needed", flag,
                       text, (long long)lo, (long long)hi);
    }
    return KG_OK;
}

/* A word of a list that is not known, with the nearest that is. */
static enum kg_code no_such(const char *flag, const char *word, const char *const *names, size_t n,
                            const char *which, struct kg_err *err)
{
    const char *near = kg_nearest(word, names, n);
    return kg_fail(err, KG_E_USAGE, "%s %.100s: %s%s%s", flag, word, near ? "did you mean `" : "",
                   near ? near : which, near ? "`?" : "");
}

static enum kg_code specs_of(const struct args *a, struct kg_prompt_spec *spec,
                             struct kg_feedback_spec *feedback, struct kg_err *err)
{
    static const char *const languages[] = {"triton", "cuda", "pytorch"};
    static const char *const styles[] = {"markdown", "plain"};
    spec->hardware = a->hardware;
    if (number("--limit", a->limit, KG_PROMPT_MIN, KG_PROMPT_MAX_BYTES, &spec->limit, err) !=
            KG_OK ||
        number("--tokens", a->tokens, KG_FEEDBACK_MIN_TOKENS, KG_FEEDBACK_MAX_TOKENS,
               &feedback->tokens, err) != KG_OK) {
        return err->code;
    }
    if (a->language && !kg_prompt_language_parse(a->language, &spec->language)) {
        return no_such("--language", a->language, languages, 3, "triton, cuda or pytorch is needed",
                       err);
    }
    if (a->style && !kg_feedback_style_parse(a->style, &spec->style)) {
        return no_such("--style", a->style, styles, 2, "markdown or plain is needed", err);
    }
    feedback->style = spec->style;
    return KG_OK;
}

/* *chat is the caller's in any case. */
static enum kg_code converse(const struct args *a, const struct kg_config *config,
                             struct kg_prompt_spec *spec, const struct kg_feedback_spec *feedback,
                             json_t *chat, struct kg_err *err)
{
    struct kg_paths paths;
    struct kg_prompt_about about;
    struct kg_buf text;
    kg_prompt_spec_of(config, spec);
    kg_buf_init(&text, KG_PROMPT_MAX_BYTES);
    enum kg_code code = kg_paths_find(config->suites, &paths, err);
    if (code == KG_OK) {
        code = kg_prompt_for_named(&paths, a->problem, spec, &about, &text, err);
    }
    if (code == KG_OK) {
        json_array_append_new(chat, json_pack("{s:s, s:o}", "role", "user", "content",
                                              kg_json_text(text.data, text.len)));
    }
    for (int i = 0; i < a->nrecords && code == KG_OK; i++) {
        code = kg_conversation_add(chat, a->record[i], &about, feedback, err);
    }
    kg_buf_deinit(&text);
    return code;
}

int kg_cmd_prompt(int argc, char **argv)
{
    struct args a = {0};
    struct kg_err err = KG_ERR_INIT;
    struct kg_config config;
    struct kg_prompt_spec spec = {0};
    struct kg_feedback_spec feedback = {0};
    if (parse(&a, argc, argv, &err) != KG_OK) {
        return kg_cli_fail("prompt", &err);
    }
    if (a.help) {
        fputs(help_text, stdout);
        return KG_STATUS_GOOD;
    }
    if (specs_of(&a, &spec, &feedback, &err) != KG_OK ||
        kg_cli_config_resolve(&a.config, argc, argv, &config, &err) != KG_OK) {
        return kg_cli_fail("prompt", &err);
    }
    struct kg_buf out;
    json_t *chat = json_array();
    kg_buf_init(&out, 256u << 20);
    enum kg_code code = converse(&a, &config, &spec, &feedback, chat, &err);
    if (code == KG_OK && a.json) {
        kg_json_dump(chat, &out);
        kg_buf_addc(&out, '\n');
    } else if (code == KG_OK) {
        kg_conversation_print(chat, &out);
    }
    fwrite(out.data, 1, out.len, stdout);
    json_decref(chat);
    kg_buf_deinit(&out);
    return code == KG_OK ? KG_STATUS_GOOD : kg_cli_fail("prompt", &err);
}

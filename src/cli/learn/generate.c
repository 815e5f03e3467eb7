/* kgym generate: a model answers a prompt. */
#include "cli/learn/generate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

const char *const kg_cli_sample_flags[] = {
    "--model",  "--adapter", "--tokenizer",   "--template", "--thinking", "--prompt",
    "--system", "--raw",     "--prompt-file", "--messages", "--problem",  "--full-prompt",
    "--seed",   "--n",       "--temperature", "--top-p",    "--top-k",    "--min-p",
    "--json",   "--threads", "--max-tokens",  "--help",     NULL};

static const char help_text[] =
    "usage: kgym generate --model DIR [--adapter DIR] PROMPT [OPTIONS]\n"
    "\n"
    "A model answers. Text is printed as it comes, in whole characters; rates go to\n"
    "standard error. DIR is a folder of Hugging Face (Qwen2.x, Qwen3) or of kgym, the\n"
    "adapter one of PEFT. Weights become f32, and are kept twice: 8 bytes for each\n"
    "parameter. What does not fit into memory is refused before it is loaded.\n"
    "\n"
    "PROMPT is one of\n"
    "  --prompt TEXT        the user's message\n"
    "  --prompt-file F      the same from a file; - is standard input\n"
    "  --messages F.json    [{\"role\": \"user\", \"content\": \"...\"}, ...], as `kgym\n"
    "                       prompt --json` prints them; the last is the user's\n"
    "  --problem P          the gym's message about a problem; of a chain, such as\n"
    "                       relu_softmax, the short one that small models learn\n"
    "\n"
    "  --full-prompt        of a chain the gym's whole message too\n"
    "  --system TEXT        the system message; not with --messages\n"
    "  --raw                the prompt is no message: the model goes on with the text\n"
    "  --max-tokens N       of the reply (default 512)\n"
    "  --temperature T      0: always the likeliest token (default 1)\n"
    "  --top-p P --top-k K --min-p P   which tokens may be drawn (default: all)\n"
    "  --seed N             of the draws (default 1)\n"
    "  --n N                replies, 1 to 256 (default 1); the first one streams\n"
    "  --json               a line for each reply: sample, text, ids, logp, finish\n"
    "                       (stop, length, full), prompt_ids. logp are natural\n"
    "                       logarithms, over all tokens at this temperature\n"
    "  --tokenizer F        a tokenizer.json or a folder, where DIR has none\n"
    "  --template NAME      chat template, where that of DIR is not known: qwen2.5,\n"
    "                       qwen2.5-base, qwen3, qwen3-instruct, qwen3-thinking\n"
    "  --thinking           of qwen3: leave room for a thought\n"
    "  --threads N          default: one for each core\n"
    "\n"
    "A reply ends with the end of a turn or of a text, or where a turn would begin.\n"
    "Words never end it.\n"
    "\n"
    "examples:\n"
    "  kgym generate --model sft1/model --problem relu_softmax --temperature 0\n"
    "  kgym generate --model Qwen2.5-Coder-0.5B-Instruct --adapter sft2/adapter \\\n"
    "      --problem softmax --n 4 --json\n"
    "\n"
    "exit status: 0 answered; 2 error or interrupted\n";

static enum kg_code number(const char *flag, const char *text, double lo, double hi, bool whole,
                           double *out, struct kg_err *err)
{
    char *end = NULL;
    double x = strtod(text, &end);
    if (end == text || *end != '\0' || !(x >= lo && x <= hi) || (whole && x != floor(x))) {
        return kg_fail(err, KG_E_USAGE, "%s %.60s: a %snumber from %g to %g is needed", flag, text,
                       whole ? "whole " : "", lo, hi);
    }
    *out = x;
    return KG_OK;
}

static enum kg_code take_text(struct kg_generate *g, int argc, char **argv, int at, int *used,
                              struct kg_err *err)
{
    const struct {
        const char *name;
        const char **field;
    } list[] = {{"--model", &g->source.model},
                {"--adapter", &g->source.adapter},
                {"--tokenizer", &g->source.tokenizer},
                {"--template", &g->source.template},
                {"--prompt", &g->prompt},
                {"--prompt-file", &g->prompt_file},
                {"--messages", &g->messages},
                {"--problem", &g->problem},
                {"--system", &g->system}};
    for (size_t i = 0; i < sizeof list / sizeof *list && !*used; i++) {
        if (kg_cli_value(list[i].name, argc, argv, at, used, list[i].field, err) != KG_OK) {
            return err->code;
        }
    }
    return KG_OK;
}

static enum kg_code take_number(struct kg_generate *g, int argc, char **argv, int at, int *used,
                                struct kg_err *err)
{
    double x[8] = {(double)g->sampling.temperature,
                   (double)g->sampling.top_p,
                   (double)g->sampling.min_p,
                   g->sampling.top_k,
                   (double)g->sampling.seed,
                   (double)g->max_tokens,
                   (double)g->samples,
                   (double)g->threads};
    static const struct {
        const char *name;
        double lo, hi;
        bool whole;
    } list[8] = {{"--temperature", 0, 100, false},
                 {"--top-p", 0, 1, false},
                 {"--min-p", 0, 1, false},
                 {"--top-k", 0, 1e7, true},
                 {"--seed", 0, 1e15, true},
                 {"--max-tokens", 1, 1e6, true},
                 {"--n", 1, KG_GENERATE_SAMPLES, true},
                 {"--threads", 0, 256, true}};
    for (size_t i = 0; i < 8 && !*used; i++) {
        const char *text = NULL;
        if (kg_cli_value(list[i].name, argc, argv, at, used, &text, err) != KG_OK) {
            return err->code;
        }
        if (*used && number(list[i].name, text, list[i].lo, list[i].hi, list[i].whole, &x[i],
                            err) != KG_OK) {
            return err->code;
        }
    }
    g->sampling = (struct lm_sampling){.temperature = (float)x[0],
                                       .top_p = (float)x[1],
                                       .min_p = (float)x[2],
                                       .top_k = (int)x[3],
                                       .seed = (uint64_t)x[4]};
    g->max_tokens = (int64_t)x[5];
    g->samples = (int64_t)x[6];
    g->threads = (int64_t)x[7];
    return KG_OK;
}

static enum kg_code word(struct kg_generate *g, int argc, char **argv, int at, int *used,
                         struct kg_err *err)
{
    const char *w = argv[at];
    bool *flag = strcmp(w, "--raw") == 0                            ? &g->raw
                 : strcmp(w, "--json") == 0                         ? &g->json
                 : strcmp(w, "--thinking") == 0                     ? &g->source.thinking
                 : strcmp(w, "--full-prompt") == 0                  ? &g->full_prompt
                 : strcmp(w, "--help") == 0 || strcmp(w, "-h") == 0 ? &g->help
                                                                    : NULL;
    *used = flag != NULL;
    if (flag != NULL) {
        *flag = true;
        return KG_OK;
    }
    if (take_text(g, argc, argv, at, used, err) != KG_OK ||
        (!*used && take_number(g, argc, argv, at, used, err) != KG_OK)) {
        return err->code;
    }
    return *used ? KG_OK : kg_cli_unknown("generate", w, kg_cli_sample_flags, NULL, err);
}

static enum kg_code check(const struct kg_generate *g, struct kg_err *err)
{
    int prompts = (g->prompt != NULL) + (g->prompt_file != NULL) + (g->messages != NULL) +
                  (g->problem != NULL);
    if (g->source.model[0] == '\0') {
        return kg_fail(err, KG_E_USAGE, "--model DIR is missing; see `kgym generate --help`");
    }
    if (prompts != 1) {
        return kg_fail(err, KG_E_USAGE,
                       "one prompt is needed: --prompt, --prompt-file, --messages or --problem");
    }
    if (g->raw && (g->system != NULL || g->messages != NULL || g->problem != NULL)) {
        return kg_fail(err, KG_E_USAGE, "--raw goes with --prompt or --prompt-file alone");
    }
    if (g->system != NULL && g->messages != NULL) {
        return kg_fail(err, KG_E_USAGE, "--system: --messages holds the system message");
    }
    return KG_OK;
}

int kg_cmd_generate(int argc, char **argv)
{
    struct kg_generate g = {
        .source = {.model = "", .adapter = "", .tokenizer = "", .template = "auto"},
        .sampling = {.temperature = 1, .seed = 1},
        .max_tokens = 512,
        .samples = 1};
    struct kg_err err = KG_ERR_INIT;
    enum kg_code code = KG_OK;
    for (int i = 1, used = 0; i < argc && code == KG_OK; i += used) {
        code = word(&g, argc, argv, i, &used, &err);
    }
    if (code == KG_OK && g.help) {
        fputs(help_text, stdout);
        return KG_STATUS_GOOD;
    }
    code = code != KG_OK ? code : check(&g, &err);
    if (code == KG_OK) {
        bool any = g.raw && strcmp(g.source.template, "auto") == 0; /* only stop ids count */
        g.source.template = any ? "qwen2.5-base" : g.source.template;
        kg_cli_signals();
        code = kg_generate_run(&g, &err);
    }
    return code == KG_OK ? KG_STATUS_GOOD : kg_cli_fail("generate", &err);
}

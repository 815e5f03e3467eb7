/* kgym feedback: what a model may be told about a record. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/yaml.h"
#include "cli/cli.h"
#include "cli/gym/prompt.h"
#include "gym/feedback/feedback.h"

static const char help_text[] =
    "usage: kgym feedback [--tokens N] [--style S] RECORD.json\n"
    "\n"
    "Prints the feedback that the model which wrote the candidate may see: verdict,\n"
    "the compiler's or the exception's words with the source around them, how much of\n"
    "an output is wrong and for which kind of shape, speed-up with its interval,\n"
    "kernels, and one hint. Seeds, expected values, tolerances, positions and what\n"
    "the candidate printed are never shown, so a record with its key `private` may be\n"
    "given.\n"
    "\n"
    "  RECORD.json   one record (kgym.record/1) as `kgym eval --json` prints it;\n"
    "                - is standard input\n"
    "  --tokens N    the text has at most N tokens, 96 to 1000000 (default 600;\n"
    "                brief: from 1, default 24), estimated from above: see\n"
    "                docs/feedback.md\n"
    "  --style S     markdown: listings in code fences (default); plain: indented;\n"
    "                brief: one line\n"
    "\n"
    "examples:\n"
    "  kgym eval silu answer.c --json | kgym feedback -\n"
    "  kgym feedback record.json --tokens 200 --style plain\n"
    "  sed -n 7p records.jsonl | kgym feedback -\n"
    "\n"
    "exit status: 0 printed, whatever the verdict; 2 error\n";

static const char *const flags[] = {"--tokens", "--style", "--help", NULL};

struct args {
    const char *in, *tokens, *style;
};

static enum kg_code parse(struct args *a, int argc, char **argv, struct kg_err *err)
{
    for (int i = 1; i < argc;) {
        int used = 0;
        if (kg_cli_value("--tokens", argc, argv, i, &used, &a->tokens, err) != KG_OK ||
            (!used && kg_cli_value("--style", argc, argv, i, &used, &a->style, err) != KG_OK)) {
            return err->code;
        }
        if (!used && argv[i][0] == '-' && argv[i][1]) {
            return kg_cli_unknown("feedback", argv[i], flags, NULL, err);
        }
        if (!used && a->in) {
            return kg_fail(err, KG_E_USAGE, "one word too many: `%.100s`", argv[i]);
        }
        a->in = used ? a->in : argv[i];
        i += used ? used : 1;
    }
    return a->in ? KG_OK
                 : kg_fail(err, KG_E_USAGE, "RECORD.json is needed; see `kgym feedback --help`");
}

static enum kg_code spec_of(const struct args *a, struct kg_feedback_spec *spec, struct kg_err *err)
{
    char *end = NULL;
    *spec = (struct kg_feedback_spec){.tokens = 0};
    if (a->style && !kg_feedback_style_parse(a->style, &spec->style)) {
        const char *names[KG_FEEDBACK_STYLES];
        for (int i = 0; i < KG_FEEDBACK_STYLES; i++) {
            names[i] = kg_feedback_style_name((enum kg_feedback_style)i);
        }
        const char *near = kg_nearest(a->style, names, KG_FEEDBACK_STYLES);
        return kg_fail(err, KG_E_USAGE, "--style %.100s: %s%s%s", a->style,
                       near ? "did you mean `" : "",
                       near ? near : "markdown, plain or brief is needed", near ? "`?" : "");
    }
    int64_t least = kg_feedback_least(spec->style);
    if (a->tokens) {
        spec->tokens = strtoll(a->tokens, &end, 10);
        if (end == a->tokens || *end || spec->tokens < least ||
            spec->tokens > KG_FEEDBACK_MAX_TOKENS) {
            return kg_fail(err, KG_E_USAGE, "--tokens %.100s: a number from %lld to %d is needed",
                           a->tokens, (long long)least, KG_FEEDBACK_MAX_TOKENS);
        }
    }
    return KG_OK;
}

int kg_cmd_feedback(int argc, char **argv)
{
    struct args a = {0};
    struct kg_err err = KG_ERR_INIT;
    struct kg_feedback_spec spec;
    struct kg_record r;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(help_text, stdout);
            return KG_STATUS_GOOD;
        }
    }
    if (parse(&a, argc, argv, &err) != KG_OK || spec_of(&a, &spec, &err) != KG_OK || !a.in ||
        kg_cli_record_load(a.in, &r, &err) != KG_OK) {
        return kg_cli_fail("feedback", &err);
    }
    struct kg_buf text;
    kg_buf_init(&text, 8u << 20);
    enum kg_code code = kg_feedback_render(&r, &spec, &text, &err);
    fputs(text.data, stdout);
    kg_buf_deinit(&text);
    kg_record_deinit(&r);
    return code == KG_OK ? KG_STATUS_GOOD : kg_cli_fail("feedback", &err);
}

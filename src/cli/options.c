/* kgym options and kgym completion: both printed from the tables that the parsers read. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/kernelbench.h"
#include "cli/prompt.h"
#include "gym/reply/check.h"

static bool is_help(int argc, char **argv)
{
    return argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
}

static int misuse(const char *command, const char *word, const char *const *known)
{
    struct kg_err err = KG_ERR_INIT;
    return kg_cli_unknown(command, word, known, false, &err) == KG_OK ? KG_STATUS_GOOD
                                                                      : kg_cli_fail(command, &err);
}

int kg_cmd_options(int argc, char **argv)
{
    struct kg_buf out;
    kg_buf_init(&out, 1 << 20);
    if (argc > 1 && strcmp(argv[1], "--markdown") == 0) {
        kg_opts_markdown(kg_config_options(), &out);
    } else if (argc > 1 && strcmp(argv[1], "--static-rules") == 0) {
        const struct kg_check_rule *rules;
        static const char *const severity[] = {"note", "warn", "reject"};
        size_t n = kg_check_rules(&rules);
        for (size_t i = 0; i < n; i++) {
            kg_buf_addf(&out, "| `%s` | %s | %s |\n", rules[i].id, severity[rules[i].severity],
                        rules[i].message);
        }
    } else if (is_help(argc, argv)) {
        kg_buf_adds(
            &out,
            "usage: kgym options [--markdown | --static-rules]\n\n"
            "Every configuration key: YAML `key: value` in a file given to --config, environment\n"
            "KGYM_KEY, flag --key, or --set key=value.\n\n"
            "  --markdown       the same as a table for docs/options.md\n"
            "  --static-rules   the rules of the static check, as a table\n");
    } else if (argc > 1) {
        static const char *const known[] = {"--markdown", "--static-rules", "--help", NULL};
        kg_buf_deinit(&out);
        return misuse("options", argv[1], known);
    } else {
        kg_opts_help(kg_config_options(), &out);
    }
    fputs(out.data, stdout);
    kg_buf_deinit(&out);
    return KG_STATUS_GOOD;
}

static void words(struct kg_buf *out, const char *const *list)
{
    for (; *list; list++) {
        kg_buf_addf(out, " %s", *list);
    }
}

int kg_cmd_completion(int argc, char **argv)
{
    struct kg_buf out;
    size_t n;
    const struct kg_command *c = kg_cli_commands(&n);
    if (is_help(argc, argv)) {
        puts("usage: kgym completion\n\nPrints completion for bash:  eval \"$(kgym completion)\"");
        return KG_STATUS_GOOD;
    }
    if (argc > 1) {
        static const char *const known[] = {"--help", NULL};
        return misuse("completion", argv[1], known);
    }
    kg_buf_init(&out, 1 << 20);
    kg_buf_adds(&out, "_kgym()\n{\n    local cur=${COMP_WORDS[COMP_CWORD]} "
                      "prev=${COMP_WORDS[COMP_CWORD-1]} words=\n"
                      "    case $prev in\n    --preset) words=\"");
    words(&out, kg_config_presets());
    kg_buf_adds(&out,
                "\" ;;\n    --stop-after) words=\"extract static compile tiny full timing\" ;;\n"
                "    --style) words=\"markdown plain\" ;;\n"
                "    --language) words=\"triton cuda pytorch\" ;;\n"
                "    --batch|--out|--config|--replay|--tokens|--record|--limit|--hardware) ;;\n    "
                "--set) words=\"");
    const struct kg_opts *opts = kg_config_options();
    for (size_t i = 0; i < opts->n; i++) {
        kg_buf_addf(&out, " %s=", opts->table[i].key);
    }
    kg_buf_adds(&out, "\" ;;\n    *) case ${COMP_WORDS[1]} in\n       eval) words=\"");
    words(&out, kg_cli_eval_flags);
    kg_buf_adds(&out,
                " $(kgym problems list 2>/dev/null | cut -d' ' -f1)\" ;;\n"
                "       problems) words=\"list show check --json --resume $(kgym problems list "
                "2>/dev/null | cut -d' ' -f1)\" ;;\n"
                "       report) words=\"--out --title\" ;;\n"
                "       feedback) words=\"--tokens --style\" ;;\n       prompt) words=\"");
    words(&out, kg_cli_prompt_flags);
    kg_buf_adds(
        &out,
        " $(kgym problems list 2>/dev/null | cut -d' ' -f1)\" ;;\n       doctor) words=\"--json "
        "--quick\" ;;\n       kernelbench) words=\"eval analyze write\"\n"
        "           [ \"${COMP_WORDS[2]}\" = eval ] && words=\"");
    words(&out, kg_cli_kb_eval_flags);
    kg_cli_kb_words(&out, " ", false);
    kg_buf_adds(&out, "\"\n           [ \"${COMP_WORDS[2]}\" = analyze ] && words=\"");
    words(&out, kg_cli_kb_analyze_flags);
    kg_cli_kb_words(&out, " ", true);
    kg_buf_adds(&out, "\"\n           [ \"${COMP_WORDS[2]}\" = write ] && words=\"");
    words(&out, kg_cli_kb_write_flags);
    kg_buf_adds(&out, "\" ;;\n       esac\n"
                      "       [ \"$COMP_CWORD\" = 1 ] && words=\"");
    for (size_t i = 0; i < n; i++) {
        kg_buf_addf(&out, "%s ", c[i].name);
    }
    kg_buf_adds(&out, "\" ;;\n    esac\n    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n}\n"
                      "complete -o default -F _kgym kgym\n");
    fputs(out.data, stdout);
    kg_buf_deinit(&out);
    return KG_STATUS_GOOD;
}

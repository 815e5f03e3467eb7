/* kgym options and kgym completion: both printed from the tables that the parsers read. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "gym/reply/check.h"

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
    } else if (argc > 1) {
        kg_buf_adds(
            &out,
            "usage: kgym options [--markdown | --static-rules]\n\n"
            "Every configuration key: YAML `key: value` in a file given to --config, environment\n"
            "KGYM_KEY, flag --key, or --set key=value.\n");
    } else {
        kg_opts_help(kg_config_options(), &out);
    }
    fputs(out.data, stdout);
    kg_buf_deinit(&out);
    return KG_EXIT_GOOD;
}

static void words(struct kg_buf *out, const char *const *list)
{
    for (; *list; list++) {
        kg_buf_addf(out, " %s", *list);
    }
}

int kg_cmd_completion(int argc, char **argv)
{
    static const char *const eval_flags[] = {
        "--source", "--json",  "--public",      "--stop-after", "--replay",
        "--reward", "--batch", "--out",         "--jobs",       "--preset",
        "--config", "--set",   "--dump-config", "--help",       NULL};
    struct kg_buf out;
    size_t n;
    const struct kg_command *c = kg_cli_commands(&n);
    (void)argv;
    if (argc > 1) {
        puts("usage: kgym completion\n\nPrints completion for bash:  eval \"$(kgym completion)\"");
        return KG_EXIT_GOOD;
    }
    kg_buf_init(&out, 1 << 20);
    kg_buf_adds(&out, "_kgym()\n{\n    local cur=${COMP_WORDS[COMP_CWORD]} "
                      "prev=${COMP_WORDS[COMP_CWORD-1]} words=\n"
                      "    case $prev in\n    --preset) words=\"");
    words(&out, kg_config_presets());
    kg_buf_adds(&out,
                "\" ;;\n    --stop-after) words=\"extract static compile tiny full timing\" ;;\n"
                "    --batch|--out|--config|--replay) ;;\n    --set) words=\"");
    const struct kg_opts *opts = kg_config_options();
    for (size_t i = 0; i < opts->n; i++) {
        kg_buf_addf(&out, " %s=", opts->table[i].key);
    }
    kg_buf_adds(&out, "\" ;;\n    *) case ${COMP_WORDS[1]} in\n       eval) words=\"");
    words(&out, eval_flags);
    kg_buf_adds(&out, " $(kgym problems list 2>/dev/null | cut -d' ' -f1)\" ;;\n"
                      "       problems) words=\"list show check --json $(kgym problems list "
                      "2>/dev/null | cut -d' ' -f1)\" ;;\n"
                      "       report) words=\"--out --title\" ;;\n       doctor) words=\"--json "
                      "--quick\" ;;\n       esac\n"
                      "       [ \"$COMP_CWORD\" = 1 ] && words=\"");
    for (size_t i = 0; i < n; i++) {
        kg_buf_addf(&out, "%s ", c[i].name);
    }
    kg_buf_adds(&out, "\" ;;\n    esac\n    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n}\n"
                      "complete -o default -F _kgym kgym\n");
    fputs(out.data, stdout);
    kg_buf_deinit(&out);
    return KG_EXIT_GOOD;
}

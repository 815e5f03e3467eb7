/* kgym options: printed from the table that the parsers read. */
#include <stdio.h>
#include <string.h>

#include "cli/gym/config.h"
#include "gym/reply/check.h"

static bool is_help(int argc, char **argv)
{
    return argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
}

static int misuse(const char *command, const char *word, const char *const *known)
{
    struct kg_err err = KG_ERR_INIT;
    return kg_cli_unknown(command, word, known, NULL, &err) == KG_OK ? KG_STATUS_GOOD
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
        kg_buf_adds(&out,
                    "usage: kgym options [--markdown | --static-rules]\n\n"
                    "Every configuration key: YAML `key: value` in a file given to --config,\n"
                    "environment KGYM_KEY, flag --key, or --set key=value.\n\n"
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

/* The words of `kgym eval` and of `kgym submit`. */
#include "cli/gym/eval_args.h"

#include <string.h>

#include "gym/record/record.h"

const char *const kg_cli_eval_flags[] = {"--source",      "--json",   "--public",  "--stop-after",
                                         "--replay",      "--reward", "--rewards", "--batch",
                                         "--out",         "--jobs",   "--preset",  "--config",
                                         "--set",         "--trace",  "--gym",     "--token-file",
                                         "--dump-config", "--help",   NULL};

static bool take_switch(struct kg_eval_args *a, const char *word)
{
    const struct {
        const char *name;
        bool *field;
    } list[] = {
        {"--source", &a->source},    {"--json", &a->json}, {"--public", &a->public_only},
        {"--dump-config", &a->dump}, {"--help", &a->help}, {"-h", &a->help},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        if (strcmp(word, list[i].name) == 0) {
            return *list[i].field = true;
        }
    }
    return false;
}

static enum kg_code take_value(struct kg_eval_args *a, int argc, char **argv, int at, int *used,
                               struct kg_err *err)
{
    const struct {
        const char *name;
        const char **field;
    } list[] = {
        {"--stop-after", &a->stop_after},
        {"--replay", &a->replay},
        {"--reward", &a->config.reward},
        {"--batch", &a->batch},
        {"--out", &a->out},
        {"--jobs", &a->jobs},
        {"--trace", &a->trace},
        {a->gym_flag, &a->gym},
        {"--token-file", &a->token_file},
    };
    *used = 0;
    for (size_t i = 0; i < sizeof list / sizeof *list && *used == 0; i++) {
        if (kg_cli_value(list[i].name, argc, argv, at, used, list[i].field, err) != KG_OK) {
            return err->code;
        }
    }
    return KG_OK;
}

enum kg_code kg_eval_args_parse(struct kg_eval_args *a, int argc, char **argv, struct kg_err *err)
{
    for (int i = 1; i < argc;) {
        int used = take_switch(a, argv[i]);
        if (!used && take_value(a, argc, argv, i, &used, err) != KG_OK) {
            return err->code;
        }
        if (!used && kg_cli_config_word(&a->config, argc, argv, i, &used, err) != KG_OK) {
            return err->code;
        }
        if (!used && argv[i][0] == '-' && argv[i][1]) {
            return kg_cli_unknown(a->command, argv[i], a->flags, kg_config_options(), err);
        }
        if (!used && !a->problem) {
            a->problem = argv[i];
        } else if (!used && !a->reply) {
            a->reply = argv[i];
        } else if (!used) {
            return kg_fail(err, KG_E_USAGE, "one word too many: `%.100s`", argv[i]);
        }
        i += used ? used : 1;
    }
    return KG_OK;
}

enum kg_code kg_eval_args_check(const struct kg_eval_args *a, struct kg_err *err)
{
    enum kg_stage stop;
    if (a->stop_after && !kg_stage_parse(a->stop_after, &stop)) {
        return kg_fail(err, KG_E_USAGE,
                       "--stop-after %s: no such stage (extract, static, compile, tiny, full, "
                       "timing, profile)",
                       a->stop_after);
    }
    if (a->batch && (a->problem || !a->out)) {
        return kg_fail(err, KG_E_USAGE,
                       a->out ? "--batch takes no PROBLEM and REPLY" : "--batch needs --out FILE");
    }
    if (a->batch && (a->replay || a->source || a->json)) {
        return kg_fail(err, KG_E_USAGE, "--batch takes no %s%s",
                       a->replay   ? "--replay"
                       : a->source ? "--source"
                                   : "--json",
                       a->source && !a->replay ? ": a line has `source` instead of `reply`" : "");
    }
    if (!a->batch && (a->out || a->jobs)) {
        return kg_fail(err, KG_E_USAGE, "--out and --jobs go with --batch");
    }
    if (!a->batch && !a->dump && !a->reply) {
        return kg_fail(err, KG_E_USAGE, "PROBLEM and REPLY are needed; see `kgym %s --help`",
                       a->command);
    }
    if (a->token_file && !a->gym) {
        return kg_fail(err, KG_E_USAGE, "--token-file goes with %s", a->gym_flag);
    }
    if (a->reply && !a->source) {
        const char *dot = strrchr(a->reply, '.');
        if (dot && strcmp(dot, ".cu") == 0) {
            return kg_fail(err, KG_E_USAGE,
                           "%s: .cu candidates are not built yet; a candidate ends in .c or .py",
                           a->reply);
        }
    }
    return KG_OK;
}

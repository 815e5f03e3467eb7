/* kgym bench: its command line; a run is in bench_run.c. */
#include "cli/trial/bench.h"

#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/trial/bench_parts.h"
#include "trial/bench/tables.h"

const char *const kg_cli_bench_flags[] = {"--samples", "--turns",     "--subset", "--p",
                                          "--compare", "--published", "--export", NULL};

static const char help_text[] =
    "usage: kgym bench SUITE --policy P --out RUN [--samples N] [--turns T] ...\n"
    "       kgym bench --compare RUN1 RUN2 [--turn N] [--p LIST] [--json]\n"
    "       kgym bench --published [RUN]\n"
    "       kgym bench --export RUN\n"
    "\n"
    "Asks a model for kernels, judges them, and prints how many are correct and fast,\n"
    "with 95 % intervals. Every reply is on disk before it is judged: the same\n"
    "command goes on after any end, and pays for no reply twice. docs/bench.md has\n"
    "more.\n"
    "\n"
    "  SUITE              native, torch; a folder or a file of problems; a level of\n"
    "                     KernelBench (KernelBench/level1, or KernelBench:1); rows of\n"
    "                     KernelBook (FILE.jsonl); one problem\n"
    "  --samples N        conversations for each problem (1); may grow later\n"
    "  --turns T          turns of a conversation (1): after each but the last the\n"
    "                     model gets the gym's feedback\n"
    "  --subset N@SEED    N problems drawn by the seed, the same everywhere; or FILE:\n"
    "                     one name a line\n"
    "  --p LIST           more thresholds of fast_p, such as 1.1,3\n"
    "  --compare A B      paired differences of two runs over one suite\n"
    "  --published        numbers of others, and how they were measured\n"
    "  --export RUN       writes KernelBench's result files of a run again\n";

static const char examples[] =
    "\n"
    "examples:\n"
    "  kgym bench native --policy endpoint:http://localhost:8080/v1 --out run1\n"
    "  kgym bench KernelBench/level1 --policy endpoint:https://api.example.com/v1 \\\n"
    "      --model big --key-file key --samples 8 --turns 3 --subset 20@1 --out run2\n"
    "  kgym bench --compare run1 run2\n"
    "\n"
    "exit status: 0 done; 1 done, but some turns have no verdict or the budget was\n"
    "used up, so the tables are partial; 2 error or interrupted\n";

static enum kg_code word(struct kg_bench *b, int argc, char **argv, int at, int *used,
                         struct kg_err *err)
{
    const char *w = argv[at];
    enum kg_code code =
        tr_args_whole("--samples", 1, 1 << 20, argc, argv, at, used, &b->samples, err);
    if (code == KG_OK && !*used) {
        code = tr_args_whole("--turns", 1, 1000, argc, argv, at, used, &b->turns, err);
    }
    if (code == KG_OK && !*used) {
        code = kg_cli_value("--subset", argc, argv, at, used, &b->subset, err);
    }
    if (code == KG_OK && !*used) {
        code = kg_cli_value("--p", argc, argv, at, used, &b->p, err);
    }
    if (code == KG_OK && !*used) {
        code = tr_args_word(&b->args, argc, argv, at, used, err);
    }
    if (code != KG_OK || *used) {
        return code;
    }
    *used = 1;
    if (w[0] == '-') {
        return tr_args_unknown("bench", w, kg_cli_bench_flags, err);
    }
    if (b->suite != NULL) {
        return kg_fail(err, KG_E_USAGE, "one suite, not `%.60s` as well", w);
    }
    b->suite = w;
    return KG_OK;
}

static enum kg_code parse(struct kg_bench *b, int argc, char **argv, struct kg_err *err)
{
    double p[TR_MORE_P];
    size_t n;
    for (int i = 1, used = 0; i < argc; i += used) {
        if (word(b, argc, argv, i, &used, err) != KG_OK) {
            return err->code;
        }
    }
    if (b->args.help) {
        return KG_OK;
    }
    if (b->suite == NULL) {
        return kg_fail(err, KG_E_USAGE, "name a suite, such as native; see `kgym bench --help`");
    }
    if (b->p != NULL && tr_tables_parse_p(b->p, p, &n, err) != KG_OK) {
        return err->code;
    }
    return tr_args_check(&b->args, "bench", err);
}

int kg_cmd_bench(int argc, char **argv)
{
    int status;
    if (kg_cli_bench_runs(argc, argv, &status)) {
        return status;
    }
    struct kg_bench b = {.samples = 1, .turns = 1, .subset = ""};
    struct kg_err err = KG_ERR_INIT;
    tr_args_defaults(&b.args);
    if (parse(&b, argc, argv, &err) != KG_OK) {
        return kg_cli_fail("bench", &err);
    }
    if (b.args.help) {
        fputs(help_text, stdout);
        fputs("\n", stdout);
        fputs(tr_args_help, stdout);
        fputs(examples, stdout);
        return KG_STATUS_GOOD;
    }
    return kg_bench_run(&b);
}

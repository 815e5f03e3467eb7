/* kgym problems: its words, and show. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/gym/config.h"
#include "cli/gym/problems.h"
#include "cli/learn/problems_generate.h"
#include "gym/eval/executor.h"

static const char help_text[] =
    "usage: kgym problems list [PROBLEM ...] [--json]\n"
    "       kgym problems show PROBLEM\n"
    "       kgym problems check [PROBLEM ...] [--resume] [--json]\n"
    "       kgym problems generate chains --out DIR --seed N [--part P] [--triples N]\n"
    "\n"
    "list   names, levels and descriptions; what is no problem is listed at the end,\n"
    "       with the reason\n"
    "show   the source of one problem, and its sizes\n"
    "check  parses, builds, float against double, deterministic, every variant runs,\n"
    "       trivial answers fail, every input matters; what fails is listed at the\n"
    "       end, and refused by `kgym eval` from then on (--quarantine ignore). With\n"
    "       --json a PyTorch problem's line holds its task card\n"
    "generate  writes C problems that are chains of one to three operators: those to\n"
    "       train on into DIR/train, those held out into DIR/held-out. docs/chains.md\n"
    "       describes them\n"
    "\n"
    "  PROBLEM        a name of the suites, or a path: FILE.c, FILE.py,\n"
    "                 FILE.jsonl#LINE; for list and check also FILE.jsonl (all its\n"
    "                 rows) and a folder (all below it). All of the suites where none\n"
    "                 is named\n"
    "  --resume       what an earlier check has found is not checked again\n"
    "  --device D     where PyTorch problems run: cpu, cuda:0, auto\n"
    "  --suites A:B   folders to search instead of those that come with kgym\n"
    "  --json         one JSON object per problem\n"
    "  --out DIR      where generated problems are written: a new folder\n"
    "  --seed N       decides which pairs of operators are held out\n"
    "  --part P       the fifth of the pairs that is held out: 0 to 4 (default 0)\n"
    "  --triples N    most chains of three on each side (default 300)\n"
    "\n"
    "examples:\n"
    "  kgym problems list\n"
    "  kgym problems check softmax ./my_problem.c\n"
    "  kgym problems check KernelBook.jsonl --resume --json > checked.jsonl\n"
    "  kgym problems generate chains --out chains --seed 7\n"
    "\n"
    "exit status: 0 all fit to judge with, 1 a problem is defective, 2 error\n";

static void usage(FILE *f)
{
    fputs(help_text, f);
}

struct args {
    struct kg_cli_config config;
    const char **word; /* room for all of argv */
    int nwords;
    bool json, resume, help;
};

static enum kg_code parse(struct args *a, int argc, char **argv, struct kg_err *err)
{
    for (int i = 1; i < argc;) {
        int used = 0;
        if (strcmp(argv[i], "--json") == 0) {
            used = a->json = true;
        } else if (strcmp(argv[i], "--resume") == 0) {
            used = a->resume = true;
        } else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            used = a->help = true;
        } else if (kg_cli_config_word(&a->config, argc, argv, i, &used, err) != KG_OK) {
            return err->code;
        }
        if (!used && argv[i][0] == '-') {
            static const char *const flags[] = {"--json", "--resume", "--config", "--preset",
                                                "--set",  "--help",   NULL};
            return kg_cli_unknown("problems", argv[i], flags, kg_config_options(), err);
        }
        if (!used) {
            a->word[a->nwords++] = argv[i];
        }
        i += used ? used : 1;
    }
    return KG_OK;
}

static int show(const struct kg_paths *paths, const char *name)
{
    struct kg_err err = KG_ERR_INIT;
    const struct kg_executor *x;
    struct kg_buf text;
    char path[1024];
    int status = KG_STATUS_GOOD;
    kg_buf_init(&text, 16u << 20);
    if (kg_executor_find(paths, name, &x, path, sizeof path, &err) != KG_OK ||
        x->show(path, &text, &err) != KG_OK) {
        status = kg_cli_fail("problems", &err);
    }
    fwrite(text.data, 1, text.len, stdout);
    kg_buf_deinit(&text);
    return status;
}

static enum kg_code check_words(const struct args *a, struct kg_err *err)
{
    static const char *const verbs[] = {"list", "show", "check", "generate", NULL};
    if (strcmp(a->word[0], "list") == 0) {
        return KG_OK;
    }
    if (strcmp(a->word[0], "show") == 0) {
        return a->nwords == 2 ? KG_OK : kg_fail(err, KG_E_USAGE, "show: name one problem");
    }
    return strcmp(a->word[0], "check") == 0
               ? KG_OK
               : kg_cli_unknown("problems", a->word[0], verbs, NULL, err);
}

static int run(struct args *a, int argc, char **argv)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_config config;
    struct kg_paths paths;
    if (parse(a, argc, argv, &err) != KG_OK) {
        return kg_cli_fail("problems", &err);
    }
    if (a->help) {
        fputs(help_text, stdout);
        return KG_STATUS_GOOD;
    }
    if (a->nwords == 0) {
        fputs(help_text, stderr);
        return KG_STATUS_ERROR;
    }
    if (check_words(a, &err) != KG_OK ||
        kg_cli_config_resolve(&a->config, argc, argv, &config, &err) != KG_OK ||
        kg_paths_find(config.suites, &paths, &err) != KG_OK) {
        return kg_cli_fail("problems", &err);
    }
    const struct kg_cli_check check = {&config, &paths,   a->word + 1, (size_t)a->nwords - 1,
                                       a->json, a->resume};
    return strcmp(a->word[0], "list") == 0
               ? kg_cli_problems_list(&paths, a->word + 1, (size_t)a->nwords - 1, a->json)
           : strcmp(a->word[0], "show") == 0 ? show(&paths, a->word[1])
                                             : kg_cli_problems_check(&check);
}

int kg_cmd_problems(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "generate") == 0) {
        return kg_cli_problems_generate(argc - 1, argv + 1, usage);
    }
    struct args a = {.word = calloc((size_t)argc + 1, sizeof *a.word)};
    KG_ASSERT(a.word != NULL);
    int status = run(&a, argc, argv);
    free(a.word);
    return status;
}

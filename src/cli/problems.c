/* kgym problems: list, show, check. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/term.h"
#include "cli/cli.h"
#include "cli/problems.h"
#include "gym/pipeline/executor.h"
#include "gym/torch/module.h"
#include "gym/torch/suite.h"

static const char help_text[] =
    "usage: kgym problems list [--json]\n"
    "       kgym problems show PROBLEM\n"
    "       kgym problems check [PROBLEM ...] [--json]\n"
    "\n"
    "list   names, levels and descriptions of the problems in the suites\n"
    "show   the source of one problem, and its sizes\n"
    "check  parses, builds, float against double, deterministic, every variant runs, trivial "
    "answers\n"
    "       fail, every input matters; all problems where none is named; what fails is listed\n"
    "       at the end. With --json a PyTorch problem's line holds its task card\n"
    "\n"
    "  PROBLEM        a name of the suites, or a path: FILE.c, FILE.py, FILE.jsonl#LINE\n"
    "  --device D     where PyTorch problems run: cpu, cuda:0, auto\n"
    "  --suites A:B   folders to search instead of those that come with kgym\n"
    "  --json         one JSON object per problem\n"
    "\n"
    "examples:\n"
    "  kgym problems list\n"
    "  kgym problems check softmax ./my_problem.c\n"
    "\n"
    "exit status: 0 all fit to judge with, 1 a problem is defective, 2 error\n";

struct args {
    struct kg_cli_config config;
    const char *word[64];
    int nwords;
    bool json, help;
};

static enum kg_code parse(struct args *a, int argc, char **argv, struct kg_err *err)
{
    for (int i = 1; i < argc;) {
        int used = 0;
        if (strcmp(argv[i], "--json") == 0) {
            used = a->json = true;
        } else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            used = a->help = true;
        } else if (kg_cli_config_word(&a->config, argc, argv, i, &used, err) != KG_OK) {
            return err->code;
        }
        if (!used && argv[i][0] == '-') {
            static const char *const flags[] = {"--json", "--config", "--preset",
                                                "--set",  "--help",   NULL};
            return kg_cli_unknown("problems", argv[i], flags, true, err);
        }
        if (!used && a->nwords == (int)(sizeof a->word / sizeof *a->word)) {
            return kg_fail(err, KG_E_USAGE, "too many problems named (at most 63)");
        }
        if (!used) {
            a->word[a->nwords++] = argv[i];
        }
        i += used ? used : 1;
    }
    return KG_OK;
}

#define LIST_INDENT 47

/* Description in what is left of the line, words whole, further lines under the first. */
static void describe(const char *text, int width)
{
    int room = width - LIST_INDENT;
    while (room > 10 && (int)strlen(text) > room) {
        int cut = room;
        while (cut > 0 && text[cut] != ' ') {
            cut--;
        }
        cut = cut > 0 ? cut : room;
        printf("%.*s\n%*s", cut, text, LIST_INDENT, "");
        text += cut + (text[cut] == ' ');
    }
    puts(text);
}

void kg_cli_problems_free(char **path, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(path[i]);
    }
    free(path);
}

struct row { /* of the list */
    const char *name, *suite, *language, *entry, *desc, *sha256;
    int level;
};

static void list_one(const struct row *p, bool json)
{
    if (json) {
        json_t *j = json_pack("{s:s, s:s, s:i, s:s, s:s, s:s, s:s}", "name", p->name, "suite",
                              p->suite, "level", p->level, "language", p->language, "entry",
                              p->entry, "desc", p->desc, "sha256", p->sha256);
        struct kg_buf b;
        kg_buf_init(&b, 1 << 16);
        kg_json_dump(j, &b);
        puts(b.data);
        kg_buf_deinit(&b);
        json_decref(j);
    } else {
        printf("%-26s  level %d  %-8s  ", p->name, p->level, p->suite);
        describe(p->desc, kg_term_tty(stdout) ? kg_term_width(stdout) : 0);
    }
}

static void list_c(const struct kg_problem *p, bool json)
{
    list_one(&(struct row){p->name, p->suite, "c", p->entry, p->desc ? p->desc : "", p->sha256,
                           p->level},
             json);
}

static void list_torch(const struct kg_tproblem *p, bool json)
{
    list_one(&(struct row){p->name, p->suite, "python", p->entry, p->desc, p->sha256, p->level},
             json);
}

/* A .py file of a suite that is no problem, a package's __init__.py say, is none of ours. */
static bool is_module(const char *path)
{
    struct kg_buf b;
    struct kg_err ignored = KG_ERR_INIT;
    kg_buf_init(&b, KG_TPROBLEM_MAX_BYTES);
    bool is = kg_file_read(path, &b, &ignored) == KG_OK && kg_module_is_problem(b.data, b.len);
    kg_buf_deinit(&b);
    return is;
}

/* C problems, then PyTorch ones, each sorted by name. */
enum kg_code kg_cli_problems_all(const struct kg_paths *paths, char ***out, size_t *n,
                                 struct kg_err *err)
{
    *n = 0;
    char **torch = NULL;
    size_t nc = 0, nt = 0, k = 0;
    if (kg_problem_list(paths->suites, paths->nsuites, out, &nc, err) != KG_OK) {
        return err->code;
    }
    if (kg_suite_files(paths->suites, paths->nsuites, ".py", &torch, &nt, err) != KG_OK) {
        kg_cli_problems_free(*out, nc);
        *out = NULL;
        return err->code;
    }
    char **all = realloc(*out, (nc + nt + 1) * sizeof *all);
    KG_ASSERT(all != NULL);
    for (size_t i = 0; i < nt; i++) {
        if (is_module(torch[i])) {
            all[nc + k++] = torch[i];
        } else {
            free(torch[i]);
        }
    }
    free(torch);
    *out = all;
    *n = nc + k;
    return KG_OK;
}

static int list(const struct kg_paths *paths, bool json)
{
    struct kg_err err = KG_ERR_INIT;
    char **path = NULL;
    size_t n = 0;
    int status = KG_EXIT_GOOD;
    if (kg_cli_problems_all(paths, &path, &n, &err) != KG_OK) {
        return kg_cli_fail("problems", &err);
    }
    for (size_t i = 0; i < n; i++) {
        struct kg_problem *p;
        struct kg_tproblem *t;
        if (kg_tsuite_is_path(path[i]) && kg_tproblem_load(path[i], &t, &err) == KG_OK) {
            list_torch(t, json);
            kg_tproblem_destroy(t);
        } else if (!kg_tsuite_is_path(path[i]) && kg_problem_load(path[i], &p, &err) == KG_OK) {
            list_c(p, json);
            kg_problem_destroy(p);
        } else {
            status = kg_cli_fail("problems", &err);
        }
    }
    kg_cli_problems_free(path, n);
    return status;
}

static int show_torch(const char *path)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_tproblem *p;
    if (kg_tproblem_load(path, &p, &err) != KG_OK) {
        return kg_cli_fail("problems", &err);
    }
    fwrite(p->source, 1, p->source_len, stdout);
    printf("\n# %s\n#   a candidate defines class %s; sha256 %s\n", path, p->entry, p->sha256);
    kg_tproblem_destroy(p);
    return KG_EXIT_GOOD;
}

static int show(const struct kg_paths *paths, const char *name)
{
    struct kg_err err = KG_ERR_INIT;
    const struct kg_executor *x;
    struct kg_problem *p;
    struct kg_shape s;
    char path[1024];
    if (kg_executor_find(paths, name, &x, path, sizeof path, &err) != KG_OK) {
        return kg_cli_fail("problems", &err);
    }
    if (x == &kg_executor_torch) {
        return show_torch(path);
    }
    if (kg_problem_load(path, &p, &err) != KG_OK) {
        return kg_cli_fail("problems", &err);
    }
    kg_shape_default(p, &s);
    fwrite(p->source, 1, p->source_len, stdout);
    printf("\n/* %s\n", path);
    for (int a = 0; a < p->nargs; a++) {
        if (p->args[a].rank) {
            int64_t n = kg_arg_count(p, a, &s);
            printf("   %-10s %9lld elements, %.1f KB\n", p->args[a].name, (long long)n,
                   (double)n * (double)kg_dtype_bytes(p->args[a].dtype) / 1024);
        }
    }
    printf("   K = %lld, sha256 %s */\n", (long long)kg_problem_reduce(p, &s), p->sha256);
    kg_problem_destroy(p);
    return KG_EXIT_GOOD;
}

static enum kg_code check_words(const struct args *a, struct kg_err *err)
{
    static const char *const verbs[] = {"list", "show", "check", NULL};
    if (strcmp(a->word[0], "list") == 0) {
        return a->nwords == 1
                   ? KG_OK
                   : kg_fail(err, KG_E_USAGE, "list: one word too many: `%.100s`", a->word[1]);
    }
    if (strcmp(a->word[0], "show") == 0) {
        return a->nwords == 2 ? KG_OK : kg_fail(err, KG_E_USAGE, "show: name one problem");
    }
    return strcmp(a->word[0], "check") == 0
               ? KG_OK
               : kg_cli_unknown("problems", a->word[0], verbs, false, err);
}

int kg_cmd_problems(int argc, char **argv)
{
    struct args a = {0};
    struct kg_err err = KG_ERR_INIT;
    struct kg_config config;
    struct kg_paths paths;
    if (parse(&a, argc, argv, &err) != KG_OK) {
        return kg_cli_fail("problems", &err);
    }
    if (a.help) {
        fputs(help_text, stdout);
        return KG_EXIT_GOOD;
    }
    if (a.nwords == 0) {
        fputs(help_text, stderr);
        return KG_EXIT_ERROR;
    }
    if (check_words(&a, &err) != KG_OK ||
        kg_cli_config_resolve(&a.config, argc, argv, &config, &err) != KG_OK ||
        kg_paths_find(config.suites, &paths, &err) != KG_OK) {
        return kg_cli_fail("problems", &err);
    }
    return strcmp(a.word[0], "list") == 0 ? list(&paths, a.json)
           : strcmp(a.word[0], "show") == 0
               ? show(&paths, a.word[1])
               : kg_cli_problems_check(&config, &paths, a.word + 1, a.nwords - 1, a.json);
}

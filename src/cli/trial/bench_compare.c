/* kgym bench --compare, --published and --export: what works on the folders of runs. */
#include <stdlib.h>
#include <string.h>

#include "base/term.h"
#include "cli/cli.h"
#include "cli/trial/bench_parts.h"
#include "trial/bench/compare.h"
#include "trial/bench/published.h"

static const char *const flags[] = {"--compare", "--published", "--export", "--turn",
                                    "--p",       "--json",      "--help",   NULL};

static const char compare_help[] =
    "usage: kgym bench --compare RUN1 RUN2 [--turn N] [--p LIST] [--json]\n"
    "\n"
    "Two runs of `kgym bench` side by side: B - A over the problems that both have,\n"
    "with paired 95 % intervals by problem. Problems with other texts, and defective\n"
    "ones, are left out and listed. What else differs is said in warnings.\n"
    "\n"
    "  --turn N     compare at turn N (default: the last, where both have as many)\n"
    "  --p LIST     more thresholds of fast_p, as 1.1,3\n"
    "  --json       one JSON object, kgym.bench-compare/1\n"
    "\n"
    "Example:\n"
    "  kgym bench --compare runs/small runs/large\n"
    "\n"
    "exit status: 0 compared, 2 error\n";

static const char published_help[] =
    "usage: kgym bench --published [RUN]\n"
    "\n"
    "Numbers that others have published for KernelBench, with their conditions. With\n"
    "the folder of a run: those of its levels beside its own, and what differs.\n"
    "\n"
    "exit status: 0 shown, 2 error\n";

static const char export_help[] =
    "usage: kgym bench --export RUN\n"
    "\n"
    "Writes KernelBench's result files of a run over its problems, as a run does at\n"
    "its end: RUN/kernelbench/level<L> with kernels, eval_results.json and\n"
    "pass_at_k_results.json. The last turn of each sample counts.\n"
    "\n"
    "exit status: 0 written, 2 error\n";

struct words {
    const char *run[2];
    int runs;
    long turn;
    double p[TR_MORE_P];
    size_t np;
    bool json, help;
};

typedef enum kg_code on_runs(const struct words *w, struct kg_err *err);
static on_runs compare, published, write_files;

static const struct verb {
    const char *word, *help;
    on_runs *run;
} verbs[] = {{"--compare", compare_help, compare},
             {"--published", published_help, published},
             {"--export", export_help, write_files}};

/* NULL: the word is none. */
static const struct verb *verb_of(const char *word)
{
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        if (strcmp(word, verbs[i].word) == 0) {
            return &verbs[i];
        }
    }
    return NULL;
}

static enum kg_code take_turn(const char *text, long *out, struct kg_err *err)
{
    char *end;
    *out = strtol(text, &end, 10);
    return end > text && *end == '\0' && *out >= 1 && *out <= 1000000
               ? KG_OK
               : kg_fail(err, KG_E_USAGE, "--turn: `%.40s` is no number of a turn, from 1", text);
}

static enum kg_code take_word(int argc, char **argv, int *at, struct words *w, struct kg_err *err)
{
    const char *word = argv[*at], *value;
    int used = 0;
    if (kg_cli_value("--turn", argc, argv, *at, &used, &value, err) != KG_OK) {
        return err->code;
    }
    if (used > 0) {
        *at += used;
        return take_turn(value, &w->turn, err);
    }
    if (kg_cli_value("--p", argc, argv, *at, &used, &value, err) != KG_OK) {
        return err->code;
    }
    if (used > 0) {
        *at += used;
        return tr_tables_parse_p(value, w->p, &w->np, err);
    }
    ++*at;
    if (verb_of(word) != NULL) {
        return KG_OK;
    }
    if (strcmp(word, "--json") == 0) {
        w->json = true;
    } else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        w->help = true;
    } else if (word[0] == '-') {
        return kg_cli_unknown("bench --compare", word, flags, NULL, err);
    } else if (w->runs == 2) {
        return kg_fail(err, KG_E_USAGE, "`%.100s`: one word too many", word);
    } else {
        w->run[w->runs++] = word;
    }
    return KG_OK;
}

static enum kg_code take_words(int argc, char **argv, struct words *w, struct kg_err *err)
{
    *w = (struct words){.turn = 0};
    for (int at = 1; at < argc;) {
        if (take_word(argc, argv, &at, w, err) != KG_OK) {
            return err->code;
        }
    }
    return KG_OK;
}

static void print_json(json_t *j)
{
    struct kg_buf text;
    kg_buf_init(&text, (size_t)1 << 30);
    kg_json_dump_pretty(j, &text);
    puts(text.data);
    kg_buf_deinit(&text);
    json_decref(j);
}

static void print(const struct tr_compare *c, bool json)
{
    struct kg_buf text;
    if (json) {
        print_json(tr_compare_json(c));
        return;
    }
    kg_buf_init(&text, (size_t)1 << 26);
    tr_compare_text(c, kg_term_colour(stdout), &text);
    fputs(text.data, stdout);
    kg_buf_deinit(&text);
}

static enum kg_code compare(const struct words *w, struct kg_err *err)
{
    const struct tr_tables_options o = {.p = w->p, .np = w->np};
    struct tr_bench a, b;
    struct tr_compare c;
    if (w->runs != 2) {
        return kg_fail(err, KG_E_USAGE, "--compare takes two folders of runs");
    }
    if (tr_bench_read(w->run[0], &a, err) != KG_OK) {
        return err->code;
    }
    enum kg_code code = tr_bench_read(w->run[1], &b, err);
    if (code == KG_OK) {
        code = tr_compare_make(&a, &b, (size_t)w->turn, &o, &c, err);
        if (code == KG_OK) {
            print(&c, w->json);
            tr_compare_deinit(&c);
        }
        tr_bench_deinit(&b);
    }
    tr_bench_deinit(&a);
    return code;
}

static enum kg_code published(const struct words *w, struct kg_err *err)
{
    const struct tr_tables_options o = {.np = 0};
    struct tr_bench b = {.problems = 0};
    struct tr_tables t = {.n = 0};
    struct kg_buf text;
    if (w->runs > 1 || w->json || w->np > 0 || w->turn > 0) {
        return kg_fail(err, KG_E_USAGE, "--published takes the folder of one run, or none");
    }
    enum kg_code code = w->runs == 1 ? tr_bench_read(w->run[0], &b, err) : KG_OK;
    code = code == KG_OK && w->runs == 1 ? tr_tables_make(&b, &o, &t, err) : code;
    if (code == KG_OK) {
        kg_buf_init(&text, (size_t)1 << 20);
        tr_published_text(w->runs == 1 ? &t : NULL, kg_term_colour(stdout), &text);
        fputs(text.data, stdout);
        kg_buf_deinit(&text);
    }
    tr_tables_deinit(&t);
    tr_bench_deinit(&b);
    return code;
}

static enum kg_code write_files(const struct words *w, struct kg_err *err)
{
    struct kg_cli_exported done;
    if (w->runs != 1 || w->json || w->np > 0 || w->turn > 0) {
        return kg_fail(err, KG_E_USAGE, "--export takes the folder of one run");
    }
    if (kg_cli_bench_export(w->run[0], &done, err) != KG_OK) {
        return err->code;
    }
    if (done.levels == 0) {
        return kg_fail(err, KG_E_USAGE, "%s: it has no result of a problem of KernelBench",
                       w->run[0]);
    }
    printf("%d level%s in %s/kernelbench: %zu kernels, %zu of them replies without code\n",
           done.levels, done.levels == 1 ? "" : "s", w->run[0], done.kernels, done.no_code);
    return KG_OK;
}

bool kg_cli_bench_runs(int argc, char **argv, int *status)
{
    const struct verb *verb = NULL;
    struct kg_err err = KG_ERR_INIT;
    struct words w;
    for (int i = 1; i < argc && verb == NULL; i++) {
        verb = verb_of(argv[i]);
    }
    if (verb == NULL) {
        return false;
    }
    *status = KG_STATUS_GOOD;
    enum kg_code code = take_words(argc, argv, &w, &err);
    if (code == KG_OK && w.help) {
        fputs(verb->help, stdout);
    } else if (code != KG_OK || verb->run(&w, &err) != KG_OK) {
        *status = kg_cli_fail("bench", &err);
    }
    return true;
}

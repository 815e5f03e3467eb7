/* kgym kernelbench: runs of KernelBench, judged by kgym, in that project's files. */
#include "cli/gym/kernelbench.h"

#include <stdio.h>
#include <string.h>

static const char help_text[] =
    "usage: kgym kernelbench eval --run DIR --problems DIR [OPTIONS]\n"
    "       kgym kernelbench analyze --run DIR --baseline FILE [OPTIONS]\n"
    "       kgym kernelbench write --records FILE --out DIR [OPTIONS]\n"
    "\n"
    "Judges the kernels of a KernelBench run, as `kgym eval` does, and writes that\n"
    "project's result files; computes its metrics from them; or makes a run of any\n"
    "batch's records.\n"
    "\n"
    "eval: reads DIR/level_<L>_problem_<P>_sample_<S>_kernel.py, writes\n"
    "eval_results.json and pass_at_k_results.json, and keeps the records in\n"
    "kgym_records.jsonl. What was judged before, and has not changed, is not judged\n"
    "again; an interrupted run goes on.\n"
    "  --run DIR           the run's folder\n"
    "  --problems DIR      folder that holds level<L>/<id>_<Name>.py\n"
    "  --level L           which level (default: the run's only one)\n"
    "  --problem-ids LIST  only these: 1,3-5\n"
    "  --samples LIST      only these: 0-4\n"
    "  --pass-at-k LIST    k of pass@k (default 1)\n"
    "  --out DIR           where results go (default: the run's folder)\n"
    "  --jobs N            worker processes (default: all CPUs, half of them for a\n"
    "                      GPU)\n"
    "  --preset kernelbench\n"
    "                      that project's own trials and times, instead of kgym's: no\n"
    "                      reward\n"
    "  --rewards A[,B]     reward presets to compute for the records (not with that\n"
    "                      preset)\n"
    "  --preset, --device, --config, --set, --dump-config and any configuration key:\n"
    "                      see `kgym eval --help`\n"
    "\n"
    "analyze: reads DIR/eval_results.json, by whomever it was written.\n"
    "  --run DIR           the run's folder\n"
    "  --baseline FILE     reference times: results/timing/<hardware>/<baseline>.json\n"
    "  --level L           which level (default: that of the run's kernels)\n"
    "  --problem-ids LIST  only these\n"
    "  --out FILE          write the analysis as JSON\n"
    "  --json              print it as JSON\n"
    "\n"
    "write: reads the records of `kgym eval --batch`, those of problems named\n"
    "12_Name, and writes DIR/level_<L>_problem_<P>_sample_<S>_kernel.py,\n"
    "eval_results.json, pass_at_k_results.json.\n"
    "  --records FILE      what a batch has written\n"
    "  --out DIR           the run's folder, made if it is missing\n"
    "  --level L           which level (default: the records' only one)\n"
    "  --problems DIR      that project's problems, for their hashes and their number\n"
    "  --pass-at-k LIST    k of pass@k (default 1)\n"
    "\n"
    "examples:\n"
    "  kgym kernelbench eval --run demo --problems KernelBench --level 1 --device cpu\n"
    "  kgym kernelbench eval --run demo --problems KernelBench --problem-ids 1-20\n"
    "  kgym kernelbench eval run_name=demo dataset_src=local level=1 timeout=300\n"
    "  kgym kernelbench analyze --run runs/demo --baseline \\\n"
    "       results/timing/H100_Modal/baseline_time_torch.json\n"
    "  kgym kernelbench analyze run_name=demo level=1 hardware=H100_Modal \\\n"
    "       baseline=baseline_time_torch\n"
    "  kgym kernelbench write --records out.jsonl --out runs/mine\n"
    "\n"
    "exit status: 0 every kernel got a verdict, or what was asked for was made; 2\n"
    "error\n";

const char *const kg_cli_kb_eval_flags[] = {
    "--run",       "--problems", "--level",       "--problem-ids", "--samples",
    "--pass-at-k", "--out",      "--jobs",        "--preset",      "--rewards",
    "--config",    "--set",      "--dump-config", "--help",        NULL};
const char *const kg_cli_kb_analyze_flags[] = {"--run", "--baseline", "--level", "--problem-ids",
                                               "--out", "--json",     "--help",  NULL};

const char *const kg_cli_kb_write_flags[] = {"--records",   "--out",  "--level", "--problems",
                                             "--pass-at-k", "--help", NULL};

/* Words with a space between, in lines of 80 columns below a name. */
static void print_words(const char *name, const char *words)
{
    const size_t indent = 10, columns = 80;
    size_t column = (size_t)printf("  %-7s", name);
    while (*(words += strspn(words, " ")) != '\0') {
        size_t n = strcspn(words, " ");
        if (column > indent && column + 1 + n > columns) {
            column = (size_t)printf("\n%*s", (int)indent - 1, "") - 1;
        }
        column += (size_t)printf(" %.*s", (int)n, words);
        words += n;
    }
    putchar('\n');
}

static void help(void)
{
    struct kg_buf words;
    kg_buf_init(&words, 8192);
    fputs(help_text, stdout);
    puts("\nwords of that project's scripts that are taken, others are refused by name:");
    kg_cli_kb_words(&words, " ", false);
    print_words("eval", words.data);
    kg_buf_reset(&words);
    kg_cli_kb_words(&words, " ", true);
    print_words("analyze", words.data);
    kg_buf_deinit(&words);
}

static enum kg_code take_list(const char *name, struct kg_kb_numbers *set, int argc, char **argv,
                              int at, int *used, struct kg_err *err)
{
    const char *text;
    if (kg_cli_value(name, argc, argv, at, used, &text, err) != KG_OK || *used == 0) {
        return err->code;
    }
    return kg_kb_numbers_parse(name, text, set, err);
}

enum { EVAL = 1, ANALYZE = 2, WRITE = 4 };

static int verb_of(const struct kg_cli_kb *a)
{
    return a->analyze ? ANALYZE : a->write ? WRITE : EVAL;
}

static enum kg_code take_value(struct kg_cli_kb *a, int argc, char **argv, int at, int *used,
                               struct kg_err *err)
{
    const struct {
        const char *name;
        const char **field;
        int verbs;
    } list[] = {
        {"--run", &a->run, EVAL | ANALYZE},
        {"--problems", &a->problems, EVAL | WRITE},
        {"--level", &a->level_text, EVAL | ANALYZE | WRITE},
        {"--out", &a->out, EVAL | ANALYZE | WRITE},
        {"--jobs", &a->jobs, EVAL},
        {"--baseline", &a->baseline, ANALYZE},
        {"--records", &a->records, WRITE},
        {"--reward", &a->config.reward, EVAL},
    };
    const struct {
        const char *name;
        struct kg_kb_numbers *set;
        int verbs;
    } numbers[] = {
        {"--problem-ids", &a->ids, EVAL | ANALYZE},
        {"--samples", &a->samples, EVAL},
        {"--pass-at-k", &a->k, EVAL | WRITE},
    };
    *used = 0;
    for (size_t i = 0; i < sizeof list / sizeof *list && *used == 0; i++) {
        if ((list[i].verbs & verb_of(a)) &&
            kg_cli_value(list[i].name, argc, argv, at, used, list[i].field, err) != KG_OK) {
            return err->code;
        }
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && *used == 0; i++) {
        if ((numbers[i].verbs & verb_of(a)) &&
            take_list(numbers[i].name, numbers[i].set, argc, argv, at, used, err) != KG_OK) {
            return err->code;
        }
    }
    return KG_OK;
}

static bool take_switch(struct kg_cli_kb *a, const char *word)
{
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        return a->help = true;
    }
    if (a->analyze && strcmp(word, "--json") == 0) {
        return a->json = true;
    }
    return verb_of(a) == EVAL && strcmp(word, "--dump-config") == 0 && (a->dump = true);
}

static const char *const *flags_of(const struct kg_cli_kb *a)
{
    return a->analyze ? kg_cli_kb_analyze_flags
           : a->write ? kg_cli_kb_write_flags
                      : kg_cli_kb_eval_flags;
}

static enum kg_code take(struct kg_cli_kb *a, int argc, char **argv, int at, int *used,
                         struct kg_err *err)
{
    const char *word = argv[at];
    *used = take_switch(a, word);
    if (!*used && take_value(a, argc, argv, at, used, err) != KG_OK) {
        return err->code;
    }
    if (!*used && verb_of(a) == EVAL &&
        kg_cli_config_word(&a->config, argc, argv, at, used, err) != KG_OK) {
        return err->code;
    }
    if (*used) {
        return KG_OK;
    }
    *used = 1;
    if (word[0] == '-' || a->write || !strchr(word, '=')) {
        return kg_cli_unknown("kernelbench", word, flags_of(a),
                              verb_of(a) == EVAL ? kg_config_options() : NULL, err);
    }
    return kg_cli_kb_word(a, word, err);
}

static enum kg_code parse(struct kg_cli_kb *a, int argc, char **argv, struct kg_err *err)
{
    static const char *const verbs[] = {"eval", "analyze", "write", "--help", NULL};
    if (argc < 2) {
        return kg_fail(err, KG_E_USAGE,
                       "`eval`, `analyze` or `write` is needed; see `kgym kernelbench --help`");
    }
    a->help = strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0;
    a->analyze = strcmp(argv[1], "analyze") == 0;
    a->write = strcmp(argv[1], "write") == 0;
    if (!a->help && verb_of(a) == EVAL && strcmp(argv[1], "eval") != 0) {
        return kg_cli_unknown("kernelbench", argv[1], verbs, NULL, err);
    }
    for (int i = 2, used; i < argc && !a->help; i += used) {
        if (take(a, argc, argv, i, &used, err) != KG_OK) {
            return err->code;
        }
    }
    return KG_OK;
}

int kg_cmd_kernelbench(int argc, char **argv)
{
    struct kg_cli_kb a = {0};
    struct kg_err err = KG_ERR_INIT;
    struct kg_config config;
    if (parse(&a, argc, argv, &err) != KG_OK) {
        return kg_cli_fail("kernelbench", &err);
    }
    if (a.help) {
        help();
        return KG_STATUS_GOOD;
    }
    if (a.analyze || a.write) {
        return kg_cli_kb_settle(&a, &err) != KG_OK ? kg_cli_fail("kernelbench", &err)
               : a.analyze                         ? kg_cli_kb_analyze(&a)
                                                   : kg_cli_kb_write(&a);
    }
    if (kg_cli_config_resolve(&a.config, argc, argv, &config, &err) != KG_OK ||
        kg_cli_kb_check(&a, &config, &err) != KG_OK) {
        return kg_cli_fail("kernelbench", &err);
    }
    if (a.dump) {
        struct kg_buf out;
        kg_buf_init(&out, 1 << 20);
        kg_opts_dump(kg_config_options(), &config, true, &out);
        fputs(out.data, stdout);
        kg_buf_deinit(&out);
        return KG_STATUS_GOOD;
    }
    return kg_cli_kb_settle(&a, &err) == KG_OK ? kg_cli_kb_eval(&a, &config)
                                               : kg_cli_fail("kernelbench", &err);
}

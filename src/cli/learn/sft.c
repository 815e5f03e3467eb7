/* kgym sft: supervised training on files of conversations, or on a generated corpus. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/cli.h"
#include "rl/sft/sft_job.h"

const char *const kg_cli_sft_flags[] = {"--data",   "--valid", "--out",        "--set",
                                        "--resume", "--gym",   "--token-file", "--stop-at",
                                        "--check",  "--dump",  "--help",       NULL};

#define SETS 128

struct args {
    const char *config, *out, *stop_at, *gym, *token_file;
    struct rl_sft_files data, valid;
    const char *set[SETS];
    int nset;
    bool resume, check, dump, help;
};

static void usage(FILE *f)
{
    static struct rl_sft_config c;
    struct kg_buf keys;
    fputs("usage: kgym sft [CONFIG.yaml] --data FILE... --out RUN [--set key=value]...\n"
          "       kgym sft [CONFIG.yaml] --out RUN --set corpus.documents=N [...]\n"
          "       kgym sft --resume --out RUN\n\n"
          "Trains a model on conversations: fresh weights, a model of Hugging Face\n"
          "(Qwen2.x, Qwen3), or an adapter (LoRA) beside one. It writes what transformers\n"
          "or PEFT reads. docs/sft.md has more. Files hold one JSON object a line:\n"
          "trajectories of kgym (kgym.trajectory/1), or chats:\n"
          "  {\"messages\": [{\"role\": \"user\", \"content\": \"...\"},\n"
          "                {\"role\": \"assistant\", \"content\": \"...\"}]}\n\n"
          "  --data FILE...   data to train on; replaces `data` of the file\n"
          "  --valid FILE...  data to validate on; without it some problems are held out\n"
          "  --out RUN        a new folder: model/ or adapter/, config.yaml, metrics.jsonl\n"
          "  --gym URL        a service judges a generated corpus (key `service`)\n"
          "  --token-file F   its token (key `token_file`); else the variables\n"
          "                   KGYM_TOKEN, KGYM_TOKEN_FILE\n"
          "  --set KEY=VALUE  overrides the file; gym.KEY=VALUE sets a key of the gym\n"
          "  --resume         go on with the run in RUN, from its last checkpoint\n"
          "  --stop-at STEP   save after this step and end with status 2, as Ctrl-C does\n"
          "  --check          only check the configuration\n"
          "  --dump           print the resolved configuration\n\n"
          "examples:\n"
          "  kgym sft --data run1/trajectories.jsonl --out sft1 \\\n"
          "      --set from=Qwen2.5-Coder-0.5B-Instruct --set lora.r=16\n"
          "  kgym sft --data chats.jsonl --out sft2 --set tokenizer=\"train 512\"\n\n"
          "Keys, their meaning and defaults:\n\n",
          f);
    kg_buf_init(&keys, 1u << 20);
    rl_sft_config_defaults(&c);
    kg_opts_dump(rl_sft_options(), &c, true, &keys);
    fputs(keys.data, f);
    kg_buf_deinit(&keys);
}

static enum kg_code take_value(struct args *a, int argc, char **argv, int at, int *used,
                               struct kg_err *err)
{
    const char *value = NULL;
    if (kg_cli_value("--out", argc, argv, at, used, &a->out, err) != KG_OK || *used ||
        kg_cli_value("--stop-at", argc, argv, at, used, &a->stop_at, err) != KG_OK || *used ||
        kg_cli_value("--gym", argc, argv, at, used, &a->gym, err) != KG_OK || *used ||
        kg_cli_value("--token-file", argc, argv, at, used, &a->token_file, err) != KG_OK || *used ||
        kg_cli_value("--set", argc, argv, at, used, &value, err) != KG_OK || !*used) {
        return err->code;
    }
    if (a->nset == SETS) {
        return kg_fail(err, KG_E_LIMIT, "--set: more than %d", SETS);
    }
    a->set[a->nset++] = value;
    return KG_OK;
}

/* `--data A B --data=C`: the words behind it, up to the next flag. */
static enum kg_code take_files(const char *name, struct rl_sft_files *f, int argc, char **argv,
                               int at, int *used, struct kg_err *err)
{
    const char *value = NULL;
    if (kg_cli_value(name, argc, argv, at, used, &value, err) != KG_OK || !*used) {
        return err->code;
    }
    enum kg_code code = rl_sft_files_add(f, value, err);
    while (code == KG_OK && at + *used < argc &&
           (argv[at + *used][0] != '-' || argv[at + *used][1] == '\0')) {
        code = rl_sft_files_add(f, argv[at + (*used)++], err);
    }
    return code;
}

static enum kg_code word(struct args *a, int argc, char **argv, int at, int *used,
                         struct kg_err *err)
{
    const char *w = argv[at];
    bool *flag = strcmp(w, "--resume") == 0                         ? &a->resume
                 : strcmp(w, "--check") == 0                        ? &a->check
                 : strcmp(w, "--dump") == 0                         ? &a->dump
                 : strcmp(w, "--help") == 0 || strcmp(w, "-h") == 0 ? &a->help
                                                                    : NULL;
    *used = 1;
    if (flag != NULL) {
        *flag = true;
        return KG_OK;
    }
    if (take_value(a, argc, argv, at, used, err) != KG_OK || *used ||
        take_files("--data", &a->data, argc, argv, at, used, err) != KG_OK || *used ||
        take_files("--valid", &a->valid, argc, argv, at, used, err) != KG_OK || *used) {
        return err->code;
    }
    if (w[0] == '-') {
        return kg_cli_unknown("sft", w, kg_cli_sft_flags, NULL, err);
    }
    if (a->config != NULL) {
        return kg_fail(err, KG_E_USAGE, "one configuration, not `%.60s` as well", w);
    }
    a->config = w;
    *used = 1;
    return KG_OK;
}

static enum kg_code parse(struct args *a, int argc, char **argv, struct kg_err *err)
{
    for (int i = 1, used = 0; i < argc; i += used) {
        if (word(a, argc, argv, i, &used, err) != KG_OK) {
            return err->code;
        }
    }
    if (!a->help && a->out == NULL && !a->check && !a->dump) {
        return kg_fail(err, KG_E_USAGE, "--out RUN is missing; see `kgym sft --help`");
    }
    return KG_OK;
}

/* `--resume --out RUN` takes the configuration of the run. */
static enum kg_code resolve(const struct args *a, struct rl_sft_config *c, struct kg_err *err)
{
    char path[4096];
    struct rl_sft_plan plan;
    const char *file = a->config;
    bool given = file != NULL || a->data.n > 0 || a->valid.n > 0;
    if (a->resume && !given && a->out != NULL) {
        snprintf(path, sizeof path, "%.4000s/config.yaml", a->out);
        file = path;
        if (!kg_file_exists(path)) {
            return kg_fail(err, KG_E_USAGE, "%.300s: holds no run to resume: no config.yaml",
                           a->out);
        }
    }
    rl_sft_config_defaults(c);
    enum kg_code code = file != NULL ? rl_sft_config_file(c, file, err) : KG_OK;
    if (a->data.n > 0) {
        c->data = a->data;
    }
    if (a->valid.n > 0) {
        c->valid = a->valid;
    }
    for (int i = 0; i < a->nset && code == KG_OK; i++) {
        code = rl_sft_config_pair(c, a->set[i], "--set", err);
    }
    if (code == KG_OK && a->gym != NULL) {
        code = kg_opts_set(rl_sft_options(), c, "service", a->gym, "--gym", err);
    }
    if (code == KG_OK && a->token_file != NULL) {
        code = kg_opts_set(rl_sft_options(), c, "token_file", a->token_file, "--token-file", err);
    }
    return code != KG_OK ? code : rl_sft_config_check(c, &plan, err);
}

static enum kg_code stop_step(const struct args *a, int *out, struct kg_err *err)
{
    char *end = NULL;
    long n = a->stop_at != NULL ? strtol(a->stop_at, &end, 10) : 0;
    *out = (int)n;
    return a->stop_at == NULL || (end != a->stop_at && *end == '\0' && n > 0 && n < 1000000000)
               ? KG_OK
               : kg_fail(err, KG_E_USAGE, "--stop-at %.60s: a number of steps is needed",
                         a->stop_at);
}

static enum kg_code run(const struct args *a, const struct rl_sft_config *c, struct kg_err *err)
{
    struct rl_sft_job_options o = {
        .folder = a->out, .resume = a->resume, .terminal = stdout, .cancel = &kg_cli_cancelled};
    if (stop_step(a, &o.stop_at, err) != KG_OK) {
        return err->code;
    }
    kg_cli_signals();
    return rl_sft_job(c, &o, err);
}

int kg_cmd_sft(int argc, char **argv)
{
    static struct args a;
    static struct rl_sft_config c;
    struct kg_err err = KG_ERR_INIT;
    enum kg_code code = parse(&a, argc, argv, &err);
    if (code == KG_OK && a.help) {
        usage(stdout);
        return KG_STATUS_GOOD;
    }
    code = code != KG_OK ? code : resolve(&a, &c, &err);
    if (code == KG_OK && a.dump) {
        struct kg_buf text;
        kg_buf_init(&text, 1u << 20);
        rl_sft_config_dump(&c, &text);
        fputs(text.data, stdout);
        kg_buf_deinit(&text);
    } else if (code == KG_OK && !a.check) {
        code = run(&a, &c, &err);
    }
    return code == KG_OK ? KG_STATUS_GOOD : kg_cli_fail("sft", &err);
}

/* kgym train: one training run from a configuration. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "cli/cli.h"
#include "rl/run/run_save.h"

const char *const kg_cli_train_flags[] = {"--set",        "--out",     "--resume", "--gym",
                                          "--token-file", "--dry-run", "--check",  "--dump",
                                          "--help",       NULL};

#define SETS 128

struct args {
    const char *config, *out, *resume, *gym, *token_file;
    const char *set[SETS];
    int nset;
    bool dry, check, dump, help;
};

static void usage(FILE *f)
{
    static struct rl_config c;
    struct kg_buf keys;
    fputs("usage: kgym train CONFIG.yaml --out RUN [--set key=value]...\n"
          "       kgym train --resume RUN\n"
          "       kgym train CONFIG.yaml --dry-run | --check | --dump\n\n"
          "Trains a small model on generated C kernels: a corpus, SFT, an evaluation on\n"
          "held-out problems, RL by the gym's rewards, the same evaluation again.\n\n"
          "  --out RUN        a new folder: configuration, metrics, trajectories,\n"
          "                   checkpoints\n"
          "  --resume RUN     goes on with a run that was broken off, from its last\n"
          "                   checkpoint; a CONFIG and --set are only compared\n"
          "  --gym URL        a service judges (`kgym serve`); the key `service`\n"
          "  --token-file F   its token (key `token_file`); else the variables\n"
          "                   KGYM_TOKEN, KGYM_TOKEN_FILE\n"
          "  --set KEY=VALUE  overrides the file; gym.KEY=VALUE sets a key of the gym\n"
          "  --dry-run        no model: correct, wrong, hacking and garbage replies go\n"
          "                   through the loop; exit status 1 if the gym rewards them\n"
          "                   otherwise than it must\n"
          "  --check          only check the configuration\n"
          "  --dump           print the resolved configuration\n\n"
          "examples:\n"
          "  kgym train configs/demo.yaml --out run1 --set rl.seconds=60\n\n"
          "Keys, their meaning and defaults:\n\n",
          f);
    kg_buf_init(&keys, 1u << 20);
    rl_config_defaults(&c);
    kg_opts_dump(rl_options(), &c, true, &keys);
    fputs(keys.data, f);
    kg_buf_deinit(&keys);
}

static enum kg_code word(struct args *a, int argc, char **argv, int at, int *used,
                         struct kg_err *err)
{
    const char *value = NULL, *w = argv[at];
    bool *flag = strcmp(w, "--dry-run") == 0                        ? &a->dry
                 : strcmp(w, "--check") == 0                        ? &a->check
                 : strcmp(w, "--dump") == 0                         ? &a->dump
                 : strcmp(w, "--help") == 0 || strcmp(w, "-h") == 0 ? &a->help
                                                                    : NULL;
    *used = 1;
    if (flag != NULL) {
        *flag = true;
        return KG_OK;
    }
    const struct {
        const char *name, **field;
    } list[] = {{"--out", &a->out},
                {"--resume", &a->resume},
                {"--gym", &a->gym},
                {"--token-file", &a->token_file}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        if (kg_cli_value(list[i].name, argc, argv, at, used, list[i].field, err) != KG_OK ||
            *used) {
            return err->code;
        }
    }
    if (kg_cli_value("--set", argc, argv, at, used, &value, err) != KG_OK) {
        return err->code;
    }
    if (*used) {
        if (a->nset == SETS) {
            return kg_fail(err, KG_E_LIMIT, "--set: more than %d", SETS);
        }
        a->set[a->nset++] = value;
        return KG_OK;
    }
    if (w[0] == '-') {
        return kg_cli_unknown("train", w, kg_cli_train_flags, NULL, err);
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
    if (a->help) {
        return KG_OK;
    }
    if (a->resume != NULL && (a->out != NULL || a->dry || a->check || a->dump)) {
        return kg_fail(err, KG_E_USAGE,
                       "--resume goes on in the folder of the run, and that alone");
    }
    if (a->config == NULL && a->resume == NULL) {
        return kg_fail(err, KG_E_USAGE, "name a configuration, such as configs/demo.yaml");
    }
    if (a->out == NULL && a->resume == NULL && !a->dry && !a->check && !a->dump) {
        return kg_fail(err, KG_E_USAGE, "--out RUN is missing");
    }
    return KG_OK;
}

/* The file that is named; else that of the run which goes on. A path in it is meant from here. */
static enum kg_code resolve(const struct args *a, struct rl_config *c, struct kg_err *err)
{
    struct rl_methods m;
    char path[PATH_MAX];
    rl_config_defaults(c);
    snprintf(path, sizeof path, "%s/config.yaml", a->resume != NULL ? a->resume : "");
    enum kg_code code = rl_config_file(c, a->config != NULL ? a->config : path, err);
    for (int i = 0; i < a->nset && code == KG_OK; i++) {
        code = rl_config_pair(c, a->set[i], "--set", err);
    }
    if (code == KG_OK && a->gym != NULL) {
        code = kg_opts_set(rl_options(), c, "service", a->gym, "--gym", err);
    }
    if (code == KG_OK && a->token_file != NULL) {
        code = kg_opts_set(rl_options(), c, "token_file", a->token_file, "--token-file", err);
    }
    if (code == KG_OK && c->journal[0] != '\0') {
        snprintf(path, sizeof path, "%s", c->journal);
        code = kg_file_absolute(path, c->journal, sizeof c->journal, err);
    }
    return code != KG_OK ? code : rl_config_methods(c, &m, err);
}

static int train(const struct args *a, const struct rl_config *c)
{
    struct kg_err err = KG_ERR_INIT;
    static struct rl_run run;
    int bad = 0;
    bool ended = false;
    const struct rl_run_options o = {.folder = a->dry      ? NULL
                                               : a->resume ? a->resume
                                                           : a->out,
                                     .resume = a->resume != NULL,
                                     .dry = a->dry,
                                     .terminal = stdout,
                                     .cancel = &kg_cli_cancelled};
    if (a->resume != NULL && rl_run_ended(a->resume, &ended, &err) != KG_OK) {
        return kg_cli_fail("train", &err);
    }
    if (ended) {
        printf("%s: this run has ended: nothing is left to do\n", a->resume);
        return KG_STATUS_GOOD;
    }
    kg_cli_signals();
    if (rl_run_open(c, &o, &run, &err) != KG_OK) {
        return kg_cli_fail("train", &err);
    }
    const char *idle = NULL;
    enum kg_code code =
        a->dry ? rl_run_rehearse(&run, &bad, &err) : rl_run_train(&run, &idle, &err);
    rl_run_close(&run);
    if (code != KG_OK) {
        return kg_cli_fail("train", &err);
    }
    if (idle != NULL) {
        fprintf(stderr, "kgym train: `%s` was on and looked at nothing\n", idle);
    }
    return bad > 0 || idle != NULL ? KG_STATUS_BAD : KG_STATUS_GOOD;
}

/* A configuration may be sound and need what this version has not. */
static int check(const struct rl_config *c)
{
    struct kg_buf why;
    struct kg_err err = KG_ERR_INIT;
    if (rl_run_check(c, &err) != KG_OK) {
        return kg_cli_fail("train", &err);
    }
    kg_buf_init(&why, 4096);
    if (rl_config_lacks(c, &why) > 0) {
        printf("the configuration is sound; to run it, this version lacks:\n%s", why.data);
    }
    kg_buf_deinit(&why);
    return KG_STATUS_GOOD;
}

int kg_cmd_train(int argc, char **argv)
{
    struct args a = {0};
    static struct rl_config c;
    struct kg_err err = KG_ERR_INIT;
    if (parse(&a, argc, argv, &err) != KG_OK) {
        return kg_cli_fail("train", &err);
    }
    if (a.help) {
        usage(stdout);
        return KG_STATUS_GOOD;
    }
    if (resolve(&a, &c, &err) != KG_OK) {
        return kg_cli_fail("train", &err);
    }
    if (a.dump) {
        struct kg_buf text;
        kg_buf_init(&text, 1u << 20);
        rl_config_dump(&c, &text);
        fputs(text.data, stdout);
        kg_buf_deinit(&text);
        return KG_STATUS_GOOD;
    }
    return a.check ? check(&c) : train(&a, &c);
}

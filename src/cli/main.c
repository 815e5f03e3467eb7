/* kgym: the command table, --help and --version. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/version.h"
#include "base/yaml.h"
#include "cli/cli.h"

static const struct kg_command commands[] = {
    {"eval", kg_cmd_eval, "judge a candidate, or a file of them (--batch)"},
    {"problems", kg_cmd_problems, "list, show and check problems"},
    {"report", kg_cmd_report, "tables and a self-contained HTML page from records or a run"},
    {"prompt", kg_cmd_prompt, "the first message for a model, and the conversation so far"},
    {"feedback", kg_cmd_feedback, "what a model may be told about a record, within a token budget"},
    {"kernelbench", kg_cmd_kernelbench, "judge a KernelBench run, write and analyse its results"},
    {"train", kg_cmd_train, "train a small model on generated kernels, by SFT and RL"},
    {"sft", kg_cmd_sft, "train a model on conversations, whole or as an adapter"},
    {"generate", kg_cmd_generate, "let a model answer, as text or as ids with log-probs"},
    {"bench", kg_cmd_bench, "measure a model: a suite, samples, turns, intervals"},
    {"refine", kg_cmd_refine, "improve one kernel over many turns of a model"},
    {"serve", kg_cmd_serve, "judge replies that come over HTTP, and lose none"},
    {"worker", kg_cmd_worker, "judge for a service on another host"},
    {"token", kg_cmd_token, "who may use a service, and for what"},
    {"submit", kg_cmd_submit, "as eval, judged by a service"},
    {"show", kg_cmd_show, "the whole life of a job of the service"},
    {"top", kg_cmd_top, "the service as it works: queue, throughput, verdicts"},
    {"store", kg_cmd_store, "back up, restore, check and trim the service's store"},
    {"doctor", kg_cmd_doctor, "what this host allows and measures, with advice"},
    {"options", kg_cmd_options, "every configuration key, with type, range and default"},
    {"completion", kg_cmd_completion, "shell completion for bash or zsh"},
    {"help", kg_cmd_help, "a command's help, or a page: `kgym help card`"},
    {"version", kg_cmd_version, "the version"},
};

/* What `kgym serve` executes, and a pool whose judge is a service. */
static const struct kg_command serve_roles[] = {
    {"pool-remote", kg_cmd_pool_remote, ""},
    {KG_SERVE_API, kg_cmd_serve_api, ""},
    {KG_SERVE_WORKER, kg_cmd_serve_worker, ""},
    {KG_SERVE_FACTS, kg_cmd_serve_facts, ""},
};

const struct kg_command *kg_cli_commands(size_t *n)
{
    *n = sizeof commands / sizeof *commands;
    return commands;
}

void kg_cli_usage(FILE *f)
{
    fprintf(f,
            "kgym %s: turns model replies into trustworthy verdicts on kernels\n\n"
            "usage: kgym COMMAND [ARGUMENTS]\n\n",
            KG_VERSION);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        fprintf(f, "  %-11s %s\n", commands[i].name, commands[i].summary);
    }
    fputs("\n`kgym COMMAND --help` explains a command, with examples. `kgym help card`\n"
          "explains the card that `kgym eval` prints.\n"
          "exit status: 0 good news, 1 the candidate or the check failed, 2 error\n",
          f);
}

static int unknown(const char *word)
{
    const char *names[sizeof commands / sizeof *commands];
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        names[i] = commands[i].name;
    }
    const char *near = kg_nearest(word, names, sizeof names / sizeof *names);
    if (near) {
        fprintf(stderr, "kgym: no command `%s`; did you mean `%s`?\n", word, near);
    } else {
        fprintf(stderr, "kgym: no command `%s`; `kgym --help` lists them\n", word);
    }
    return KG_STATUS_ERROR;
}

/* A record that did not reach its reader must not look like good news. */
static int finish(const char *command, int status)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) {
        return status;
    }
    struct kg_err err = KG_ERR_INIT;
    kg_fail(&err, KG_E_IO, "standard output: cannot write%s%s", errno ? ": " : "",
            errno ? strerror(errno) : "");
    return kg_cli_fail(command, &err);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        kg_cli_usage(stderr);
        return KG_STATUS_ERROR;
    }
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        kg_cli_usage(stdout);
        return finish("help", KG_STATUS_GOOD);
    }
    word = strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0 ? "version" : word;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(word, commands[i].name) == 0) {
            return finish(commands[i].name, commands[i].run(argc - 1, argv + 1));
        }
    }
    for (size_t i = 0; i < KG_CLI_ROLES; i++) {
        if (strcmp(argv[1], kg_cli_roles[i].name) == 0) {
            return kg_cli_roles[i].run(argc - 1, argv + 1);
        }
    }
    for (size_t i = 0; i < sizeof serve_roles / sizeof *serve_roles; i++) {
        if (strcmp(argv[1], serve_roles[i].name) == 0) {
            return serve_roles[i].run(argc - 1, argv + 1);
        }
    }
    return unknown(word);
}

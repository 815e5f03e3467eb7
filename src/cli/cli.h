/* The commands of kgym and what they share. Exit status: 0 done and good news, 1 done and the
 * candidate or the check failed, 2 usage, configuration or infrastructure error.
 *   cli/gym    commands of the gym itself: they print what it knows of problems, records and hosts
 *   cli/learn  commands that use the gym: of its headers they include gym/kgym.h alone
 *   cli/trial  `kgym bench` and `kgym refine`
 *   cli/svc    the service: it tells src/svc what the gym knows */
#ifndef KG_CLI_CLI_H
#define KG_CLI_CLI_H

#include <stdio.h>

#include "base/err.h"
#include "base/json.h"
#include "base/opt.h"

enum { KG_STATUS_GOOD = 0, KG_STATUS_BAD = 1, KG_STATUS_ERROR = 2 };

struct kg_command {
    const char *name;
    int (*run)(int argc, char **argv); /* argv[0] is the command's name */
    const char *summary;
};
const struct kg_command *kg_cli_commands(size_t *n);

/* What a pool executes; no help and no completion names them. */
enum { KG_CLI_ROLES = 2 };
extern const struct kg_command kg_cli_roles[KG_CLI_ROLES];
/* The same of `kgym serve`. */
#define KG_SERVE_API    "serve-api"
#define KG_SERVE_WORKER "serve-worker"
#define KG_SERVE_FACTS  "serve-facts" /* of a worker as well */
int kg_cmd_serve_api(int argc, char **argv);
int kg_cmd_serve_worker(int argc, char **argv);
int kg_cmd_pool_remote(int argc, char **argv); /* what a pool with a service executes */
int kg_cmd_serve_facts(int argc, char **argv);

int kg_cmd_eval(int argc, char **argv);
int kg_cmd_problems(int argc, char **argv);
int kg_cmd_doctor(int argc, char **argv);
int kg_cmd_report(int argc, char **argv);
int kg_cmd_feedback(int argc, char **argv);
int kg_cmd_prompt(int argc, char **argv);
int kg_cmd_kernelbench(int argc, char **argv);
int kg_cmd_train(int argc, char **argv);
int kg_cmd_sft(int argc, char **argv);
int kg_cmd_generate(int argc, char **argv);
int kg_cmd_bench(int argc, char **argv);
int kg_cmd_serve(int argc, char **argv);
int kg_cmd_token(int argc, char **argv);
int kg_cmd_submit(int argc, char **argv);
int kg_cmd_worker(int argc, char **argv);
int kg_cmd_show(int argc, char **argv);
int kg_cmd_top(int argc, char **argv);
int kg_cmd_store(int argc, char **argv);
int kg_cmd_refine(int argc, char **argv);
int kg_cmd_completion(int argc, char **argv);
int kg_cmd_options(int argc, char **argv);
int kg_cmd_help(int argc, char **argv);
int kg_cmd_version(int argc, char **argv);
void kg_cli_usage(FILE *f); /* what `kgym --help` prints */

/* A store of the service, a folder or redis://...: adds to out {"kind", "keeps": is it whole, and
 * does it keep what it has accepted, "why" it does not, counts}. Errors: USAGE (no store, a newer
 * schema), IO. */
enum kg_code kg_cli_look_at_store(const char *place, json_t *out, struct kg_err *err) KG_MUST_USE;

/* A line of text that may quote a model's: it can neither drive the terminal nor make a line. */
void kg_cli_line(FILE *f, const char *before, const char *text);
/* Prints "kgym COMMAND: message" so, and returns KG_STATUS_ERROR. */
int kg_cli_fail(const char *command, const struct kg_err *err);
/* A word that the command does not know, with the nearest of those that it does. known: the
 * command's own flags or verbs, NULL-terminated; options: those of this table count too, NULL:
 * none. Always KG_E_USAGE. */
enum kg_code kg_cli_unknown(const char *command, const char *word, const char *const *known,
                            const struct kg_opts *options, struct kg_err *err) KG_MUST_USE;
/* The flags of `kgym eval`, NULL-terminated, for messages and completion. */
extern const char *const kg_cli_eval_flags[];
extern const char *const kg_cli_train_flags[]; /* the same of `kgym train` */
extern const char *const kg_cli_sft_flags[];
extern const char *const kg_cli_sample_flags[]; /* of `kgym generate` */
extern const char *const kg_cli_bench_flags[];  /* of `kgym bench`, beside kg_cli_trial_flags */
extern const char *const kg_cli_trial_flags[];  /* what `kgym bench` and `kgym refine` share */
extern const char *const kg_cli_submit_flags[];
extern const char *const kg_cli_serve_flags[];  /* all, those of its table too */
extern const char *const kg_cli_worker_words[]; /* the same */
extern const char *const kg_cli_token_words[];  /* verbs and flags */
extern const char *const kg_cli_show_flags[];
extern const char *const kg_cli_top_flags[];
extern const char *const kg_cli_store_flags[];
extern const char *const kg_cli_refine_flags[]; /* of `kgym refine`, beside the shared ones */

/* SIGINT and SIGTERM set it; a second one ends the process. */
extern volatile int kg_cli_cancelled;
void kg_cli_signals(void);
/* A page may be written to out, made from the records in `in` ("-": standard input). KG_E_USAGE:
 * out is that file, by whatever name or link, or another one that holds JSON. Other output replaces
 * what is there. */
enum kg_code kg_cli_spare_records(const char *in, const char *out, struct kg_err *err) KG_MUST_USE;
/* `flag out` names a file that the command makes anew. KG_E_USAGE: it is the file `in`, by whatever
 * name or link. in: NULL is none, "-" standard input. */
enum kg_code kg_cli_spare_input(const char *flag, const char *out, const char *in,
                                struct kg_err *err) KG_MUST_USE;
/* KG_E_USAGE: out begins as a JSON object does, while what the command makes does not. */
enum kg_code kg_cli_spare_json(const char *flag, const char *out, struct kg_err *err) KG_MUST_USE;
/* Value of `--name VALUE` or `--name=VALUE` at argv[at]; *used 0 if it is another word. KG_E_USAGE
 * when the value is missing. */
enum kg_code kg_cli_value(const char *name, int argc, char **argv, int at, int *used,
                          const char **value, struct kg_err *err) KG_MUST_USE;
/* The option's text as a whole number from lo to hi. KG_E_USAGE: it is none. */
enum kg_code kg_cli_number(const char *name, const char *text, uint64_t lo, uint64_t hi,
                           uint64_t *value, struct kg_err *err) KG_MUST_USE;

#endif

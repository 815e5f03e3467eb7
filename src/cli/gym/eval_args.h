/* The words of `kgym eval` and of `kgym submit`, which differ in who judges. */
#ifndef KG_CLI_GYM_EVAL_ARGS_H
#define KG_CLI_GYM_EVAL_ARGS_H

#include "cli/gym/config.h"

struct kg_eval_args {
    /* set by the command */
    const char *command, *gym_flag; /* gym_flag: names the service */
    const char *const *flags;
    /* by its words */
    struct kg_cli_config config;
    const char *problem, *reply, *stop_after, *replay, *batch, *out, *jobs, *trace;
    const char *gym, *token_file; /* address of a service; NULL: this host judges */
    bool source, json, public_only, dump, help;
};

/* Errors: USAGE. */
enum kg_code kg_eval_args_parse(struct kg_eval_args *a, int argc, char **argv,
                                struct kg_err *err) KG_MUST_USE;
/* Do the words fit each other? */
enum kg_code kg_eval_args_check(const struct kg_eval_args *a, struct kg_err *err) KG_MUST_USE;
/* Judges as the words say; the exit status. help, with the presets behind it, is printed where it
 * is asked for. */
int kg_eval_main(struct kg_eval_args *a, const char *help, int argc, char **argv);

#endif

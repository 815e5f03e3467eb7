/* Configuration of the gym on a command line. */
#ifndef KG_CLI_GYM_CONFIG_H
#define KG_CLI_GYM_CONFIG_H

#include "cli/cli.h"
#include "gym/eval/config.h"

/* Collects configuration words while a command walks its argv. They are resolved afterwards in the
 * order of docs/presets.md: defaults < preset < file < environment < flags. */
struct kg_cli_config {
    const char *file, *preset;
    const char *reward;  /* of --reward, where a command has it: the key `rewards` */
    const char *set[64]; /* "key=value" of --set, in order */
    int nset;
    int flag_at[64]; /* positions of the table's own flags in argv */
    int nflags;
};
/* Is argv[at] about configuration? *used words are taken (0: no). */
enum kg_code kg_cli_config_word(struct kg_cli_config *cc, int argc, char **argv, int at, int *used,
                                struct kg_err *err) KG_MUST_USE;
/* The rewards that the command line asks for, in whatever words; NULL: none. */
const char *kg_cli_config_rewards(const struct kg_cli_config *cc, char **argv);
enum kg_code kg_cli_config_resolve(const struct kg_cli_config *cc, int argc, char **argv,
                                   struct kg_config *out, struct kg_err *err) KG_MUST_USE;

#endif

/* The verb of `kgym problems` that writes the learner's generated problems. */
#ifndef KG_CLI_LEARN_PROBLEMS_GENERATE_H
#define KG_CLI_LEARN_PROBLEMS_GENERATE_H

#include "cli/cli.h"

/* Its flags, NULL-terminated, for messages and completion. */
extern const char *const kg_cli_generate_flags[];
/* argv[0] is the verb; help prints that of `kgym problems`. Exit status. */
int kg_cli_problems_generate(int argc, char **argv, void (*help)(FILE *f));

#endif

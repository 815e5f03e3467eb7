/* The part of `kgym report` that reads the folder of a training run. */
#ifndef KG_CLI_LEARN_REPORT_RUN_H
#define KG_CLI_LEARN_REPORT_RUN_H

#include "cli/cli.h"

struct kg_report_run {
    const char *folder;
    const char *out, *title, *recheck; /* as given; NULL: not */
    bool json;
};
/* Writes the page, prints the tables or the object. Returns the exit status. */
int kg_report_run(const struct kg_report_run *o);

#endif

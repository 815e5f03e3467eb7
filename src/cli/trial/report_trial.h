/* The part of `kgym report` that reads the folder of `kgym bench` or `kgym refine`. */
#ifndef KG_CLI_TRIAL_REPORT_TRIAL_H
#define KG_CLI_TRIAL_REPORT_TRIAL_H

#include "cli/cli.h"

struct kg_report_trial {
    const char *folder;
    const char *out, *title; /* as given; NULL: not */
    bool json;
};
/* The folder is one of these. */
bool kg_report_trial_is(const char *folder);
/* Writes the page, prints the tables or the object. Returns the exit status. */
int kg_report_trial(const struct kg_report_trial *o);

#endif

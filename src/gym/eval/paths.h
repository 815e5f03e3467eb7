/* Where kgym's own files are: the runner, the operator library, the null candidate, the suites, and
 * what the PyTorch executor needs besides.
 * Found beside the executable, in a build tree or an installation (bin/ with lib/kgym/ and
 * share/kgym/problems/), or named by KGYM_HOME (a build folder, or the prefix of an installation).
 * Nothing is searched in the current folder. */
#ifndef KG_GYM_EVAL_PATHS_H
#define KG_GYM_EVAL_PATHS_H

#include "base/err.h"

#define KG_MAX_SUITES 8

struct kg_paths {
    char runner[320];        /* the program kgym-runner */
    char kgops_dir[320];     /* holds kgops.h and libkgops.so */
    char kgops_counted[320]; /* folder of the libkgops.so that counts its own time */
    char kgops_stub[320];    /* folder of the libkgops.so that computes nothing */
    char null_object[320];
    char harness[320];    /* folder of the Python package kgym_harness; it may be missing */
    char probe[320];      /* libkgym_probe.so; it may be missing */
    char own_python[320]; /* of the environment that `make torch` makes, or "" */
    char suite_text[1024];
    const char *suites[KG_MAX_SUITES]; /* folders, into suite_text */
    size_t nsuites;
};

/* suites: colon-separated folders, or "" for those that come with kgym. KG_E_HOST names the file
 * that is missing and how to build it. */
enum kg_code kg_paths_find(const char *suites, struct kg_paths *out,
                           struct kg_err *err) KG_MUST_USE;

#endif

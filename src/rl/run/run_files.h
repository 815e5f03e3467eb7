/* The files of a run's folder that grow, and the folder's lock. A checkpoint knows how long they
 * were; a run that goes on cuts them back to that, so that a step which runs again writes its lines
 * again. Not thread safe. Messages name the file. */
#ifndef KG_RL_RUN_RUN_FILES_H
#define KG_RL_RUN_RUN_FILES_H

#include <jansson.h>
#include <limits.h>
#include <stdio.h>

#include "base/err.h"

enum rl_file { RL_FILE_METRICS, RL_FILE_TRAJECTORIES, RL_FILE_EVENTS, RL_FILES };
#define RL_CHECKPOINT "checkpoint"
#define RL_SFT_FOLDER "sft"

struct rl_files {
    char folder[PATH_MAX - 300]; /* "": none, and nothing is written */
    int lock;                    /* the folder, locked; -1 */
    FILE *file[RL_FILES];
};

const char *rl_file_name(enum rl_file f);
/* A new folder, or one without a run; config.yaml gets this text. Errors: KG_E_USAGE (it holds a
 * run, or another process runs in it), KG_E_IO. */
enum kg_code rl_files_create(struct rl_files *f, const char *folder, const char *config, size_t len,
                             struct kg_err *err) KG_MUST_USE;
/* The folder of a run that goes on; what a killed process left is removed. Errors as above, and
 * KG_E_NOT_FOUND (no run). */
enum kg_code rl_files_open(struct rl_files *f, const char *folder, struct kg_err *err) KG_MUST_USE;
/* After open: cuts the files to their lengths in a checkpoint; NULL: to nothing. KG_E_INPUT: a file
 * is shorter. */
enum kg_code rl_files_cut(struct rl_files *f, const json_t *lengths,
                          struct kg_err *err) KG_MUST_USE;
void rl_files_close(struct rl_files *f);

/* Appends a line, or bytes, and gives them to the system. KG_E_IO: disk full too. */
enum kg_code rl_files_line(struct rl_files *f, enum rl_file which, const json_t *line,
                           struct kg_err *err) KG_MUST_USE;
enum kg_code rl_files_add(struct rl_files *f, enum rl_file which, const void *bytes, size_t n,
                          struct kg_err *err) KG_MUST_USE;
/* To disk. *lengths: the caller's. KG_E_IO. */
enum kg_code rl_files_sync(struct rl_files *f, json_t **lengths, struct kg_err *err) KG_MUST_USE;

#endif

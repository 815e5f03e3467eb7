/* What a training run came to: reads the folder of a run and writes one self-contained HTML page,
 * tables for a terminal, and one JSON object for scripts.
 *
 * The files are read as streams: a line of trajectories.jsonl is taken apart and dropped, about
 * 100 bytes of it stay, and the whole lines of at most RL_REPORT_TALKS conversations. What is
 * missing or broken is named in the page (notes) and never guessed. A folder in which nothing is
 * usable is an error. Replies come from a model: text is only ever inserted escaped. The page has
 * no script, and its policy forbids every other source.
 * A report belongs to one thread. The caller owns what it opens. */
#ifndef KG_RL_REPORT_REPORT_H
#define KG_RL_REPORT_REPORT_H

#include <stdio.h>

#include "base/json.h"

struct rl_report;

/* folder: config.yaml, host.json, metrics.jsonl, trajectories.jsonl, recheck.json; each may lack.
 * Errors: KG_E_NOT_FOUND (no such folder, or none of metrics and trajectories is in it),
 * KG_E_INPUT (no line of them can be used), KG_E_IO, KG_E_HOST (memory). */
enum kg_code rl_report_open(const char *folder, struct rl_report **out,
                            struct kg_err *err) KG_MUST_USE;
void rl_report_close(struct rl_report *r); /* NULL is nothing */

/* A component was on and looked at nothing: the run is not what its configuration says. */
bool rl_report_failed(const struct rl_report *r);

/* Judges n random correct replies of the last evaluation, and the best kernels, again by `preset`,
 * and writes recheck.json into the folder. n: 1 to RL_RECHECK_MOST; fewer where there are fewer,
 * and none, with a note, where there is none. progress: a line of progress; NULL: none. *cancel not
 * 0: KG_E_CANCELLED. Errors: those of the gym's pool, KG_E_IO. */
enum { RL_RECHECK_MOST = 64 };
enum kg_code rl_report_recheck(struct rl_report *r, const char *preset, int n, FILE *progress,
                               volatile int *cancel, struct kg_err *err) KG_MUST_USE;

/* Appends the tables before and after, the seconds and whether the effect was shown. ASCII. */
void rl_report_text(const struct rl_report *r, struct kg_buf *out);
/* Appends the page. KG_E_LIMIT: out->max is too small (32 MB are plenty). */
enum kg_code rl_report_html(const struct rl_report *r, const char *title, struct kg_buf *out,
                            struct kg_err *err) KG_MUST_USE;
/* The numbers of the tables. The caller owns it. */
json_t *rl_report_json(const struct rl_report *r);

#endif

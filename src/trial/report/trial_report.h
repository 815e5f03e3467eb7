/* What a trial came to: reads the folder of `kgym bench` or `kgym refine` (trial/drive/folder.h)
 * and writes one self-contained HTML page, tables for a terminal, and one JSON object for scripts.
 *
 * The files are read as streams: of a turn about 250 bytes stay, and its texts are read again where
 * the page shows them. A run under way, or one that was broken off, has a report of what is there;
 * what is missing or broken is named by notes and never guessed. Statistics come from trial/bench.
 * Replies come from a model: text is only ever inserted escaped. The page asks nobody for anything;
 * its policy allows one script by its hash, which searches the list of problems and opens what a
 * link names. Without scripts the page shows the same.
 * A report belongs to one thread. The caller owns what it opens. */
#ifndef KG_TRIAL_REPORT_TRIAL_REPORT_H
#define KG_TRIAL_REPORT_TRIAL_REPORT_H

#include "base/json.h"

struct tr_report;

/* The folder has a run.json, so it is a trial's and no training run's. */
bool tr_report_is(const char *folder);

/* Errors: KG_E_NOT_FOUND (no folder, no run.json), KG_E_USAGE (a run of another kind), KG_E_INPUT
 * (run.json is no object), KG_E_LIMIT (more than 4 million turns), KG_E_IO, KG_E_HOST (memory). */
enum kg_code tr_report_open(const char *folder, struct tr_report **out,
                            struct kg_err *err) KG_MUST_USE;
void tr_report_close(struct tr_report *r); /* NULL is nothing */

/* Appends what a terminal shows: tables of a bench, rounds of a refinement, then notes. */
void tr_report_text(const struct tr_report *r, bool colour, struct kg_buf *out);
/* Appends the page. KG_E_LIMIT: out->max is too small (64 MB are plenty). */
enum kg_code tr_report_html(struct tr_report *r, const char *title, struct kg_buf *out,
                            struct kg_err *err) KG_MUST_USE;
/* Of a bench its summary (kgym.bench/1); of a refinement {"kind", "summary": as the run left it or
 * null, "rounds": the lines of rounds.jsonl}. Both with "notes". The caller owns it. */
json_t *tr_report_json(const struct tr_report *r);

#endif

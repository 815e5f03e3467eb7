/* What was read of a trial's run: private to trial/report. Turns are in the order of problem,
 * sample and turn; the sections of the page only read them, and read texts again by their place. */
#ifndef KG_TRIAL_REPORT_REPORT_TURNS_H
#define KG_TRIAL_REPORT_REPORT_TURNS_H

#include "base/term.h"
#include "rl/page/page.h"
#include "trial/bench/facts.h"
#include "trial/bench/tables.h"
#include "trial/report/trial_report.h"

enum { TR_STAGES = 7, TR_HOSTS = 6, TR_REPORT_MOST_TURNS = 4 << 20 };
enum tr_stage_status { TR_STAGE_NONE, TR_STAGE_PASS, TR_STAGE_FAIL, TR_STAGE_SKIP, TR_STAGE_OFF };
extern const char *const tr_stage_name[TR_STAGES]; /* "extract" .. "profile" */

struct tr_seen {
    uint32_t problem; /* its place in tr_report.problem */
    uint32_t sample, turn;
    int64_t reply_at, record_at; /* of its lines; -1: there is none */
    int64_t tokens_in, tokens_out;
    struct tr_facts facts;
    uint8_t stage[TR_STAGES]; /* enum tr_stage_status */
    bool cut;                 /* the reply ended at its limit */
};

struct tr_seen_problem {
    char *name;
    int level, id;        /* 0: not known */
    size_t first, n;      /* its turns */
    size_t best;          /* its fastest correct turn; SIZE_MAX: none */
    size_t judged, right; /* turns */
};

/* One conversation: turns of one sample. */
struct tr_talk {
    size_t first, n;
    int64_t line_at; /* in trajectories.jsonl; -1: it has not ended */
};

struct tr_report {
    char folder[3000];
    bool refine;
    json_t *run;
    struct rl_notes notes;
    struct tr_seen *turn;
    size_t n, cap;
    struct tr_seen_problem *problem;
    size_t n_problem, cap_problem;
    json_t *names;        /* of problems, to their places */
    struct tr_talk *talk; /* in the order of the turns */
    size_t n_talk;
    json_t *host[TR_HOSTS]; /* environments of records that differ by device */
    int n_host;
    bool has_bench, has_tables; /* of a bench */
    struct tr_bench bench;
    struct tr_tables tables;
    json_t *rounds; /* of a refinement: an array of the lines of rounds.jsonl */
    json_t *again;  /* best.record.json: the second judging of the best; NULL */
    json_t *ending; /* summary.json of a refinement; NULL: it goes on, or it was broken off */
    struct rl_lines replies, records, talks; /* open for reading again; may have no file */
};

/* Reads replies, records and trajectories; r->run and r->folder are there. KG_E_LIMIT, KG_E_HOST.
 */
enum kg_code tr_report_turns(struct tr_report *r, struct kg_err *err) KG_MUST_USE;
void tr_report_turns_free(struct tr_report *r);

/* The turn of "NAME/s1/t2", or NULL. */
const struct tr_seen *tr_report_turn(const struct tr_report *r, const char *key);
/* Lines of a turn and of a conversation; NULL: there is none. The caller owns them. */
json_t *tr_report_reply(struct tr_report *r, const struct tr_seen *t);
json_t *tr_report_record(struct tr_report *r, const struct tr_seen *t);
json_t *tr_report_line(struct tr_report *r, const struct tr_talk *t);

/* A member of a file's object; NaN where it is no number, or one beyond 1e12: a mistake, or
 * hostile. */
double tr_report_real(const json_t *o, const char *key);

/* Two notes name the same line of the same file: "records.jsonl:12: ...". */
bool tr_report_same_place(const char *a, const char *b);

/* The code that was judged, "" where none was found. Borrowed from the record. */
const char *tr_report_code(const json_t *record);
/* The record's message, or its error's; "" */
const char *tr_report_why(const json_t *record);

#endif

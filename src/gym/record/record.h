/* The record, kgym.record/1: one evaluation, the one schema that CLI, API, store, dashboard and
 * learner read. docs/record.md describes every key. A record is plain data; strings live in its
 * arena or are static. Every json_t in it is the record's own (kg_record_deinit releases it): the
 * caller may add to one in place, or store a new one after json_decref of the old. Verdict and
 * error exclude each other: an error erases a verdict, a verdict after an error is a bug. */
#ifndef KG_GYM_RECORD_RECORD_H
#define KG_GYM_RECORD_RECORD_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/rng.h"
#include "base/ulid.h"
#include "gym/sandbox/sandbox.h"

#define KG_RECORD_SCHEMA "kgym.record/1"

enum kg_verdict {
    KG_V_NONE,
    KG_V_OK,
    KG_V_NO_CODE,
    KG_V_REJECTED,
    KG_V_COMPILE_ERROR,
    KG_V_CRASH,
    KG_V_TIMEOUT,
    KG_V_OUT_OF_MEMORY,
    KG_V_WRONG,
    KG_V_HACK,
    KG_V_COUNT
};
enum kg_stage {
    KG_ST_EXTRACT,
    KG_ST_STATIC,
    KG_ST_COMPILE,
    KG_ST_TINY,
    KG_ST_FULL,
    KG_ST_TIMING,
    KG_ST_PROFILE,
    KG_ST_COUNT
};
enum kg_stage_status { KG_SS_SKIP, KG_SS_PASS, KG_SS_FAIL, KG_SS_OFF };
enum kg_timing_status { KG_T_OFF, KG_T_MEASURED, KG_T_NOT_MEASURED, KG_T_NOT_TRUSTED };

const char *kg_verdict_name(enum kg_verdict v); /* "ok" ...; NULL for NONE */
bool kg_verdict_parse(const char *name, enum kg_verdict *out);
const char *kg_stage_name(enum kg_stage s);
bool kg_stage_parse(const char *name, enum kg_stage *out);
const char *kg_stage_status_name(enum kg_stage_status s);
bool kg_stage_status_parse(const char *name, enum kg_stage_status *out);
const char *kg_timing_status_name(enum kg_timing_status s);
bool kg_timing_status_parse(const char *name, enum kg_timing_status *out);
/* Is reason one of the verdict's reasons in docs/record.md? Of rejected any rule id is, of timeout
 * any stage. */
bool kg_reason_valid(enum kg_verdict v, const char *reason);

struct kg_timing {
    enum kg_timing_status status;
    const char *why; /* why not measured, or what is too short to be rewarded as it is; or NULL */
    const char *preset;                              /* "paired", "calibrated" */
    int64_t candidate_ns, reference_ns, overhead_ns; /* medians after K; K; -1 unknown */
    int64_t shortest_ns; /* T: shorter times are not rewarded as they are; -1 unknown */
    double cv;           /* of the candidate's windows; NaN unknown */
    int64_t warmups;
    int64_t voided;  /* steps of timing that were void and made again; -1 unknown */
    json_t *samples; /* [{process, overhead_ns, reference_ns[], candidate_ns[]}] after K; NULL */
    /* What the timed processes say of themselves, by a procedure that believes them: {trials,
     * warmups, discarded, candidate{mean_ns, std_ns, min_ns, max_ns}, reference{...}}; NULL */
    json_t *claims;
};

#define KG_MAX_REWARDS 16
#define KG_MAX_TERMS   6
struct kg_reward {
    const char *name;
    double value;
    char why[240]; /* why its speed counts for less than the speed-up shown; "": it does not */
    int nterms;
    struct {
        const char *name;
        double value;
    } term[KG_MAX_TERMS];
};

struct kg_record {
    struct kg_arena arena;
    char id[KG_ULID_LEN];
    const char *batch_id;     /* NULL */
    char replay[KG_ULID_LEN]; /* id of the record whose cases alone were asked; "": all were */
    char input_sha256[KG_SHA256_HEX];
    struct {
        const char *name, *suite, *language, *entry, *sha256;
        int level;
    } problem; /* NULLs until known */
    struct {
        const char *language, *rule, *code;
        char sha256[KG_SHA256_HEX];
        int64_t bytes;
        json_t *flags;
    } candidate;
    enum kg_verdict verdict;
    const char *reason, *message; /* reason NULL for ok */
    bool has_error;
    struct kg_err error;
    enum kg_stage stage; /* last one entered */
    struct {
        enum kg_stage_status status;
        int64_t ns;
        bool cached; /* compile: the object was there, so that ns is no time of a compiler */
    } stages[KG_ST_COUNT];
    int compiled, correct; /* 1, 0, -1 unknown (null) */
    bool has_speedup;
    struct {
        double ratio, lo, hi;
        int64_t pairs;
    } speedup;
    struct kg_timing timing;
    double coverage;         /* NaN: null */
    double shape_generality; /* NaN: null */
    struct {
        const char *name;
        bool eligible;
        json_t *findings;
    } league;
    json_t *evidence; /* [{check, ...numbers}] */
    struct {
        char *stdout_text, *stderr_text;
        int64_t bytes;
    } output;
    int64_t peak_bytes, setup_ns; /* -1: null */
    struct kg_isolation isolation;
    json_t *environment, *config; /* objects */
    int nrewards;
    struct kg_reward rewards[KG_MAX_REWARDS];
    json_t *secret; /* the key "private" */
};

/* Everything unknown (null in JSON); lists and objects are there and empty, but for
 * timing.samples. */
void kg_record_init(struct kg_record *r);
void kg_record_deinit(struct kg_record *r);
/* The timing stage ended well, and its result is no measurement: nothing was timed, or what was is
 * not trusted. timing.why says why. */
bool kg_record_untimed(const struct kg_record *r);
/* A speed-up whose interval is not known, or whose ends differ by more than this factor. widest 0:
 * none is. */
bool kg_record_is_wide(const struct kg_record *r, double widest);
/* Set the verdict; message is formatted into the arena. Asserts kg_reason_valid. */
void kg_record_verdict(struct kg_record *r, enum kg_verdict v, const char *reason, const char *fmt,
                       ...) KG_PRINTF(4, 5);
void kg_record_error(struct kg_record *r, const struct kg_err *e);
/* An error that the candidate may have brought about: a failure without a verdict. */
bool kg_record_is_candidates(const struct kg_record *r);
/* Append {check: name, ...fields} (steals fields, which may be NULL) to evidence. docs/record.md
 * lists the checks and their fields. */
void kg_record_evidence(struct kg_record *r, const char *check, json_t *fields);
/* The first entry of evidence whose field has this text; NULL: none. */
const json_t *kg_record_find(const struct kg_record *r, const char *field, const char *text);
/* Entry `limit`: the limit that a verdict is about; unit: "s" or "MB". */
void kg_record_limit(struct kg_record *r, double value, const char *unit);
/* Entry `signal`: the signal that ended the candidate; access: "read" or "write", far outside the
 * buffers; NULL: not known. */
void kg_record_signal(struct kg_record *r, int signal, const char *access);
/* The object, all keys present in the order of docs/record.md; public: without "private". A deep
 * copy: the caller owns it and the record may change or go. */
json_t *kg_record_json(const struct kg_record *r, bool public_only);
/* Back from JSON (reports, rewards, replay): unknown keys are ignored, missing ones (but `private`
 * and those that were added later) are errors that name the key. *out need not be initialised;
 * after success the caller deinits it, after failure there is nothing to release. */
enum kg_code kg_record_parse(const json_t *j, struct kg_record *out,
                             struct kg_err *err) KG_MUST_USE;

#endif

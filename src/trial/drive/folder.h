/* The folder of a trial's run. All that was paid for is on its disk before it is used:
 *
 *   run.json           what was asked: schema kgym.run/1, kind, suite, policy, gym, options
 *   replies.jsonl      a line for each reply, synced before it is judged
 *   records.jsonl      a line for each record (kgym.record/1, key batch_id as below)
 *   trajectories.jsonl a line for each conversation that has ended (kgym.trajectory/1)
 *   refused.jsonl      replies that were paid for and are not used, with the reason
 *   full.jsonl         conversations that ended since the model had no room for a turn
 *   summary.json       the tables, replaced as a whole
 *   lock               held while a process writes here
 *
 * A turn is named by problem, sample and turn: "NAME/s3/t2", batch_id of its record and "key" of
 * its line in replies.jsonl. A last line without its end is that of a writer that was killed: it is
 * cut off. A lock on the folder keeps a second process out. docs/bench.md has all members.
 * Not thread safe. Messages name the file. */
#ifndef KG_TRIAL_DRIVE_FOLDER_H
#define KG_TRIAL_DRIVE_FOLDER_H

#include <jansson.h>

#include "base/ulid.h"
#include "trial/policy/policy.h"

struct tr_folder;

/* The id of the run in this folder; a new one where none has begun. A service that judges knows the
 * run by it, so that a command which goes on finds its jobs there. It becomes the member `id` of
 * run.json. KG_E_HOST. */
enum kg_code tr_folder_id(const char *path, char out[KG_ULID_LEN], struct kg_err *err) KG_MUST_USE;

/* Opens the folder of a run, or makes it. run: what run.json must say; its members `created` and
 * `version` are added. Where the folder has a run.json, all members but those and `id` must be
 * equal: a run that goes on asks for the same; KG_E_USAGE names the member that differs and both
 * values, and so does a folder that another process holds, or that holds something else. Members of
 * `may_grow` (NULL-terminated names of numbers) may be larger than before. KG_E_IO, KG_E_INPUT,
 * KG_E_HOST. */
enum kg_code tr_folder_open(const char *path, const json_t *run, const char *const *may_grow,
                            struct tr_folder **out, struct kg_err *err) KG_MUST_USE;
void tr_folder_close(struct tr_folder *f); /* NULL is nothing */

/* The stored line of a turn's reply, and its record; NULL: there is none. Memory: a place for each,
 * the text is read from the file. Errors: KG_E_IO, KG_E_INPUT, KG_E_HOST. */
enum kg_code tr_folder_reply(struct tr_folder *f, const char *key, json_t **out,
                             struct kg_err *err) KG_MUST_USE; /* the caller's, or NULL */
bool tr_folder_has_reply(const struct tr_folder *f, const char *key);
enum kg_code tr_folder_record(struct tr_folder *f, const char *key, char **out, size_t *len,
                              struct kg_err *err) KG_MUST_USE; /* the caller's, or NULL */

/* Appends; tr_folder_sync waits for the disk. KG_E_IO: disk full too; then nothing of the line
 * stays. A reply's text is stored as valid UTF-8 (kg_json_text); a record's batch_id becomes the
 * key, and *stored, if not NULL, is what the line is: the caller's. KG_E_INPUT: the record is no
 * JSON. */
enum kg_code tr_folder_put_reply(struct tr_folder *f, const char *key, const struct tr_reply *r,
                                 struct kg_err *err) KG_MUST_USE;
enum kg_code tr_folder_put_record(struct tr_folder *f, const char *key, const char *record,
                                  size_t len, char **stored, size_t *stored_len,
                                  struct kg_err *err) KG_MUST_USE;
/* A reply that was paid for and is not used, with the reason: a line of refused.jsonl. It counts in
 * no total. */
enum kg_code tr_folder_put_refused(struct tr_folder *f, const char *key, const struct tr_reply *r,
                                   const char *why, struct kg_err *err) KG_MUST_USE;
/* A conversation's line. The last line of an id counts; where that has the same end after as many
 * turns with the same verdicts, nothing is written. */
enum kg_code tr_folder_put_trajectory(struct tr_folder *f, const json_t *line,
                                      struct kg_err *err) KG_MUST_USE;
/* A conversation, "NAME/s3", whose next turn does not fit the model's context; written once. */
enum kg_code tr_folder_put_full(struct tr_folder *f, const char *id, uint32_t turn, const char *why,
                                struct kg_err *err) KG_MUST_USE;
/* Waits until all replies are on the disk; all: the other lines as well, which can be made again.
 * One wait serves many lines. KG_E_IO. */
enum kg_code tr_folder_sync(struct tr_folder *f, bool all, struct kg_err *err) KG_MUST_USE;
/* Replaces a file of the folder as a whole. name: no path. */
enum kg_code tr_folder_write(struct tr_folder *f, const char *name, const char *text, size_t len,
                             struct kg_err *err) KG_MUST_USE;
const char *tr_folder_path(const struct tr_folder *f);
/* The name that the endpoint gave of its model with the first stored reply; "" */
const char *tr_folder_model(const struct tr_folder *f);

/* The count of tokens in a stored line; 0: none, or one that cannot be. */
int64_t tr_folder_tokens(const json_t *line, const char *member);

/* Totals of all stored replies, for a budget that goes on. */
struct tr_totals {
    int64_t replies, tokens_in, tokens_out;
    double seconds; /* of requests, side by side */
};
struct tr_totals tr_folder_totals(const struct tr_folder *f);

#endif

/* A conversation on one problem: the first message, and for each record the candidate's code and
 * the feedback on it. Shared by the files of `kgym prompt`. */
#ifndef KG_CLI_GYM_PROMPT_H
#define KG_CLI_GYM_PROMPT_H

#include "base/buf.h"
#include "base/json.h"
#include "gym/feedback/feedback.h"
#include "gym/prompt/prompt.h"

#define KG_CONVERSATION_MAX 16 /* records */

/* The flags of `kgym prompt`, NULL-terminated, for messages and completion. */
extern const char *const kg_cli_prompt_flags[];

/* Append two messages for the record in this file to the chat, a JSON array of {role, content}: the
 * candidate's code as the model's turn, and the feedback, as `kgym feedback` prints it. KG_E_INPUT:
 * not a record; KG_E_USAGE: the record is of another problem than `about`. */
enum kg_code kg_conversation_add(json_t *chat, const char *record_file,
                                 const struct kg_prompt_about *about,
                                 const struct kg_feedback_spec *spec,
                                 struct kg_err *err) KG_MUST_USE;
/* The chat for readers: messages under headings of their own; one message alone without. */
void kg_conversation_print(const json_t *chat, struct kg_buf *out);

/* One record of a file, "-" standard input; the caller deinits it. */
enum kg_code kg_cli_record_load(const char *path, struct kg_record *out,
                                struct kg_err *err) KG_MUST_USE;

#endif

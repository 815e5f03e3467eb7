/* Insides of data.h: its files share them. */
#ifndef KG_RL_DATA_DATA_PARTS_H
#define KG_RL_DATA_DATA_PARTS_H

#include "base/json.h"
#include "rl/data/data.h"

/* Appends a message to the conversation that is being read. Errors: KG_E_HOST, KG_E_LIMIT. */
enum kg_code rl_data_add(struct rl_data *d, enum lm_chat_role role, const json_t *text,
                         bool trained, struct kg_err *err) KG_MUST_USE;
/* The same of a reply whose thought stands apart: the thinking templates of Qwen3 put both together
 * as "<think>\n" thought "\n</think>\n\n" content. where: for a message if the template is another.
 */
enum kg_code rl_data_add_thought(struct rl_data *d, const json_t *thought, const json_t *content,
                                 bool trained, const char *where, struct kg_err *err) KG_MUST_USE;
/* Ends it at the last reply that trains, and keeps it. False: no reply trains. */
bool rl_data_keep(struct rl_data *d);
/* Reads one value into it. source: file and line. Errors: those of rl_data_line(). */
enum kg_code rl_data_read(struct rl_data *d, const json_t *j, const char *source,
                          struct kg_err *err) KG_MUST_USE;

#endif

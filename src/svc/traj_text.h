/* The texts of a trajectory. What trainers add to a turn (token ids, log-probabilities) must come
 * back byte for byte, which no JSON parser promises: 0.10 becomes 0.1, and a whole number beyond 63
 * bits is an error. So these members are cut out of a body before it is parsed, kept as they are,
 * and put into answers as they are. Pure. */
#ifndef KG_SVC_TRAJ_TEXT_H
#define KG_SVC_TRAJ_TEXT_H

#include "base/json.h"

struct kg_svc_slice {
    const char *at; /* into the text that was cut; NULL: no such member */
    size_t len;
};

/* text [len bytes]: a JSON object, by RFC 8259, UTF-8, at most 64 levels. out [n]: the values of
 * its members of these names. rest: text with `null` in their places, fit for kg_json_parse().
 * Errors: USAGE (no such JSON; the message repeats none of it), LIMIT (rest is too small). */
enum kg_code kg_svc_traj_cut(const char *text, size_t len, const char *const *names, size_t n,
                             struct kg_svc_slice *out, struct kg_buf *rest,
                             struct kg_err *err) KG_MUST_USE;
/* Adds a member to the JSON object that out ends with. value.at NULL: its value is `other`. */
void kg_svc_traj_splice(struct kg_buf *out, const char *name, struct kg_svc_slice value,
                        const char *other);
/* The same text in one line: a line break between two tokens becomes a blank. */
void kg_svc_traj_one_line(char *text, size_t len);

#endif

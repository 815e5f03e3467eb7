/* Private to judge/: the broker's side of the socket. */
#ifndef KG_GYM_JUDGE_CLIENT_H
#define KG_GYM_JUDGE_CLIENT_H

#include "gym/judge/msg.h"

/* One round trip. The caller has set the operation's own fields; KG_E_GYM when the judge is dead,
 * silent or talks nonsense: it is ended then. */
enum kg_code kg_judge_ask(struct kg_judge *j, struct kg_judge_req *req, const int *fds, int nfds,
                          struct kg_judge_rep *rep, struct kg_err *err) KG_MUST_USE;
void kg_judge_drop_regions(struct kg_judge *j);

#endif

/* Private to judge/: one request from the broker to the judge. */
#ifndef KG_GYM_JUDGE_CLIENT_H
#define KG_GYM_JUDGE_CLIENT_H

#include "gym/judge/msg.h"

/* One round trip. The caller has set the fields of the operation. fds [nfds] are sent with it and
 * stay the caller's. KG_E_GYM: the judge is dead, silent or answers nonsense; it is then ended.
 * Otherwise the code of the reply. */
enum kg_code kg_judge_ask(struct kg_judge *j, struct kg_judge_req *req, const int *fds, int nfds,
                          struct kg_judge_rep *rep, struct kg_err *err) KG_MUST_USE;
/* Frees the four regions of this side. */
void kg_judge_drop_regions(struct kg_judge *j);

#endif

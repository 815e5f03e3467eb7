/* Private to api*.c: a request that is answered once several jobs have ended. In the loop of the
 * api process. */
#ifndef KG_SVC_API_GROUP_H
#define KG_SVC_API_GROUP_H

#include "svc/api_private.h"

/* x NULL: nobody whose going would end the wait. id: [n], copied; n 0: seconds alone end it.
 * answer: answers x if all have ended, or in any case where `now` is set, and says whether it did.
 * It is asked at once, whenever one of the jobs ends, and after seconds with `now`. end: releases
 * ctx, once x is answered or its client is gone. */
void kg_svc_group_wait(struct kg_svc_api *a, struct kg_svc_exchange *x, char (*id)[KG_ULID_LEN],
                       size_t n, double seconds, bool (*answer)(void *ctx, bool now),
                       void (*end)(void *ctx), void *ctx);

#endif

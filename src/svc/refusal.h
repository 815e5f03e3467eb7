/* Why a request is refused, before it is known how that is answered: over HTTP, in a frame, or as a
 * line of a batch. The message repeats nothing of the request but its own words. */
#ifndef KG_SVC_REFUSAL_H
#define KG_SVC_REFUSAL_H

#include <stdbool.h>

#include "base/err.h"

struct kg_svc_refusal {
    int status;       /* of HTTP */
    const char *code; /* static */
    char field[48];   /* the member, such as "labels.3"; "": none */
    char message[480];
};

/* Fills *no. Always false, so that a reader can return it. */
bool kg_svc_refuse(struct kg_svc_refusal *no, int status, const char *code, const char *field,
                   const char *fmt, ...) KG_PRINTF(5, 6);

#endif

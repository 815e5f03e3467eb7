/* One request to a service, for commands of a person: it waits for the answer. */
#ifndef KG_SVC_FETCH_H
#define KG_SVC_FETCH_H

#include "base/json.h"

struct kg_svc_target {
    char host[256];
    int port;
    const char *token; /* NULL: none */
};

/* "http://HOST[:PORT]", port 10907 where it is not said. Errors: USAGE. */
enum kg_code kg_svc_target_parse(const char *url, struct kg_svc_target *out,
                                 struct kg_err *err) KG_MUST_USE;
/* GET path (with its query). *status is that of the answer; *answer NULL: it was no JSON. The
 * caller frees it. Errors: IO (nobody answers within 30 s), HOST. */
enum kg_code kg_svc_fetch(const struct kg_svc_target *t, const char *path, int *status,
                          json_t **answer, struct kg_err *err) KG_MUST_USE;

#endif

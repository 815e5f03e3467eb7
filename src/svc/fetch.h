/* One request to a service, for commands of a person: it waits for the answer. */
#ifndef KG_SVC_FETCH_H
#define KG_SVC_FETCH_H

#include "base/json.h"

struct kg_svc_target {
    char host[256];
    int port;
    const char *token; /* NULL: none */
};

/* "http://HOST[:PORT]", perhaps with a slash; an IPv6 address stands in brackets there and without
 * them in out. Port 10907 where it is not said. The token is left as it was. Errors: USAGE. */
enum kg_code kg_svc_target_parse(const char *url, struct kg_svc_target *out,
                                 struct kg_err *err) KG_MUST_USE;
/* method: GET, POST, DELETE. path: with its query. body: JSON; NULL: none. *status is that of the
 * answer; *answer NULL: it was no JSON. The caller frees it. Errors: IO (nobody answers within
 * 30 s), HOST. */
enum kg_code kg_svc_fetch(const struct kg_svc_target *t, const char *method, const char *path,
                          const char *body, int *status, json_t **answer,
                          struct kg_err *err) KG_MUST_USE;

#endif

/* A connection of a worker, or of a pool, to an api process: JSON bodies over HTTP/1.1, answers by
 * callback in the loop of event_base. Requests of one client are sent one after the other. */
#ifndef KG_SVC_CLIENT_H
#define KG_SVC_CLIENT_H

#include "base/json.h"

struct event_base;
struct kg_svc_client;

/* Errors: HOST (memory). token NULL: none. */
enum kg_code kg_svc_client_open(struct event_base *base, const char *host, int port,
                                const char *token, int timeout_s, struct kg_svc_client **out,
                                struct kg_err *err) KG_MUST_USE;
/* Callbacks of requests under way are not called any more. NULL is nothing. */
void kg_svc_client_close(struct kg_svc_client *c);
/* How many requests have no answer yet. */
int kg_svc_client_open_calls(const struct kg_svc_client *c);

/* status 0: no answer came. answer: borrowed; NULL: no JSON. */
typedef void kg_svc_on_answer(void *ctx, int status, const json_t *answer);
/* method: GET, POST, DELETE. path: with its query. body [n bytes] is copied; NULL: none. */
void kg_svc_client_ask(struct kg_svc_client *c, const char *method, const char *path,
                       const void *body, size_t n, kg_svc_on_answer *done, void *ctx);
/* Takes body. The callback always comes, and never before this returns. */
void kg_svc_client_post(struct kg_svc_client *c, const char *path, json_t *body,
                        kg_svc_on_answer *done, void *ctx);

#endif

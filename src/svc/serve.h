/* The parent of a service: it listens, starts the api process and a local worker, starts anew what
 * dies, and parses no request. Both are the program itself, executed anew; they end with their
 * parent, however it ends. The socket is the parent's, so clients that come while an api process is
 * replaced wait in the backlog. */
#ifndef KG_SVC_SERVE_H
#define KG_SVC_SERVE_H

#include "svc/tokens.h"

enum {
    KG_SVC_SERVE_FD = 3, /* the socket, in the api process */
    KG_SVC_TOKEN_FD = 4, /* a file with the local worker's token, in both */
    KG_SVC_READY_FD = 5  /* a pipe, for one byte once it serves, in the api process */
};

struct kg_svc_serve_options {
    const char *host;
    int port;         /* 0: any free one */
    char *const *api; /* argv of the program, NULL-terminated */
    /* argv of the local worker; *port is where it asks. NULL: no local worker. */
    char *const *(*worker)(void *ctx, int port);
    void (*ready)(void *ctx, int port); /* an api process serves */
    void *ctx;
};

/* In a child of kg_svc_serve(): the token, once. It is in no argument and in no environment, which
 * other processes of the user can read. Errors: HOST. */
enum kg_code kg_svc_serve_token(char out[KG_SVC_TOKEN_LEN], struct kg_err *err) KG_MUST_USE;

/* Until SIGTERM or SIGINT. Errors: USAGE, IO (of listening), GYM (a process ends again and again),
 * HOST. */
enum kg_code kg_svc_serve(const struct kg_svc_serve_options *o, struct kg_err *err) KG_MUST_USE;

#endif

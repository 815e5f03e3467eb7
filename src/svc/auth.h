/* Whom an api process serves: the folder's tokens (tokens.h), read anew when their file has
 * changed, and the token that the parent gives to its own worker. The state is a copy of the file,
 * so any number of api processes of a folder agree.
 *
 * Without a file of tokens everybody is served, unless they are needed, as beyond loopback. A file
 * that says nothing, because it is empty or damaged, lets nobody in. One thread. */
#ifndef KG_SVC_AUTH_H
#define KG_SVC_AUTH_H

#include "base/err.h"

struct kg_svc_auth;

/* folder must outlive it. worker: the local worker's token, for scope worker alone; NULL: none.
 * A damaged file is logged, here and whenever it changes. */
struct kg_svc_auth *kg_svc_auth_open(const char *folder, const char *worker, bool needed);
void kg_svc_auth_close(struct kg_svc_auth *a); /* NULL is nothing */
/* Scopes of the token [n bytes] of a request; token NULL: it has none. 0: it is refused. The hash
 * is looked up, so the time that it takes says nothing of a token. */
unsigned kg_svc_auth_scopes(struct kg_svc_auth *a, const char *token, size_t n);

#endif

/* Tokens: who may use a service, and for what. A token is "kgym_" and 256 random bits in hex. The
 * service's folder has a file `tokens` (mode 0600) with each one's name, scopes and SHA-256; the
 * token itself is shown once and kept nowhere. A hash without salt or rounds is enough, since 256
 * random bits can't be guessed.
 *
 * The file is replaced as a whole: readers see the old one or the new. Those who change it take
 * turns by a lock on `tokens.lock`. A service to which the file says nothing, because it is damaged
 * or others may write it, refuses everybody. */
#ifndef KG_SVC_TOKENS_H
#define KG_SVC_TOKENS_H

#include "base/err.h"
#include "base/hash.h"

#define KG_SVC_TOKEN_LEN 70 /* "kgym_", 64 hex digits and NUL */
enum { KG_SVC_TOKEN_NAME = 64, KG_SVC_TOKENS_MAX = 1000 };

struct kg_svc_token {
    char name[KG_SVC_TOKEN_NAME + 1];
    unsigned scopes; /* of enum kg_svc_scope */
    char hash[KG_SHA256_HEX];
    int64_t made_s; /* wall clock */
};

/* A new random token. Errors: HOST. */
enum kg_code kg_svc_token_new(char out[KG_SVC_TOKEN_LEN], struct kg_err *err) KG_MUST_USE;
/* For a client: the token that is the first line of a file. Errors: NOT_FOUND, IO, INPUT (it is
 * none). */
enum kg_code kg_svc_token_read(const char *path, char out[KG_SVC_TOKEN_LEN],
                               struct kg_err *err) KG_MUST_USE;
/* That of path; path NULL: $KGYM_TOKEN, else that of the file $KGYM_TOKEN_FILE, else "". Errors:
 * those of read, USAGE (KGYM_TOKEN is none). */
enum kg_code kg_svc_token_find(const char *path, char out[KG_SVC_TOKEN_LEN],
                               struct kg_err *err) KG_MUST_USE;

/* "submit,read" from scopes and back. Errors: USAGE (no such scope). */
void kg_svc_scopes_text(unsigned scopes, char out[64]);
enum kg_code kg_svc_scopes_parse(const char *text, unsigned *out, struct kg_err *err) KG_MUST_USE;

/* Those of a folder: [*n] in *out, with room for one more, which the caller frees. *there: is there
 * a file at all? Errors: IO, INPUT. */
enum kg_code kg_svc_tokens_load(const char *folder, struct kg_svc_token **out, size_t *n,
                                bool *there, struct kg_err *err) KG_MUST_USE;
/* Adds one and returns the token. Errors: USAGE (the name is taken, or is no plain word), LIMIT,
 * those of load. */
enum kg_code kg_svc_tokens_add(const char *folder, const char *name, unsigned scopes,
                               char token[KG_SVC_TOKEN_LEN], struct kg_err *err) KG_MUST_USE;
/* The file stays when its last token goes: then nobody may use the service. Errors: NOT_FOUND. */
enum kg_code kg_svc_tokens_revoke(const char *folder, const char *name,
                                  struct kg_err *err) KG_MUST_USE;

#endif

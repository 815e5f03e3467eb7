/* What `kgym show` and `kgym top` share: whom they ask, and the words for it. */
#ifndef KG_CLI_SVC_WATCH_H
#define KG_CLI_SVC_WATCH_H

#include "svc/fetch.h"
#include "svc/tokens.h"

struct kg_watch {
    const char *url, *token_file;
    char token[KG_SVC_TOKEN_LEN];
    struct kg_svc_target target;
};

/* argv[at] is --url or --token-file: *used words are taken; 0: it is another word. Errors: USAGE.
 */
enum kg_code kg_watch_word(struct kg_watch *w, int argc, char **argv, int at, int *used,
                           struct kg_err *err) KG_MUST_USE;
/* Fills target from what was said, else from the environment (KGYM_URL, KGYM_TOKEN and others of
 * svc/tokens.h). Errors: USAGE, those of reading the token's file. */
enum kg_code kg_watch_open(struct kg_watch *w, struct kg_err *err) KG_MUST_USE;
/* The answer of GET path, which the caller frees. Errors: NOT_FOUND (404), IO and USAGE with the
 * service's own message. */
enum kg_code kg_watch_get(const struct kg_watch *w, const char *path, json_t **out,
                          struct kg_err *err) KG_MUST_USE;
/* A member, "" if it is no string. */
const char *kg_watch_text(const json_t *j, const char *name);
double kg_watch_number(const json_t *j, const char *name); /* 0: there is none */

#endif

/* The check of tokens in an api process. */
#include "svc/auth.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "svc/http.h"
#include "svc/tokens.h"

struct kg_svc_auth {
    char path[4200];
    const char *folder;
    char worker[KG_SHA256_HEX]; /* hash; "": none */
    bool needed, there, read, seen_there;
    struct stat seen; /* of the file that `token` was read from */
    struct kg_svc_token *token;
    size_t n;
};

static bool same(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_size == b->st_size && a->st_mode == b->st_mode &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* A file is replaced as a whole, so another one has another number, or time. */
static void refresh(struct kg_svc_auth *a)
{
    struct kg_err err = KG_ERR_INIT;
    struct stat now = {0};
    bool there = stat(a->path, &now) == 0 || errno != ENOENT;
    bool known = there == a->seen_there && same(&now, &a->seen);
    if (a->read && known) {
        return;
    }
    free(a->token);
    enum kg_code code = kg_svc_tokens_load(a->folder, &a->token, &a->n, &a->there, &err);
    if (code != KG_OK && !known) {
        kg_log(KG_LOG_ERROR, "nobody is let in: %s", err.message);
    }
    a->seen = now;
    a->seen_there = there;
    a->read = code == KG_OK || code == KG_E_INPUT; /* no descriptor, no memory: it is read again */
}

struct kg_svc_auth *kg_svc_auth_open(const char *folder, const char *worker, bool needed)
{
    struct kg_svc_auth *a = calloc(1, sizeof *a);
    KG_ASSERT(a != NULL);
    a->folder = folder;
    a->needed = needed;
    snprintf(a->path, sizeof a->path, "%.4000s/tokens", folder);
    if (worker != NULL) {
        kg_sha256_hex(worker, strlen(worker), a->worker);
    }
    refresh(a);
    return a;
}

void kg_svc_auth_close(struct kg_svc_auth *a)
{
    if (a != NULL) {
        free(a->token);
        free(a);
    }
}

unsigned kg_svc_auth_scopes(struct kg_svc_auth *a, const char *token, size_t n)
{
    char hash[KG_SHA256_HEX];
    refresh(a);
    if (token != NULL) {
        kg_sha256_hex(token, n, hash);
        if (strcmp(hash, a->worker) == 0) {
            return KG_SVC_WORKER;
        }
        for (size_t i = 0; i < a->n; i++) {
            if (strcmp(hash, a->token[i].hash) == 0) {
                return a->token[i].scopes;
            }
        }
    }
    return a->there || a->needed ? 0 : KG_SVC_ALL;
}

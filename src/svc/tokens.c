/* The file of tokens:
 *   {"schema": "kgym.tokens/1", "tokens": [{"name", "scopes": ["submit"], "sha256", "made_s"}]} */
#include "svc/tokens.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "svc/http.h"

#define PREFIX "kgym_"
#define SCHEMA "kgym.tokens/1"

enum { FILE_MAX = 1 << 20 };

static const struct {
    const char *name;
    unsigned bit;
} scope[] = {{"submit", KG_SVC_SUBMIT},
             {"read", KG_SVC_READ},
             {"worker", KG_SVC_WORKER},
             {"admin", KG_SVC_ADMIN}};

enum { SCOPES = sizeof scope / sizeof *scope };

/* --- one token --- */

enum kg_code kg_svc_token_new(char out[KG_SVC_TOKEN_LEN], struct kg_err *err)
{
    unsigned char bits[32];
    if (getrandom(bits, sizeof bits, 0) != (ssize_t)sizeof bits) {
        return kg_fail(err, KG_E_HOST, "no random bits: %s", strerror(errno));
    }
    char *at = stpcpy(out, PREFIX);
    for (size_t i = 0; i < sizeof bits; i++) {
        at += snprintf(at, 3, "%02x", bits[i]);
    }
    return KG_OK;
}

/* The first word of text. False: it is no token. */
static bool take_token(const char *text, char out[KG_SVC_TOKEN_LEN])
{
    size_t n = strcspn(text, " \t\r\n");
    if (n != KG_SVC_TOKEN_LEN - 1 || strncmp(text, PREFIX, 5) != 0 ||
        strspn(text + 5, "0123456789abcdef") != n - 5) {
        return false;
    }
    memcpy(out, text, n);
    out[n] = '\0';
    return true;
}

enum kg_code kg_svc_token_read(const char *path, char out[KG_SVC_TOKEN_LEN], struct kg_err *err)
{
    struct kg_buf text;
    kg_buf_init(&text, FILE_MAX);
    enum kg_code code = kg_file_read(path, &text, err);
    if (code == KG_OK && (text.len == 0 || !take_token(text.data, out))) {
        code = kg_fail(err, KG_E_INPUT, "%s: its first line is no token of `kgym token add`", path);
    }
    kg_buf_deinit(&text);
    return code;
}

enum kg_code kg_svc_token_find(const char *path, char out[KG_SVC_TOKEN_LEN], struct kg_err *err)
{
    const char *text = getenv("KGYM_TOKEN"), *file = getenv("KGYM_TOKEN_FILE");
    out[0] = '\0';
    if (path != NULL) {
        return kg_svc_token_read(path, out, err);
    }
    if (text != NULL && text[0] != '\0') {
        return take_token(text, out)
                   ? KG_OK
                   : kg_fail(err, KG_E_USAGE, "KGYM_TOKEN: this is no token of `kgym token add`");
    }
    return file != NULL && file[0] != '\0' ? kg_svc_token_read(file, out, err) : KG_OK;
}

void kg_svc_scopes_text(unsigned scopes, char out[64])
{
    char *at = out;
    *at = '\0';
    for (size_t i = 0; i < SCOPES; i++) {
        if (scopes & scope[i].bit) {
            at = stpcpy(stpcpy(at, at > out ? "," : ""), scope[i].name);
        }
    }
}

static unsigned bit_of(const char *name, size_t n)
{
    for (size_t i = 0; i < SCOPES; i++) {
        if (strlen(scope[i].name) == n && memcmp(scope[i].name, name, n) == 0) {
            return scope[i].bit;
        }
    }
    return 0;
}

enum kg_code kg_svc_scopes_parse(const char *text, unsigned *out, struct kg_err *err)
{
    *out = 0;
    for (const char *at = text;; at++) {
        size_t n = strcspn(at, ",");
        unsigned bit = bit_of(at, n);
        if (bit == 0) {
            return kg_fail(err, KG_E_USAGE, "%.*s: no scope; they are submit, read, worker, admin",
                           n < 40 ? (int)n : 40, at);
        }
        *out |= bit;
        at += n;
        if (*at == '\0') {
            return KG_OK;
        }
    }
}

/* --- the file --- */

static bool is_name(const char *name)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    size_t n = strlen(name);
    return n > 0 && n <= KG_SVC_TOKEN_NAME && strspn(name, plain) == n;
}

static bool read_one(const json_t *j, struct kg_svc_token *out)
{
    const char *name = json_string_value(json_object_get(j, "name"));
    const char *hash = json_string_value(json_object_get(j, "sha256"));
    const json_t *list = json_object_get(j, "scopes"), *word;
    size_t i;
    *out = (struct kg_svc_token){.made_s = json_integer_value(json_object_get(j, "made_s"))};
    json_array_foreach(list, i, word)
    {
        unsigned bit =
            json_is_string(word) ? bit_of(json_string_value(word), json_string_length(word)) : 0;
        if (bit == 0) {
            return false;
        }
        out->scopes |= bit;
    }
    if (name == NULL || !is_name(name) || hash == NULL || strlen(hash) != KG_SHA256_HEX - 1 ||
        strspn(hash, "0123456789abcdef") != KG_SHA256_HEX - 1 || out->scopes == 0) {
        return false;
    }
    snprintf(out->name, sizeof out->name, "%s", name);
    snprintf(out->hash, sizeof out->hash, "%s", hash);
    return true;
}

static enum kg_code read_all(const char *path, const json_t *j, struct kg_svc_token **out,
                             size_t *n, struct kg_err *err)
{
    const char *schema = json_string_value(json_object_get(j, "schema"));
    const json_t *list = json_object_get(j, "tokens"), *v;
    size_t i;
    if (schema == NULL || strcmp(schema, SCHEMA) != 0 || !json_is_array(list) ||
        json_array_size(list) > KG_SVC_TOKENS_MAX) {
        return kg_fail(err, KG_E_INPUT, "%s: no file of tokens (" SCHEMA ")", path);
    }
    struct kg_svc_token *all = calloc(json_array_size(list) + 1, sizeof *all);
    KG_ASSERT(all != NULL);
    json_array_foreach(list, i, v)
    {
        if (!read_one(v, &all[i])) {
            free(all);
            return kg_fail(err, KG_E_INPUT, "%s: token %zu is damaged", path, i + 1);
        }
    }
    *out = all;
    *n = json_array_size(list);
    return KG_OK;
}

enum kg_code kg_svc_tokens_load(const char *folder, struct kg_svc_token **out, size_t *n,
                                bool *there, struct kg_err *err)
{
    char path[4200];
    struct stat st;
    struct kg_buf text;
    json_t *j = NULL;
    snprintf(path, sizeof path, "%.4000s/tokens", folder);
    *out = NULL;
    *n = 0;
    *there = lstat(path, &st) == 0 || errno != ENOENT;
    if (!*there) {
        *out = calloc(1, sizeof **out);
        KG_ASSERT(*out != NULL);
        return KG_OK;
    }
    if (stat(path, &st) == 0 && (st.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return kg_fail(err, KG_E_IO, "%s: other users may write it: run `chmod 600` on it", path);
    }
    kg_buf_init(&text, FILE_MAX);
    enum kg_code code = kg_file_read(path, &text, err);
    code = code != KG_OK ? code : kg_json_parse(text.data, text.len, path, &j, err);
    code = code != KG_OK ? code : read_all(path, j, out, n, err);
    json_decref(j);
    kg_buf_deinit(&text);
    return code;
}

static enum kg_code save(const char *folder, const struct kg_svc_token *all, size_t n,
                         struct kg_err *err)
{
    char path[4200];
    json_t *list = json_array(), *file = json_pack("{s:s, s:o}", "schema", SCHEMA, "tokens", list);
    struct kg_buf text;
    for (size_t i = 0; i < n; i++) {
        json_t *scopes = json_array();
        for (size_t s = 0; s < SCOPES; s++) {
            if (all[i].scopes & scope[s].bit) {
                json_array_append_new(scopes, json_string(scope[s].name));
            }
        }
        json_array_append_new(list, json_pack("{s:s, s:o, s:s, s:I}", "name", all[i].name, "scopes",
                                              scopes, "sha256", all[i].hash, "made_s",
                                              (json_int_t)all[i].made_s));
    }
    kg_buf_init(&text, FILE_MAX);
    kg_json_dump_pretty(file, &text);
    kg_buf_addc(&text, '\n');
    snprintf(path, sizeof path, "%.4000s/tokens", folder);
    mode_t before = umask(077);
    enum kg_code code = kg_file_write_atomic(path, text.data, text.len, err);
    umask(before);
    kg_buf_deinit(&text);
    json_decref(file);
    return code;
}

/* The folder's lock, for those who change the file. */
static enum kg_code take_turn(const char *folder, int *fd, struct kg_err *err)
{
    char path[4200];
    if (kg_file_mkdirs(folder, 0700, err) != KG_OK) {
        return err->code;
    }
    snprintf(path, sizeof path, "%.4000s/tokens.lock", folder);
    *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (*fd >= 0 && flock(*fd, LOCK_EX) == 0) {
        return KG_OK;
    }
    int why = errno;
    if (*fd >= 0) {
        close(*fd);
    }
    return kg_fail(err, KG_E_IO, "%s: cannot lock it: %s", path, strerror(why));
}

static size_t find(const struct kg_svc_token *all, size_t n, const char *name)
{
    size_t i = 0;
    while (i < n && strcmp(all[i].name, name) != 0) {
        i++;
    }
    return i;
}

static enum kg_code append(const char *folder, struct kg_svc_token *all, size_t n,
                           const struct kg_svc_token *one, struct kg_err *err)
{
    if (find(all, n, one->name) < n) {
        return kg_fail(err, KG_E_USAGE, "there is a token named %s: revoke it first", one->name);
    }
    if (n == KG_SVC_TOKENS_MAX) {
        return kg_fail(err, KG_E_LIMIT, "there are %d tokens: revoke some", KG_SVC_TOKENS_MAX);
    }
    KG_ASSERT(all != NULL);
    all[n] = *one; /* load leaves room for it */
    return save(folder, all, n + 1, err);
}

enum kg_code kg_svc_tokens_add(const char *folder, const char *name, unsigned scopes,
                               char token[KG_SVC_TOKEN_LEN], struct kg_err *err)
{
    struct kg_svc_token *all = NULL, one = {.scopes = scopes, .made_s = time(NULL)};
    size_t n = 0;
    bool there;
    int turn = -1;
    if (!is_name(name)) {
        return kg_fail(err, KG_E_USAGE,
                       "a name has 1 to %d letters, digits, dots, dashes and underscores",
                       KG_SVC_TOKEN_NAME);
    }
    snprintf(one.name, sizeof one.name, "%s", name);
    if (kg_svc_token_new(token, err) != KG_OK || take_turn(folder, &turn, err) != KG_OK) {
        return err->code;
    }
    kg_sha256_hex(token, strlen(token), one.hash);
    enum kg_code code = kg_svc_tokens_load(folder, &all, &n, &there, err);
    code = code != KG_OK ? code : append(folder, all, n, &one, err);
    free(all);
    close(turn);
    return code;
}

enum kg_code kg_svc_tokens_revoke(const char *folder, const char *name, struct kg_err *err)
{
    struct kg_svc_token *all = NULL;
    size_t n = 0;
    bool there;
    int turn = -1;
    if (take_turn(folder, &turn, err) != KG_OK) {
        return err->code;
    }
    enum kg_code code = kg_svc_tokens_load(folder, &all, &n, &there, err);
    size_t i = code == KG_OK ? find(all, n, name) : 0;
    if (code == KG_OK && i == n) {
        code = kg_fail(err, KG_E_NOT_FOUND, "no token is named %s", name);
    } else if (code == KG_OK) {
        all[i] = all[n - 1];
        code = save(folder, all, n - 1, err);
    }
    free(all);
    close(turn);
    return code;
}

/* The endpoint's address and its key. Neither a user part nor a key goes into a message. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "trial/policy/endpoint_parts.h"

#define MAX_URL 2000
#define MAX_KEY 4096

static const char chat[] = "/chat/completions";

/* The address without what may not be in it, or an error that says so. */
static enum kg_code check(const char *url, size_t *host, struct kg_err *err)
{
    size_t n = strlen(url);
    *host = strncasecmp(url, "http://", 7) == 0 ? 7 : strncasecmp(url, "https://", 8) == 0 ? 8 : 0;
    if (*host == 0) {
        return kg_fail(err, KG_E_USAGE,
                       "endpoint: the URL must begin with http:// or https://, such as "
                       "endpoint:http://localhost:8000");
    }
    size_t authority = strcspn(url + *host, "/?#");
    if (memchr(url + *host, '@', authority) != NULL || strpbrk(url, "?#") != NULL) {
        return kg_fail(err, KG_E_USAGE,
                       "endpoint: the URL has a user part, a query or a fragment; they may hold "
                       "secrets: give a key by --key-file or $OPENAI_API_KEY");
    }
    for (size_t i = 0; i < n; i++) {
        if (url[i] <= ' ' || url[i] > '~' || url[i] == '\\') {
            return kg_fail(err, KG_E_USAGE, "endpoint: byte %zu of the URL may not be in one",
                           i + 1);
        }
    }
    return authority > 0 && n <= MAX_URL ? KG_OK
                                         : kg_fail(err, KG_E_USAGE, "endpoint: the URL %s",
                                                   n > MAX_URL ? "is too long" : "names no host");
}

static char *join(const char *a, size_t n, const char *b)
{
    char *s = NULL;
    return asprintf(&s, "%.*s%s", (int)n, a, b) < 0 ? NULL : s;
}

enum kg_code tr_endpoint_url(const char *text, struct tr_endpoint *e, struct kg_err *err)
{
    size_t host, n = strlen(text), tail = strlen(chat);
    if (check(text, &host, err) != KG_OK) {
        return err->code;
    }
    while (n > host && text[n - 1] == '/') {
        n--;
    }
    if (n >= host + tail && strncmp(text + n - tail, chat, tail) == 0) {
        n -= tail;
    }
    e->base = join(text, n, memchr(text + host, '/', n - host) == NULL ? "/v1" : "");
    e->url = e->base != NULL ? join(e->base, strlen(e->base), chat) : NULL;
    return e->url != NULL ? KG_OK : kg_fail_memory(err, KG_E_HOST, "endpoint: no memory");
}

/* The first word; a header holds printable ASCII only. */
static enum kg_code take_word(const char *text, const char *from, char **out, struct kg_err *err)
{
    static const char space[] = " \t\r\n\v\f";
    text += strspn(text, space);
    size_t n = strcspn(text, space);
    for (size_t i = 0; i < n; i++) {
        if (text[i] <= ' ' || text[i] > '~') {
            return kg_fail(err, KG_E_USAGE, "%s: the key holds a byte that is not printable ASCII",
                           from);
        }
    }
    *out = strndup(text, n);
    return *out != NULL ? KG_OK : kg_fail_memory(err, KG_E_HOST, "endpoint: no memory");
}

enum kg_code tr_endpoint_key(const char *file, struct tr_endpoint *e, struct kg_err *err)
{
    struct kg_buf text;
    const char *given = getenv("OPENAI_API_KEY");
    if (file == NULL) {
        return take_word(given != NULL ? given : "", "$OPENAI_API_KEY", &e->key, err);
    }
    kg_buf_init(&text, MAX_KEY);
    enum kg_code code = kg_file_read(file, &text, err);
    code = code != KG_OK ? code : take_word(text.data, file, &e->key, err);
    if (code == KG_OK && e->key[0] == '\0') {
        code = kg_fail(err, KG_E_USAGE, "%s: there is no key in it", file);
    }
    explicit_bzero(text.data, text.len);
    kg_buf_deinit(&text);
    return code;
}

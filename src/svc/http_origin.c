/* Whose request it is. A page in a browser of this host can send here as well: by a form or a
 * script, or by a name of its own that it lets lead to a loopback address. */
#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "svc/http_private.h"

enum { HOST_MAX = 64 };

/* NAME or NAME:PORT; an IPv6 address is in brackets. */
static bool is_own_host(const char *host)
{
    char name[HOST_MAX];
    unsigned char address[sizeof(struct in6_addr)];
    bool six = *host == '[';
    size_t n = strcspn(host + six, six ? "]" : ":");
    const char *after = host + six + n;
    if (n == 0 || n >= sizeof name || (six && *after++ != ']')) {
        return false;
    }
    memcpy(name, host + six, n);
    name[n] = '\0';
    if (*after == ':') {
        after += 1 + strspn(after + 1, "0123456789");
    }
    if (*after != '\0') {
        return false;
    }
    return six ? inet_pton(AF_INET6, name, address) == 1
               : inet_pton(AF_INET, name, address) == 1 || strcasecmp(name, "localhost") == 0;
}

static const char *header(struct evhttp_request *req, const char *name)
{
    return evhttp_find_header(evhttp_request_get_input_headers(req), name);
}

bool kg_svc_is_foreign(struct evhttp_request *req)
{
    const char *host = header(req, "Host"), *origin = header(req, "Origin");
    if (host != NULL && !is_own_host(host)) {
        return true;
    }
    return origin != NULL && (host == NULL || strncasecmp(origin, "http://", 7) != 0 ||
                              strcasecmp(origin + 7, host) != 0);
}

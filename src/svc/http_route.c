/* Paths and patterns of routes. */
#include <stdlib.h>
#include <string.h>

#include "svc/http_private.h"

static int hex(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* One segment, up to a slash or the end; false: a broken escape, or a NUL. */
static bool decode(const char **raw, char **out)
{
    const char *p = *raw;
    char *o = *out;
    while (*p != '\0' && *p != '/') {
        char c = *p++;
        if (c == '%') {
            int hi = hex(p[0]), lo = hi >= 0 ? hex(p[1]) : -1;
            if (lo < 0 || (hi == 0 && lo == 0)) {
                return false;
            }
            c = (char)(hi * 16 + lo);
            p += 2;
        }
        *o++ = c;
    }
    *o++ = '\0';
    *raw = p;
    *out = o;
    return true;
}

bool kg_svc_path_split(const char *raw, char *room, const char *segment[KG_SVC_SEGMENTS], size_t *n)
{
    *n = 0;
    if (strlen(raw) >= KG_SVC_PATH_MAX - 1) {
        return false;
    }
    while (*raw != '\0') {
        if (*raw == '/') {
            raw++;
            continue;
        }
        if (*n == KG_SVC_SEGMENTS) {
            return false;
        }
        segment[(*n)++] = room;
        if (!decode(&raw, &room)) {
            return false;
        }
    }
    return true;
}

/* All segments from `at` on, with slashes between them. */
static const char *rest(const char *const *segment, size_t n, size_t at, char *room)
{
    char *o = room;
    for (; at < n; at++) {
        size_t len = strlen(segment[at]);
        memcpy(o, segment[at], len);
        o += len;
        *o++ = at + 1 < n ? '/' : '\0';
    }
    return room;
}

bool kg_svc_path_fits(const char *pattern, const char *const *segment, size_t n,
                      const char *arg[KG_SVC_ARGS], char *room)
{
    size_t at = 0, nargs = 0;
    memset(arg, 0, KG_SVC_ARGS * sizeof *arg);
    while (*pattern != '\0') {
        pattern += strspn(pattern, "/");
        size_t len = strcspn(pattern, "/");
        if (len == 0) {
            break;
        }
        if (at == n) {
            return false;
        }
        if (len == 2 && memcmp(pattern, "**", 2) == 0) {
            arg[nargs] = rest(segment, n, at, room);
            return true;
        }
        if (len == 1 && *pattern == '*') {
            KG_ASSERT(nargs + 1 < KG_SVC_ARGS);
            arg[nargs++] = segment[at];
        } else if (strlen(segment[at]) != len || memcmp(pattern, segment[at], len) != 0) {
            return false;
        }
        pattern += len;
        at++;
    }
    return at == n;
}

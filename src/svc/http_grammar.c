/* The grammar of requests, byte by byte. */
#include "svc/http_grammar.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum state {
    METHOD,
    TARGET,
    VERSION,
    VERSION_LF,
    LINE,
    NAME,
    VALUE,
    VALUE_LF,
    END_LF,
    BODY,
    SIZE,
    SIZE_LF,
    CHUNK,
    CHUNK_CR,
    CHUNK_LF,
    LAST_CR,
    LAST_LF
};
enum header { OTHER, LENGTH, CODING, HOST, EXPECT };

enum { DIGITS_MOST = 15, SIZE_MOST = 8 };

static bool refuse(struct kg_svc_grammar *g, int status, const char *reason, const char *code,
                   const char *message)
{
    g->refusal = (struct kg_svc_grammar_refusal){status, reason, code, message};
    return false;
}

static bool bad(struct kg_svc_grammar *g, const char *message)
{
    return refuse(g, 400, "Bad Request", "bad_request", message);
}

static bool go(struct kg_svc_grammar *g, enum state next)
{
    g->state = next;
    g->nword = 0;
    return true;
}

/* Only the beginning of a long word is kept: none that matters is as long. */
static void keep(struct kg_svc_grammar *g, char c)
{
    if (g->nword < KG_SVC_WORD) {
        g->word[g->nword] = c;
    }
    g->nword++;
}

static bool is_word(const struct kg_svc_grammar *g, const char *text)
{
    return strlen(text) == g->nword && strncasecmp(g->word, text, g->nword) == 0;
}

static bool is_token(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

static bool is_text(char c)
{
    return c == '\t' || ((unsigned char)c >= ' ' && c != 0x7f);
}

/* --- the first line --- */

static bool method(struct kg_svc_grammar *g, char c)
{
    static const char *const known[] = {"GET", "POST", "DELETE", "PUT", "HEAD"};
    if (c >= 'A' && c <= 'Z') {
        keep(g, c);
        return true;
    }
    if (c != ' ' || g->nword == 0) {
        return bad(g, "the request begins with no method");
    }
    g->bodiless = is_word(g, "HEAD");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (is_word(g, known[i])) {
            return go(g, TARGET);
        }
    }
    return refuse(g, 405, "Method Not Allowed", "bad_method", "the service has no such method");
}

static const char not_ours[] = "the first line must be METHOD PATH HTTP/1.1";

static bool target(struct kg_svc_grammar *g, char c)
{
    if (c == ' ' && g->nword > 0) {
        return go(g, VERSION);
    }
    keep(g, c);
    return ((unsigned char)c > ' ' && c != 0x7f) || bad(g, not_ours);
}

static bool version(struct kg_svc_grammar *g, char c)
{
    if (c != '\r') {
        keep(g, c);
        return ((unsigned char)c > ' ' && g->nword <= 8) || bad(g, not_ours);
    }
    g->old = g->nword == 8 && memcmp(g->word, "HTTP/1.0", 8) == 0;
    if (!g->old && (g->nword != 8 || memcmp(g->word, "HTTP/1.1", 8) != 0)) {
        return bad(g, not_ours);
    }
    return go(g, VERSION_LF);
}

/* --- headers --- */

static bool name(struct kg_svc_grammar *g, char c)
{
    static const char *const known[] = {[LENGTH] = "Content-Length",
                                        [CODING] = "Transfer-Encoding",
                                        [HOST] = "Host",
                                        [EXPECT] = "Expect"};
    if (c != ':') {
        keep(g, c);
        return is_token(c) || bad(g, "a header has no name, or a blank in it");
    }
    g->header = OTHER;
    for (int i = LENGTH; i <= EXPECT; i++) {
        g->header = is_word(g, known[i]) ? i : g->header;
    }
    return go(g, VALUE);
}

static bool value(struct kg_svc_grammar *g, char c)
{
    if (c == '\r') {
        g->state = VALUE_LF;
        return true;
    }
    if (g->header != OTHER && !(c == ' ' && g->nword == 0)) {
        keep(g, c);
    }
    return is_text(c) || bad(g, "a header holds a control character");
}

static bool read_length(struct kg_svc_grammar *g)
{
    char digits[DIGITS_MOST + 1];
    if (++g->lengths > 1) {
        return refuse(g, 400, "Bad Request", "bad_length", "the request has more than one length");
    }
    if (g->nword == 0 || g->nword > DIGITS_MOST) {
        return refuse(g, 400, "Bad Request", "bad_length", "the length is no number");
    }
    memcpy(digits, g->word, g->nword);
    digits[g->nword] = '\0';
    if (strspn(digits, "0123456789") != g->nword) {
        return refuse(g, 400, "Bad Request", "bad_length", "the length is no number");
    }
    g->left = strtoll(digits, NULL, 10);
    return true;
}

static bool end_value(struct kg_svc_grammar *g)
{
    while (g->nword > 0 && g->nword <= KG_SVC_WORD && g->word[g->nword - 1] == ' ') {
        g->nword--;
    }
    g->state = LINE;
    switch (g->header) {
    case LENGTH:
        return read_length(g);
    case CODING:
        g->codings++;
        return is_word(g, "chunked") || refuse(g, 400, "Bad Request", "bad_length",
                                               "the only coding of a body is `chunked`");
    case HOST:
        return ++g->hosts == 1 || bad(g, "the request has two hosts");
    case EXPECT:
        return is_word(g, "100-continue") || bad(g, "no such expectation can be met");
    default:
        return true;
    }
}

static bool too_large(struct kg_svc_grammar *g)
{
    return refuse(g, 413, "Content Too Large", "too_large", "the body is over the limit");
}

static bool end_request(struct kg_svc_grammar *g)
{
    *g = (struct kg_svc_grammar){.body_max = g->body_max};
    return true;
}

static bool end_head(struct kg_svc_grammar *g)
{
    if (g->lengths + g->codings > 1) {
        return refuse(g, 400, "Bad Request", "bad_length", "the request has more than one length");
    }
    if (g->codings > 0 && g->old) {
        return refuse(g, 400, "Bad Request", "bad_length", "HTTP/1.0 has no chunks");
    }
    if (g->hosts == 0 && !g->old) {
        return bad(g, "the request names no host");
    }
    if (g->bodiless && (g->left > 0 || g->codings > 0)) {
        return refuse(g, 400, "Bad Request", "bad_length", "the method takes no body");
    }
    if (g->left > g->body_max) {
        return too_large(g);
    }
    if (g->codings > 0) {
        return go(g, SIZE);
    }
    return g->left > 0 ? go(g, BODY) : end_request(g);
}

/* --- chunks --- */

static bool bad_chunk(struct kg_svc_grammar *g)
{
    return refuse(g, 400, "Bad Request", "bad_chunk", "the body's chunks are broken");
}

static bool size(struct kg_svc_grammar *g, char c)
{
    char digits[SIZE_MOST + 1];
    if (c != '\r') {
        keep(g, c);
        return (g->nword <= SIZE_MOST && c != '\0' && strchr("0123456789abcdefABCDEF", c)) ||
               bad_chunk(g);
    }
    memcpy(digits, g->word, g->nword);
    digits[g->nword] = '\0';
    g->left = strtoll(digits, NULL, 16);
    return g->nword > 0 ? go(g, SIZE_LF) : bad_chunk(g);
}

static bool end_size(struct kg_svc_grammar *g)
{
    g->body += g->left;
    if (g->body > g->body_max) {
        return too_large(g);
    }
    return go(g, g->left > 0 ? CHUNK : LAST_CR);
}

/* --- all --- */

static bool is(struct kg_svc_grammar *g, char c, char wanted, enum state next)
{
    if (c != wanted) {
        return g->state >= BODY ? bad_chunk(g) : bad(g, "a line must end with CR and LF");
    }
    return go(g, next);
}

static bool step(struct kg_svc_grammar *g, char c)
{
    switch ((enum state)g->state) {
    case METHOD:
        return method(g, c);
    case TARGET:
        return target(g, c);
    case VERSION:
        return version(g, c);
    case VERSION_LF:
        return is(g, c, '\n', LINE);
    case LINE:
        return c == '\r'  ? go(g, END_LF)
               : c == ':' ? bad(g, "a header has no name")
                          : go(g, NAME) && name(g, c);
    case NAME:
        return name(g, c);
    case VALUE:
        return value(g, c);
    case VALUE_LF:
        return c == '\n' ? end_value(g) : bad(g, "a line must end with CR and LF");
    case END_LF:
        return c == '\n' ? end_head(g) : bad(g, "a line must end with CR and LF");
    case SIZE:
        return size(g, c);
    case SIZE_LF:
        return c == '\n' ? end_size(g) : bad_chunk(g);
    case CHUNK_CR:
        return is(g, c, '\r', CHUNK_LF);
    case CHUNK_LF:
        return is(g, c, '\n', SIZE);
    case LAST_CR:
        return is(g, c, '\r', LAST_LF); /* a trailer would be here */
    case LAST_LF:
        return c == '\n' ? end_request(g) : bad_chunk(g);
    default: /* BODY and CHUNK are skipped */
        return false;
    }
}

bool kg_svc_grammar_read(struct kg_svc_grammar *g, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n && g->refusal.status == 0;) {
        if (g->state == BODY || g->state == CHUNK) {
            size_t skip = (uint64_t)g->left < n - i ? (size_t)g->left : n - i;
            i += skip;
            g->left -= (int64_t)skip;
            if (g->left == 0 && !(g->state == CHUNK ? go(g, CHUNK_CR) : end_request(g))) {
                return false;
            }
            continue;
        }
        if (g->state < BODY && ++g->head > KG_SVC_HEAD_BYTES) {
            return refuse(g, 431, "Header Fields Too Large", "long_headers",
                          "the headers are over the limit");
        }
        if (!step(g, bytes[i++])) {
            return false;
        }
    }
    return g->refusal.status == 0;
}

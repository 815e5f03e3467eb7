/* The bytes of a connection, all at once and one by one: both must end alike. The head of a request
 * that was accepted has whole lines only, and its body has the length that it says. */
#include "fuzz.h"

#include <string.h>

#include "base/err.h"
#include "svc/http_grammar.h"

enum { BODY_MAX = 1 << 20 };

/* Bytes of the first request; 0: it has not ended, or is refused. */
static size_t first(const char *bytes, size_t n, struct kg_svc_grammar *g)
{
    *g = (struct kg_svc_grammar){.body_max = BODY_MAX};
    for (size_t i = 0; i < n; i++) {
        if (!kg_svc_grammar_read(g, bytes + i, 1)) {
            return 0;
        }
        if (g->state == 0 && g->head == 0) {
            return i + 1;
        }
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = (const char *)data;
    struct kg_svc_grammar whole = {.body_max = BODY_MAX}, each = {.body_max = BODY_MAX}, one;
    kg_svc_grammar_read(&whole, bytes, size);
    for (size_t i = 0; i < size && kg_svc_grammar_read(&each, bytes + i, 1); i++) {
    }
    KG_ASSERT(whole.refusal.status == each.refusal.status && whole.state == each.state);
    KG_ASSERT(whole.refusal.status == 0 || whole.refusal.code[0] != '\0');
    size_t n = first(bytes, size, &one);
    const char *end = n > 0 ? memmem(bytes, n, "\r\n\r\n", 4) : NULL;
    KG_ASSERT(n == 0 || end != NULL);
    for (const char *at = bytes; n > 0 && at < end + 4; at++) {
        KG_ASSERT(*at != '\0' && (*at != '\r' || at[1] == '\n') &&
                  (*at != '\n' || (at > bytes && at[-1] == '\r')));
    }
    return 0;
}

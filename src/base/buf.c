/* Growing text and byte buffers with a maximum given at creation. */
#include "base/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What data points at before the first byte: an empty string that is never written. */
static char nothing[1];

void kg_buf_init(struct kg_buf *b, size_t max)
{
    *b = (struct kg_buf){.data = nothing, .max = max};
}

void kg_buf_deinit(struct kg_buf *b)
{
    if (b->cap > 0) {
        free(b->data);
    }
    kg_buf_init(b, b->max);
}

void kg_buf_reset(struct kg_buf *b)
{
    b->len = 0;
    b->truncated = false;
    if (b->cap > 0) {
        b->data[0] = '\0';
    }
}

/* Bytes of the n wanted for which there is room after growing; fewer than n marks the truncation.
 */
static size_t make_room(struct kg_buf *b, size_t n)
{
    size_t left = b->max - b->len;
    if (n > left) {
        b->truncated = true;
        n = left;
    }
    if (n == 0 || b->len + n < b->cap) {
        return n;
    }
    /* Room for twice the need, so that appending is linear; one more byte for the terminator. */
    size_t need = b->len + n;
    size_t want = need <= b->max / 2 ? need * 2 : b->max;
    if (want < 63 && b->max >= 63) {
        want = 63;
    }
    char *grown = want == SIZE_MAX ? NULL : realloc(b->cap > 0 ? b->data : NULL, want + 1);
    if (grown == NULL) {
        b->truncated = true;
        return b->cap > 0 ? b->cap - 1 - b->len : 0;
    }
    b->data = grown;
    b->cap = want + 1;
    return n;
}

void kg_buf_add(struct kg_buf *b, const void *bytes, size_t n)
{
    n = make_room(b, n);
    if (n == 0) {
        return;
    }
    memcpy(b->data + b->len, bytes, n);
    b->len += n;
    b->data[b->len] = '\0';
}

void kg_buf_adds(struct kg_buf *b, const char *s)
{
    kg_buf_add(b, s, strlen(s));
}

void kg_buf_addc(struct kg_buf *b, char c)
{
    kg_buf_add(b, &c, 1);
}

void kg_buf_addf(struct kg_buf *b, const char *fmt, ...)
{
    char small[256];
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(small, sizeof small, fmt, ap);
    va_end(ap);
    if (n < 0) {
        b->truncated = true;
    } else if ((size_t)n < sizeof small) {
        kg_buf_add(b, small, (size_t)n);
    } else {
        char *big = malloc((size_t)n + 1);
        if (big == NULL) {
            b->truncated = true;
        } else {
            vsnprintf(big, (size_t)n + 1, fmt, again);
            kg_buf_add(b, big, (size_t)n);
            free(big);
        }
    }
    va_end(again);
}

void kg_buf_add_real(struct kg_buf *b, double value)
{
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) {
            break;
        }
    }
    kg_buf_adds(b, text);
}

char *kg_buf_detach(struct kg_buf *b)
{
    char *data = b->cap > 0 ? b->data : calloc(1, 1);
    kg_buf_init(b, b->max);
    return data;
}

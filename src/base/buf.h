/* Growable bytes with a maximum fixed at creation. Always NUL-terminated after the last byte, so
 * that data is a C string when it holds no NUL. A write past the maximum sets `truncated`, keeps
 * what fits and goes on: callers that care check kg_buf_ok(). Owner: the caller. Not thread safe.
 */
#ifndef KG_BASE_BUF_H
#define KG_BASE_BUF_H

#include "base/err.h"

struct kg_buf {
    char *data; /* never NULL after init; "" when empty */
    size_t len;
    size_t cap; /* allocated bytes, terminator included */
    size_t max; /* most bytes that len may reach */
    bool truncated;
};

void kg_buf_init(struct kg_buf *b, size_t max);
void kg_buf_deinit(struct kg_buf *b); /* frees; b may be initialised again */
void kg_buf_reset(struct kg_buf *b);  /* len = 0, keeps memory and max */
void kg_buf_add(struct kg_buf *b, const void *bytes, size_t n);
void kg_buf_adds(struct kg_buf *b, const char *s);
void kg_buf_addc(struct kg_buf *b, char c);
void kg_buf_addf(struct kg_buf *b, const char *fmt, ...) KG_PRINTF(2, 3);
/* The shortest decimal text that reads back as the same double: 0.1, 3, 1e+300. */
void kg_buf_add_real(struct kg_buf *b, double value);
/* The caller frees; b is as after init. NULL only when memory is exhausted. */
char *kg_buf_detach(struct kg_buf *b);
static inline bool kg_buf_ok(const struct kg_buf *b)
{
    return !b->truncated;
}

#endif

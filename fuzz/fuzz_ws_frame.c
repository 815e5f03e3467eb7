/* Frames of a WebSocket. The same bytes, whole or one at a time, are the same messages; a message
 * is no longer than the limit, and UTF-8; after a refusal nothing more comes. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "svc/ws_frame.h"

enum { MOST = 4096 };

/* Everything that the events say, as text. */
static void tell(const struct kg_ws_event *e, struct kg_buf *out)
{
    kg_buf_addf(out, "%d %d %zu:", (int)e->kind, e->status, e->len);
    kg_buf_add(out, e->text, e->len);
}

static void check(const struct kg_ws_event *e)
{
    if (e->kind == KG_WS_MESSAGE) {
        KG_ASSERT(e->len <= MOST && e->text[e->len] == '\0');
        bool ok = true;
        uint32_t cp;
        for (size_t at = 0; at < e->len && ok;) {
            at += kg_utf8_next(e->text + at, e->len - at, &cp, &ok);
        }
        KG_ASSERT(ok);
    } else if (e->kind != KG_WS_NOTHING && e->kind != KG_WS_REFUSED) {
        KG_ASSERT(e->len <= KG_WS_CONTROL_MAX);
    }
}

/* Gives the bytes in pieces of at most `piece`. */
static void read_all(const uint8_t *data, size_t size, size_t piece, struct kg_buf *said)
{
    struct kg_ws_reader r;
    kg_ws_reader_init(&r, MOST);
    bool refused = false;
    for (size_t at = 0; at < size;) {
        size_t n = size - at < piece ? size - at : piece;
        struct kg_ws_event e = {.kind = KG_WS_GOT_PONG};
        for (size_t used = 0; e.kind != KG_WS_NOTHING && e.kind != KG_WS_REFUSED;) {
            used += kg_ws_read(&r, data + at + used, n - used, &e);
            KG_ASSERT(used <= n);
            KG_ASSERT(e.kind != KG_WS_NOTHING || used == n);
            KG_ASSERT(!refused || e.kind == KG_WS_NOTHING);
            check(&e);
            if (e.kind != KG_WS_NOTHING) {
                tell(&e, said);
            }
            refused = refused || e.kind == KG_WS_REFUSED;
        }
        at += n;
    }
    kg_ws_reader_deinit(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kg_buf whole, bytes;
    kg_buf_init(&whole, 16 << 20);
    kg_buf_init(&bytes, 16 << 20);
    read_all(data, size, size, &whole);
    read_all(data, size, 1, &bytes);
    KG_ASSERT(whole.len == bytes.len && memcmp(whole.data, bytes.data, whole.len) == 0);
    kg_buf_deinit(&whole);
    kg_buf_deinit(&bytes);
    return 0;
}

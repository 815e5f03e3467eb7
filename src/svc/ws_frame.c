/* The frames of a WebSocket. The reader is a machine of two states: it collects the 2 to 14 bytes
 * before a payload, then takes the payload as it comes. Data goes to the message, a control frame
 * to room of its own, since it may stand between two fragments. */
#include "svc/ws_frame.h"

#include <openssl/evp.h>
#include <string.h>
#include <strings.h>

#include "base/utf8.h"

enum { FIN = 0x80, RESERVED = 0x70, OPCODE = 0x0f, MASKED = 0x80, LENGTH = 0x7f, CONTROL = 0x08 };
enum { LENGTH_16 = 126, LENGTH_64 = 127, MASK_BYTES = 4 };

void kg_ws_reader_init(struct kg_ws_reader *r, size_t most)
{
    memset(r, 0, sizeof *r);
    kg_buf_init(&r->message, most);
}

void kg_ws_reader_deinit(struct kg_ws_reader *r)
{
    kg_buf_deinit(&r->message);
}

/* --- the bytes before a payload --- */

static size_t length_bytes(const struct kg_ws_reader *r)
{
    unsigned n = r->head[1] & LENGTH;
    return n == LENGTH_64 ? 8 : n == LENGTH_16 ? 2 : 0;
}

static size_t head_needs(const struct kg_ws_reader *r)
{
    return r->head_len < 2 ? 2 : 2 + length_bytes(r) + MASK_BYTES;
}

static uint64_t payload_length(const struct kg_ws_reader *r)
{
    size_t n = length_bytes(r);
    uint64_t length = 0;
    for (size_t i = 0; i < n; i++) {
        length = length << 8 | r->head[2 + i];
    }
    return n > 0 ? length : r->head[1] & LENGTH;
}

static bool is_control(const struct kg_ws_reader *r)
{
    return (r->head[0] & CONTROL) != 0;
}

/* What the first two bytes break. 0: nothing. */
static int wrong_opcode(const struct kg_ws_reader *r)
{
    int opcode = r->head[0] & OPCODE;
    bool fin = (r->head[0] & FIN) != 0;
    if ((r->head[0] & RESERVED) != 0 || (r->head[1] & MASKED) == 0) {
        return KG_WS_PROTOCOL;
    }
    switch (opcode) {
    case KG_WS_MORE:
        return r->in_message ? 0 : KG_WS_PROTOCOL;
    case KG_WS_TEXT:
        return r->in_message ? KG_WS_PROTOCOL : 0;
    case KG_WS_BINARY:
        return r->in_message ? KG_WS_PROTOCOL : KG_WS_UNSUPPORTED;
    case KG_WS_CLOSE:
    case KG_WS_PING:
    case KG_WS_PONG:
        return fin && (r->head[1] & LENGTH) <= KG_WS_CONTROL_MAX ? 0 : KG_WS_PROTOCOL;
    default:
        return KG_WS_PROTOCOL;
    }
}

/* The same once the length is there. */
static int wrong_length(const struct kg_ws_reader *r, uint64_t length)
{
    size_t n = length_bytes(r);
    if ((n == 2 && length < LENGTH_16) || (n == 8 && (length <= UINT16_MAX || length >> 63 != 0))) {
        return KG_WS_PROTOCOL;
    }
    size_t have = is_control(r) ? 0 : r->message.len;
    return !is_control(r) && length > r->message.max - have ? KG_WS_TOO_BIG : 0;
}

/* Takes one byte before a payload. Returns what is wrong. */
static int take_head(struct kg_ws_reader *r, unsigned char byte)
{
    r->head[r->head_len++] = byte;
    if (r->head_len == 2) {
        return wrong_opcode(r);
    }
    if (r->head_len < head_needs(r)) {
        return 0;
    }
    r->left = payload_length(r);
    r->taken = 0;
    int wrong = wrong_length(r, r->left);
    if (wrong == 0) {
        r->in_payload = true;
        r->in_message = r->in_message || !is_control(r);
    }
    return wrong;
}

/* --- the payload --- */

static void take_payload(struct kg_ws_reader *r, const unsigned char *bytes, size_t n)
{
    const unsigned char *mask = r->head + r->head_len - MASK_BYTES;
    char piece[4096];
    while (n > 0) {
        size_t m = n < sizeof piece ? n : sizeof piece;
        for (size_t i = 0; i < m; i++) {
            piece[i] = (char)(bytes[i] ^ mask[(r->taken + i) % MASK_BYTES]);
        }
        if (is_control(r)) {
            memcpy(r->control + r->taken, piece, m);
        } else {
            kg_buf_add(&r->message, piece, m);
        }
        r->taken += m;
        r->left -= m;
        bytes += m;
        n -= m;
    }
}

static bool is_text(const char *s, size_t n)
{
    uint32_t cp;
    bool ok = true;
    for (size_t at = 0; at < n && ok;) {
        at += kg_utf8_next(s + at, n - at, &cp, &ok);
    }
    return ok;
}

/* May it be in a closing frame? RFC 6455, 7.4. */
static bool is_status(int status)
{
    return (status >= 1000 && status <= 1014 && status != 1004 && status != 1005 &&
            status != 1006) ||
           (status >= 3000 && status <= 4999);
}

static void refuse(struct kg_ws_reader *r, int status, struct kg_ws_event *out)
{
    r->refused = true;
    *out = (struct kg_ws_event){.kind = KG_WS_REFUSED, .text = "", .status = status};
}

static void end_close(struct kg_ws_reader *r, size_t n, struct kg_ws_event *out)
{
    const unsigned char *c = (const unsigned char *)r->control;
    int status = n >= 2 ? c[0] << 8 | c[1] : KG_WS_NO_STATUS;
    size_t reason = n >= 2 ? n - 2 : 0;
    if (n == 1 || (n >= 2 && !is_status(status))) {
        refuse(r, KG_WS_PROTOCOL, out);
    } else if (!is_text(r->control + 2, reason)) {
        refuse(r, KG_WS_BAD_TEXT, out);
    } else {
        *out = (struct kg_ws_event){.kind = KG_WS_GOT_CLOSE,
                                    .text = n >= 2 ? r->control + 2 : "",
                                    .len = reason,
                                    .status = status};
    }
}

/* A frame is whole. */
static void end_frame(struct kg_ws_reader *r, struct kg_ws_event *out)
{
    int opcode = r->head[0] & OPCODE;
    size_t n = (size_t)r->taken;
    r->in_payload = false;
    r->head_len = 0;
    if ((opcode & CONTROL) != 0) {
        r->control[n] = '\0';
        if (opcode == KG_WS_CLOSE) {
            end_close(r, n, out);
        } else {
            *out =
                (struct kg_ws_event){.kind = opcode == KG_WS_PING ? KG_WS_GOT_PING : KG_WS_GOT_PONG,
                                     .text = r->control,
                                     .len = n};
        }
        return;
    }
    if ((r->head[0] & FIN) == 0) {
        return;
    }
    r->in_message = false;
    if (!kg_buf_ok(&r->message)) {
        refuse(r, KG_WS_TOO_BIG, out);
    } else if (!is_text(r->message.data, r->message.len)) {
        refuse(r, KG_WS_BAD_TEXT, out);
    } else {
        r->whole = true; /* its bytes are forgotten at the next read */
        *out = (struct kg_ws_event){
            .kind = KG_WS_MESSAGE, .text = r->message.data, .len = r->message.len};
    }
}

size_t kg_ws_read(struct kg_ws_reader *r, const void *bytes, size_t n, struct kg_ws_event *out)
{
    const unsigned char *p = bytes;
    size_t at = 0;
    *out = (struct kg_ws_event){.kind = KG_WS_NOTHING, .text = ""};
    if (r->whole) {
        r->whole = false;
        kg_buf_reset(&r->message);
    }
    if (r->refused) {
        return n;
    }
    while (out->kind == KG_WS_NOTHING && (at < n || (r->in_payload && r->left == 0))) {
        if (r->in_payload) {
            size_t m = r->left < n - at ? (size_t)r->left : n - at;
            take_payload(r, p + at, m);
            at += m;
            if (r->left == 0) {
                end_frame(r, out);
            }
        } else {
            int wrong = take_head(r, p[at++]);
            if (wrong != 0) {
                refuse(r, wrong, out);
            }
        }
    }
    return at;
}

/* --- what a server writes --- */

void kg_ws_add_frame(struct kg_buf *out, enum kg_ws_opcode opcode, const void *bytes, size_t n)
{
    unsigned char head[KG_WS_HEADER_MAX] = {(unsigned char)(FIN | opcode)};
    size_t used = 2, wide = n > UINT16_MAX ? 8 : n >= LENGTH_16 ? 2 : 0;
    head[1] = (unsigned char)(wide == 8 ? LENGTH_64 : wide == 2 ? LENGTH_16 : n);
    for (size_t i = wide; i > 0; i--) {
        head[used++] = (unsigned char)((uint64_t)n >> (8 * (i - 1)));
    }
    kg_buf_add(out, head, used);
    kg_buf_add(out, bytes, n);
}

void kg_ws_add_close(struct kg_buf *out, int status, const char *reason)
{
    char payload[KG_WS_CONTROL_MAX] = {(char)(status >> 8), (char)status};
    size_t n = strnlen(reason, sizeof payload - 2);
    memcpy(payload + 2, reason, n);
    kg_ws_add_frame(out, KG_WS_CLOSE, payload, n + 2);
}

/* --- the handshake --- */

bool kg_ws_accept_key(const char *key, char out[KG_WS_ACCEPT_LEN])
{
    static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"; /* RFC 6455, 1.3 */
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    enum { KEY = 24, DIGITS = 22 };
    unsigned char sum[EVP_MAX_MD_SIZE];
    char text[KEY + sizeof guid];
    unsigned n = 0;
    if (strlen(key) != KEY || strspn(key, digits) != DIGITS || strcmp(key + DIGITS, "==") != 0) {
        return false;
    }
    memcpy(text, key, KEY);
    memcpy(text + KEY, guid, sizeof guid);
    if (EVP_Digest(text, KEY + sizeof guid - 1, sum, &n, EVP_sha1(), NULL) != 1) {
        return false;
    }
    EVP_EncodeBlock((unsigned char *)out, sum, (int)n);
    return true;
}

bool kg_ws_has_word(const char *header, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = header; *at != '\0'; at += *at == ',') {
        at += strspn(at, " \t");
        size_t n = strcspn(at, ",");
        size_t used = n;
        while (used > 0 && (at[used - 1] == ' ' || at[used - 1] == '\t')) {
            used--;
        }
        if (used == len && strncasecmp(at, word, len) == 0) {
            return true;
        }
        at += n;
    }
    return false;
}

/* WebSocket frames by themselves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "svc/ws_frame.h"

enum { MOST = 1000 };

/* --- frames --- */

/* A client's frame: first byte, payload; masked with a key that changes no byte at places 0 of 4.
 */
static void add(struct kg_buf *b, int first, const void *payload, size_t n)
{
    static const unsigned char key[4] = {0, 0x55, 0xaa, 0xff};
    kg_buf_addc(b, (char)first);
    if (n < 126) {
        kg_buf_addc(b, (char)(0x80 | n));
    } else {
        assert_true(n <= UINT16_MAX);
        kg_buf_addc(b, (char)(0x80 | 126));
        kg_buf_addc(b, (char)(n >> 8));
        kg_buf_addc(b, (char)n);
    }
    kg_buf_add(b, key, sizeof key);
    for (size_t i = 0; i < n; i++) {
        kg_buf_addc(b, (char)(((const unsigned char *)payload)[i] ^ key[i % 4]));
    }
}

/* Reads all in pieces; adds what happened to said: "message abc; ping x; refused 1002; ". */
static void tell(const struct kg_buf *in, size_t piece, struct kg_buf *said)
{
    static const char *const names[] = {"", "message", "ping", "pong", "close", "refused"};
    struct kg_ws_reader r;
    kg_ws_reader_init(&r, MOST);
    for (size_t at = 0; at < in->len; at += piece) {
        size_t n = in->len - at < piece ? in->len - at : piece;
        struct kg_ws_event e = {.kind = KG_WS_GOT_PONG};
        for (size_t used = 0; e.kind != KG_WS_NOTHING && e.kind != KG_WS_REFUSED;) {
            used += kg_ws_read(&r, in->data + at + used, n - used, &e);
            if (e.kind != KG_WS_NOTHING) {
                kg_buf_addf(said, "%s", names[e.kind]);
                if (e.status != 0) {
                    kg_buf_addf(said, " %d", e.status);
                }
                if (e.len > 0) {
                    kg_buf_addf(said, " %.*s", (int)e.len, e.text);
                }
                kg_buf_adds(said, "; ");
            }
        }
    }
    kg_ws_reader_deinit(&r);
}

static void expect(const struct kg_buf *in, const char *wanted)
{
    struct kg_buf said;
    kg_buf_init(&said, 1 << 16);
    for (size_t piece = 1; piece <= in->len; piece += piece) {
        kg_buf_reset(&said);
        tell(in, piece, &said);
        assert_string_equal(said.data, wanted);
    }
    kg_buf_deinit(&said);
}

static void messages_come_whole_from_any_pieces(void **state)
{
    char wide[300];
    struct kg_buf in, wanted;
    (void)state;
    memset(wide, 'w', sizeof wide);
    kg_buf_init(&in, 1 << 16);
    kg_buf_init(&wanted, 1 << 16);
    add(&in, 0x81, "hello", 5);
    add(&in, 0x81, "", 0);
    add(&in, 0x01, "one ", 4);
    add(&in, 0x89, "there?", 6); /* a ping between two fragments */
    add(&in, 0x00, "", 0);
    add(&in, 0x80, "two", 3);
    add(&in, 0x81, wide, sizeof wide);
    add(&in, 0x8a, "yes", 3);
    add(&in, 0x88, "\x03\xe8 bye", 6);
    kg_buf_addf(&wanted,
                "message hello; message; ping there?; message one two; message %.300s; pong yes; "
                "close 1000  bye; ",
                wide);
    expect(&in, wanted.data);
    kg_buf_deinit(&in);
    kg_buf_deinit(&wanted);
}

static void what_breaks_the_protocol_is_refused_with_its_status(void **state)
{
    static const struct {
        const char *wanted, *bytes;
        size_t n;
    } raw[] = {
        {"refused 1002; ", "\x81\x01x", 3},                       /* not masked */
        {"refused 1002; ", "\x81\xfe\0\x05....hello", 13},        /* two bytes for a length of 5 */
        {"refused 1002; ", "\x81\xff\0\0\0\0\0\0\x01\0....", 14}, /* eight for 256 */
        {"refused 1002; ", "\x81\xff\x80\0\0\0\0\0\0\0....", 14}, /* 2^63 */
        {"refused 1009; ", "\x81\xff\0\0\0\x01\0\0\0\0....", 14}, /* 2^32 */
        {"refused 1009; ", "\x81\xfe\x03\xe9....", 8},            /* 1001 */
        {"refused 1002; ", "\x89\xfe\0\x7e....", 8},              /* a ping of 126 */
        {"close 1005; ", "\x88\x80....", 6},
    };
    static const struct {
        const char *wanted;
        int first;
        const char *payload;
        size_t n;
    } masked[] = {
        {"refused 1002; ", 0xc1, "x", 1},
        {"refused 1002; ", 0x83, "", 0},
        {"refused 1002; ", 0x8b, "", 0},
        {"refused 1002; ", 0x80, "x", 1},
        {"refused 1002; ", 0x09, "x", 1},
        {"refused 1003; ", 0x82, "x", 1},
        {"refused 1007; ", 0x81, "\xff", 1},
        {"refused 1007; ", 0x81, "\xed\xa0\x80", 3},
        {"refused 1002; ", 0x88, "\x03", 1},
        {"refused 1002; ", 0x88, "\x03\xee", 2},
        {"refused 1007; ", 0x88, "\x03\xe8\xff", 3},
        {"refused 1002; ", 0x88, "\x0b\xb7", 2},
        {"close 4999; ", 0x88, "\x13\x87", 2},
    };
    struct kg_buf in;
    (void)state;
    kg_buf_init(&in, 1 << 16);
    for (size_t i = 0; i < sizeof raw / sizeof *raw; i++) {
        kg_buf_reset(&in);
        kg_buf_add(&in, raw[i].bytes, raw[i].n);
        expect(&in, raw[i].wanted);
    }
    for (size_t i = 0; i < sizeof masked / sizeof *masked; i++) {
        kg_buf_reset(&in);
        add(&in, masked[i].first, masked[i].payload, masked[i].n);
        expect(&in, masked[i].wanted);
    }
    kg_buf_deinit(&in);
}

static void nothing_follows_a_refusal(void **state)
{
    struct kg_buf in;
    (void)state;
    kg_buf_init(&in, 1 << 16);
    add(&in, 0x01, "a", 1);
    add(&in, 0x81, "b", 1); /* a new message within one */
    add(&in, 0x81, "c", 1);
    expect(&in, "refused 1002; ");
    kg_buf_deinit(&in);
}

/* Many fragments may be long together. */
static void the_limit_is_of_a_message(void **state)
{
    char half[MOST / 2];
    struct kg_buf in, wanted;
    (void)state;
    memset(half, 'h', sizeof half);
    kg_buf_init(&in, 1 << 16);
    kg_buf_init(&wanted, 1 << 16);
    add(&in, 0x01, half, sizeof half);
    add(&in, 0x80, half, sizeof half);
    add(&in, 0x01, half, sizeof half);
    add(&in, 0x00, half, sizeof half);
    add(&in, 0x80, "x", 1);
    kg_buf_addf(&wanted, "message %.500s%.500s; refused 1009; ", half, half);
    expect(&in, wanted.data);
    kg_buf_deinit(&in);
    kg_buf_deinit(&wanted);
}

static void a_server_writes_the_shortest_length(void **state)
{
    static char bytes[70000];
    static const struct {
        size_t n, head;
        const char *begins;
    } cases[] = {{0, 2, "\x81\0"},
                 {125, 2, "\x81\x7d"},
                 {126, 4, "\x81\x7e\0\x7e"},
                 {65535, 4, "\x81\x7e\xff\xff"},
                 {65536, 10, "\x81\x7f\0\0\0\0\0\x01\0\0"}};
    struct kg_buf out;
    (void)state;
    kg_buf_init(&out, 1 << 20);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kg_buf_reset(&out);
        kg_ws_add_frame(&out, KG_WS_TEXT, bytes, cases[i].n);
        assert_int_equal(out.len, cases[i].head + cases[i].n);
        assert_memory_equal(out.data, cases[i].begins, cases[i].head);
    }
    kg_buf_reset(&out);
    kg_ws_add_close(&out, KG_WS_AWAY, "idle");
    assert_int_equal(out.len, 8);
    assert_memory_equal(out.data, "\x88\x06\x03\xe9idle", 8);
    kg_buf_deinit(&out);
}

static void the_handshake_is_that_of_the_standard(void **state)
{
    char accept[KG_WS_ACCEPT_LEN];
    (void)state;
    assert_true(kg_ws_accept_key("dGhlIHNhbXBsZSBub25jZQ==", accept)); /* RFC 6455, 1.3 */
    assert_string_equal(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    assert_false(kg_ws_accept_key("", accept));
    assert_false(kg_ws_accept_key("dGhlIHNhbXBsZSBub25jZQ=", accept));
    assert_false(kg_ws_accept_key("dGhlIHNhbXBsZSBub25jZQAA", accept));
    assert_true(kg_ws_has_word("keep-alive, Upgrade", "upgrade"));
    assert_true(kg_ws_has_word(" upgrade ", "upgrade"));
    assert_false(kg_ws_has_word("upgraded, up grade", "upgrade"));
    assert_false(kg_ws_has_word("", "upgrade"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_come_whole_from_any_pieces),
        cmocka_unit_test(what_breaks_the_protocol_is_refused_with_its_status),
        cmocka_unit_test(nothing_follows_a_refusal),
        cmocka_unit_test(the_limit_is_of_a_message),
        cmocka_unit_test(a_server_writes_the_shortest_length),
        cmocka_unit_test(the_handshake_is_that_of_the_standard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* OpenEnv's messages by themselves, and sockets of a service that runs, byte by byte. OpenEnv's own
 * client is in test_svc_peers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/rng.h"
#include "svc/openenv.h"
#include "svc/ws_frame.h"
#include "tests/support/svc_rig.h"

#define HANDSHAKE                                                                                  \
    "Connection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\nSec-WebSocket-Version: 13\r\n"       \
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"

/* --- messages --- */

static void messages_are_read_strictly(void **state)
{
    static const struct {
        const char *text, *code, *field;
    } bad[] = {
        {"{", "INVALID_JSON", ""},
        {"[]", "VALIDATION_ERROR", ""},
        {"{\"data\": {}}", "UNKNOWN_TYPE", "type"},
        {"{\"type\": \"mcp\", \"data\": {}}", "UNKNOWN_TYPE", "type"},
        {"{\"type\": \"reset\", \"data\": []}", "VALIDATION_ERROR", "data"},
        {"{\"type\": \"reset\", \"data\": {\"seed\": -1}}", "VALIDATION_ERROR", "seed"},
        {"{\"type\": \"reset\", \"data\": {\"seed\": 1.5}}", "VALIDATION_ERROR", "seed"},
        {"{\"type\": \"reset\", \"data\": {\"problem\": 3}}", "VALIDATION_ERROR", "problem"},
        {"{\"type\": \"reset\", \"data\": {\"problem\": \"a\\u0000b\"}}", "VALIDATION_ERROR",
         "problem"},
        {"{\"type\": \"reset\", \"data\": {\"max_turns\": 0}}", "VALIDATION_ERROR", "max_turns"},
        {"{\"type\": \"reset\", \"data\": {\"idle_s\": 0}}", "VALIDATION_ERROR", "idle_s"},
        {"{\"type\": \"reset\", \"data\": {\"set\": \"a=b\"}}", "VALIDATION_ERROR", "set"},
        {"{\"type\": \"reset\", \"data\": {\"problme\": \"x\"}}", "VALIDATION_ERROR", ""},
        {"{\"type\": \"step\"}", "VALIDATION_ERROR", "reply"},
        {"{\"type\": \"step\", \"data\": {\"reply\": 1}}", "VALIDATION_ERROR", "reply"},
        {"{\"type\": \"step\", \"data\": {\"reply\": \"a\", \"code\": 1}}", "VALIDATION_ERROR", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct kg_openenv_message m;
        struct kg_svc_refusal no;
        assert_false(kg_openenv_read(bad[i].text, strlen(bad[i].text), &m, &no));
        assert_string_equal(no.code, bad[i].code);
        assert_string_equal(no.field, bad[i].field);
        assert_null(strstr(no.message, "problme")); /* repeats nothing */
    }
}

static void a_reply_is_all_that_a_step_needs(void **state)
{
    static const char reset[] =
        "{\"type\": \"reset\", \"data\": {\"problem\": \"relu\", \"seed\": 7,"
        " \"episode_id\": \"e\", \"max_turns\": 3, \"idle_s\": 2.5}}";
    static const char step[] =
        "{\"type\": \"step\", \"data\": {\"reply\": \"x\", \"metadata\": {\"a\": 1}}}";
    struct kg_openenv_message m;
    struct kg_svc_refusal no;
    (void)state;
    assert_true(kg_openenv_read(step, strlen(step), &m, &no));
    assert_int_equal(m.kind, KG_OPENENV_STEP);
    assert_string_equal(json_string_value(m.reply), "x");
    kg_openenv_deinit(&m);
    assert_true(kg_openenv_read(reset, strlen(reset), &m, &no));
    assert_string_equal(m.problem, "relu");
    assert_string_equal(m.episode_id, "e");
    assert_true(m.has_seed && m.seed == 7 && m.max_turns == 3 && m.idle_s == 2.5);
    kg_openenv_deinit(&m);
    assert_true(kg_openenv_read("{\"type\": \"reset\"}", 17, &m, &no));
    assert_true(m.problem == NULL && !m.has_seed);
    kg_openenv_deinit(&m);
}

static void an_observation_without_a_reward_has_null(void **state)
{
    json_t *rewards = json_pack("{s:f, s:f}", "dr-kernel", 0.5, "other", 2.0);
    struct kg_openenv_view v = {
        .episode_id = "e", .problem = "relu", .rewards = rewards, .turn = 1};
    (void)state;
    json_t *j = kg_openenv_observation(&v);
    json_t *data = json_object_get(j, "data");
    assert_true(json_number_value(json_object_get(data, "reward")) == 0.5);
    json_decref(j);
    v.rewards = NULL;
    j = kg_openenv_observation(&v);
    data = json_object_get(j, "data");
    assert_true(json_is_null(json_object_get(data, "reward")));
    assert_true(json_is_false(json_object_get(data, "done")));
    json_decref(j);
    json_decref(rewards);
    j = json_loads(kg_openenv_schema(), 0, NULL);
    assert_int_equal(json_array_size(json_object_get(json_object_get(j, "action"), "required")), 1);
    json_decref(j);
}

/* --- sockets --- */

struct client {
    int fd;
    struct kg_buf in;   /* not read yet */
    struct kg_buf text; /* of the last frame */
    int opcode;
};

static void ws_open(struct client *c)
{
    kg_buf_init(&c->in, 64 << 20);
    kg_buf_init(&c->text, 64 << 20);
    c->fd = svc_open("/ws", HANDSHAKE);
    svc_read_until(c->fd, "\r\n\r\n", &c->in);
    assert_memory_equal(c->in.data, "HTTP/1.1 101 ", 13);
    assert_non_null(strstr(c->in.data, "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"));
    size_t head = (size_t)(strstr(c->in.data, "\r\n\r\n") + 4 - c->in.data);
    memmove(c->in.data, c->in.data + head, c->in.len - head + 1);
    c->in.len -= head;
}

static void ws_end(struct client *c)
{
    close(c->fd);
    kg_buf_deinit(&c->in);
    kg_buf_deinit(&c->text);
}

static void write_all(const struct client *c, const char *bytes, size_t n)
{
    for (ssize_t sent; n > 0; bytes += sent, n -= (size_t)sent) {
        sent = send(c->fd, bytes, n, MSG_NOSIGNAL);
        if (sent <= 0) {
            return; /* it has closed; what it said is read all the same */
        }
    }
}

/* first: FIN and opcode. The mask is zero. */
static void ws_frame(const struct client *c, int first, const void *payload, size_t n)
{
    struct kg_buf b;
    kg_buf_init(&b, 64 << 20);
    kg_ws_add_frame(&b, KG_WS_TEXT, payload, n);
    size_t head = b.len - n;
    b.data[0] = (char)first;
    b.data[1] = (char)(b.data[1] | 0x80);
    write_all(c, b.data, head);
    write_all(c, "\0\0\0\0", 4);
    write_all(c, b.data + head, n);
    kg_buf_deinit(&b);
}

static void ws_say(const struct client *c, const char *text)
{
    ws_frame(c, 0x81, text, strlen(text));
}

/* Bytes until there are n; false: the connection has ended. */
static bool fill(struct client *c, size_t n)
{
    char piece[65536];
    while (c->in.len < n) {
        ssize_t got = recv(c->fd, piece, sizeof piece, 0);
        if (got <= 0) {
            return false;
        }
        kg_buf_add(&c->in, piece, (size_t)got);
    }
    return true;
}

/* The next frame; false: the connection has ended. */
static bool ws_hear(struct client *c)
{
    if (!fill(c, 2)) {
        return false;
    }
    const unsigned char *b = (const unsigned char *)c->in.data;
    size_t wide = b[1] == 127 ? 8 : b[1] == 126 ? 2 : 0, n = wide > 0 ? 0 : b[1];
    assert_true(b[1] < 128); /* a server masks nothing */
    if (!fill(c, 2 + wide)) {
        return false;
    }
    b = (const unsigned char *)c->in.data;
    for (size_t i = 0; i < wide; i++) {
        n = n << 8 | b[2 + i];
    }
    if (!fill(c, 2 + wide + n)) {
        return false;
    }
    c->opcode = (unsigned char)c->in.data[0];
    kg_buf_reset(&c->text);
    kg_buf_add(&c->text, c->in.data + 2 + wide, n);
    c->in.len -= 2 + wide + n;
    memmove(c->in.data, c->in.data + 2 + wide + n, c->in.len + 1);
    return true;
}

/* The next message as JSON. The caller frees it. */
static json_t *ws_get(struct client *c)
{
    do {
        assert_true(ws_hear(c));
    } while (c->opcode == (0x80 | KG_WS_PING));
    assert_int_equal(c->opcode, 0x80 | KG_WS_TEXT);
    json_t *j = json_loads(c->text.data, 0, NULL);
    assert_non_null(j);
    return j;
}

/* A closing frame with this status comes, and nothing but answers before it. */
static void ws_closes(struct client *c, int status)
{
    do {
        assert_true(ws_hear(c));
    } while (c->opcode != (0x80 | KG_WS_CLOSE));
    const unsigned char *b = (const unsigned char *)c->text.data;
    assert_int_equal(b[0] << 8 | b[1], status);
    assert_false(ws_hear(c));
}

/* What the gym could not do: an error with this code. */
static void is_error(json_t *j, const char *code)
{
    assert_string_equal(svc_text(j, "type"), "error");
    assert_string_equal(svc_text(json_object_get(j, "data"), "code"), code);
    json_decref(j);
}

/* The observation after this turn; its episode's id. */
static void is_turn(json_t *j, int turn, char id[32])
{
    const json_t *seen = json_object_get(json_object_get(j, "data"), "observation");
    assert_string_equal(svc_text(j, "type"), "observation");
    assert_int_equal(json_integer_value(json_object_get(seen, "turn")), turn);
    snprintf(id, 32, "%s", svc_text(seen, "episode_id"));
    json_decref(j);
}

#define RESET "{\"type\": \"reset\", \"data\": {\"problem\": \"silu\"}}"
#define STEP  "{\"type\": \"step\", \"data\": {\"reply\": \"nothing\"}}"

static void a_handshake_that_is_none_is_refused(void **state)
{
    static const struct {
        int status;
        const char *headers;
    } asked[] = {
        {426, ""},
        {426, "Upgrade: h2c\r\nConnection: Upgrade\r\n"},
        {426, "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 8\r\n"},
        {400, "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
              "Sec-WebSocket-Key: short\r\n"},
        {403, HANDSHAKE "Origin: http://elsewhere.example\r\n"},
    };
    (void)state;
    svc_start("--no-work");
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        char text[1024];
        int n = snprintf(text, sizeof text, "GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\n%s\r\n",
                         asked[i].headers);
        assert_int_equal(svc_raw(text, (size_t)n), asked[i].status);
    }
}

static void bad_frames_close_with_their_status(void **state)
{
    static char big[(1 << 20) + 1];
    static const struct {
        int status, first;
        const char *payload;
        size_t n;
    } sent[] = {{1002, 0xc1, "x", 1},    {1002, 0x80, "x", 1},          {1003, 0x82, "x", 1},
                {1007, 0x81, "\xff", 1}, {1009, 0x81, big, sizeof big}, {1000, 0x88, "\x03\xe8", 2},
                {1000, 0x88, "", 0}};
    struct client c;
    (void)state;
    memset(big, 'b', sizeof big);
    svc_start("--no-work --body-mb 1");
    for (size_t i = 0; i < sizeof sent / sizeof *sent; i++) {
        ws_open(&c);
        ws_say(&c, "{\"type\": \"state\"}");
        json_decref(ws_get(&c));
        ws_frame(&c, sent[i].first, sent[i].payload, sent[i].n);
        ws_closes(&c, sent[i].status);
        ws_end(&c);
    }
    ws_open(&c);
    write_all(&c, "\x81\x01x", 3); /* not masked */
    ws_closes(&c, 1002);
    ws_end(&c);
}

/* Whatever comes after a handshake, the service goes on. */
static void noise_harms_nothing(void **state)
{
    struct kg_rng r;
    struct client c;
    (void)state;
    svc_start("--no-work");
    kg_rng_init(&r, (struct kg_key){{31, 7}}, 0);
    for (int i = 0; i < 60; i++) {
        char bytes[200];
        ws_open(&c);
        for (size_t k = 0; k < sizeof bytes; k++) {
            bytes[k] = (char)kg_rng_below(&r, 256);
        }
        bytes[0] = (char)(i % 2 ? 0x81 : 0x01); /* a plausible beginning */
        bytes[1] = (char)(0x80 | kg_rng_below(&r, 126));
        write_all(&c, bytes, kg_rng_below(&r, sizeof bytes));
        ws_end(&c);
    }
    kg_rng_deinit(&r);
    ws_open(&c);
    ws_frame(&c, 0x01, "{\"type\": ", 9);
    ws_frame(&c, 0x80, "\"state\"}", 8);
    json_t *j = ws_get(&c);
    assert_string_equal(svc_text(j, "type"), "state");
    json_decref(j);
    ws_end(&c);
}

/* A client's own pings come while its reply is judged; without an answer it would go. */
static void a_ping_is_answered_while_a_turn_is_judged(void **state)
{
    char id[32];
    struct client c;
    (void)state;
    svc_start("--no-work");
    ws_open(&c);
    ws_say(&c, RESET);
    is_turn(ws_get(&c), 0, id);
    ws_say(&c, STEP);
    ws_frame(&c, 0x80 | KG_WS_PING, "there?", 6);
    assert_true(ws_hear(&c));
    assert_int_equal(c.opcode, 0x80 | KG_WS_PONG);
    assert_string_equal(c.text.data, "there?");
    for (int i = 0; i < 9; i++) {
        ws_say(&c, "{\"type\": \"state\"}");
    }
    ws_closes(&c, 1008); /* eight may wait */
    ws_end(&c);
}

static void a_turn_outlives_its_socket_and_the_service(void **state)
{
    char id[32], same[32], again[160];
    struct client c;
    (void)state;
    svc_start("--no-work");
    ws_open(&c);
    ws_say(&c, STEP);
    is_error(ws_get(&c), "EXECUTION_ERROR"); /* no episode */
    ws_say(&c, RESET);
    is_turn(ws_get(&c), 0, id);
    ws_say(&c, STEP);
    json_t *j = NULL;
    do { /* it is durable */
        json_decref(j);
        j = svc_json(200, "GET", "/v1/stats", "");
    } while (json_integer_value(json_object_get(json_object_get(j, "jobs"), "waiting")) != 1);
    json_decref(j);
    assert_int_equal(svc_end(SIGKILL), -1);
    assert_false(ws_hear(&c));
    ws_end(&c);

    svc_start("--jobs 1");
    snprintf(again, sizeof again, "{\"type\": \"reset\", \"data\": {\"episode_id\": \"%s\"}}", id);
    ws_open(&c);
    ws_say(&c, again);
    is_turn(ws_get(&c), 1, same);
    assert_string_equal(same, id);
    ws_say(&c, STEP);
    is_turn(ws_get(&c), 2, same);
    kill(svc_pid, SIGTERM); /* the service says that it goes */
    ws_closes(&c, 1001);
    ws_end(&c);
}

static void who_says_nothing_is_closed(void **state)
{
    char id[32];
    struct client c;
    (void)state;
    svc_start("--no-work");
    ws_open(&c);
    ws_say(&c, "{\"type\": \"reset\", \"data\": {\"problem\": \"silu\", \"idle_s\": 0.1}}");
    is_turn(ws_get(&c), 0, id);
    do {
        assert_true(ws_hear(&c));
    } while (c.opcode != (0x80 | KG_WS_CLOSE)); /* the client's part is still to come */
    ws_frame(&c, 0x80 | KG_WS_CLOSE, c.text.data, 2);
    assert_false(ws_hear(&c));
    ws_end(&c);
}

static void what_the_gym_could_not_do_is_an_error(void **state)
{
    char id[32];
    struct client c;
    (void)state;
    svc_start("--no-work");
    ws_open(&c);
    ws_say(&c, RESET);
    is_turn(ws_get(&c), 0, id);
    ws_say(&c, STEP);
    json_t *j = NULL;
    do {
        json_decref(j);
        j = svc_json(200, "GET", "/v1/evaluations", "");
    } while (json_array_size(json_object_get(j, "evaluations")) == 0);
    char path[128];
    snprintf(path, sizeof path, "/v1/evaluations/%s",
             svc_text(json_array_get(json_object_get(j, "evaluations"), 0), "id"));
    json_decref(j);
    json_decref(svc_json(200, "DELETE", path, ""));
    is_error(ws_get(&c), "EXECUTION_ERROR");
    snprintf(path, sizeof path, "{\"type\": \"reset\", \"data\": {\"episode_id\": \"%s\"}}", id);
    ws_say(&c, path);
    is_turn(ws_get(&c), 0, id); /* the turn is still to come */
    ws_say(&c, "{\"type\": \"state\"}");
    j = ws_get(&c);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(j, "data"), "step_count")),
                     0);
    json_decref(j);
    ws_end(&c);
}

/* --- problems that are drawn --- */

/* Resets with these members; the problem that was drawn, which the caller frees. */
static json_t *draw(struct client *c, const char *members)
{
    char text[256];
    snprintf(text, sizeof text, "{\"type\": \"reset\", \"data\": {%s}}", members);
    ws_say(c, text);
    json_t *j = ws_get(c);
    const json_t *seen = json_object_get(json_object_get(j, "data"), "observation");
    json_t *name = json_incref(json_object_get(seen, "problem"));
    assert_non_null(name);
    json_decref(j);
    return name;
}

/* Where it is in the list of problems. */
static size_t place_of(const json_t *list, const json_t *name)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (json_equal(json_object_get(json_array_get(list, i), "problem"), name)) {
            return i;
        }
    }
    fail_msg("it drew %s", json_string_value(name));
    return 0;
}

static bool is_c(const json_t *list, size_t at)
{
    return strcmp(svc_text(json_array_get(list, at), "language"), "c") == 0;
}

static void await_device(void)
{
    for (size_t n = 0; n == 0;) {
        json_t *j = svc_json(200, "GET", "/v1/devices", "");
        n = json_array_size(json_object_get(j, "devices"));
        json_decref(j);
    }
}

/* Without a device all problems are drawn; with one, the next that it can judge. A host without
 * PyTorch has none for most of them. An episode that was begun keeps its problem. */
static void a_drawn_problem_can_be_judged(void **state)
{
    enum { SEEDS = 12 };
    char members[64], kept[64] = "", id[32];
    size_t first[SEEDS], others = 0;
    struct client c;
    (void)state;
    svc_start("--no-work");
    json_t *all = svc_json(200, "GET", "/v1/problems", "");
    const json_t *list = json_object_get(all, "problems");
    ws_open(&c);
    for (int i = 0; i < SEEDS; i++) {
        snprintf(members, sizeof members, "\"seed\": %d", i);
        json_t *name = draw(&c, members);
        first[i] = place_of(list, name);
        json_decref(name);
        if (!is_c(list, first[i])) {
            others++;
            snprintf(kept, sizeof kept, "\"seed\": %d, \"episode_id\": \"kept\"", i);
        }
    }
    assert_in_range(others, 1, SEEDS - 1);
    json_t *before = draw(&c, kept);
    ws_end(&c); /* without a close */
    assert_int_equal(svc_end(SIGTERM), 0);

    svc_start("--jobs 1");
    await_device();
    ws_open(&c);
    json_t *after = draw(&c, kept);
    assert_true(json_equal(before, after));
    for (int i = 0; i < SEEDS; i++) {
        snprintf(members, sizeof members, "\"seed\": %d", i);
        json_t *name = draw(&c, members);
        while (!is_c(list, first[i])) {
            first[i] = (first[i] + 1) % json_array_size(list);
        }
        assert_int_equal(place_of(list, name), first[i]);
        json_decref(name);
    }
    ws_say(&c, STEP);
    is_turn(ws_get(&c), 1, id);
    ws_end(&c);
    json_decref(before);
    json_decref(after);
    json_decref(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_are_read_strictly),
        cmocka_unit_test(a_reply_is_all_that_a_step_needs),
        cmocka_unit_test(an_observation_without_a_reward_has_null),
        cmocka_unit_test_setup_teardown(a_handshake_that_is_none_is_refused, svc_setup,
                                        svc_teardown),
        cmocka_unit_test_setup_teardown(bad_frames_close_with_their_status, svc_setup,
                                        svc_teardown),
        cmocka_unit_test_setup_teardown(noise_harms_nothing, svc_setup, svc_teardown),
        cmocka_unit_test_setup_teardown(a_ping_is_answered_while_a_turn_is_judged, svc_setup,
                                        svc_teardown),
        cmocka_unit_test_setup_teardown(a_turn_outlives_its_socket_and_the_service, svc_setup,
                                        svc_teardown),
        cmocka_unit_test_setup_teardown(who_says_nothing_is_closed, svc_setup, svc_teardown),
        cmocka_unit_test_setup_teardown(what_the_gym_could_not_do_is_an_error, svc_setup,
                                        svc_teardown),
        cmocka_unit_test_setup_teardown(a_drawn_problem_can_be_judged, svc_setup, svc_teardown),
    };
    char python[2048]; /* nothing here needs PyTorch, and one test needs that it is not there */
    const char *tree = getenv("KGYM_TREE");
    snprintf(python, sizeof python, "%s/tests/support/python-without-torch", tree ? tree : ".");
    setenv("KGYM_PYTHON", python, 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

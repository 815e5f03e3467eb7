/* Parts of the service by themselves: segments of records, paths of routes, addresses, the choice
 * of a lane. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <unistd.h>

#include "base/file.h"
#include "svc/fetch.h"
#include "svc/http_private.h"
#include "svc/lanes.h"
#include "svc/segment.h"

static struct kg_err err;
static char folder[64];

static int setup(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/svc-parts-XXXXXX");
    return mkdtemp(folder) == NULL;
}

static int teardown(void **state)
{
    (void)state;
    return kg_file_remove_tree(folder, &err) != KG_OK;
}

/* --- segments --- */

static struct kg_svc_segments *open_segments(int64_t most)
{
    struct kg_svc_segments *s;
    assert_int_equal(kg_svc_segments_open(folder, most, &s, &err), KG_OK);
    return s;
}

static void append(struct kg_svc_segments *s, const char *text, size_t n, struct kg_svc_place *out)
{
    assert_int_equal(kg_svc_segments_append(s, text, n, out, &err), KG_OK);
}

static enum kg_code read_back(struct kg_svc_segments *s, const struct kg_svc_place *p,
                              const char *text, size_t n)
{
    struct kg_buf b;
    kg_buf_init(&b, 1 << 24);
    enum kg_code code = kg_svc_segments_read(s, p, &b, &err);
    if (code == KG_OK) {
        assert_int_equal(b.len, n);
        assert_memory_equal(b.data, text, n);
    }
    kg_buf_deinit(&b);
    return code;
}

static void records_come_back(void **state)
{
    enum { LONG = 300000 };
    static char big[LONG];
    struct kg_svc_place small_at, big_at, empty_at;
    (void)state;
    for (int i = 0; i < LONG; i++) {
        big[i] = (char)(i * 2654435761u >> 13);
    }
    struct kg_svc_segments *s = open_segments(1000); /* so each record begins a file */
    append(s, "{\"a\": 1}", 8, &small_at);
    append(s, big, LONG, &big_at);
    append(s, "", 0, &empty_at);
    assert_string_not_equal(big_at.segment, empty_at.segment);
    assert_int_equal(kg_svc_segments_sync(s, &err), KG_OK);
    kg_svc_segments_close(s);
    s = open_segments(1000); /* another process */
    assert_int_equal(read_back(s, &small_at, "{\"a\": 1}", 8), KG_OK);
    assert_int_equal(read_back(s, &big_at, big, LONG), KG_OK);
    assert_int_equal(read_back(s, &empty_at, "", 0), KG_OK);
    kg_svc_segments_close(s);
}

static void change_byte(const struct kg_svc_place *p, int64_t at)
{
    char path[256], byte;
    snprintf(path, sizeof path, "%s/%s.zst", folder, p->segment);
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 1;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

static void damage_is_an_error(void **state)
{
    struct kg_svc_place p, q;
    (void)state;
    struct kg_svc_segments *s = open_segments(1 << 20);
    append(s, "abcdefgh", 8, &p);
    append(s, "ijklmnop", 8, &q);
    assert_int_equal(kg_svc_segments_sync(s, &err), KG_OK);
    for (int64_t at = 0; at < p.len; at++) {
        change_byte(&p, p.offset + at);
        assert_int_equal(read_back(s, &p, "", 0), KG_E_IO);
        change_byte(&p, p.offset + at);
    }
    assert_int_equal(read_back(s, &p, "abcdefgh", 8), KG_OK);
    assert_int_equal(read_back(s, &q, "ijklmnop", 8), KG_OK);
    struct kg_svc_place wrong = q;
    wrong.offset++; /* beyond the end, and another frame's bytes */
    assert_int_equal(read_back(s, &wrong, "", 0), KG_E_IO);
    wrong.offset = p.offset;
    assert_int_equal(read_back(s, &wrong, "", 0), KG_E_IO);
    wrong = q;
    snprintf(wrong.segment, sizeof wrong.segment, "none");
    assert_int_equal(read_back(s, &wrong, "", 0), KG_E_IO);
    kg_svc_segments_close(s);
}

/* --- paths --- */

static bool fits(const char *pattern, const char *raw, const char *arg[KG_SVC_ARGS])
{
    static char room[KG_SVC_PATH_MAX], args[KG_SVC_PATH_MAX];
    const char *segment[KG_SVC_SEGMENTS];
    size_t n;
    return kg_svc_path_split(raw, room, segment, &n) &&
           kg_svc_path_fits(pattern, segment, n, arg, args);
}

static void paths_fit_patterns(void **state)
{
    const char *arg[KG_SVC_ARGS];
    (void)state;
    assert_true(fits("/v1/jobs", "//v1//jobs/", arg));
    assert_false(fits("/v1/jobs", "/v1/jobs/x", arg));
    assert_false(fits("/v1/jobs", "/v1", arg));
    assert_false(fits("/v1/jobs", "/v1/job", arg));
    assert_true(fits("/v1/*/x", "/v1/a%2Fb/x", arg));
    assert_string_equal(arg[0], "a/b"); /* one segment, whatever is in it */
    assert_true(fits("/r/**", "/r/a/b%20c", arg));
    assert_string_equal(arg[0], "a/b c");
    assert_false(fits("/r/**", "/r", arg));
    assert_true(fits("/", "/", arg));
    static const char *const broken[] = {"/%", "/%4", "/%zz", "/a%00b",
                                         "/1/2/3/4/5/6/7/8/9/a/b/c/d/e/f/g/h"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        assert_false(fits("/**", broken[i], arg));
    }
}

/* --- lanes --- */

static struct kg_svc_lane lane(const char *name, int priority, int64_t waiting, int64_t holders,
                               const char *first)
{
    struct kg_svc_lane l = {
        .priority = priority, .waiting = waiting, .holders = holders, .served_ms = 0};
    snprintf(l.name, sizeof l.name, "%s", name);
    snprintf(l.first, sizeof l.first, "%s", first);
    return l;
}

static void rules_of_choice(void **state)
{
    const struct kg_svc_slot none = {.lane = ""}, holds = {.lane = "c"};
    (void)state;
    struct kg_svc_lane l[] = {lane("a", 1, 10, 2, "1"), lane("b", 1, 9, 1, "3"),
                              lane("c", 1, 1, 5, "4"), lane("d", 2, 99, 0, "0")};
    assert_int_equal(kg_svc_lanes_choose(l, 4, &holds, 1, true), 2); /* 1: its own */
    assert_int_equal(kg_svc_lanes_choose(l, 4, &none, 1, true), 1);  /* 3: 9 / 2 are the most */
    assert_int_equal(kg_svc_lanes_choose(l, 4, &none, 1, false), 4); /* not in the first pass */
    l[0].holders = 0;
    assert_int_equal(kg_svc_lanes_choose(l, 4, &none, 1, true), 0); /* 2: nobody holds it */
    l[2].holders = 0;
    snprintf(l[2].first, sizeof l[2].first, "0");
    assert_int_equal(kg_svc_lanes_choose(l, 4, &none, 1, true), 2); /* 2: it has the oldest */
    l[2].priority = 0;
    assert_int_equal(kg_svc_lanes_choose(l, 4, &none, 1, true), 2); /* the highest first */
    l[2].waiting = 0;
    assert_int_equal(kg_svc_lanes_choose(l, 4, &holds, 1, true), 0); /* an empty one is none */
    for (int i = 0; i < 3; i++) {
        l[i].served_ms = 1;
    }
    assert_int_equal(kg_svc_lanes_choose(l, 4, &none, KG_SVC_LANE_WAIT_MS - 1, true), 0);
    assert_int_equal(kg_svc_lanes_choose(l, 4, &none, KG_SVC_LANE_WAIT_MS, true), 3); /* 0: due */
    const struct kg_svc_slot busy = {.lane = "a", .held_ms = KG_SVC_TURN_MS - 1};
    const struct kg_svc_slot turn = {.lane = "a", .held_ms = KG_SVC_TURN_MS};
    assert_int_equal(kg_svc_lanes_choose(l, 4, &busy, KG_SVC_LANE_WAIT_MS, true), 0);
    assert_int_equal(kg_svc_lanes_choose(l, 4, &turn, KG_SVC_LANE_WAIT_MS, true), 3);
}

/* --- addresses --- */

static void addresses_are_plain(void **state)
{
    static const struct {
        const char *url, *host; /* host NULL: refused */
        int port;
    } rows[] = {{"http://gpu1:8080", "gpu1", 8080},
                {"http://gpu1", "gpu1", 10907},
                {"http://10.0.0.5/", "10.0.0.5", 10907},
                {"http://[::1]:80", "::1", 80},
                {"https://gpu1", NULL, 0},
                {"gpu1:8080", NULL, 0},
                {"", NULL, 0},
                {"http://", NULL, 0},
                {"http://gpu1:0", NULL, 0},
                {"http://gpu1:70000", NULL, 0},
                {"http://gpu1:x", NULL, 0},
                {"http://gpu1/v1", NULL, 0},
                {"http://gpu1?x=1", NULL, 0},
                {"http://gpu1/#x", NULL, 0},
                {"http://me:secret@gpu1", NULL, 0}};
    char url[600] = "http://";
    struct kg_svc_target t = {.token = NULL};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        enum kg_code code = kg_svc_target_parse(rows[i].url, &t, &err);
        if (code != (rows[i].host != NULL ? KG_OK : KG_E_USAGE)) {
            fail_msg("%s: %d", rows[i].url, code);
        }
        assert_null(strstr(err.message, "secret"));
        if (rows[i].host != NULL) {
            assert_string_equal(t.host, rows[i].host);
            assert_int_equal(t.port, rows[i].port);
        }
    }
    memset(url + 7, 'a', 300);
    assert_int_equal(kg_svc_target_parse(url, &t, &err), KG_E_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(records_come_back, setup, teardown),
        cmocka_unit_test_setup_teardown(damage_is_an_error, setup, teardown),
        cmocka_unit_test(paths_fit_patterns),
        cmocka_unit_test(addresses_are_plain),
        cmocka_unit_test(rules_of_choice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The dashboard's files as the service gives them out, and the counts that its pages show. A
 * browser looks at the pages themselves in `make test-ui`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/support/svc_rig.h"

static struct kg_buf answer; /* head and body of the last one */

/* Returns the status. */
static int get(const char *path, const char *headers)
{
    char piece[4096], lines[512];
    ssize_t n;
    kg_buf_reset(&answer);
    snprintf(lines, sizeof lines, "Connection: close\r\n%s", headers);
    int s = svc_open(path, lines);
    while ((n = recv(s, piece, sizeof piece, 0)) > 0) {
        kg_buf_add(&answer, piece, (size_t)n);
    }
    close(s);
    assert_true(answer.len > 12);
    return atoi(answer.data + 9);
}

static bool has(const char *line)
{
    return strstr(answer.data, line) != NULL;
}

static const char *body(size_t *n)
{
    const char *at = strstr(answer.data, "\r\n\r\n");
    assert_non_null(at);
    *n = answer.len - (size_t)(at + 4 - answer.data);
    return at + 4;
}

static const char *type_of(const char *name)
{
    const char *end = strrchr(name, '.');
    return strcmp(end, ".html") == 0  ? "text/html; charset=utf-8"
           : strcmp(end, ".css") == 0 ? "text/css; charset=utf-8"
           : strcmp(end, ".svg") == 0 ? "image/svg+xml"
                                      : "text/javascript; charset=utf-8";
}

/* Each file of web/ is served as it is, and may load and reach nothing but the service. */
static void each_file_is_served(void **state)
{
    char path[512], type[128];
    struct kg_err err = KG_ERR_INIT;
    struct kg_buf file;
    struct dirent *e;
    int files = 0;
    size_t n;
    (void)state;
    kg_buf_init(&file, 1 << 20);
    snprintf(path, sizeof path, "%s/web", getenv("KGYM_TREE"));
    DIR *d = opendir(path);
    assert_non_null(d);
    while ((e = readdir(d)) != NULL) {
        if (e->d_name[0] == '.') {
            continue;
        }
        snprintf(path, sizeof path, "%s/web/%.200s", getenv("KGYM_TREE"), e->d_name);
        kg_buf_reset(&file);
        assert_int_equal(kg_file_read(path, &file, &err), KG_OK);
        snprintf(path, sizeof path, "/ui/%.200s", e->d_name);
        snprintf(type, sizeof type, "Content-Type: %s\r\n", type_of(e->d_name));
        assert_int_equal(get(path, ""), 200);
        assert_true(has(type));
        assert_true(has("Content-Security-Policy: default-src 'self'; "));
        assert_false(has("unsafe"));
        assert_true(has("X-Content-Type-Options: nosniff\r\n"));
        assert_true(has("Cache-Control: no-cache\r\n"));
        assert_false(has("Cache-Control: no-store"));
        const char *served = body(&n);
        assert_int_equal(n, file.len);
        assert_memory_equal(served, file.data, n);
        files++;
    }
    closedir(d);
    assert_true(files > 10);
    kg_buf_deinit(&file);
}

static void a_known_file_is_not_sent_again(void **state)
{
    char line[256], other[256];
    size_t n;
    (void)state;
    assert_int_equal(get("/ui/app.js", ""), 200);
    const char *tag = strstr(answer.data, "ETag: ");
    assert_non_null(tag);
    snprintf(line, sizeof line, "If-None-Match: %.66s\r\n", tag + 6);
    snprintf(other, sizeof other, "If-None-Match: W/\"x\", %.66s\r\n", tag + 6);
    assert_int_equal(get("/ui/app.js", line), 304);
    (void)body(&n);
    assert_int_equal(n, 0);
    assert_int_equal(get("/ui/app.js", other), 304);
    assert_int_equal(get("/ui/api.js", line), 200); /* another file has another tag */
    assert_int_equal(get("/ui/app.js", "If-None-Match: \"x\"\r\n"), 200);
}

static void no_other_path_is_a_file(void **state)
{
    static const char *const paths[] = {"/ui/none.js",
                                        "/ui/app.js/x",
                                        "/ui/x/app.js",
                                        "/ui/../Makefile",
                                        "/ui/../../../../etc/passwd",
                                        "/ui/%2e%2e/%2e%2e/etc/passwd",
                                        "/ui/..%2f..%2fetc%2fpasswd",
                                        "/ui/app.js%20",
                                        "/ui/APP.JS"};
    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        if (get(paths[i], "") != 404) {
            fail_msg("%s: %.200s", paths[i], answer.data);
        }
    }
    assert_int_equal(get("/ui/app.js%00.css", ""), 400);
    json_decref(svc_json(405, "POST", "/ui/app.js", "{}"));
}

static void a_browser_is_led_to_the_dashboard(void **state)
{
    (void)state;
    assert_int_equal(get("/", "Accept: text/html,application/xhtml+xml;q=0.9,*/*;q=0.8\r\n"), 302);
    assert_true(has("Location: /ui/\r\n"));
    assert_int_equal(get("/ui", ""), 302); /* its files are named relative to /ui/ */
    assert_true(has("Location: /ui/\r\n"));
    assert_int_equal(get("/ui/", ""), 200);
    assert_true(has("<title>kgym</title>"));
    assert_int_equal(get("/", "Accept: */*\r\n"), 200);
    assert_true(has("Content-Type: application/json"));
    assert_int_equal(get("/", ""), 200);
    assert_true(has("Content-Type: application/json"));
}

/* Of a record the counts take stage and speed, where the gym has measured it. */
static void judge(const char *verdict, const char *timing)
{
    json_decref(
        svc_json(202, "POST", "/v1/evaluations", "{\"problem\": \"silu\", \"reply\": \"r\"}"));
    json_t *claims = svc_json(200, "POST", "/v1/worker/claim",
                              "{\"worker\": \"stub\", \"devices\": [\"cpu\"], \"slots\": "
                              "[{\"lane\": \"\", \"held_ms\": 0}], \"wait_s\": 20}");
    const json_t *c = json_array_get(json_object_get(claims, "claims"), 0);
    char record[512];
    snprintf(record, sizeof record,
             "{\"stage\": \"timing\", \"speedup\": {\"ratio\": 2.5}, \"timing\": %s}", timing);
    json_t *end =
        json_pack("{s:O, s:O, s:O, s:s, s:s, s:s}", "id", json_object_get(c, "id"), "claim",
                  json_object_get(c, "claim"), "fence", json_object_get(c, "fence"), "outcome",
                  "finished", "record", record, "verdict", verdict);
    char *text = json_dumps(end, 0);
    json_decref(svc_json(200, "POST", "/v1/worker/finish", text));
    free(text);
    json_decref(end);
    json_decref(claims);
}

static void counts_come_from_records(void **state)
{
    (void)state;
    judge("ok", "{\"status\": \"not_trusted\", \"claims\": null}");
    judge("ok", "{\"status\": \"measured\", \"claims\": {\"trials\": 5}}");
    judge("hack", "{\"status\": \"measured\", \"claims\": null}");
    json_t *j = svc_json(200, "GET", "/v1/bests", "");
    const json_t *b = json_array_get(json_object_get(j, "problems"), 0);
    assert_string_equal(svc_text(b, "problem"), "silu");
    assert_int_equal(json_integer_value(json_object_get(b, "ok")), 2);
    assert_true(json_is_null(json_object_get(b, "speedup")));
    json_decref(j);
    judge("ok", "{\"status\": \"measured\", \"claims\": null}");
    j = svc_json(200, "GET", "/v1/bests", "");
    b = json_array_get(json_object_get(j, "problems"), 0);
    assert_true(json_real_value(json_object_get(b, "speedup")) == 2.5);
    assert_int_equal(strlen(svc_text(b, "id")), 26);
    json_decref(j);
    j = svc_json(200, "GET", "/v1/overview", "");
    const json_t *end = json_array_get(json_object_get(j, "ends"), 0);
    assert_string_equal(svc_text(end, "verdict"), "ok");
    assert_string_equal(svc_text(end, "stage"), "timing");
    assert_int_equal(json_integer_value(json_object_get(end, "n")), 3);
    assert_int_equal(json_array_size(json_object_get(j, "done_per_minute")), 60);
    assert_true(json_integer_value(json_object_get(j, "last_event")) > 0);
    json_decref(j);
}

static int setup(void **state)
{
    kg_buf_init(&answer, 1 << 20);
    if (svc_setup(state) != 0) {
        return 1;
    }
    svc_start("--no-work");
    return 0;
}

static int teardown(void **state)
{
    kg_buf_deinit(&answer);
    return svc_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_file_is_served),
                                       cmocka_unit_test(a_known_file_is_not_sent_again),
                                       cmocka_unit_test(no_other_path_is_a_file),
                                       cmocka_unit_test(a_browser_is_led_to_the_dashboard),
                                       cmocka_unit_test(counts_come_from_records)};
    return cmocka_run_group_tests(tests, setup, teardown);
}

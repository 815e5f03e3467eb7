#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/term.h"

/* A terminal of so many columns: *screen writes to it, what it shows is read from the result. */
static int open_terminal(unsigned short columns, FILE **screen)
{
    int master, slave;
    struct winsize size = {.ws_row = 24, .ws_col = columns};
    assert_int_equal(openpty(&master, &slave, NULL, NULL, &size), 0);
    *screen = fdopen(slave, "w");
    assert_non_null(*screen);
    return master;
}

static void read_some(int fd, char *out, size_t cap)
{
    ssize_t n = read(fd, out, cap - 1);
    assert_true(n > 0);
    out[n] = '\0';
}

static void colour_only_where_wanted(void **state)
{
    (void)state;
    FILE *screen, *file = tmpfile();
    int master = open_terminal(100, &screen);
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
    assert_true(kg_term_colour(screen));
    assert_false(kg_term_colour(file));
    setenv("NO_COLOR", "", 1);
    assert_true(kg_term_colour(screen));
    setenv("NO_COLOR", "1", 1);
    assert_false(kg_term_colour(screen));
    assert_true(kg_term_tty(screen));
    unsetenv("NO_COLOR");
    setenv("TERM", "dumb", 1);
    assert_false(kg_term_colour(screen));
    unsetenv("TERM");
    assert_false(kg_term_colour(screen));
    setenv("TERM", "xterm", 1);
    fclose(screen);
    fclose(file);
    close(master);
}

static void width_is_bounded(void **state)
{
    (void)state;
    static const unsigned short real[] = {100, 10, 500, 0}, shown[] = {100, 40, 200, 80};
    for (int i = 0; i < 4; i++) {
        FILE *screen;
        int master = open_terminal(real[i], &screen);
        assert_int_equal(kg_term_width(screen), shown[i]);
        fclose(screen);
        close(master);
    }
    FILE *file = tmpfile();
    assert_int_equal(kg_term_width(file), 80);
    fclose(file);
}

static void expect_added(bool colour, enum kg_style style, const char *s, const char *want)
{
    struct kg_buf b;
    kg_buf_init(&b, 1000);
    kg_term_add(&b, colour, style, s);
    assert_string_equal(b.data, want);
    kg_buf_deinit(&b);
}

#define BAD "\xEF\xBF\xBD"

static void styles(void **state)
{
    (void)state;
    expect_added(true, KG_RED, "x", "\033[31mx\033[0m");
    expect_added(true, KG_BOLD, "x", "\033[1mx\033[0m");
    expect_added(true, KG_PLAIN, "x", "x");
    expect_added(false, KG_RED, "x", "x");
}

static void text_cannot_drive_the_terminal(void **state)
{
    (void)state;
    expect_added(false, KG_PLAIN, "a\033[2Jb", "a" BAD "[2Jb");
    expect_added(true, KG_RED, "\033[0m", "\033[31m" BAD "[0m\033[0m");
    expect_added(false, KG_PLAIN, "a\rb\bc\a\177", "a" BAD "b" BAD "c" BAD BAD);
    expect_added(false, KG_PLAIN, "line\n\tnext", "line\n\tnext");
    expect_added(false, KG_PLAIN,
                 "\xc2\x9b"
                 "31m",
                 BAD "31m"); /* CSI of one character */
    expect_added(false, KG_PLAIN,
                 "a\xe2\x80\xae"
                 "b",
                 "a" BAD "b"); /* right-to-left override */
    expect_added(false, KG_PLAIN, "\xff\xc3", BAD BAD);
    expect_added(false, KG_PLAIN, "\xc3\xa9\xe6\x97\xa5", "\xc3\xa9\xe6\x97\xa5");
}

static void a_line_stays_one(void **state)
{
    (void)state;
    struct kg_buf b;
    kg_buf_init(&b, 1000);
    kg_term_add_line(&b, "no\033[2K\rkgym: ok\nreward 5\v\f\tx\xc2\x85y\xe2\x80\xa8z\xff");
    assert_string_equal(b.data, "no" BAD "[2K kgym: ok reward 5   x" BAD "y" BAD "z" BAD);
    kg_buf_deinit(&b);
}

static void columns(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t columns;
    } cases[] = {
        {"", 0},
        {"abc", 3},
        {"\xc3\xa9", 1},
        {"e\xcc\x81", 1},                /* combining acute */
        {"\xe6\x97\xa5\xe6\x9c\xac", 4}, /* two ideographs */
        {"\xf0\x9f\x98\x80", 2},         /* emoji */
        {"\033[1;31mred\033[0m", 3},
        {"\033", 0},
        {"\033[", 0},
        {"\033[12", 0},
        {"\xff", 1},
        {"a\nb", 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(kg_term_columns(cases[i].text), cases[i].columns);
    }
}

static void plain_progress_is_one_line_per_second(void **state)
{
    (void)state;
    char text[4000] = "";
    FILE *file = fmemopen(text, sizeof text - 1, "w");
    struct kg_progress p;
    kg_progress_init(&p, file, "judging", 60);
    assert_false(p.tty);
    for (int i = 0; i < 1000; i++) {
        kg_progress_step(&p, i % 60, NULL);
    }
    assert_string_equal(text, "");
    p.start_ns -= 2000000000; /* two seconds pass */
    p.shown_ns -= 2000000000;
    kg_progress_step(&p, 20, "softmax\033[2J\nx");
    for (int i = 0; i < 100; i++) {
        kg_progress_step(&p, 21, NULL);
    }
    assert_string_equal(text, "judging: 20/60  33%  10/s  0:04 left  softmax" BAD "[2J x\n");
    kg_progress_step(&p, 60, NULL);
    kg_progress_end(&p);
    const char *end = strchr(text, '\n') + 1;
    assert_string_equal(end, "judging: 60/60 in 2.0 s, 30/s\n");
    fclose(file);
}

/* One step at a time so long after the start. */
static void expect_progress(const char *label, int64_t total, int64_t seconds, int64_t done,
                            const char *want)
{
    char text[1000] = "";
    FILE *file = fmemopen(text, sizeof text - 1, "w");
    struct kg_progress p;
    kg_progress_init(&p, file, label, total);
    p.start_ns -= seconds * 1000000000;
    p.shown_ns -= seconds * 1000000000;
    kg_progress_step(&p, done, NULL);
    assert_string_equal(text, want);
    fclose(file);
}

static void progress_without_total(void **state)
{
    (void)state;
    expect_progress("reading", 0, 10, 5, "reading: 5  0.5/s\n");
}

/* A run that goes on: 10 of 30 were there before, 20 came in 20 s. */
static void rate_leaves_out_what_was_kept(void **state)
{
    (void)state;
    char text[1000] = "";
    FILE *file = fmemopen(text, sizeof text - 1, "w");
    struct kg_progress p;
    kg_progress_init(&p, file, "x", 40);
    p.start_ns -= 20000000000;
    p.shown_ns -= 20000000000;
    p.kept = 10;
    kg_progress_step(&p, 30, NULL);
    kg_progress_end(&p);
    assert_string_equal(text, "x: 30/40  75%  1/s  0:10 left\nx: 30/40 in 20.0 s, 1/s\n");
    fclose(file);
}

static void time_left_in_hours(void **state)
{
    (void)state;
    expect_progress("x", 1000, 100, 10, "x: 10/1000   1%  0.1/s  2:45:00 left\n");
}

static void terminal_progress_redraws_one_line(void **state)
{
    (void)state;
    FILE *screen;
    char text[1000];
    int master = open_terminal(50, &screen);
    setenv("TERM", "xterm", 1);
    struct kg_progress p;
    kg_progress_init(&p, screen, "judging", 4);
    assert_true(p.tty);
    kg_progress_step(&p, 1, "a note that is far too long for a terminal of fifty columns");
    read_some(master, text, sizeof text);
    assert_memory_equal(text, "\r\033[Kjudging [######..................] 1/4  25%", 47);
    assert_int_equal(kg_term_columns(text), 49);
    assert_null(strchr(text, '\n'));
    p.shown_ns -= 1000000000;
    kg_progress_step(&p, 9, NULL); /* more than the total stays inside the bar */
    read_some(master, text, sizeof text);
    assert_non_null(strstr(text, "[########################] 9/4 100%"));
    kg_progress_end(&p);
    read_some(master, text, sizeof text);
    assert_memory_equal(text, "\r\033[Kjudging: 9/4 in ", 20);
    assert_int_equal(text[strlen(text) - 1], '\n');
    fclose(screen);
    close(master);
}

/* Runs one log call in a child with KGYM_LOG set, and returns what it wrote. */
static void logged(const char *level, enum kg_log_level at, const char *message, char out[2000])
{
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    pid_t child = fork();
    if (child == 0) {
        setenv("KGYM_LOG", level, 1);
        dup2(fds[1], STDERR_FILENO);
        kg_log_role("judge");
        kg_log(at, "%s", message);
        _exit(0);
    }
    close(fds[1]);
    ssize_t n = read(fds[0], out, 1999);
    out[n < 0 ? 0 : n] = '\0';
    close(fds[0]);
    waitpid(child, NULL, 0);
}

static void log_lines(void **state)
{
    (void)state;
    char out[2000], big[3000];
    logged("", KG_LOG_WARN, "careful", out);
    assert_string_equal(out, "warn judge: careful\n");
    logged("", KG_LOG_INFO, "quiet", out);
    assert_string_equal(out, "");
    logged("debug", KG_LOG_DEBUG, "seen", out);
    assert_string_equal(out, "debug judge: seen\n");
    logged("error", KG_LOG_WARN, "unseen", out);
    assert_string_equal(out, "");
    logged("nonsense", KG_LOG_WARN, "fake\nerror judge: \033[2J", out);
    assert_string_equal(out, "warn judge: fake error judge:  [2J\n");
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    logged("", KG_LOG_ERROR, big, out);
    assert_true(strlen(out) <= 1024);
    assert_int_equal(out[strlen(out) - 1], '\n');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(colour_only_where_wanted),
        cmocka_unit_test(width_is_bounded),
        cmocka_unit_test(styles),
        cmocka_unit_test(text_cannot_drive_the_terminal),
        cmocka_unit_test(a_line_stays_one),
        cmocka_unit_test(columns),
        cmocka_unit_test(plain_progress_is_one_line_per_second),
        cmocka_unit_test(progress_without_total),
        cmocka_unit_test(rate_leaves_out_what_was_kept),
        cmocka_unit_test(time_left_in_hours),
        cmocka_unit_test(terminal_progress_redraws_one_line),
        cmocka_unit_test(log_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The journal of verdicts, and a judge that leaves its verdicts there. */
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "rl/judge/journal.h"
#include "rl/judge/judge.h"

static struct kg_err err = KG_ERR_INIT;
static char path[64];
static json_t *head;
static int judged; /* by the script */
#define good(call) assert_int_equal(call, KG_OK)

static int setup(void **state)
{
    (void)state;
    head = json_pack("{s:s}", "reward", "r");
    snprintf(path, sizeof path, "/tmp/kgym-journal-%d", (int)getpid());
    return head == NULL ? -1 : 0;
}

static int teardown(void **state)
{
    (void)state;
    json_decref(head);
    return unlink(path);
}

static void key_of(int i, char key[KG_SHA256_HEX])
{
    struct kg_sha256 h;
    kg_sha256_begin(&h);
    kg_sha256_part(&h, &i, sizeof i);
    kg_sha256_end(&h, key);
}

static struct rl_verdict verdict_of(int i)
{
    struct rl_verdict v = {.state = i % 7 == 0 ? RL_DEFECT : RL_JUDGED,
                           .correct = i % 2 == 0,
                           .speedup = 1 / (double)(i + 3),
                           .speedup_lo = nextafter(1, 2),
                           .coverage = i % 5 == 0 ? (double)NAN : .3,
                           .reward = -.1 * i,
                           .nterms = 1,
                           .term = {{"speed", 1e-300}}};
    snprintf(v.name, sizeof v.name, "%s", i % 2 == 0 ? "ok" : "wrong");
    snprintf(v.feedback, sizeof v.feedback, "reply %d \xc3\xa9 \"quoted\"", i);
    return v;
}

static void same(const struct rl_verdict *a, const struct rl_verdict *b)
{
    assert_int_equal(a->state, b->state);
    assert_true(a->correct == b->correct);
    assert_memory_equal(&a->speedup, &b->speedup, sizeof a->speedup);
    assert_memory_equal(&a->speedup_lo, &b->speedup_lo, sizeof a->speedup_lo);
    assert_memory_equal(&a->reward, &b->reward, sizeof a->reward);
    assert_true(a->coverage == b->coverage || (isnan(a->coverage) && isnan(b->coverage)));
    assert_true(a->nterms == b->nterms && a->term[0].value == b->term[0].value);
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->feedback, b->feedback);
}

static void fill(struct rl_journal *j, int from, int to)
{
    for (int i = from; i < to; i++) {
        char key[KG_SHA256_HEX];
        struct rl_verdict v = verdict_of(i);
        key_of(i, key);
        good(rl_journal_add(j, key, &v, &err));
    }
}

/* asked: what every entry is to say of itself. */
static void ask_all(struct rl_journal *j, int n, bool asked)
{
    for (int i = n - 1; i >= 0; i--) {
        char key[KG_SHA256_HEX];
        struct rl_verdict v, want = verdict_of(i);
        bool found, before;
        key_of(i, key);
        good(rl_journal_ask(j, key, &found, &v, &before, &err));
        assert_true(found && before == asked);
        same(&v, &want);
    }
}

/* More than its first table holds, before and after it is read again. */
static void what_was_added_is_found(void **state)
{
    (void)state;
    struct rl_journal *j;
    struct rl_verdict v = verdict_of(1), other;
    char key[KG_SHA256_HEX];
    bool found = true;
    unlink(path);
    good(rl_journal_open(path, head, &j, &err));
    key_of(0, key);
    good(rl_journal_ask(j, key, &found, &other, NULL, &err));
    assert_false(found);
    fill(j, 0, 1500);
    ask_all(j, 1500, true);
    good(rl_journal_add(j, key, &v, &err)); /* the first one stays */
    assert_int_equal(rl_journal_count(j), 1500);
    rl_journal_close(j);
    good(rl_journal_open(path, head, &j, &err));
    ask_all(j, 1500, false);
    fill(j, 1500, 3000);
    ask_all(j, 3000, true);
    rl_journal_close(j);
    good(rl_journal_read(path, head, &j, &err));
    assert_int_equal(rl_journal_count(j), 3000);
    ask_all(j, 3000, false);
    rl_journal_close(j);
}

/* Verdicts are read from the file, so that what somebody did to it meanwhile is told. */
static void a_file_that_changed_is_told(void **state)
{
    (void)state;
    struct rl_journal *j;
    struct rl_verdict v;
    char key[KG_SHA256_HEX];
    bool found;
    unlink(path);
    good(rl_journal_open(path, head, &j, &err));
    fill(j, 0, 3);
    key_of(2, key);
    int fd = open(path, O_RDWR);
    off_t end = lseek(fd, 0, SEEK_END);
    char line[8000];
    ssize_t n = pread(fd, line, sizeof line - 1, 0);
    assert_true(fd >= 0 && n == end);
    line[n] = '\0';
    char *last = strstr(line, key);
    assert_non_null(last);
    char digit = last[0] == '0' ? '1' : '0';
    assert_int_equal(pwrite(fd, &digit, 1, last - line), 1);
    assert_int_equal(rl_journal_ask(j, key, &found, &v, NULL, &err), KG_E_INPUT);
    assert_false(found);
    assert_non_null(strstr(err.message, "another verdict is there"));
    assert_int_equal(pwrite(fd, "}", 1, last - line - 3), 1);
    assert_int_equal(rl_journal_ask(j, key, &found, &v, NULL, &err), KG_E_INPUT);
    assert_int_equal(ftruncate(fd, end - 10), 0);
    assert_int_equal(rl_journal_ask(j, key, &found, &v, NULL, &err), KG_E_IO);
    assert_non_null(strstr(err.message, "the file was cut"));
    close(fd);
    rl_journal_close(j);
}

static void script(void *user, const struct rl_chain *chain, const char *text, size_t len,
                   struct rl_verdict *out)
{
    (void)user, (void)chain, (void)len;
    judged++;
    *out = verdict_of(text[0]);
}

static void submit(struct rl_judge *j, const char *text, bool shared)
{
    struct rl_chain c;
    const struct rl_verdict *v;
    const struct rl_verdict want = verdict_of(text[0]);
    int ticket;
    good(rl_chain_parse("relu", &c, &err));
    good(rl_judge_submit(j, 0, &c, text, 1, &err));
    good(rl_judge_next(j, 0, &ticket, &v, &err));
    assert_int_equal(ticket, 0);
    assert_true(rl_judge_shared(j, 0) == shared);
    same(v, &want);
}

/* A reply is not judged twice, in whatever scope it comes. */
static void judge_in_scopes(struct rl_journal *own)
{
    struct rl_judge *j;
    const struct rl_judge_options o = {
        .reward = "r", .tickets = 1, .reuse = true, .script = script, .own = own};
    good(rl_judge_create(NULL, &o, &j, &err));
    judged = 0;
    for (uint32_t scope = 0; scope < 3; scope++) {
        rl_judge_scope(j, scope);
        submit(j, "a", scope > 0);
        submit(j, "b", scope > 0);
        submit(j, "a", true);
    }
    struct rl_judge_counts c = rl_judge_counts(j);
    assert_int_equal(judged, 2);
    assert_true(c.asked == 9 && c.shared == 7 && c.sent == 2 && c.read == 0 && c.failed == 0);
    rl_judge_destroy(j);
}

/* The journal gives what the judge has forgotten; without one the judge forgets nothing. */
static void verdicts_outlive_their_scope(void **state)
{
    (void)state;
    struct rl_journal *own;
    unlink(path);
    good(rl_journal_open(path, head, &own, &err));
    judge_in_scopes(own);
    assert_int_equal(rl_journal_count(own), 2);
    rl_journal_close(own);
    judge_in_scopes(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_added_is_found),
        cmocka_unit_test(a_file_that_changed_is_told),
        cmocka_unit_test(verdicts_outlive_their_scope),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

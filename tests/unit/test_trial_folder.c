/* The folder of a trial's run: what is put is found again, also after a writer that was killed or a
 * disk that is full; one process at a time; a run that goes on asks for the same. */
#include "kgym_rig.h"

#include <math.h>
#include <sys/resource.h>

#include "trial/drive/folder.h"

#define good(call) assert_int_equal(call, KG_OK)

static struct kg_err err = KG_ERR_INIT;
static const char *const grows[] = {"samples", NULL};

static json_t *run_of(int samples, double temperature)
{
    return json_pack("{s:s, s:s, s:i, s:{s:s, s:f}}", "schema", "kgym.run/1", "kind", "bench",
                     "samples", samples, "policy", "model", "m", "temperature", temperature);
}

static enum kg_code open_run(const char *path, int samples, double temperature,
                             struct tr_folder **out)
{
    json_t *run = run_of(samples, temperature);
    enum kg_code code = tr_folder_open(path, run, grows, out, &err);
    json_decref(run);
    return code;
}

static struct tr_reply reply_of(const char *text)
{
    return (struct tr_reply){.text = (char *)(uintptr_t)text,
                             .len = strlen(text),
                             .finish = TR_LENGTH,
                             .usage = {.tokens_in = 10, .tokens_out = 5, .seconds = .5, .tries = 2},
                             .model = "m-1",
                             .logprob = (double)NAN};
}

static void put(struct tr_folder *f, const char *key, const char *text)
{
    struct tr_reply r = reply_of(text);
    good(tr_folder_put_reply(f, key, &r, &err));
}

static void assert_text(struct tr_folder *f, const char *key, const char *text)
{
    json_t *line = NULL;
    good(tr_folder_reply(f, key, &line, &err));
    if (text == NULL) {
        assert_null(line);
        return;
    }
    assert_non_null(line);
    assert_string_equal(json_string_value(json_object_get(line, "text")), text);
    json_decref(line);
}

static void append(const char *path, const char *text)
{
    FILE *f = fopen(path, "ae");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void test_what_is_put_is_found_again(void **state)
{
    (void)state;
    struct tr_folder *f;
    char *record = NULL;
    size_t len;
    good(open_run("a/b", 2, 1, &f));
    put(f, "x/s1/t1", "one\n\"\\ \xf0\x9f\x90\x9f \x1b[31m");
    put(f, "x/s1/t2", "two");
    put(f, "x/s1/t2", "two again");
    good(tr_folder_put_record(f, "x/s1/t1", "{ \"batch_id\": \"other\", \"n\": 1 }", 31, NULL, NULL,
                              &err));
    assert_text(f, "x/s1/t3", NULL);
    tr_folder_close(f);
    good(open_run("a/b", 2, 1, &f));
    assert_text(f, "x/s1/t1", "one\n\"\\ \xf0\x9f\x90\x9f \x1b[31m");
    assert_text(f, "x/s1/t2", "two again");
    good(tr_folder_record(f, "x/s1/t1", &record, &len, &err));
    assert_string_equal(record, "{\"batch_id\":\"x/s1/t1\",\"n\":1}");
    assert_int_equal(len, strlen(record));
    free(record);
    const struct tr_totals t = tr_folder_totals(f);
    assert_int_equal(t.replies, 3); /* what was paid for, used or not */
    assert_int_equal(t.tokens_in, 30);
    assert_int_equal(t.tokens_out, 15);
    assert_string_equal(tr_folder_model(f), "m-1");
    tr_folder_close(f);
}

/* Counts that cannot be add nothing, and take nothing away. */
static void test_counts_that_cannot_be(void **state)
{
    (void)state;
    struct tr_folder *f;
    good(open_run("counts", 2, 1, &f));
    put(f, "x/s1/t1", "one");
    tr_folder_close(f);
    append("counts/replies.jsonl", "{\"key\":\"x/s1/t2\",\"tokens_in\":9223372036854775807,"
                                   "\"tokens_out\":-9223372036854775807}\n"
                                   "{\"key\":\"x/s1/t3\",\"tokens_in\":1e9,"
                                   "\"tokens_out\":\"7\"}\n");
    good(open_run("counts", 2, 1, &f));
    const struct tr_totals t = tr_folder_totals(f);
    assert_int_equal(t.replies, 3);
    assert_int_equal(t.tokens_in, 10);
    assert_int_equal(t.tokens_out, 5);
    tr_folder_close(f);
}

static void test_a_torn_line_is_cut_off(void **state)
{
    (void)state;
    struct tr_folder *f;
    good(open_run("torn", 2, 1, &f));
    put(f, "x/s1/t1", "one");
    tr_folder_close(f);
    append("torn/replies.jsonl", "{\"key\": \"x/s1/t2\", \"te");
    good(open_run("torn", 2, 1, &f));
    assert_text(f, "x/s1/t1", "one");
    assert_text(f, "x/s1/t2", NULL);
    put(f, "x/s1/t2", "two");
    tr_folder_close(f);
    good(open_run("torn", 2, 1, &f));
    assert_text(f, "x/s1/t2", "two");
    tr_folder_close(f);
    append("torn/replies.jsonl",
           "{\"text\": 1}\n"); /* whole, and none of ours: told, not guessed */
    assert_int_equal(open_run("torn", 2, 1, &f), KG_E_INPUT);
    assert_non_null(strstr(err.message, "replies.jsonl:3"));
}

static void test_one_process_at_a_time(void **state)
{
    (void)state;
    struct tr_folder *f, *second;
    char pid[24];
    good(open_run("locked", 2, 1, &f));
    assert_int_equal(open_run("locked", 2, 1, &second), KG_E_USAGE);
    snprintf(pid, sizeof pid, "%ld", (long)getpid());
    assert_non_null(strstr(err.message, pid));
    tr_folder_close(f);
    good(open_run("locked", 2, 1, &f));
    tr_folder_close(f);
}

static void test_a_run_goes_on_with_the_same_alone(void **state)
{
    (void)state;
    struct tr_folder *f;
    good(open_run("same", 2, 1, &f));
    tr_folder_close(f);
    assert_int_equal(open_run("same", 2, .5, &f), KG_E_USAGE);
    assert_non_null(strstr(err.message, "policy.temperature"));
    assert_non_null(strstr(err.message, "0.5"));
    good(open_run("same", 4, 1, &f)); /* samples may grow */
    tr_folder_close(f);
    assert_int_equal(open_run("same", 2, 1, &f), KG_E_USAGE);
    assert_non_null(strstr(err.message, "`samples` 4"));
    assert_int_equal(mkdir("other", 0777), 0);
    append("other/notes.txt", "mine");
    assert_int_equal(open_run("other", 2, 1, &f), KG_E_USAGE);
    assert_non_null(strstr(err.message, "notes.txt"));
}

/* In a child, whose files have at most this many bytes. */
static int fill(long bytes)
{
    struct tr_folder *f;
    const struct rlimit limit = {(rlim_t)bytes, (rlim_t)bytes};
    signal(SIGXFSZ, SIG_IGN);
    if (open_run("full", 2, 1, &f) != KG_OK || setrlimit(RLIMIT_FSIZE, &limit) != 0) {
        return 10;
    }
    enum kg_code code = KG_OK;
    for (int i = 1; i < 1000 && code == KG_OK; i++) {
        char key[40];
        struct tr_reply r = reply_of("some text");
        snprintf(key, sizeof key, "x/s%d/t1", i);
        code = tr_folder_put_reply(f, key, &r, &err);
    }
    tr_folder_close(f);
    return code == KG_E_IO && strstr(err.message, "full/replies.jsonl") != NULL ? 0 : 11;
}

static void test_a_full_disk_leaves_whole_lines(void **state)
{
    (void)state;
    int status = -1;
    struct tr_folder *f;
    pid_t pid = fork();
    if (pid == 0) {
        _exit(fill(2000));
    }
    assert_true(waitpid(pid, &status, 0) == pid);
    assert_int_equal(status, 0);
    struct kg_buf text;
    kg_buf_init(&text, 1 << 20);
    good(kg_file_read("full/replies.jsonl", &text, &err));
    assert_true(text.len > 0 && text.len <= 2000 && text.data[text.len - 1] == '\n');
    kg_buf_deinit(&text);
    good(open_run("full", 2, 1, &f));
    assert_text(f, "x/s1/t1", "some text");
    put(f, "y/s1/t1", "there is room again");
    assert_text(f, "y/s1/t1", "there is room again");
    tr_folder_close(f);
}

/* A child with little memory for a line that is long. */
static int open_long(void)
{
    const struct rlimit limit = {(rlim_t)256 << 20, (rlim_t)256 << 20};
    struct tr_folder *f;
    return setrlimit(RLIMIT_AS, &limit) == 0 && open_run("long", 2, 1, &f) != KG_OK &&
                   strstr(err.message, "long/replies.jsonl") != NULL
               ? 0
               : 10;
}

static void test_what_cannot_be_read_is_not_cut_off(void **state)
{
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip(); /* it needs more memory than the limit leaves */
#else
    enum { LONG = 200 << 20 };
    struct tr_folder *f;
    struct stat before, after;
    int status = -1;
    good(open_run("long", 2, 1, &f));
    put(f, "x/s1/t1", "one");
    tr_folder_close(f);
    FILE *file = fopen("long/replies.jsonl", "ae");
    assert_non_null(file);
    assert_true(fprintf(file, "{\"key\":\"x/s1/t2\",\"text\":\"%*s\"}\n", LONG, "") > LONG);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(stat("long/replies.jsonl", &before), 0);
    pid_t pid = fork();
    if (pid == 0) {
        _exit(open_long());
    }
    assert_true(waitpid(pid, &status, 0) == pid);
    assert_int_equal(status, 0);
    assert_int_equal(stat("long/replies.jsonl", &after), 0);
    assert_int_equal(before.st_size, after.st_size);
    unlink("long/replies.jsonl");
#endif
}

static void test_a_conversation_is_written_once(void **state)
{
    (void)state;
    struct tr_folder *f;
    struct stat before, after;
    good(open_run("talks", 2, 1, &f));
    json_t *line = json_pack("{s:s, s:s}", "id", "x/s1", "end", "infra");
    good(tr_folder_put_trajectory(f, line, &err));
    assert_int_equal(stat("talks/trajectories.jsonl", &before), 0);
    good(tr_folder_put_trajectory(f, line, &err));
    tr_folder_close(f);
    good(open_run("talks", 2, 1, &f));
    good(tr_folder_put_trajectory(f, line, &err));
    assert_int_equal(stat("talks/trajectories.jsonl", &after), 0);
    assert_int_equal(before.st_size, after.st_size);
    json_object_set_new(line, "end", json_string("done"));
    good(tr_folder_put_trajectory(f, line, &err));
    assert_int_equal(stat("talks/trajectories.jsonl", &after), 0);
    assert_true(after.st_size > before.st_size);
    json_decref(line);
    tr_folder_close(f);
}

/* A turn that had no verdict has one now: the end and the number of turns tell nothing of it. */
static void test_a_late_verdict_makes_a_new_line(void **state)
{
    (void)state;
    struct tr_folder *f;
    struct stat before, after;
    good(open_run("late-talks", 2, 1, &f));
    json_t *line = json_pack("{s:s, s:s, s:[{s:s}, {s:s}]}", "id", "x/s1", "end", "done", "turns",
                             "verdict", "ok", "verdict", "");
    good(tr_folder_put_trajectory(f, line, &err));
    assert_int_equal(stat("late-talks/trajectories.jsonl", &before), 0);
    json_t *second = json_array_get(json_object_get(line, "turns"), 1);
    json_object_set_new(second, "verdict", json_string("wrong"));
    good(tr_folder_put_trajectory(f, line, &err));
    assert_int_equal(stat("late-talks/trajectories.jsonl", &after), 0);
    assert_true(after.st_size > before.st_size);
    json_object_set_new(second, "shared", json_true()); /* how it came about makes no line */
    good(tr_folder_put_trajectory(f, line, &err));
    assert_int_equal(stat("late-talks/trajectories.jsonl", &before), 0);
    assert_int_equal(before.st_size, after.st_size);
    json_decref(line);
    tr_folder_close(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_put_is_found_again),
        cmocka_unit_test(test_counts_that_cannot_be),
        cmocka_unit_test(test_a_torn_line_is_cut_off),
        cmocka_unit_test(test_one_process_at_a_time),
        cmocka_unit_test(test_a_run_goes_on_with_the_same_alone),
        cmocka_unit_test(test_a_full_disk_leaves_whole_lines),
        cmocka_unit_test(test_what_cannot_be_read_is_not_cut_off),
        cmocka_unit_test(test_a_conversation_is_written_once),
        cmocka_unit_test(test_a_late_verdict_makes_a_new_line),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}

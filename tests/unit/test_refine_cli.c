/* kgym refine as a person runs it: what it prints and leaves, that it goes on after an interrupt
 * and after a kill, and what it refuses. Nothing is timed. */
#include "kgym_rig.h"

#include "base/term.h"
#include "rl/chains/chains.h"

#define BASE "exec $K refine chain/silu_rms.c --policy scripted --set stage.timing=no --workers 1 "

static int setup(void **state)
{
    static const char *const names[] = {"silu_rms", "bias_relu"};
    struct kg_err err = KG_ERR_INIT;
    if (rig_setup(state) != 0 || mkdir("chain", 0777) != 0) {
        return -1;
    }
    for (int i = 0; i < 2; i++) {
        struct rl_chain c;
        struct kg_buf text;
        char path[64];
        kg_buf_init(&text, RL_CHAIN_BYTES);
        snprintf(path, sizeof path, "chain/%s.c", names[i]);
        bool ok = rl_chain_parse(names[i], &c, &err) == KG_OK;
        rl_chain_problem(&c, &text);
        ok = ok && kg_file_write_atomic(path, text.data, text.len, &err) == KG_OK;
        kg_buf_deinit(&text);
        if (!ok) {
            return -1;
        }
    }
    return 0;
}

/* Lines of a file that hold the text; a file that is not there has none. */
static int lines_with(const char *path, const char *text)
{
    struct kg_buf b;
    struct kg_err err = KG_ERR_INIT;
    int n = 0;
    kg_buf_init(&b, 64u << 20);
    if (kg_file_read(path, &b, &err) == KG_OK) {
        for (const char *s = b.data; *s != '\0'; s += *s == '\n') {
            size_t len = strcspn(s, "\n");
            n += memmem(s, len, text, strlen(text)) != NULL;
            s += len;
        }
    }
    kg_buf_deinit(&b);
    return n;
}

/* Each of the turns has one reply, one record and one round, and no other turn has any. */
static void check_once(const char *folder, int turns)
{
    static const char *const files[] = {"replies", "records", "rounds"};
    for (int f = 0; f < 3; f++) {
        char path[128], key[64];
        snprintf(path, sizeof path, "%s/%s.jsonl", folder, files[f]);
        assert_int_equal(lines_with(path, "\"silu_rms/s1/t"), turns);
        for (int t = 1; t <= turns; t++) {
            snprintf(key, sizeof key, "\"silu_rms/s1/t%d\"", t);
            assert_int_equal(lines_with(path, key), 1);
        }
    }
}

static void test_a_run(void **state)
{
    (void)state;
    rig_expect(0, BASE "--turns 6 --out run");
    rig_shows("  1/6  ");
    rig_shows("all turns are done");
    rig_shows("run/best.c");
    check_once("run", 6);
    assert_int_equal(lines_with("run/run.json", "\"refine\""), 1);
    rig_expect(0, "grep -q 'void k(' run/best.c && grep -q kgym.record/1 run/best.record.json");
    rig_expect(0, BASE "--turns 6 --out run --json"); /* nothing is asked again */
    rig_shows("\"ending\": \"turns\"");
    check_once("run", 6);
    rig_expect(0, BASE "--turns 8 --out run");
    rig_shows("kept");
    check_once("run", 8);
}

/* The text has at most so many columns in each line, as a terminal shows it. Lines of rounds in it.
 */
static int narrow(char *text, size_t most)
{
    int rounds = 0;
    for (char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = '\0';
        if (end > line && end[-1] == '\r') {
            end[-1] = '\0';
        }
        const char *shown = strrchr(line, '\r') != NULL ? strrchr(line, '\r') + 1 : line;
        rounds += strstr(shown, "/6  ") != NULL;
        if (kg_term_columns(shown) > most && strncmp(shown, "Script ", 7) != 0) {
            fail_msg("more than %zu columns: %s", most, shown);
        }
    }
    return rounds;
}

static void test_lines_fit_a_terminal(void **state)
{
    (void)state;
    struct kg_buf b;
    struct kg_err err = KG_ERR_INIT;
    rig_expect(0, "TERM=xterm script -qec \"sh -c '" BASE
                  "--turns 6 --out tty'\" tty.txt </dev/null >/dev/null");
    kg_buf_init(&b, 1 << 20);
    assert_int_equal(kg_file_read("tty.txt", &b, &err), KG_OK);
    assert_int_equal(narrow(b.data, 80), 6);
    kg_buf_deinit(&b);
}

static void test_nothing_correct_is_status_1(void **state)
{
    (void)state;
    rig_expect(1, "$K refine softmax --policy scripted --set stage.timing=no --turns 2 --out none");
    rig_shows("no_code");
    rig_shows("no kernel was correct");
    assert_int_equal(lines_with("none/best.c", ""), 0);
}

static void test_budget(void **state)
{
    (void)state;
    rig_expect(0, BASE "--turns 9 --max-tokens-total 6000 --out poor");
    rig_shows("--max-tokens-total");
    int n = lines_with("poor/rounds.jsonl", "round");
    assert_true(n > 1 && n < 9);
    rig_expect(0, BASE "--turns 9 --max-tokens-total 6000 --out poor");
    check_once("poor", n);
}

/* Until the file has so many lines with text, or the process has ended. */
static void wait_for(pid_t pid, const char *path, const char *text, int n)
{
    int64_t deadline = kg_clock_ns() + (int64_t)RIG_LIMIT_S * 1000000000;
    while (lines_with(path, text) < n && kg_clock_ns() < deadline) {
        siginfo_t s = {.si_pid = 0};
        if (waitid(P_PID, (id_t)pid, &s, WEXITED | WNOHANG | WNOWAIT) == 0 && s.si_pid == pid) {
            return;
        }
        usleep(500);
    }
}

static void test_interrupts_and_kills(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        int lines, signal;
    } at[] = {{"kill/replies.jsonl", 1, SIGKILL},
              {"kill/records.jsonl", 2, SIGKILL},
              {"kill/rounds.jsonl", 3, SIGINT},
              {"kill/replies.jsonl", 5, SIGKILL},
              {"kill/rounds.jsonl", 6, SIGKILL}};
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        pid_t pid = rig_start(BASE "--turns 9 --out kill");
        wait_for(pid, at[i].file, "\"silu_rms/", at[i].lines);
        kill(pid, at[i].signal);
        rig_finish(pid);
        if (at[i].signal == SIGINT && rig.status == 2) {
            rig_says("the same command goes on");
        }
    }
    rig_expect(0, BASE "--turns 9 --out kill");
    check_once("kill", 9);
    rig_expect(0, BASE "--turns 9 --out whole");
    rig_expect(0, "for r in kill whole; do sed 's/.*\"key\":\\(.*\\),\"tokens_context\":.*"
                  "\"verdict\":\\([^,]*\\),.*/\\1 \\2/' $r/rounds.jsonl >$r.txt; done; "
                  "cmp kill.txt whole.txt");
}

/* Each line of the log: roles of the messages, tokens, whether it was refused. */
static void check_log(const char *path, int64_t most, int *refused, size_t *longest)
{
    FILE *f = fopen(path, "re");
    char roles[256], how[16];
    long tokens;
    assert_non_null(f);
    *refused = 0;
    *longest = 0;
    while (fscanf(f, "%255s %ld %15s", roles, &tokens, how) == 3) {
        size_t n = strlen(roles);
        for (size_t i = 0; i < n; i++) { /* the first message, then reply and feedback */
            assert_int_equal(roles[i], i % 2 == 0 ? 'u' : 'a');
        }
        assert_true(n % 2 == 1 && (most == 0 || tokens <= most));
        *refused += strcmp(how, "refused") == 0;
        *longest = n > *longest ? n : *longest;
    }
    fclose(f);
}

/* A server whose window has room for the first message and two or three turns. */
static void test_window_of_an_endpoint(void **state)
{
    (void)state;
    static const char reply[] =
        "It only copies:\n\n```c\n#include <stdint.h>\n#include <string.h>\n"
        "void k(const float *x, float *y, int64_t n, int64_t m)\n{\n"
        "    memcpy(y, x, (size_t)(n * m) * sizeof *y);\n}\n```\n";
    struct kg_err err = KG_ERR_INIT;
    int refused;
    size_t longest;
    char policy[64], port[16] = "";
    assert_int_equal(kg_file_write_atomic("reply", reply, sizeof reply - 1, &err), KG_OK);
    pid_t server =
        rig_start("exec python3 $T/tests/support/window_endpoint.py port reply 2200 log");
    int64_t deadline = kg_clock_ns() + (int64_t)RIG_LIMIT_S * 1000000000;
    while (!kg_file_exists("port") && kg_clock_ns() < deadline) {
        usleep(2000);
    }
    FILE *f = fopen("port", "re");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%15s", port), 1);
    fclose(f);
    snprintf(policy, sizeof policy, "endpoint:http://127.0.0.1:%s/v1", port);
    setenv("WINDOW", policy, 1);
    /* Told: with the reserve nothing is ever refused. */
    rig_expect(1, "exec $K refine chain/silu_rms.c --policy $WINDOW --no-stream --context 2200 "
                  "--max-tokens 600 --set stage.timing=no --turns 6 --w 5 --out told");
    rig_shows("all turns are done");
    check_log("log", (2200 - 600) * 10 / 12 + 1, &refused, &longest);
    assert_true(refused == 0 && longest > 1 && longest < 11);
    assert_true(lines_with("told/rounds.jsonl", "\"shrunk\":true") > 0);
    /* Not told: the refusal is learnt from, and a run that goes on knows it. */
    assert_int_equal(unlink("log"), 0);
    rig_expect(1, "exec $K refine chain/silu_rms.c --policy $WINDOW --no-stream --max-tokens 1000 "
                  "--set stage.timing=no --turns 6 --w 5 --out untold");
    rig_shows("all turns are done");
    check_log("log", 0, &refused, &longest);
    assert_true(refused > 0 && refused < 4);
    int before = refused;
    rig_expect(1, "exec $K refine chain/silu_rms.c --policy $WINDOW --no-stream --max-tokens 1000 "
                  "--set stage.timing=no --turns 8 --w 5 --out untold");
    check_log("log", 0, &refused, &longest);
    assert_int_equal(refused, before);
    rig_expect(2, "exec $K refine chain/silu_rms.c --policy $WINDOW --no-stream --max-tokens 2200 "
                  "--turns 6 --out never");
    rig_says("maximum context length is 2200");
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
}

static void test_refusals(void **state)
{
    (void)state;
    rig_expect(2, "$K refine --policy scripted --out x");
    rig_says("name a problem");
    rig_expect(2, "$K refine softmax relu --policy scripted --out x");
    rig_says("one problem");
    rig_expect(2, "$K refine softmax --policy scripted --out x --strategy best");
    rig_says("top-w");
    rig_expect(2, "$K refine softmax --policy scripted --out x --metric time");
    rig_says("lexicographic");
    rig_expect(2, "$K refine softmax --policy scripted --out x --patienc 3");
    rig_says("--patience");
    rig_expect(2, "$K refine softmax --policy scripted --out x --turns 0");
    rig_expect(2, "$K refine softmax --policy scripted --out x --target fast");
    rig_expect(2, "$K refine softmax --policy scripted");
    rig_says("--out");
    rig_expect(2, "$K refine sofmax --policy scripted --out x");
    rig_says("softmax");
    rig_expect(2, "$K refine softmax --policy scripted --out x --rewards binary,nonsense");
    rig_says("unknown reward preset `nonsense`");
    rig_expect(2, "$K refine softmax --policy scripted --out x --set nonsense=1");
    rig_expect(2, "$K refine softmax --policy scripted --out x --language nonsense");
    rig_expect(2, "ls x"); /* the folder can still be that of the mended command */
    rig_expect(2, "$K refine chain --policy scripted --out x");
    rig_says("names 2 problems");
    rig_expect(2, "$K refine chain/silu_rms.c --policy scripted --out x --context 300");
    rig_says("do not fit");
    rig_expect(2, BASE "--turns 8 --out run --strategy vanilla");
    rig_says("strategy");
    rig_expect(2, BASE "--turns 5 --out run");
    rig_says("turns");
    rig_expect(0, "$K refine --help");
    rig_shows("examples");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_run),
        cmocka_unit_test(test_lines_fit_a_terminal),
        cmocka_unit_test(test_nothing_correct_is_status_1),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_interrupts_and_kills),
        cmocka_unit_test(test_window_of_an_endpoint),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, setup, rig_teardown);
}

/* The replies of demo-gym get the verdicts that are expected of them, and what judges never reads
 * what is expected: it is run on a copy of the demo without that file. Timing is off but for
 * replies whose verdict needs it. */
#include "kgym_rig.h"

#define MOST 200

static json_t *expected; /* {id: {verdict, reason or null: any}} */
static struct {
    int n;
    char id[MOST][80], verdict[MOST][80], message[MOST][300];
} got;

static json_t *parse_file(const char *path)
{
    struct kg_buf b;
    struct kg_err err = KG_ERR_INIT;
    json_t *j = NULL;
    kg_buf_init(&b, 1 << 20);
    if (kg_file_read(path, &b, &err) != KG_OK ||
        kg_json_parse(b.data, b.len, path, &j, &err) != KG_OK) {
        print_error("%s\n", err.message);
    }
    kg_buf_deinit(&b);
    return j;
}

static int setup(void **state)
{
    char path[600];
    if (rig_setup(state) != 0) {
        return -1;
    }
    snprintf(path, sizeof path, "%s/demo/expected.json", getenv("T"));
    expected = parse_file(path);
    return expected && rig_run("cp -r $T/demo . && rm demo/expected.json") == 0 ? 0 : -1;
}

static int teardown(void **state)
{
    json_decref(expected);
    return rig_teardown(state);
}

static void read_records(const char *path)
{
    struct kg_buf b;
    struct kg_err err = KG_ERR_INIT;
    memset(&got, 0, sizeof got);
    kg_buf_init(&b, 256u << 20);
    assert_int_equal(kg_file_read(path, &b, &err), KG_OK);
    for (char *s = b.data, *nl; (nl = strchr(s, '\n')) && got.n < MOST; s = nl + 1) {
        json_t *j;
        assert_int_equal(kg_json_parse(s, (size_t)(nl - s), path, &j, &err), KG_OK);
        const json_t *error = json_object_get(j, "error");
        snprintf(got.id[got.n], sizeof got.id[0], "%s", rig_get(j, "batch_id"));
        snprintf(got.verdict[got.n], sizeof got.verdict[0], "%s/%s",
                 json_is_null(error) ? rig_get(j, "verdict") : "error", rig_get(j, "reason"));
        snprintf(got.message[got.n], sizeof got.message[0], "%s",
                 json_is_null(error) ? rig_get(j, "message") : rig_get(error, "message"));
        got.n++;
        json_decref(j);
    }
    kg_buf_deinit(&b);
}

static bool as_expected(int i)
{
    const json_t *want = json_object_get(expected, got.id[i]);
    const char *reason = rig_get(want, "reason");
    char verdict[80];
    snprintf(verdict, sizeof verdict, "%s/%s", rig_get(want, "verdict"), reason);
    return reason[0] ? strcmp(got.verdict[i], verdict) == 0
                     : strncmp(got.verdict[i], verdict, strlen(verdict)) == 0;
}

static void test_every_reply_has_an_expectation(void **state)
{
    (void)state;
    rig_expect(0, "wc -l < demo/replies.jsonl");
    long lines = strtol(rig.out.data, NULL, 10);
    assert_true(lines >= 55 && lines <= MOST);
    assert_int_equal((size_t)lines, json_object_size(expected));
    const char *id;
    json_t *want;
    json_object_foreach(expected, id, want)
    {
        assert_true(rig_get(want, "verdict")[0] != 0);
        rig_expect(0, "grep -q '\"id\": *\"%s\"' demo/replies.jsonl", id);
    }
}

static void test_the_judging_path_does_not_know_the_answers(void **state)
{
    (void)state;
    rig_expect(1, "grep -q expected.json $K");
    rig_expect(1, "grep -rq expected.json demo $T/src");
}

/* Lines whose verdict is another without timing are judged once more, with it. */
static void judge_the_rest(void)
{
    rig_expect(0, ": > demo/rest.jsonl");
    int rest = 0;
    for (int i = 0; i < got.n; i++) {
        if (!as_expected(i)) {
            rig_expect(0, "grep '\"id\": *\"%s\"' demo/replies.jsonl >> demo/rest.jsonl",
                       got.id[i]);
            rest++;
        }
    }
    if (rest == 0) {
        return;
    }
    print_message("%d replies need timing\n", rest);
    assert_true(rest <= 8);
    rig_expect(0, "$K eval --batch demo/rest.jsonl --out rest.jsonl");
    read_records("rest.jsonl");
    assert_int_equal(got.n, rest);
    for (int i = 0; i < got.n; i++) {
        if (!as_expected(i)) {
            fail_msg("%s: %s: %s", got.id[i], got.verdict[i], got.message[i]);
        }
    }
}

static void test_replies_get_their_verdicts(void **state)
{
    (void)state;
    rig_expect(0, "$K eval --batch demo/replies.jsonl --out records.jsonl --no-stage-timing");
    read_records("records.jsonl");
    assert_int_equal((size_t)got.n, json_object_size(expected));
    judge_the_rest();
    rig_expect(0, "$K report records.jsonl --out page.html && grep -q '</html>' page.html");
    rig_nothing_left();
}

/* `make demo-gym` as it is, on a few of its replies: what it makes lies in the tree. */
static void test_the_demo_stays_in_its_tree(void **state)
{
    (void)state;
    rig_expect(0, "mkdir -p tree/build home && ln -s $KGYM_HOME tree/build/release && "
                  "ln -s $T/problems tree/problems && cp -r $T/demo tree/ && "
                  "head -n 3 $T/demo/replies.jsonl > tree/demo/replies.jsonl");
    rig_expect(0, "unset KGYM_CACHE XDG_CACHE_HOME; HOME=$PWD/home tree/demo/run.sh");
    rig_shows("demo-gym: judging 3 model replies to 3 problems");
    rig_shows("demo-gym: wrote runs/demo-gym/report.html");
    rig_expect(0, "test -s tree/runs/demo-gym/report.html && test -d tree/build/cache/kgym");
    rig_expect(0, "find home -mindepth 1");
    assert_int_equal(rig.out.len, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_reply_has_an_expectation),
        cmocka_unit_test(test_the_judging_path_does_not_know_the_answers),
        cmocka_unit_test(test_replies_get_their_verdicts),
        cmocka_unit_test(test_the_demo_stays_in_its_tree),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

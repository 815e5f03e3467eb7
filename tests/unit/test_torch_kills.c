/* Whoever of the gym's processes is killed while PyTorch candidates are judged, and whenever:
 * judge, zygote, reference, candidate, worker, and the supervisor of the batch, which is resumed.
 * Every line ends with the right verdict or an error, none is lost or judged twice, none hangs,
 * nothing is left. The seed is printed. On the CPU two processes of this program do so side by
 * side, each with half of the kills, its own folder and its own half of the CPUs: starting again
 * costs a second, most of it waiting. */
#include "sanitized.h"
#include "torch_kill_rig.h"

#include <sched.h>

#define KILLS     200  /* TEST_KILLS: another number, TEST_DEVICE: another device than cpu */
#define KILLS_SAN 40   /* under sanitizers, where starting again takes several times as long */
#define KILLS_S   500  /* as many must fit into this */
#define REST_MS   60   /* between two, at most */
#define GPU_MS    2000 /* there a runner takes half a second to be there at all */
#define LINES     24 /* of a batch, which ends before time counts; on a GPU they are seconds each */
#define GPU_LINES 6
#define FIND_NS   1500000000
#define HANGS_S   120 /* without a new line in the output */

/* How often which: after a zygote's, a worker's or the supervisor's death torch is imported again,
 * for seconds in which nobody else can be killed. */
static const uint64_t share[VICTIMS] = {8, 1, 8, 8, 1, 1};
static int kills[VICTIMS];
static struct kg_rng rng;
static int asked, lines, rest, halves, half; /* processes of this program, and which this one is */

static const struct {
    const char *text, *want;
} kinds[] = {
    {NEW "        return 2 * torch.clamp(x, min=0)\n", "ok/"},
    {NEW "        return 2 * x\n", "wrong/value"},
    {NEW "        raise ValueError('no')\n", "crash/exception"},
    {NEW "        os.abort()\n", "crash/signal"},
    {NEW "        return 2 *\n", "compile_error/syntax"},
};
#define KINDS (sizeof kinds / sizeof *kinds)

/* A batch's worker takes the first CPU that it may have. */
static void take_half_of_the_cpus(void)
{
    cpu_set_t all, mine;
    CPU_ZERO(&mine);
    if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) < halves) {
        return;
    }
    for (int cpu = 0, n = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &all) && n++ % halves == half) {
            CPU_SET(cpu, &mine);
        }
    }
    (void)sched_setaffinity(0, sizeof mine, &mine);
}

static int setup(void **state)
{
    struct kg_key key = {{(uint64_t)time(NULL), 13 + (uint64_t)half}};
    const char *given = getenv("KGYM_TEST_SEED"), *n = getenv("TEST_KILLS");
    char hex[33];
    if (given && !kg_key_parse(given, &key)) {
        return -1;
    }
    unsetenv("KGYM_TEST_SEED");
    kg_key_hex(key, hex);
    print_message("seed %s (KGYM_TEST_SEED)\n", hex);
    kg_rng_init(&rng, key, 0);
    asked = n ? (int)strtol(n, NULL, 10) : is_sanitized(getenv("KGYM_BUILD")) ? KILLS_SAN : KILLS;
    asked = (asked + halves - 1) / halves;
    lines = on_gpu() ? GPU_LINES : LINES;
    rest = on_gpu() ? GPU_MS : REST_MS;
    setenv("KGYM_TORCH_SPARE", "yes", 1); /* one more that may be hit */
    take_half_of_the_cpus();
    return rig_setup(state);
}

/* --- batches --- */

static void write_lines(void)
{
    struct kg_buf b;
    kg_buf_init(&b, 1 << 20);
    for (int i = 0; i < lines; i++) {
        char id[16];
        snprintf(id, sizeof id, "%d", i);
        json_t *j = json_pack("{s:s, s:s, s:s}", "id", id, "problem", "double.py", "source",
                              kinds[(size_t)i % KINDS].text);
        kg_json_dump(j, &b);
        kg_buf_addc(&b, '\n');
        json_decref(j);
    }
    rig_file("in.jsonl", b.data, b.len);
    kg_buf_deinit(&b);
}

static struct {
    int lines, right, errors, resumed;
} seen;

static void check_line(const json_t *j, const char *text)
{
    char got[100];
    size_t kind = (size_t)strtol(rig_get(j, "batch_id"), NULL, 10) % KINDS;
    const json_t *error = json_object_get(j, "error");
    snprintf(got, sizeof got, "%s/%s", rig_get(j, "verdict"), rig_get(j, "reason"));
    seen.lines++;
    if (json_is_null(error)) {
        seen.right++;
        if (strcmp(got, kinds[kind].want) != 0) {
            fail_msg("%s, not %s: %.1500s", got, kinds[kind].want, text);
        }
        return;
    }
    const char *code = rig_get(error, "code");
    seen.errors++;
    print_message("error: %.160s\n", rig_get(error, "message"));
    if (strcmp(code, "gym") != 0 && strcmp(code, "host") != 0) {
        fail_msg("an error of kind %s: %.1500s", code, text);
    }
}

/* Every line once, in its place. */
static void check_output(void)
{
    struct kg_buf b;
    struct kg_err err = KG_ERR_INIT;
    int n = 0;
    kg_buf_init(&b, 64u << 20);
    assert_int_equal(kg_file_read("out.jsonl", &b, &err), KG_OK);
    for (char *s = b.data, *nl; (nl = strchr(s, '\n')); s = nl + 1, n++) {
        json_t *j;
        *nl = 0;
        assert_int_equal(kg_json_parse(s, (size_t)(nl - s), "out.jsonl", &j, &err), KG_OK);
        assert_int_equal(strtol(rig_get(j, "batch_id"), NULL, 10), n);
        check_line(j, s);
        json_decref(j);
    }
    assert_int_equal(n, lines);
    kg_buf_deinit(&b);
}

static int64_t written(void)
{
    struct stat st;
    return stat("out.jsonl", &st) == 0 ? (int64_t)st.st_size : 0;
}

static int lines_written(void)
{
    struct kg_buf b;
    struct kg_err err = KG_ERR_INIT;
    int n = 0;
    kg_buf_init(&b, 64u << 20);
    if (kg_file_read("out.jsonl", &b, &err) == KG_OK) {
        for (size_t i = 0; i < b.len; i++) {
            n += b.data[i] == '\n';
        }
    }
    kg_buf_deinit(&b);
    return n;
}

/* A candidate that is killed again, or under which the judge dies again, is called to account for
 * it, and rightly: here that happens to a line only once. Zygote, reference and worker may be
 * killed as often as it comes: nobody is accused of that. */
static int accused; /* lines that were written when it last did */

static bool accusing(enum victim kind)
{
    return kind == JUDGE || kind == CANDIDATE;
}

/* False: the batch has ended first, or there was none of that kind for long. */
static bool kill_one(pid_t batch, enum victim kind)
{
    int64_t until = kg_clock_ns() + FIND_NS;
    while (!over(batch) && kg_clock_ns() < until) {
        bool spare = accusing(kind) && lines_written() <= accused;
        long pid = spare ? 0 : find_victim(batch, kind, &rng);
        if (pid > 0) {
            rest_ms((int64_t)kg_rng_below(&rng, 60));
            rig_note(batch, 3);
            bool spared = accusing(kind) && lines_written() <= accused;
            bool hit = !spared && kill((pid_t)pid, SIGKILL) == 0;
            kills[kind] += hit;
            if (hit && accusing(kind)) {
                rest_ms(20);
                accused = lines_written();
            }
            return hit;
        }
        rest_ms(1);
    }
    return false;
}

static int all_kills(void)
{
    int n = 0;
    for (int i = 0; i < VICTIMS; i++) {
        n += kills[i];
    }
    return n;
}

/* By their shares; in the second half, one that was never hit comes first. */
static enum victim draw_victim(void)
{
    uint64_t all = 0;
    int v = 0;
    for (int i = 0; i < VICTIMS; i++) {
        if (kills[i] == 0 && all_kills() > asked / 2) {
            return (enum victim)i;
        }
        all += share[i];
    }
    for (uint64_t n = kg_rng_below(&rng, all); n >= share[v]; v++) {
        n -= share[v];
    }
    return (enum victim)v;
}

/* Kills until the batch has ended. False: its supervisor was among them. */
static bool disturb(pid_t batch, int64_t until)
{
    int64_t moved = kg_clock_ns(), size = written();
    int supervisors = kills[SUPERVISOR];
    while (!over(batch)) {
        if (all_kills() < asked && kg_clock_ns() < until) {
            kill_one(batch, draw_victim());
        }
        rest_ms((int64_t)kg_rng_below(&rng, (uint64_t)rest));
        if (written() != size) {
            size = written();
            moved = kg_clock_ns();
        }
        if (kg_clock_ns() - moved > HANGS_S * 1000000000ll) {
            kill(-batch, SIGKILL);
            fail_msg("a batch hangs after %d kills", all_kills());
        }
    }
    int status = rig_finish(batch);
    bool killed = kills[SUPERVISOR] > supervisors && status == 128 + SIGKILL;
    kills[SUPERVISOR] = supervisors + killed; /* one that had ended may be hit, or one twice */
    if (killed) {
        return false;
    }
    if (status != 0 && status != 2) {
        fail_msg("exit status %d: %.2000s", status, rig.err.data);
    }
    return true;
}

#define ALL "cat out.jsonl out.jsonl.ahead 2>/dev/null"

/* A verdict that is there stays as it is, in the output or beside it; an error is asked again. */
static void check_kept(void)
{
    rig_expect(0, ALL " >now; test ! -e kept || ! grep -vxFf now kept");
}

static void resumed(void)
{
    check_kept();
    rig_expect(0, ALL " | grep '\"error\":null.*}$' >kept; :");
    seen.resumed++;
}

static void one_batch(int64_t until)
{
    rig_run("rm -f out.jsonl* kept");
    accused = -1;
    while (!disturb(rig_start("KGYM_CACHE=none exec $K eval --batch in.jsonl --out out.jsonl "
                              "--device $D --jobs 1"),
                    until)) {
        resumed();
    }
    check_kept();
    check_output();
}

static void test_killed_at_any_moment(void **state)
{
    (void)state;
    need_torch();
    int64_t begin = kg_clock_ns(), until = begin + KILLS_S * 1000000000ll;
    write_lines();
    int batches = 0;
    while (all_kills() < asked && kg_clock_ns() < until) {
        one_batch(until);
        print_message("batch %d: %d kills so far\n", ++batches, all_kills());
    }
    printf("told: %d kills of %d in %.0f s:", all_kills(), asked,
           (double)(kg_clock_ns() - begin) / 1e9);
    for (int i = 0; i < VICTIMS; i++) {
        printf(" %d %s,", kills[i], victim_names[i]);
    }
    printf(" %d batches, %d lines: %d right, %d errors\n", batches, seen.lines, seen.right,
           seen.errors);
    assert_true(all_kills() >= asked);
    for (int i = 0; i < VICTIMS; i++) {
        assert_true(kills[i] > 0 || asked < 2 * VICTIMS);
    }
    assert_true(seen.resumed == kills[SUPERVISOR] && seen.right > seen.errors);
    rig_expect(0, "KGYM_CACHE=none exec $K eval double.py good.py --device $D"); /* sweeps */
    rig_nothing_left();
    nobody_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_killed_at_any_moment)};
    halves = on_gpu() ? 1 : 2;
    pid_t other = halves == 2 ? fork() : -1;
    half = other == 0;
    int failed = cmocka_run_group_tests(tests, setup, rig_teardown);
    if (other > 0) {
        int status = 0;
        failed +=
            waitpid(other, &status, 0) != other || !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    }
    fflush(stdout);
    return failed;
}

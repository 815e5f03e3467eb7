/* What a candidate's compilers make is kept for the same source and for nobody else: a second
 * evaluation compiles nothing, another source finds nothing, hostile trees are not kept, and what
 * is kept is never changed. Skipped where Python lacks torch, or the host a compiler or ninja. */
#include "torch_eval_rig.h"

#include <dirent.h>
#include <errno.h>
#include <unistd.h>

#define PROBLEM                                                                                    \
    HEAD "class Model(nn.Module):\n    def forward(self, x):\n        return 2 * x\n\n\n"          \
         "def get_inputs():\n    return [torch.randn(16, 24)]\n\n\n"                               \
         "def get_init_inputs():\n    return []\n"
#define TWICE "\n\nclass ModelNew(nn.Module):\n    def forward(self, x):\n        return x + x\n"
/* Says `kgym: FOUND` of what an earlier process has left. */
#define LEAVE(statements)                                                                          \
    HEAD "import pathlib\nhere = pathlib.Path('/tmp/extensions')\n"                                \
         "print('kgym:', sorted(p.name for p in here.glob('*')))\n"                                \
         "here.mkdir(exist_ok=True)\n" statements TWICE
#define EXTENSION(factor)                                                                          \
    HEAD "import ctypes\nfrom torch.utils.cpp_extension import load_inline\n"                      \
         "load_inline('kgym_factor', 'extern \"C\" int factor(void) { return " factor "; }',\n"    \
         "            no_implicit_headers=True, is_python_module=False, verbose=True)\n"           \
         "built = ctypes.CDLL('/tmp/extensions/kgym_factor/kgym_factor.so')\n\n\n"                 \
         "class ModelNew(nn.Module):\n    def forward(self, x):\n"                                 \
         "        return built.factor() * x\n"

static char cache[96];

static int setup(void **state)
{
    (void)state;
    rig_defaults();
    snprintf(cache, sizeof cache, "/tmp/kgym-builds-%d", (int)getpid());
    snprintf(config.cache, sizeof config.cache, "%s", cache);
    if (rig_open() != 0) {
        return -1;
    }
    put("twice.py", PROBLEM);
    return 0;
}

static int teardown(void **state)
{
    struct kg_err err = KG_ERR_INIT;
    return rig_close(state) == 0 && kg_file_remove_tree(cache, &err) == KG_OK ? 0 : -1;
}

static int each(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    char builds[128];
    snprintf(builds, sizeof builds, "%s/builds", cache);
    worker->config.torch_builds_mb = 64;
    worker->config.seed[0] = '\0';
    return kg_file_remove_tree(builds, &err) == KG_OK ? 0 : -1;
}

/* Where runners look: zygote.c's PATH, and beside python. */
static void need_tools(void)
{
    static const char *const tools[] = {"c++", "ninja"};
    static const char *const places[] = {"/usr/local/bin", "/usr/bin", "/bin"};
    need_torch();
    for (size_t i = 0; i < 2; i++) {
        char path[1200];
        const char *python = config.python[0] ? config.python : worker->paths.own_python;
        const char *slash = strrchr(python, '/');
        snprintf(path, sizeof path, "%.*s/%s", slash ? (int)(slash - python) : 0, python, tools[i]);
        bool found = slash && access(path, X_OK) == 0;
        for (size_t k = 0; k < 3; k++) {
            snprintf(path, sizeof path, "%s/%s", places[k], tools[i]);
            found = found || access(path, X_OK) == 0;
        }
        if (!found) {
            printf("skip: this host has no %s, which extensions are built with\n", tools[i]);
            skip();
        }
    }
}

/* A right candidate, judged; its evidence of builds, or NULL. The caller ends the record. */
static const json_t *right(const char *text, struct kg_record *r)
{
    judge("twice.py", text, KG_ST_FULL, r);
    if (r->has_error || r->stages[KG_ST_FULL].status != KG_SS_PASS) {
        fail_msg("%s", r->has_error ? r->error.message : r->message);
    }
    return evidence(r, "builds");
}

static bool restored(const struct kg_record *r)
{
    return json_is_true(json_object_get(evidence(r, "builds"), "restored"));
}

static bool said(const struct kg_record *r, const char *what)
{
    return r->output.stdout_text && strstr(r->output.stdout_text, what);
}

/* Files below the cache's folder of builds. */
static int entries(void)
{
    char path[400];
    int n = 0;
    snprintf(path, sizeof path, "%s/builds", cache);
    DIR *all = opendir(path);
    const struct dirent *a, *b;
    while (all && (a = readdir(all))) {
        snprintf(path, sizeof path, "%s/builds/%s", cache, a->d_name);
        DIR *dir = a->d_name[0] == '.' ? NULL : opendir(path);
        while (dir && (b = readdir(dir))) {
            n += b->d_name[0] != '.';
        }
        if (dir) {
            closedir(dir);
        }
    }
    if (all) {
        closedir(all);
    }
    return n;
}

static void the_second_evaluation_compiles_nothing(void **state)
{
    (void)state;
    struct kg_record r;
    need_tools();
    right(EXTENSION("2"), &r);
    assert_true(said(&r, "c++ "));
    assert_false(restored(&r));
    kg_record_deinit(&r);
    assert_int_equal(entries(), 1);
    right(EXTENSION("2"), &r);
    assert_true(restored(&r));
    assert_true(said(&r, "no work to do"));
    assert_false(said(&r, "c++ "));
    kg_record_deinit(&r);
    right(EXTENSION("1 + 1"), &r); /* by the same name, but another source */
    assert_false(restored(&r));
    assert_true(said(&r, "c++ "));
    kg_record_deinit(&r);
    assert_int_equal(entries(), 2);
}

/* Wrong or right, what was built is built; what does not load is not kept. */
static void what_passed_compile_is_kept(void **state)
{
    (void)state;
    struct kg_record r;
    need_tools();
    judge("twice.py", EXTENSION("3"), KG_ST_FULL, &r);
    assert_int_equal(r.verdict, KG_V_WRONG);
    kg_record_deinit(&r);
    assert_int_equal(entries(), 1);
    judge("twice.py", EXTENSION("2") "raise ValueError\n", KG_ST_FULL, &r);
    assert_int_equal(r.verdict, KG_V_COMPILE_ERROR);
    kg_record_deinit(&r);
    assert_int_equal(entries(), 1);
}

static void nobody_finds_what_another_left(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    right(LEAVE("(here / 'mine').write_text('x')\n"), &r);
    assert_true(said(&r, "kgym: []"));
    kg_record_deinit(&r);
    right(LEAVE("(here / 'mine').write_text('x')\n") "# another\n", &r);
    assert_true(said(&r, "kgym: []"));
    kg_record_deinit(&r);
    put("other.py", PROBLEM "# another problem\n");
    judge("other.py", LEAVE("(here / 'mine').write_text('x')\n"), KG_ST_FULL, &r);
    assert_true(said(&r, "kgym: []"));
    kg_record_deinit(&r);
    right(LEAVE("(here / 'mine').write_text('x')\n"), &r);
    assert_true(said(&r, "kgym: ['mine']"));
    kg_record_deinit(&r);
}

static void another_compiler_finds_nothing(void **state)
{
    (void)state;
    static const char text[] = LEAVE("(here / 'mine').write_text('x')\n");
    struct kg_record r;
    need_torch();
    right(text, &r);
    kg_record_deinit(&r);
    json_t *tools = json_object_get(kg_torch_of(worker)->zygote[0].facts, "tools");
    const char *name = json_string_value(json_array_get(json_array_get(tools, 0), 0));
    assert_string_equal(name, "c++");
    json_array_append_new(tools, json_string("another"));
    right(text, &r);
    assert_true(said(&r, "kgym: []"));
    kg_record_deinit(&r);
    json_array_remove(tools, json_array_size(tools) - 1);
    right(text, &r);
    assert_true(said(&r, "kgym: ['mine']"));
    kg_record_deinit(&r);
}

/* No counting of its own evaluations: an entry is written once, and a process changes its copy. */
static void what_is_kept_never_changes(void **state)
{
    (void)state;
    static const char text[] = LEAVE("n = len(list(here.glob('*')))\n"
                                     "for p in here.glob('*'):\n"
                                     "    p.write_text('changed')\n    p.rename(here / 'moved')\n"
                                     "(here / ('run%d' % n)).write_text('x')\n");
    struct kg_record r;
    need_torch();
    for (int i = 0; i < 3; i++) {
        right(text, &r);
        assert_true(said(&r, i == 0 ? "kgym: []" : "kgym: ['run0']"));
        kg_record_deinit(&r);
    }
    assert_int_equal(entries(), 1);
}

/* FIFOs and devices cannot be made there at all. */
static void hostile_trees_are_not_kept(void **state)
{
    (void)state;
    static const struct {
        const char *text, *why;
    } trees[] = {
        {LEAVE("os.symlink('/etc/passwd', here / 'kernel.so')\n"), "neither file nor folder"},
        {LEAVE("os.rmdir(here)\nos.symlink('/etc', here)\n"), "neither file nor folder"},
        {LEAVE("for i in range(5000):\n    (here / str(i)).touch()\n"), "too many files"},
        {LEAVE("deep = here\nfor i in range(20):\n    deep = deep / 'd'\n    deep.mkdir()\n"),
         "too deep"},
        {LEAVE("for i in range(3):\n    with open(here / str(i), 'w') as f:\n"
               "        f.truncate(40 << 20)\n"),
         "too large"},
    };
    struct kg_record r;
    need_torch();
    for (size_t i = 0; i < sizeof trees / sizeof *trees; i++) {
        const json_t *e = right(trees[i].text, &r);
        const char *why = json_string_value(json_object_get(e, "why"));
        if (!why || !strstr(why, trees[i].why)) {
            fail_msg("tree %zu: `%s` does not say `%s`", i, why ? why : "", trees[i].why);
        }
        kg_record_deinit(&r);
        assert_int_equal(entries(), 0);
        right(trees[i].text, &r);
        assert_true(said(&r, "kgym: []"));
        kg_record_deinit(&r);
    }
}

/* It may have died in the middle of a build. */
static void what_a_dead_process_left_is_not_kept(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    judge("twice.py",
          LEAVE("(here / 'half').write_text('x')\n") "\n    def __call__(self, x):\n        "
                                                     "os._exit(3)\n",
          KG_ST_FULL, &r);
    assert_int_equal(r.verdict, KG_V_CRASH);
    kg_record_deinit(&r);
    assert_int_equal(entries(), 0);
}

static void it_can_be_switched_off(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    worker->config.torch_builds_mb = 0;
    right(LEAVE("(here / 'mine').write_text('x')\n"), &r);
    assert_false(restored(&r));
    kg_record_deinit(&r);
    assert_int_equal(entries(), 0);
}

/* A seed repeats the inputs: answers could be kept for them. */
static void inputs_that_repeat_find_nothing_kept(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    for (int i = 0; i < 3; i++) {
        snprintf(worker->config.seed, sizeof worker->config.seed, "%s",
                 i == 1 ? "" : "000102030405060708090a0b0c0d0e0f");
        right(LEAVE("(here / 'mine').write_text('x')\n"), &r);
        assert_true(said(&r, "kgym: []"));
        kg_record_deinit(&r);
        assert_int_equal(entries(), i > 0);
    }
}

/* Answers that a first process computes and keeps, for later ones to look up. Whatever is not among
 * them is `other`. */
#define TABLE(other)                                                                               \
    HEAD "import hashlib, pathlib\nhere = pathlib.Path('/tmp/extensions')\n"                       \
         "first = not here.exists()\nhere.mkdir(exist_ok=True)\n\n\n"                              \
         "class ModelNew(nn.Module):\n    def forward(self, x):\n"                                 \
         "        p = here / hashlib.sha1(x.numpy().tobytes()).hexdigest()\n"                      \
         "        if first:\n            torch.save(2 * x, p)\n"                                   \
         "        return torch.load(p) if p.exists() else " other "\n"

/* In this evaluation inputs are asked that the one which has kept something did not see, also where
 * only the problem's own are asked. */
static void a_table_of_answers_does_not_serve(void **state)
{
    (void)state;
    struct kg_record r;
    char got[100];
    need_torch();
    for (int i = 0; i < 6; i++) {
        worker->config.multi_input = i % 3 != 2;
        judge("twice.py", i < 3 ? TABLE("0 * x") : TABLE("2 * x"), KG_ST_FULL, &r);
        seen(&r, got, sizeof got);
        if (strcmp(got, i == 0 || i >= 3 ? "ok" : "wrong/value") != 0) {
            fail_msg("evaluation %d: %s (%s)", i, got, r.has_error ? r.error.message : r.message);
        }
        assert_int_equal(restored(&r), i % 3 != 0);
        kg_record_deinit(&r);
    }
    worker->config.multi_input = true;
}

static void the_cache_stays_within_its_size(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    worker->config.torch_builds_mb = 5;
    for (int i = 0; i < 4; i++) {
        char text[2048];
        snprintf(text, sizeof text, "%s# %d\n",
                 LEAVE("(here / 'large').write_bytes(bytes(2 << 20))\n"), i);
        right(text, &r);
        kg_record_deinit(&r);
        assert_int_equal(entries(), i < 1 ? 1 : 2);
    }
}

#define TEST(name) cmocka_unit_test_setup(name, each)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_second_evaluation_compiles_nothing),
        TEST(what_passed_compile_is_kept),
        TEST(nobody_finds_what_another_left),
        TEST(another_compiler_finds_nothing),
        TEST(what_is_kept_never_changes),
        TEST(hostile_trees_are_not_kept),
        TEST(what_a_dead_process_left_is_not_kept),
        TEST(it_can_be_switched_off),
        TEST(inputs_that_repeat_find_nothing_kept),
        TEST(a_table_of_answers_does_not_serve),
        TEST(the_cache_stays_within_its_size),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

/* The checks of what people read: tools/check/commits.sh with the hook that shares its code, and
 * tools/check/prose.sh; and tools/check/keys.sh. Each test builds a small tree and gives it to the
 * script as root. */
#include "kgym_rig.h"

#define GIT "git -c user.name=N -c user.email=n@example.org -c init.defaultBranch=main "

static bool no_git(void)
{
    if (rig_run("command -v git") == 0) {
        return false;
    }
    puts("skip: git is not installed");
    return true;
}

static int fresh(void **state)
{
    (void)state;
    rig_run("rm -rf tree clone && mkdir tree");
    return 0;
}

/* Commits a change of `file` with this message. */
static void commit(const char *file, const char *message)
{
    rig_text("message", message);
    rig_expect(0,
               "cd tree && mkdir -p src docs && echo x >>%s && git add . && " GIT
               "commit -q -F ../message",
               file);
}

static void begin(void)
{
    rig_expect(0, "cd tree && " GIT "init -q");
    commit("src/old.c",
           "Some old commit; whose subject is far longer than any subject may be now.\n");
    rig_expect(0, "cd tree && git rev-parse HEAD >../base");
}

static void expect_commits(int status, const char *shown)
{
    rig_expect(status, "$T/tools/check/commits.sh tree $(cat base)");
    if (shown != NULL) {
        rig_shows(shown);
    }
}

/* A good commit passes; then each bad one is told, and taken back. */
static void test_commits(void **state)
{
    (void)state;
    if (no_git()) {
        skip();
    }
    begin();
    expect_commits(0, "commits: ok");
    commit("src/a.c", "timing: bound K by the quiet device\n\nA candidate could raise K before.\n");
    commit("docs/a.md", "docs, tools: add a page of decisions\n");
    expect_commits(0, "commits: ok");
    static const struct {
        const char *file, *message, *shown;
    } cases[] = {
        {"docs/a.md", "add a page\n", "subject is not 'module: imperative': add a page"},
        {"docs/a.md", "Docs: add a page\n", "subject is not 'module: imperative'"},
        {"docs/a.md", "docs:add a page\n", "subject is not 'module: imperative'"},
        {"docs/a.md", "docs: added a page\n", "subject is not in the imperative"},
        {"docs/a.md", "docs: add a page.\n", "subject ends in a full stop"},
        {"docs/a.md", "docs: add a page of decisions, grouped by subject, with reasons and costs\n",
         "subject has 73 characters, at most 72"},
        {"docs/a.md",
         "docs: add a page\nand go on in the line below, so that git joins the two lines\n",
         "subject has 77 characters"},
        {"src/a.c", "timing: bound K\n", "changes src/ and has no body that says why"},
        {"src/a.c", "timing: bound K\n\nSigned-off-by: Somebody Else <else@example.org>\n",
         "changes src/ and has no body that says why"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        commit(cases[i].file, cases[i].message);
        expect_commits(1, cases[i].shown);
        rig_shows("commits: 1 faults in messages");
        rig_expect(0, "cd tree && git reset -q --hard HEAD~");
    }
    /* 72 characters, not bytes. */
    commit("docs/a.md",
           "docs: say that K is \302\265s, and that a subject of seventy-two may pass it\n");
    expect_commits(0, "commits: ok");
}

/* No history, no commit, another history, and shallow clones: none of them is a fault. */
static void test_commits_elsewhere(void **state)
{
    (void)state;
    if (no_git()) {
        skip();
    }
    rig_expect(0, "$T/tools/check/commits.sh tree");
    rig_shows("no history here");
    rig_expect(0, "cd tree && " GIT "init -q && $T/tools/check/commits.sh .");
    rig_shows("no commit yet");
    begin();
    rig_expect(0, "$T/tools/check/commits.sh tree");
    rig_shows("another history");
    rig_expect(1, "$T/tools/check/commits.sh tree 0123456789012345678901234567890123456789");
    rig_shows("no such commit");
    commit("src/a.c", "a bad subject\n");
    commit("src/a.c", "timing: bound K\n\nA candidate could raise K before.\n");
    rig_expect(0, GIT "clone -q --depth 1 file://$PWD/tree clone");
    rig_expect(0,
               "$T/tools/check/commits.sh clone"); /* its one commit is cut off from its parent */
    rig_expect(0, "rm -rf clone && " GIT "clone -q --depth 3 file://$PWD/tree clone");
    rig_expect(1, "$T/tools/check/commits.sh clone");
    rig_shows("subject is not 'module: imperative': a bad subject");
    rig_shows("commits: 2 faults"); /* it changes src/ and has no body, either */
}

static void test_hook(void **state)
{
    (void)state;
    if (no_git()) {
        skip();
    }
    begin();
    rig_expect(0, "cd tree && git config core.hooksPath $T/tools/hooks && echo y >>src/old.c && "
                  "git add .");
    rig_expect(1, "cd tree && " GIT "commit -q -m 'timing: bound K' 2>&1");
    rig_shows("changes src/ and has no body that says why");
    rig_shows("CONTRIBUTING.md");
    rig_expect(1, "cd tree && " GIT
                  "commit -q -m 'Bound K' -m 'A candidate could raise K before.' 2>&1");
    rig_shows("subject is not 'module: imperative'");
    rig_text("message", "# a comment\ntiming: bound K\n# another\n\nA candidate could raise K.\n"
                        "# ------------------------ >8 ------------------------\ndiff Bad.\n");
    rig_expect(0, "cd tree && $T/tools/hooks/commit-msg ../message");
    rig_expect(0,
               "cd tree && " GIT "commit -q -m 'timing: bound K' -m 'A candidate could raise it.'");
    rig_expect(0, "cd tree && echo z >>src/old.c && git add . && " GIT
                  "commit -q --fixup HEAD"); /* made for a rebase */
    expect_commits(1, "subject is not 'module: imperative': fixup! timing: bound K");
}

/* A page is written, looked at, and must be told of (or not: shown NULL). */
static void page(const char *name, const char *text, const char *shown)
{
    char path[300];
    snprintf(path, sizeof path, "tree/%s", name);
    rig_expect(0, "mkdir -p $(dirname %s)", path);
    rig_text(path, text);
    rig_expect(shown == NULL ? 0 : 1, "$T/tools/check/prose.sh tree");
    rig_shows(shown == NULL ? "prose: ok" : shown);
    if (shown != NULL) {
        rig_expect(0, "rm %s", path);
    }
}

#define TEN     "123456789 "
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
#define WIDE    HUNDRED TEN TEN TEN TEN /* 140 */

static void test_prose_width(void **state)
{
    (void)state;
    page("README.md", "# A title\n\n" WIDE "\n", NULL);
    page("docs/a.md", "text\n" WIDE "x\n", "docs/a.md:2: line of more than 140 columns");
    page("docs/a.md", "| a table | " WIDE " |\n\n```\n" WIDE "in a block of code\n```\n", NULL);
    page("docs/a.md", "```\ncode\n```\n" WIDE "x\n", "docs/a.md:4: line of more");
    page("docs/a.md", HUNDRED TEN TEN TEN "\302\265s \302\265s \302\265s.\n", NULL); /* not bytes */
    page("tests/a.md", WIDE "x\n", NULL); /* no page of ours */
    rig_expect(0, "mkdir -p tree/tools/check && echo docs/b.md >tree/tools/check/prose.txt");
    page("docs/b.md", WIDE "x\n", NULL);
}

static void test_prose_names(void **state)
{
    (void)state;
    rig_expect(0, "mkdir -p tree/src/gym tree/docs && touch tree/src/gym/a.c tree/docs/a.md");
    page("docs/b.md",
         "[a](a.md#part), [web](https://example.org/x.md), [here](#part), `src/gym/a.c`\n", NULL);
    page("docs/b.md", "`src/gym/*.c`, build/src/none, ~/KernelBench/docs/none, tests/NAME.patch\n",
         NULL);
    page("docs/c.md", "text\n\n[b](none.md)\n", "docs/c.md:3: link to none.md, which is not there");
    page("docs/c.md", "| table | [b](../none.md) |\n", "docs/c.md:1: link to ../none.md");
    page("docs/c.md", "`src/gym/none.c` does it.\n",
         "docs/c.md:1: names src/gym/none.c, which is not there");
    page("docs/c.md", "`src/gym/none*.c` do it.\n", "docs/c.md:1: names src/gym/none*.c");
    page("docs/c.md", "See docs/none.md.\n", "docs/c.md:1: names docs/none.md");
    page("src/gym/b.c", "/* See docs/none.md. */\n", "src/gym/b.c:1: names docs/none.md");
}

static void test_prose_cites(void **state)
{
    (void)state;
    /* CITED(): spelled in two parts, since this file is checked as well. */
#define CITED(rest) "contr" rest
    page("docs/a.md", "A contraction, -ffp-" CITED("act=off and a " CITED("act are fine.\n")),
         NULL);
    page("docs/b.md", "They are what " CITED("acts ask for.\n"), "docs/b.md:1:They are");
    page("docs/b.md", "Names of the " CITED("act.\n"), "docs/b.md:1:Names of");
    page("src/gym/b.c", "/* The " CITED("act's flags. */\n"), "cite the page of this project");
    page("src/gym/b.c", "/* Source: " CITED("act of timing. */\n"), "src/gym/b.c:1:/* Source");
}

/* A key that nothing reads, and a test that is not there. */
static void keys(void **state)
{
    (void)state;
    rig_expect(0, "mkdir -p tree/src/rl/run tree/src/cli tree/docs tree/tests/unit");
    rig_text("tree/src/rl/run/options.c", "    INT(\"rl.groups\", groups, 1, 2, \"1\"),\n");
    rig_text("tree/src/rl/run/run.c", "int f(struct c *c)\n{\n    return c->groups;\n}\n");
    rig_text("tree/tests/unit/test_a.c", "static void test_D_01_a(void **state)\n");
    rig_text("tree/docs/requirements.md", "| D-01 | a | `test_D_01_a` |\n");
    rig_expect(0, "$T/tools/check/keys.sh tree");
    rig_text("tree/docs/requirements.md", "| D-01 | a | `test_D_01_b`, `other of test_a` |\n");
    rig_expect(1, "$T/tools/check/keys.sh tree");
    rig_shows("no test `test_D_01_b`");
    rig_shows("no test `other`");
    rig_text("tree/docs/requirements.md", "| D-01 | a | `test_D_01_a` |\n");
    rig_text("tree/src/rl/run/options.c", "    INT(\"rl.groups\", groups, 1, 2, \"1\"),\n"
                                          "    REAL(\"rl.lr\", rate, 0, 1, \"1\"),\n");
    rig_expect(1, "$T/tools/check/keys.sh tree");
    rig_shows("`rl.lr` (field rate) is read nowhere");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_commits, fresh),
        cmocka_unit_test_setup(test_commits_elsewhere, fresh),
        cmocka_unit_test_setup(test_hook, fresh),
        cmocka_unit_test_setup(test_prose_width, fresh),
        cmocka_unit_test_setup(test_prose_names, fresh),
        cmocka_unit_test_setup(test_prose_cites, fresh),
        cmocka_unit_test_setup(keys, fresh),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}

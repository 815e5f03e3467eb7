/* Which task an idle worker takes: its own problem's, one that nobody holds, the first; what is out
 * of reach; that no task starves. Tasks are lines of a batch here. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "gym/pool/choose.h"

#define LINES 2000
#define JOBS  8

struct line {
    int problem; /* from 0 */
    bool taken;
};
struct holder {
    int problem; /* -1: none */
    bool prepared;
};
static struct line item[LINES];

/* The rule, asked about the lines of [first, end) that are not taken. */
static size_t choose(size_t first, size_t end, int held, const struct holder *others, int n,
                     double lead)
{
    static struct kg_pool_waiting waiting[LINES];
    struct kg_pool_holder holders[JOBS] = {{0}};
    size_t count = 0;
    for (size_t i = first; i < end; i++) {
        if (!item[i].taken) {
            waiting[count++] = (struct kg_pool_waiting){i, (uint64_t)item[i].problem + 1};
        }
    }
    for (int i = 0; i < n; i++) {
        holders[i] = (struct kg_pool_holder){(uint64_t)(others[i].problem + 1), others[i].prepared};
    }
    size_t got = kg_pool_choose(waiting, count, (uint64_t)(held + 1), holders, n, lead);
    return got < count ? (size_t)waiting[got].seq : end;
}

/* Lines of these problems, one digit each; a `.` is taken already. */
static size_t lines_of(const char *problems)
{
    size_t n = strlen(problems);
    for (size_t i = 0; i < n; i++) {
        bool taken = problems[i] == '.';
        item[i] = (struct line){.problem = taken ? 0 : problems[i] - '0', .taken = taken};
    }
    return n;
}

static void test_which_line(void **state)
{
    (void)state;
    static const struct {
        const char *problems;
        int held, others[3];
        size_t line;
        unsigned prepared; /* which of the others are, a bit each */
        double lead;
    } table[] = {
        {"012012", -1, {-1, -1, -1}, 0, 0, 1}, /* nobody holds anything */
        {"012012", 2, {-1, -1, -1}, 2, 0, 1},  /* its own */
        {"012012", 2, {2, -1, -1}, 2, 0, 1},   /* even where another holds it, too */
        {"01.012", 2, {0, 1, -1}, 5, 0, 1},    /* its own before one that is older */
        {"012012", -1, {0, -1, -1}, 1, 0, 1},  /* the first that nobody holds */
        {"012012", 7, {1, 0, -1}, 2, 0, 1},    /* its own has no line left */
        {"012012", 7, {2, 1, 0}, 0, 0, 1},     /* all are held: the first */
        {"..2012", 7, {2, 1, 0}, 2, 0, 1},     /* the one that has more lines left */
        {"..0122", 7, {2, 1, 0}, 4, 0, 1},     /* though others are older */
        {"010122", 7, {0, 0, 1}, 4, 0, 1},     /* nobody's first, however few */
        {"010111", 7, {0, 0, 1}, 1, 0, 1},     /* most for each of those who hold it */
        {"000011", 7, {0, 0, 1}, 0, 0, 1},     /* 4 lines of 3 workers, 2 of 2 */
        {"000111", 7, {0, 0, 1}, 3, 0, 1},     /* 3 of 3, 3 of 2 */
        {"012", 7, {2, 1, 0}, 0, 0, 1},        /* whoever is not prepared has that to do first */
        {"012", 7, {2, 1, 0}, 3, 7, 1},        /* all will be there before one who begins */
        {"012", 7, {2, 1, 0}, 1, 5, 1},        /* but one */
        {"00", 7, {0, -1, -1}, 0, 1, 1},       /* two lines of one worker */
        {"00", 7, {0, 0, -1}, 2, 3, 1},        /* of two */
        {"00", 7, {0, 0, -1}, 0, 2, 1},        /* one of which is not prepared */
        {"0011", 7, {0, 0, 1}, 2, 7, 1},       /* few of one problem, not of the other */
        {"000", 7, {0, -1, -1}, 3, 1, 3},      /* three before another is prepared */
        {"0000", 7, {0, -1, -1}, 0, 1, 3},     /* and one more */
        {"0000", 7, {0, 0, -1}, 4, 3, 2.5},    /* five of two workers */
        {"0000", 7, {0, 0, -1}, 0, 1, 2.5},    /* one of which is not prepared */
        {"000111", 7, {0, 0, 1}, 3, 7, 1.5},   /* few of the first, not of the second */
        {"......", 0, {1, 2, 3}, 6, 0, 1},     /* none is left */
        {"", 0, {1, 2, 3}, 0, 0, 1},           /* there is none */
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        size_t n = lines_of(table[i].problems);
        struct holder others[3];
        for (int k = 0; k < 3; k++) {
            others[k] = (struct holder){table[i].others[k], (table[i].prepared >> k & 1) != 0};
        }
        assert_int_equal(choose(0, n, table[i].held, others, 3, table[i].lead), table[i].line);
    }
}

static void test_lines_outside_are_not_looked_at(void **state)
{
    (void)state;
    static const struct holder nobody[1] = {{-1, false}};
    lines_of("11012201");
    assert_int_equal(choose(3, 8, 1, nobody, 1, 1), 3);
    assert_int_equal(choose(4, 8, 1, nobody, 1, 1), 7);
    assert_int_equal(choose(4, 7, 1, nobody, 1, 1), 4); /* the window ends before it */
    assert_int_equal(choose(4, 4, 1, nobody, 1, 1), 4); /* an empty one */
    memset(item, 0, sizeof item);
    item[10 + KG_POOL_REACH - 1].problem = 1;
    assert_int_equal(choose(10, LINES, 1, nobody, 1, 1), 10 + KG_POOL_REACH - 1);
    assert_int_equal(choose(9, LINES, 1, nobody, 1, 1), 9); /* out of reach */
}

static void test_pace(void **state)
{
    (void)state;
    struct kg_pool_pace p = {0};
    assert_true(kg_pool_pace_lead(&p) == 1);
    kg_pool_pace_add(&p, false, 9000);
    assert_true(kg_pool_pace_lead(&p) == 1); /* nobody has judged a second line */
    kg_pool_pace_add(&p, true, 1000);
    kg_pool_pace_add(&p, true, 3000);
    assert_true(fabs(kg_pool_pace_lead(&p) - 3.5) < 1e-12);
    kg_pool_pace_add(&p, false, 1000);
    assert_true(fabs(kg_pool_pace_lead(&p) - 1.5) < 1e-12);
    kg_pool_pace_add(&p, false, 1000);
    kg_pool_pace_add(&p, false, 1000);
    assert_true(kg_pool_pace_lead(&p) == 1); /* never less: a line under way comes first */
    kg_pool_pace_add(&p, false, 1000000);
    assert_true(kg_pool_pace_lead(&p) == 4); /* it hung */
}

/* Workers over lines: who is idle next is drawn, or taken in turns. */
struct play {
    size_t n, window;
    bool in_order; /* the first line left, always */
    int jobs, held[JOBS];
    bool prepared[JOBS];
    size_t line[JOBS]; /* under way; n: none */
    bool finished[LINES];
    int passed[LINES]; /* how often a later line went first */
    size_t first, written, ended;
    int changes;
    size_t waited; /* most lines that were finished while an older one was not */
};

static bool give(struct play *p, int w)
{
    struct holder others[JOBS];
    size_t end = p->written + p->window < p->n ? p->written + p->window : p->n;
    while (p->first < end && item[p->first].taken) {
        p->first++;
    }
    for (int i = 0; i < p->jobs; i++) {
        others[i] = (struct holder){i == w ? -1 : p->held[i], p->prepared[i]};
    }
    size_t line = p->in_order ? p->first : choose(p->first, end, p->held[w], others, p->jobs, 1);
    if (line == end) {
        return false;
    }
    assert_true(line >= p->written && line < end && !item[line].taken);
    for (size_t i = p->first; i < line; i++) {
        p->passed[i] += !item[i].taken;
    }
    item[line].taken = true;
    bool changes = p->held[w] != item[line].problem;
    p->changes += changes;
    p->prepared[w] = p->prepared[w] && !changes;
    p->held[w] = item[line].problem;
    p->line[w] = line;
    return true;
}

static void end_line(struct play *p, int w)
{
    p->finished[p->line[w]] = true;
    p->line[w] = p->n;
    p->prepared[w] = true;
    p->ended++;
    while (p->written < p->n && p->finished[p->written]) {
        p->written++;
    }
    size_t waiting = p->ended - p->written;
    p->waited = waiting > p->waited ? waiting : p->waited;
}

static void play(struct play *p, struct kg_rng *rng)
{
    for (int w = 0; w < p->jobs; w++) {
        p->held[w] = -1;
        p->line[w] = p->n;
    }
    for (uint64_t turn = 0; p->written < p->n; turn++) {
        int busy = 0;
        for (int w = 0; w < p->jobs; w++) {
            busy += p->line[w] < p->n || give(p, w);
        }
        assert_true(busy > 0);
        int w = (int)(rng ? kg_rng_below(rng, (uint64_t)p->jobs) : turn % (uint64_t)p->jobs);
        if (p->line[w] < p->n) {
            end_line(p, w);
        }
    }
}

static void test_every_line_is_taken_in_time(void **state)
{
    (void)state;
    static const size_t windows[] = {1, 7, KG_POOL_REACH, 1024};
    static struct play p;
    struct kg_rng rng;
    kg_rng_init(&rng, (struct kg_key){{3, 5}}, 0);
    for (int round = 0; round < 40; round++) {
        p = (struct play){.n = LINES, .window = windows[round % 4], .jobs = 1 + round % JOBS};
        uint64_t problems = 1 + kg_rng_below(&rng, 30);
        for (size_t i = 0; i < p.n; i++) {
            item[i] = (struct line){.problem = (int)kg_rng_below(&rng, problems)};
        }
        play(&p, &rng);
        for (size_t i = 0; i < p.n; i++) {
            assert_in_range(p.passed[i], 0, KG_POOL_REACH - 1);
        }
    }
    kg_rng_deinit(&rng);
}

/* One line among those of a problem that the only worker holds. */
static void test_a_lone_line_is_passed_over_as_often_as_said(void **state)
{
    (void)state;
    static struct play p;
    p = (struct play){.n = LINES, .window = 1024, .jobs = 1};
    memset(item, 0, sizeof item);
    item[5].problem = 1;
    play(&p, NULL);
    assert_int_equal(p.passed[5], KG_POOL_REACH - 1);
    assert_int_equal(p.changes, 3);
}

static void test_workers_stay_with_their_problems(void **state)
{
    (void)state;
    static struct play p;
    for (int sorted = 0; sorted < 2; sorted++) {
        p = (struct play){.n = 8 * JOBS, .window = 1024, .jobs = JOBS};
        for (int i = 0; i < 8 * JOBS; i++) {
            item[i] = (struct line){.problem = sorted ? i / 8 : i % JOBS};
        }
        play(&p, NULL);
        assert_int_equal(p.changes, JOBS);
    }
}

/* The table of docs/batches.md. */
static void test_there_are_fewer_changes_than_in_input_order(void **state)
{
    (void)state;
    enum { TURNS, SORTED, RANDOM };
    static const struct {
        int problems, lines, order, share; /* changes are at most one share of those in order */
    } table[] = {{8, 800, TURNS, 20},
                 {100, 1000, TURNS, 2},
                 {100, 1000, SORTED, 5},
                 {50, 2000, RANDOM, 4},
                 {10, 2000, SORTED, 1}};
    static struct play p[2];
    for (size_t t = 0; t < sizeof table / sizeof *table; t++) {
        int n = table[t].lines, problems = table[t].problems;
        for (int k = 0; k < 2; k++) {
            struct kg_rng rng;
            kg_rng_init(&rng, (struct kg_key){{4, 6}}, 0);
            p[k] = (struct play){.n = (size_t)n, .window = 1024, .in_order = k, .jobs = JOBS};
            for (int i = 0; i < n; i++) {
                int drawn = (int)kg_rng_below(&rng, (uint64_t)problems);
                int of[] = {i % problems, i / (n / problems), drawn};
                item[i] = (struct line){.problem = of[table[t].order]};
            }
            play(&p[k], &rng);
            kg_rng_deinit(&rng);
        }
        print_message("%d problems, %d lines: %d changes, %zu waited; in order %d, %zu\n", problems,
                      n, p[0].changes, p[0].waited, p[1].changes, p[1].waited);
        assert_true(p[0].changes * table[t].share <= p[1].changes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_which_line),
        cmocka_unit_test(test_pace),
        cmocka_unit_test(test_lines_outside_are_not_looked_at),
        cmocka_unit_test(test_every_line_is_taken_in_time),
        cmocka_unit_test(test_a_lone_line_is_passed_over_as_often_as_said),
        cmocka_unit_test(test_workers_stay_with_their_problems),
        cmocka_unit_test(test_there_are_fewer_changes_than_in_input_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The timing protocol of tensors on the CPU, where windows are no times: the whole protocol runs
 * all the same (kg_torch_test), with the judge's reports as they are, or with windows, loudness
 * and late writes that the test puts there. Asserted is structure: counts, orders, commands,
 * verdicts; never a time that was measured. Skipped where Python lacks torch. */
#include "torch_eval_rig.h"

#include <math.h>
#include <unistd.h>

#include "gym/torch/executor/torch_worker.h"
#include "gym/torch/runner/spare_runner.h"
#include "gym/torch/timing/torch_floor.h"
#include "gym/torch/timing/torch_noise.h"
#include "gym/torch/timing/torch_pairs.h"

#define COUNTED HEAD "calls = []\n\n\n" FORWARD "        calls.append(1)\n"
#define NULLS   6  /* that count in a lease, at least */
#define PLANNED 3  /* blocks after which equal windows end a measurement */
#define TURNS   30 /* calls of a process after which candidates here turn; full runs make fewer */

static const char masked[] =
    HEAD "rows = 24\n\n\nclass Model(nn.Module):\n    def forward(self, x, mask):\n"
         "        return x.masked_fill(mask, 0.0)\n\n\ndef get_inputs():\n"
         "    return [torch.randn(rows, rows), torch.ones(rows, rows).tril().bool()]\n\n\n"
         "def get_init_inputs():\n    return []\n";
static const char whole[] =
    HEAD "rows = 40\n\n\nclass Model(nn.Module):\n    def forward(self, x):\n"
         "        return x * 2 + 1\n\n\ndef get_inputs():\n"
         "    return [torch.randint(-5, 6, (rows, rows)).float()]\n\n\n"
         "def get_init_inputs():\n    return []\n";
static const char coarse[] =
    HEAD "rows = 24\n\n\nclass Model(nn.Module):\n    def forward(self, x):\n"
         "        return (x + 4096) - 4096 if x[0, 0] > 0 else x * 1\n\n\n"
         "def get_inputs():\n    return [torch.randn(rows, rows)]\n\n\n"
         "def get_init_inputs():\n    return []\n";
/* Off by 1 every second time, once it has passed for good. */
static const char erring[] =
    HEAD "rows = 24\ncalls = []\n\n\nclass Model(nn.Module):\n    def forward(self, x):\n"
         "        calls.append(x.dtype == torch.float32)\n        n = sum(calls)\n"
         "        off = calls[-1] and n > 60 and n % 2 == 0\n        return x * 2 + (2 if off else "
         "1)\n\n\n"
         "def get_inputs():\n    return [torch.randn(rows, rows)]\n\n\n"
         "def get_init_inputs():\n    return []\n";

/* What makes its inputs bearable cannot be seen of them: values of the judge's own lose digits. */
static const char eighths[] =
    HEAD "rows = 24\n\n\nclass Model(nn.Module):\n    def forward(self, x):\n"
         "        return (x + 2**20) - 2**20\n\n\n"
         "def get_inputs():\n    return [(torch.randn(rows, rows) * 8).round() / 8]\n\n\n"
         "def get_init_inputs():\n    return []\n";

/* It draws otherwise in double. */
static const char halves[] =
    HEAD "rows = 24\n\n\nclass Model(nn.Module):\n    def forward(self, x):\n"
         "        return x * (torch.rand_like(x) < 0.5)\n\n\n"
         "def get_inputs():\n    return [torch.randn(rows, rows)]\n\n\n"
         "def get_init_inputs():\n    return []\n";

/* An answer that may be its input, where the reference's is not. */
static const char same[] =
    HEAD "rows = 24\n\n\nclass Model(nn.Module):\n    def forward(self, x):\n"
         "        return x * 1\n\n\n"
         "def get_inputs():\n    return [torch.randn(rows, rows)]\n\n\n"
         "def get_init_inputs():\n    return []\n";

/* --- in the judge's place --- */

enum who { REF, CAND, NUL, WHOS };

static struct {
    /* what to put into reports of timed calls; 0 and false: leave it */
    int64_t window_ns[WHOS];
    int64_t answer_ns[WHOS]; /* with the next two */
    int64_t own_ns[WHOS];    /* of an empty call in the process of a side */
    bool own_loud;
    int64_t behind_ns; /* every answer, ... */
    int64_t late_ns;   /* ... and so much more behind the candidate's, ... */
    bool early;        /* ... or before its release */
    double scatter;    /* the candidate's windows are longer by this share, times up to 8^7 */
    double drift;      /* the candidate's windows grow by this share from call to call */
    int64_t jitter_ns; /* every second null call takes so much longer */
    int64_t raised_ns; /* and each once the candidate is there */
    int loud_from;     /* number of the candidate's call from which it is loud; 0: never */
    int loud_calls;    /* for so many calls */
    bool loud_often;   /* of those every second one */
    int idle_nulls;    /* the first null calls, which take 0.15 ms more */
    bool canary_loud;  /* null calls are loud once the candidate has been ... */
    bool ref_loud;     /* ... or the reference's */
    int late_at, hit_at, modified_at; /* number of the candidate's call that is seen to */
    int short_at; /* number of the candidate's call before which the judge lacks this, once */
    const char *lacking;
    bool memory; /* it is memory */
    /* numbers of draws that are refused, from one on, one of so many; by whom, a bit each, and how
     * the candidate's process is said to be then */
    int refused_from, refused_to, refused_each;
    int refused_first; /* timed calls of the reference */
    unsigned refusing;
    enum kg_dj_status refused_as;
    /* what was seen, of timed calls and others */
    int calls[WHOS], binds[WHOS], ahead[WHOS], states[WHOS], draws, draws_alone, wide, untimed,
        other;
    int same_seed;
    int oracle_last;    /* calls in double since the candidate's last */
    int nulls_alone;    /* null calls once the candidate is there, the device its alone */
    int quiet;          /* null calls before that */
    int owns[WHOS];     /* empty calls in the process of a side, */
    int owns_elsewhere; /* of them with inputs in other memory than the reference's */
    int drawn;          /* inputs so far */
    uint64_t seed[2], draw_seed, drawn_seed;
    int leaked; /* calls that would tell a candidate how its inputs were drawn */
    bool was_loud;
} spy;

static enum who who_is(int port)
{
    const struct kg_torch *t = kg_torch_of(worker);
    return port == t->instance[KG_INSTANCE_PUBLISHED].ref.port ? REF
           : t->null.up && port == t->null.port                ? NUL
                                                               : CAND;
}

static void count(enum who who, const struct kg_dj_call *c)
{
    const struct kg_tinstance *published = &kg_torch_of(worker)->instance[KG_INSTANCE_PUBLISHED];
    if (who != NUL && c->command == KG_TC_NULL) {
        spy.owns[who]++;
        spy.owns_elsewhere += c->lent != 1 + published->ref.port;
        return;
    }
    bool call = c->command == KG_TC_CALL && !(c->flags & KG_TF_WIDE);
    spy.states[who] += c->command == KG_TC_STATE;
    if (c->command == KG_TC_DRAW) {
        bool inside = (c->flags & KG_TF_LAWS) == KG_TF_LAW * (KG_TL_INSIDE + 1); /* always drawn */
        spy.draws += !inside;
        spy.draws_alone += kg_torch_of(worker)->judge.held;
        spy.draw_seed = c->seed;
    }
    spy.leaked += who == CAND && c->seed == spy.draw_seed;
    spy.wide += c->command == KG_TC_CALL && !call;
    spy.oracle_last = who == CAND ? 0 : spy.oracle_last + (c->command == KG_TC_CALL && !call);
    spy.calls[who] += call || c->command == KG_TC_NULL;
    spy.quiet += who == NUL && c->command == KG_TC_NULL && spy.calls[CAND] == 0;
    spy.nulls_alone += who == NUL && spy.calls[CAND] > 0 && kg_torch_of(worker)->judge.held;
    spy.untimed += (call || c->command == KG_TC_NULL) && !c->timed;
    spy.ahead[who] += (call || c->command == KG_TC_NULL) && c->flags & KG_TF_AHEAD;
    spy.other += who == CAND && c->command != KG_TC_STATE && !call;
    if (call && who != NUL) {
        spy.drawn += c->seed != spy.drawn_seed;
        spy.drawn_seed = c->seed;
        spy.seed[who] = c->seed;
        spy.same_seed += spy.seed[REF] == spy.seed[CAND];
    }
}

static void change(enum who who, const struct kg_dj_call *c, struct kg_dj_report *rep)
{
    if (!c->timed || rep->status != KG_DJ_ANSWERED) {
        return;
    }
    if (who != NUL && c->command == KG_TC_NULL) {
        rep->answer_ns = spy.own_ns[who] > 0 ? spy.own_ns[who] : rep->answer_ns;
        rep->loud = spy.own_loud && who == CAND;
        return;
    }
    if (spy.window_ns[who] > 0) {
        rep->window_ns = spy.window_ns[who];
    }
    if (spy.answer_ns[who] > 0) {
        rep->answer_ns = spy.answer_ns[who];
        rep->setup_ns = who == CAND && spy.early ? spy.late_ns : 0;
        rep->window_ns = spy.answer_ns[who] + spy.behind_ns + (who == CAND ? spy.late_ns : 0);
    }
    if (who == REF && spy.refused_first > 0) {
        spy.refused_first--;
        rep->said = KG_TA_EXCEPTION;
    }
    if (spy.refusing >> who & 1 && spy.drawn >= spy.refused_from && spy.drawn < spy.refused_to &&
        spy.drawn % spy.refused_each == 0) {
        rep->said = KG_TA_EXCEPTION;
        rep->status = who == CAND ? spy.refused_as : rep->status;
    }
    if (who == CAND) {
        int n = spy.calls[CAND];
        unsigned eights = (unsigned)n * 2654435761u >> 29;
        rep->window_ns +=
            (int64_t)(spy.scatter * (double)((1u << 3 * eights) - 1) * (double)rep->window_ns);
        rep->window_ns += (int64_t)(spy.drift * n * (double)rep->window_ns);
        rep->loud = spy.loud_from > 0 && n >= spy.loud_from && n < spy.loud_from + spy.loud_calls;
        rep->loud = rep->loud && !(spy.loud_often && n % 2);
        rep->late_write = rep->late_write || n == spy.late_at;
        rep->guard_hit = rep->guard_hit || n == spy.hit_at;
        rep->input_modified = rep->input_modified || n == spy.modified_at;
        spy.was_loud = spy.was_loud || rep->loud;
    }
    if (who == NUL) {
        rep->window_ns += spy.calls[NUL] % 2 ? spy.jitter_ns : 0;
        rep->window_ns += spy.calls[CAND] > 0 ? spy.raised_ns : 0;
        rep->window_ns += spy.calls[NUL] <= spy.idle_nulls ? 150000 : 0;
    }
    rep->loud = rep->loud || (who == NUL && spy.canary_loud && spy.was_loud) ||
                (who == REF && spy.ref_loud && spy.was_loud);
}

static enum kg_code spied(struct kg_dj *j, const struct kg_dj_call *c, struct kg_dj_report *out,
                          struct kg_err *err)
{
    enum who who = who_is(c->port);
    count(who, c);
    if (who == CAND && spy.short_at > 0 && spy.calls[CAND] == spy.short_at) {
        spy.short_at = 0;
        kg_fail(err, KG_E_LIMIT, "%s", spy.lacking);
        err->memory = spy.memory;
        return err->code;
    }
    enum kg_code code = kg_dj_run(j, c, out, err);
    if (code == KG_OK) {
        spy.binds[who] += out->bound;
        change(who, c, out);
    }
    return code;
}

/* --- evaluations --- */

static int setup(void **state)
{
    (void)state;
    rig_defaults();
    snprintf(config.rewards, sizeof config.rewards, "kevin");
    config.deadline_run = 8;
    config.torch_first_call = 8;
    /* all blocks, whatever a host's windows are like: tests count calls. Where the plan ends a
     * measurement is for those to say that put windows there (PLANNED) */
    config.timing_blocks = config.timing_min_blocks = 8;
    config.timing_widest = 0; /* nor are they trusted by their width */
    if (rig_open() != 0) {
        return -1;
    }
    put("masked.py", masked);
    put("whole.py", whole);
    put("coarse.py", coarse);
    put("erring.py", erring);
    put("eighths.py", eighths);
    put("halves.py", halves);
    put("same.py", same);
    return 0;
}

/* Before each test: nothing put in, nothing seen. */
static int fresh(void **state)
{
    (void)state;
    memset(&spy, 0, sizeof spy);
    if (worker) {
        *kg_torch_test(worker) = (struct kg_torch_test){.times_anywhere = true, .run = spied};
        worker->config = config;
        if (kg_torch_of(worker)) {
            kg_torch_of(worker)->quiet_of = NULL;        /* as of a worker's first session */
            kg_torch_of(worker)->null_half_width = 0.01; /* known: times decide nothing */
        }
    }
    return 0;
}

static void windows(int64_t ref, int64_t cand, int64_t null)
{
    spy.window_ns[REF] = ref;
    spy.window_ns[CAND] = cand;
    spy.window_ns[NUL] = null;
}

/* Equal windows leave nothing open after so many blocks but calls, and a life, that are owed. */
static void ends_when_planned(const struct kg_record *r)
{
    assert_in_range(r->speedup.pairs, PLANNED * 4, 4 * KG_TPAIRS_BLOCKS - 4);
    assert_int_equal(r->speedup.pairs % 4, 0);
}

/* --- tests --- */

static void elsewhere_nothing_is_measured(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    kg_torch_test(worker)->times_anywhere = false;
    expect("affine.py", good, "ok", &r);
    assert_int_equal(r.timing.status, KG_T_NOT_MEASURED);
    assert_true(strncmp(r.timing.why, "no GPU", 6) == 0);
    assert_false(r.has_speedup);
    assert_int_equal(spy.calls[CAND], 0);
    kg_record_deinit(&r);
}

/* Two of each order in every four. */
static void check_orders(const json_t *block)
{
    const json_t *first = json_object_get(block, "candidate_first");
    for (size_t i = 0; i + 4 <= json_array_size(first); i += 4) {
        int n = 0;
        for (size_t k = 0; k < 4; k++) {
            n += json_is_true(json_array_get(first, i + k));
        }
        assert_int_equal(n, 2);
    }
}

static void a_measurement(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    worker->config.timing_min_blocks = PLANNED;
    windows(4050000, 4050000, 50000);
    expect("affine.py", good, "ok", &r);
    assert_int_equal(r.timing.status, KG_T_MEASURED);
    assert_string_equal(r.timing.preset, "paired");
    assert_true(r.has_speedup && r.speedup.lo <= r.speedup.ratio &&
                r.speedup.ratio <= r.speedup.hi);
    ends_when_planned(&r);
    assert_true(r.timing.warmups >= 10 && r.timing.overhead_ns > 0 && isfinite(r.timing.cv));
    assert_int_equal(json_array_size(r.timing.samples) * 4, r.speedup.pairs);
    for (size_t i = 0; i < json_array_size(r.timing.samples); i++) {
        const json_t *block = json_array_get(r.timing.samples, i);
        assert_int_equal(json_array_size(json_object_get(block, "reference_ns")), 4);
        assert_int_equal(json_array_size(json_object_get(block, "candidate_ns")), 4);
        check_orders(block);
    }
    const json_t *t = evidence(&r, "pairs");
    int64_t calls = number(t, "calls"), verified = number(t, "verified"),
            before = number(t, "verified_before");
    assert_int_equal(calls, spy.calls[CAND]);
    assert_true(before > 0 && before < 30 && before + verified >= KG_TPAIRS_VERIFIED &&
                verified <= calls);
    assert_true(before + calls >= r.timing.warmups + r.speedup.pairs);
    int64_t warm = before + 5 + (before < 5 ? 10 - before : 5),
            owed = KG_TPAIRS_VERIFIED + 8 - 4 * PLANNED;
    assert_in_range(r.timing.warmups, before + 5, warm > owed ? warm : owed);
    assert_true(number(t, "with_oracle") > 0 && number(t, "with_oracle") < calls);
    assert_true(number(t, "alive_ns") >= KG_TPAIRS_ALIVE_NS);
    assert_int_equal(number(t, "repeated"), 0);
    assert_true(number(t, "nulls") > 5 && number(t, "nulls") < calls);
    kg_record_deinit(&r);
}

/* Right answers of the correctness stage warm a process up, too. */
static void verified_calls_warm_up(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    worker->config.timing_warmups = 60;
    expect("affine.py", good, "ok", &r);
    assert_true(number(evidence(&r, "pairs"), "verified_before") > 5);
    assert_in_range(r.timing.warmups, 60, 65);
    kg_record_deinit(&r);
}

/* What the candidate's process can see of it: the same commands for every call, calls all timed,
 * the reference's seed, inputs that moved between some calls and not others. */
static void calls_look_alike(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    expect("affine.py", good, "ok", &r);
    assert_int_equal(spy.other, 0);
    assert_int_equal(spy.untimed, 0);
    assert_int_equal(spy.states[CAND], 0); /* it came up with its parameters */
    /* besides those of pairs: one to learn from, one before each null call before the candidate was
     * there; and where too few null calls came by chance, one before each that was missing. None
     * for timed calls that the oracle was asked about later: the judge has kept what it answered */
    int missing = spy.calls[REF] - spy.calls[CAND] - 1 - spy.quiet;
    assert_in_range(missing, 0, NULLS);
    assert_int_equal(spy.same_seed - spy.calls[CAND],
                     missing); /* the second of each pair, and those */
    assert_true(spy.binds[CAND] > spy.calls[CAND] / 4 && spy.binds[CAND] < spy.calls[CAND]);
    assert_int_equal(spy.draws, 0); /* both inputs are of laws that the judge can make */
    assert_true(spy.wide > 1);
    kg_record_deinit(&r);
}

/* 40 verified calls bind one that may be faster; one that is slower by more than its interval has
 * nothing to gain by fewer. They come before the pairs, but for those that would take long. */
static void the_least_number_of_calls(void **state)
{
    (void)state;
    /* long enough for the least life */
    static const char brisk[] = HEAD FORWARD "        time.sleep(0.004)\n" ANSWER;
    static const char sleepy[] = HEAD FORWARD "        time.sleep(0.06)\n" ANSWER;
    static const struct {
        const char *text;
        int64_t ref_ns, cand_ns;
        bool binds, planned;
    } table[] = {{brisk, 4050000, 2050000, true, true},
                 {brisk, 4050000, 4050000, true, true},
                 {sleepy, 4050000, 4050000, true, false},
                 {sleepy, 2050000, 4050000, false, true}};
    struct kg_record r;
    need_torch();
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        fresh(state);
        worker->config.laws = 0; /* few right answers come before */
        worker->config.timing_blocks = worker->config.timing_min_blocks = 1;
        windows(table[i].ref_ns, table[i].cand_ns, 50000);
        expect("affine.py", table[i].text, "ok", &r);
        assert_int_equal(r.timing.status, KG_T_MEASURED);
        const json_t *t = evidence(&r, "pairs");
        int64_t verified = number(t, "verified_before") + number(t, "verified");
        assert_int_equal(verified >= KG_TPAIRS_VERIFIED, table[i].binds);
        if ((r.speedup.pairs == 4) != table[i].planned) {
            fail_msg("case %zu: %lld pairs, %lld verified calls", i, (long long)r.speedup.pairs,
                     (long long)verified);
        }
        kg_record_deinit(&r);
    }
}

/* The oracle needs no process that waits: it is asked after the candidate's last call. */
static void the_oracle_comes_last(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    worker->config.timing_blocks = worker->config.timing_min_blocks = 1;
    windows(4050000, 4050000, 50000); /* or one that a host makes slower need not answer more */
    expect("affine.py", good, "ok", &r);
    const json_t *t = evidence(&r, "pairs");
    int64_t mixed_in = number(t, "verified_before") + number(t, "calls") - r.timing.warmups -
                       r.speedup.pairs - number(t, "others") - number(t, "repeated");
    /* The calls that it owes are pairs; besides, before each pair one call may be mixed in. */
    assert_true(r.speedup.pairs > 4 || mixed_in <= 4);
    /* A call whose inputs can't be made twice is asked about at once. It leaves its place empty,
     * and the last call may be such a one. */
    assert_in_range(spy.oracle_last, 1, KG_DJ_KEPT_SLOTS + 1);
    assert_true(number(evidence(&r, "pairs"), "with_oracle") >= spy.oracle_last);
    kg_record_deinit(&r);
}

/* What quiet is, is learnt before a worker's first candidate is there, so that one process does for
 * it. */
static void one_process(void **state)
{
    (void)state;
    struct kg_record r;
    struct kg_torch *t = kg_torch_of(worker);
    need_torch();
    uint64_t before = t->sources;
    expect("affine.py", good, "ok", &r);
    assert_int_equal(r.timing.status, KG_T_MEASURED);
    assert_int_equal(t->sources - before, 1);
    kg_record_deinit(&r);
    t->quiet_of = NULL; /* nothing is learnt for what will not be timed */
    judge("affine.py", good, KG_ST_FULL, &r);
    assert_null(t->quiet_of);
    kg_record_deinit(&r);
}

/* Where the reference does not meet its own oracle, the candidate is not blamed; other inputs are
 * asked instead. */
static void a_reference_that_errs(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    expect("erring.py",
           HEAD "class ModelNew(nn.Module):\n    def forward(self, x):\n        return x * 2 + 1\n",
           "ok", &r);
    assert_int_equal(r.timing.status, KG_T_MEASURED);
    assert_true(number(evidence(&r, "pairs"), "repeated") > 0);
    kg_record_deinit(&r);
    fresh(state);
    expect("erring.py",
           HEAD "calls = []\n\n\nclass ModelNew(nn.Module):\n    def forward(self, x):\n"
                "        calls.append(1)\n"
                "        return x * 2 + (2 if len(calls) > 30 else 1)\n",
           "wrong/nondeterministic", &r);
    kg_record_deinit(&r);
}

/* Digits that the reference loses on half of the inputs, and the candidate on all from some call
 * on: within what the float reference is known to err. Only the oracle tells, after the last pair.
 */
static void digits_that_few_inputs_lose(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    expect("coarse.py",
           HEAD "class ModelNew(nn.Module):\n    def forward(self, x):\n"
                "        return (x + 4096) - 4096 if x[0, 0] > 0 else x * 1\n",
           "ok", &r);
    assert_true(number(evidence(&r, "pairs"), "with_oracle") > 0);
    kg_record_deinit(&r);
    bool refused = false;
    for (int i = 0; i < 10 && !refused; i++) { /* some of a few calls, on half of the inputs */
        fresh(state);
        worker->config.timing_blocks = worker->config.timing_min_blocks = 24;
        judge("coarse.py",
              HEAD "calls = []\n\n\nclass ModelNew(nn.Module):\n    def forward(self, x):\n"
                   "        calls.append(1)\n        coarse = x[0, 0] > 0 or len(calls) > 30\n"
                   "        return (x + 4096) - 4096 if coarse else x * 1\n",
              KG_ST_TIMING, &r);
        assert_false(r.has_error);
        refused = r.verdict != KG_V_OK;
        if (refused) {
            assert_int_equal(r.verdict, KG_V_WRONG);
            assert_string_equal(r.reason, "nondeterministic");
        }
        kg_record_deinit(&r);
    }
    assert_true(refused);
}

/* Inputs of no law but their own: what the oracle is asked then is some of the timed calls. */
static void a_quarter_with_the_oracle(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    expect("whole.py",
           HEAD "class ModelNew(nn.Module):\n    def forward(self, x):\n"
                "        return x + x + 1\n",
           "ok", &r);
    int64_t asked = number(evidence(&r, "pairs"), "with_oracle");
    assert_true(asked > 0 && asked < r.speedup.pairs);
    assert_int_equal(spy.wide, asked + 1); /* and before the candidate was there */
    assert_true(spy.draws > r.speedup.pairs && spy.draws_alone == 0);
    kg_record_deinit(&r);
}

/* What no seed changes is drawn once, and once before the candidate is there. */
static void inputs_that_stay(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    expect("masked.py",
           HEAD "class ModelNew(nn.Module):\n    def forward(self, x, mask):\n"
                "        return torch.where(mask, torch.zeros_like(x), x)\n",
           "ok", &r);
    assert_int_equal(r.timing.status, KG_T_MEASURED);
    assert_in_range(spy.draws, 1, 2); /* the probe's, which is not counted, may be the first */
    assert_true(spy.binds[CAND] > spy.calls[CAND] / 4);
    kg_record_deinit(&r);
}

/* One whose state changes in a call, and one whose answer depends on the seed. */
static const char normed[] =
    HEAD "class ModelNew(nn.Module):\n    def __init__(self, cols):\n"
         "        super().__init__()\n        self.norm = nn.BatchNorm1d(cols)\n\n"
         "    def forward(self, x):\n        return self.norm(x)\n";
static const char dropped[] = HEAD "class ModelNew(nn.Module):\n    def forward(self, x):\n"
                                   "        return F.dropout(x, 0.5, training=True)\n";

static void other_problems(void **state)
{
    (void)state;
    static const struct {
        const char *problem, *text;
        bool draws, states, always; /* always: each call's inputs, so the oracle's share is drawn */
    } list[] = {
        {"pair.py",
         HEAD "class ModelNew(nn.Module):\n    def forward(self, x, index):\n"
              "        y = x.index_select(0, index)\n        return y, y.max(dim=1).indices\n",
         true, false, true},
        {"running.py", normed, false, true, false},
        {"chance.py", dropped, false, false, false},
        {"halves.py",
         HEAD "class ModelNew(nn.Module):\n    def forward(self, x):\n"
              "        return torch.where(torch.rand_like(x) < 0.5, x, torch.zeros_like(x))\n",
         true, false, false}, /* once, to learn what it is */
        {"eighths.py",
         HEAD "class ModelNew(nn.Module):\n    def forward(self, x):\n        return x * 1\n", true,
         false, true},
    };
    need_torch();
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        struct kg_record r;
        fresh(state);
        expect(list[i].problem, list[i].text, "ok", &r);
        assert_int_equal(r.timing.status, KG_T_MEASURED);
        assert_true((spy.draws > 0) == list[i].draws);
        assert_true(number(evidence(&r, "pairs"), "with_oracle") > 0 || list[i].always);
        assert_int_equal(spy.leaked, 0);
        assert_int_equal(spy.states[CAND], list[i].states ? spy.calls[CAND] : 0);
        kg_record_deinit(&r);
    }
}

/* Of a measurement all calls are launched ahead of their inputs, or none is: not where the seed
 * comes with the release, nor where each call is the first on its state, since null calls are to
 * tell the same. */
static void launched_ahead(void **state)
{
    (void)state;
    static const struct {
        const char *problem, *text;
        bool ahead;
    } list[] = {
        {"affine.py", good, true},
        {"running.py", normed, false},
        {"chance.py", dropped, false},
        {"affine.py", good, false}, /* nobody asks for it */
    };
    need_torch();
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        struct kg_record r;
        fresh(state);
        worker->config.timing_ahead = i < 3;
        expect(list[i].problem, list[i].text, "ok", &r);
        for (int who = 0; who < WHOS; who++) {
            assert_true(spy.calls[who] > 0);
            assert_int_equal(spy.ahead[who], list[i].ahead ? spy.calls[who] : 0);
        }
        kg_record_deinit(&r);
    }
    worker->config.timing_ahead = false;
}

/* Launched ahead, a call takes from the release until its answer is posted. If the rest of its
 * window is over 5 us longer than with the reference on the quiet device, the excess is added. */
static void until_the_answer_is_posted(void **state)
{
    (void)state;
    static const struct {
        bool ahead, early;
        int64_t late_ns;
        double ratio;
    } list[] = {
        {true, false, 0, 1.8 / 0.8},         {true, false, 5000, 1.8 / 0.8},
        {true, false, 505000, 1.8 / 1.3},    {true, true, 505000, 1.8 / 1.3},
        {true, false, -505000, 1.8 / 0.8}, /* a shorter one gains nothing */
        {false, false, 505000, 1.8 / 1.305},
    };
    need_torch();
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        struct kg_record r;
        fresh(state);
        worker->config.timing_ahead = list[i].ahead;
        spy.answer_ns[REF] = 2000000;
        spy.answer_ns[CAND] = 1000000;
        spy.answer_ns[NUL] = spy.own_ns[REF] = spy.own_ns[CAND] = 200000;
        spy.behind_ns = 1000000;
        spy.late_ns = list[i].late_ns;
        spy.early = list[i].early;
        expect("affine.py", good, "ok", &r);
        assert_true(fabs(r.speedup.ratio - list[i].ratio) < 1e-9);
        assert_int_equal(r.timing.overhead_ns, list[i].ahead ? 200000 : 1200000);
        kg_record_deinit(&r);
    }
    worker->config.timing_ahead = false;
}

/* An empty call seeds the generators, as every call does: this one counts that. */
static const char asked_nothing[] =
    HEAD "import random\nseeds, plain = [0], random.seed\n\n\ndef counted(*args):\n"
         "    seeds[0] += 1\n    plain(*args)\n\n\nrandom.seed = counted\n\n\n"
         "class ModelNew(nn.Module):\n    def __init__(self, cols):\n        super().__init__()\n"
         "        assert seeds[0] < 10\n        self.weight = nn.Parameter(torch.ones(cols))\n"
         "        self.calls = 0\n\n    def forward(self, x, z):\n        self.calls += 1\n"
         "        assert seeds[0] < self.calls + 20\n" ANSWER;

/* K of each side is that of its own process, asked before there is any code of the candidate. */
static void k_of_each_process(void **state)
{
    (void)state;
    static const struct {
        int64_t ref_ns, cand_ns;
        bool ahead, loud;
        double ratio;
    } list[] = {
        {202000, 199000, true, false, 1.798 / 0.801},
        {200000, 202000, true, false, 1.8 / 0.798},
        {200000, 299000, true, false, 1.8 / 0.796}, /* processes do not differ by so much */
        {202000, 101000, true, false, 1.798 / 0.802},
        {250000, 250000, true, false, 1.796 / 0.796}, /* nor from the null runner's */
        {202000, 199000, true, true, 1.8 / 0.8},      /* not known: the null runner's */
        {202000, 199000, false, false, 1.8 / 0.8},
    };
    need_torch();
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        struct kg_record r;
        fresh(state);
        worker->config.timing_ahead = list[i].ahead;
        spy.answer_ns[REF] = 2000000;
        spy.answer_ns[CAND] = 1000000;
        spy.answer_ns[NUL] = 200000;
        spy.own_ns[REF] = list[i].ref_ns;
        spy.own_ns[CAND] = list[i].cand_ns;
        spy.own_loud = list[i].loud;
        expect("affine.py", asked_nothing, "ok", &r);
        bool known = list[i].ahead && !list[i].loud;
        assert_true(fabs(r.speedup.ratio - list[i].ratio) < 1e-9);
        int64_t most = list[i].ref_ns < 204000 ? list[i].ref_ns : 204000;
        assert_int_equal(r.timing.overhead_ns, known ? most : 200000);
        const json_t *pairs = evidence(&r, "pairs");
        assert_int_equal(json_object_get(pairs, "overhead_candidate_ns") != NULL, known);
        assert_true(!known || number(pairs, "overhead_candidate_ns") == (double)list[i].cand_ns);
        assert_int_equal(spy.owns[CAND] > 0, list[i].ahead);
        assert_int_equal(spy.owns[REF], spy.owns[CAND]);
        assert_int_equal(spy.owns_elsewhere, 0);
        kg_record_deinit(&r);
    }
    worker->config.timing_ahead = false;
}

/* Where it does not run in double nobody asks for it, what it errs is known all the same, and who
 * is wrong beyond that is found. */
static void without_double(void **state)
{
    (void)state;
    static const struct {
        const char *answer, *rewritten, *wrong;
    } list[] = {
        {"((x + 1e3) @ w) - 1e3 * w.sum(0)",
         "sum((x + 1e3)[:, i, None] * w[i] for i in range(23, -1, -1)) - 1e3 * w.sum(0)",
         "(x @ w) * (1.01 if calls > 30 else 1)"},
        {"x * (1 + (x.view(torch.int32) & 1))",
         "torch.where(x.view(torch.int32) % 2 != 0, x + x, x)",
         "x * (1 + (x.view(torch.int32) & 1)) * (1.01 if calls > 30 else 1)"},
    };
    static const char top[] = HEAD "w = torch.sin(torch.arange(24 * 8.0)).view(24, 8)\ncalls = 0\n"
                                   "\n\nclass %s(nn.Module):\n    def forward(self, x):\n"
                                   "        global calls\n        calls += 1\n%s"
                                   "        return %s\n%s";
    need_torch();
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        char text[2048];
        struct kg_record r;
        fresh(state);
        snprintf(text, sizeof text, top, "Model",
                 "        if x.dtype == torch.float64:\n            raise RuntimeError('no')\n",
                 list[i].answer,
                 "\n\ndef get_inputs():\n    return [torch.randn(40, 24)]\n\n\n"
                 "def get_init_inputs():\n    return []\n");
        put("single.py", text);
        snprintf(text, sizeof text, top, "ModelNew", "", list[i].rewritten, "");
        expect("single.py", text, "ok", &r);
        assert_int_equal(r.timing.status, KG_T_MEASURED);
        assert_int_equal(spy.wide, 0);
        assert_true(number(evidence(&r, "pairs"), "with_oracle") > 0);
        kg_record_deinit(&r);
        snprintf(text, sizeof text, top, "ModelNew", "", list[i].wrong, "");
        judge("single.py", text, KG_ST_PROFILE, &r);
        assert_int_equal(r.verdict, KG_V_WRONG);
        assert_int_equal(r.stage, KG_ST_TIMING);
        kg_record_deinit(&r);
    }
}

/* Windows of the test's own: the figures, K taken off, and an end as soon as the plan allows. */
static void the_estimate(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    worker->config.timing_min_blocks = PLANNED;
    windows(4050000, 2050000, 50000);
    expect("affine.py", good, "ok", &r);
    assert_int_equal(r.timing.overhead_ns, 50000);
    assert_int_equal(r.timing.reference_ns, 4000000);
    assert_int_equal(r.timing.candidate_ns, 2000000);
    assert_true(fabs(r.speedup.ratio - 2) < 1e-9);
    ends_when_planned(&r);
    assert_null(r.timing.why);
    kg_record_deinit(&r);
    worker->config.timing_blocks = 12;
    spy.drift = 0.02;     /* blocks differ: the planned half-width is not met */
    spy.calls[CAND] = 60; /* it is slow by now, so no life is owed */
    expect("affine.py", good, "ok", &r);
    assert_int_equal(r.speedup.pairs, 12 * 4);
    kg_record_deinit(&r);
    windows(90000, 2050000, 50000); /* nor does a reference below T end it early */
    spy.calls[CAND] = 60;
    expect("affine.py", good, "ok", &r);
    assert_non_null(strstr(r.timing.why, "the reference takes 40.0 us"));
    assert_int_equal(r.speedup.pairs, 12 * 4);
    kg_record_deinit(&r);
}

/* Windows that differ by far more than any ratio: more blocks are asked, then nothing is paid. */
static void wide_intervals(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    worker->config.timing_blocks = worker->config.timing_min_blocks = PLANNED;
    worker->config.timing_widest = 2;
    windows(4050000, 2050000, 50000);
    spy.scatter = 1;
    expect("affine.py", good, "ok", &r);
    assert_int_equal(r.timing.status, KG_T_NOT_TRUSTED);
    assert_non_null(strstr(r.timing.why, "its interval is too wide"));
    assert_true(r.has_speedup && r.speedup.hi > 2 * r.speedup.lo);
    assert_true(r.speedup.pairs > PLANNED * 4);
    kg_record_deinit(&r);
    worker->config.timing_widest = 0; /* any is trusted */
    expect("affine.py", good, "ok", &r);
    assert_int_equal(r.timing.status, KG_T_MEASURED);
    kg_record_deinit(&r);
}

static void calibrated(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    worker->config.timing_method = KG_TM_CALIBRATED;
    windows(4050000, 1050000, 50000);
    expect("affine.py", good, "ok", &r);
    assert_string_equal(r.timing.preset, "calibrated");
    assert_int_equal(r.speedup.pairs, 50);
    assert_true(fabs(r.speedup.ratio - 4) < 1e-9);
    assert_int_equal(json_array_size(r.timing.samples), 1);
    kg_record_deinit(&r);
}

static double reward(const struct kg_record *r)
{
    assert_int_equal(r->nrewards, 1);
    return r->rewards[0].value;
}

/* Below T = 100 us: a reference earns nothing; a candidate counts as T, its interval is no narrower
 * than the null test's. */
static void short_times(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    windows(4050000, 2050000, 50000);
    expect("affine.py", good, "ok", &r);
    double twice = reward(&r);
    kg_record_deinit(&r);
    windows(149000, 60000, 50000);
    expect("affine.py", good, "ok", &r);
    assert_int_equal(r.timing.status, KG_T_MEASURED);
    assert_non_null(r.timing.why);
    assert_true(strstr(r.timing.why, "no speed reward") != NULL);
    assert_true(fabs(r.speedup.ratio - 9.9) < 1e-6);
    assert_true(reward(&r) < twice);
    kg_record_deinit(&r);
    windows(250000, 60000, 50000);            /* 200 us against 10 us: counts as 2 */
    kg_torch_of(worker)->null_half_width = 0; /* to be measured */
    expect("affine.py", good, "ok", &r);
    assert_true(strstr(r.timing.why, "as if it took T") != NULL);
    assert_true(fabs(r.speedup.ratio - 20) < 1e-6);
    assert_true(fabs(reward(&r) - twice) < 1e-9);
    assert_true(kg_torch_of(worker)->null_half_width > 0);
    assert_true(r.speedup.lo <= 20 * exp(-kg_torch_of(worker)->null_half_width) * 1.000001);
    kg_record_deinit(&r);
}

/* Once for all workers that share what they learn. */
static void one_null_test_for_all(void **state)
{
    (void)state;
    struct kg_common common = {0};
    struct kg_record r;
    need_torch();
    windows(250000, 60000, 50000);
    kg_worker_share(worker, &common);
    kg_torch_of(worker)->null_half_width = 0;
    expect("affine.py", good, "ok", &r);
    double learnt = common.torch_null_half_width;
    assert_true(learnt > 0 && learnt == kg_torch_of(worker)->null_half_width);
    kg_record_deinit(&r);
    common.torch_null_half_width = 0.25; /* as if another worker had */
    kg_torch_of(worker)->null_half_width = 0;
    expect("affine.py", good, "ok", &r);
    assert_true(kg_torch_of(worker)->null_half_width == 0.25 &&
                common.torch_null_half_width == 0.25);
    assert_true(r.speedup.lo <= 20 * exp(-0.25) * 1.000001);
    kg_record_deinit(&r);
    kg_worker_share(worker, NULL);
}

/* What a candidate does only after it has been right for long enough. */
static void turns(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
        bool counted;
    } list[] = {
        {"        if len(calls) > 30:\n            return torch.relu(x * self.weight) + 2.5 * "
         "z\n" ANSWER,
         "wrong/nondeterministic", true},
        {"        if len(calls) == 30:\n            self.kept = torch.relu(x * self.weight) + 2 * "
         "z\n"
         "        if len(calls) >= 30:\n            return self.kept.clone()\n" ANSWER,
         "hack/replay", true},
        {"        if len(calls) > 30:\n            return torch.relu(x * self.weight)[1:]\n" ANSWER,
         "wrong/shape", true},
        {"        if len(calls) > 30:\n            os._exit(3)\n" ANSWER, "crash/exit", false},
        {"        if len(calls) > 30:\n            raise ValueError('x')\n" ANSWER,
         "crash/exception", false},
        {"        if len(calls) > 30:\n            time.sleep(60)\n" ANSWER, "timeout/timing",
         false},
        {"        if len(calls) > 30:\n            x.mul_(2)\n" ANSWER, "wrong/input_modified",
         false},
    };
    need_torch();
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        struct kg_record r;
        struct kg_buf text;
        fresh(state);
        kg_buf_init(&text, 1 << 16);
        kg_buf_addf(&text, "%s%s", COUNTED, list[i].text);
        expect("affine.py", text.data, list[i].want, &r);
        assert_int_equal(r.stages[KG_ST_FULL].status, KG_SS_PASS);
        assert_int_equal(r.stages[KG_ST_TIMING].status, KG_SS_FAIL);
        assert_false(r.has_speedup);
        if (list[i].counted) {
            int64_t call = number(evidence(&r, "timed_call"), "call");
            assert_in_range(call, 1, TURNS); /* the process has answered in full before */
        }
        kg_record_deinit(&r);
        kg_buf_deinit(&text);
    }
}

/* Inputs of a law that the reference stood before, and does not stand now: nobody is asked about
 * them. Nobody but the reference itself excuses a candidate that fails. */
static void draws_that_are_refused(void **state)
{
    (void)state;
    enum { BOTH = 1 << REF | 1 << CAND, FOREVER = 100000 };
    static const struct {
        int from, to, each;
        unsigned by;
        enum kg_dj_status as;
        const char *want;
        enum kg_timing_status status;
        int least, most; /* draws that the last process met */
    } list[] = {
        {12, FOREVER, 3, BOTH, KG_DJ_ANSWERED, "ok", KG_T_MEASURED, 4, 100},
        {12, FOREVER, 3, 1 << REF, KG_DJ_ANSWERED, "ok", KG_T_MEASURED, 4, 100},
        {12, FOREVER, 3, 1 << CAND, KG_DJ_ANSWERED, "crash/exception", KG_T_OFF, 0, 0},
        {12, FOREVER, 1, BOTH, KG_DJ_ANSWERED, "error/problem", KG_T_OFF, 0, 0},
        {12, 13, 1, BOTH, KG_DJ_DIED, "ok", KG_T_MEASURED, 0, 1},
        {12, FOREVER, 3, BOTH, KG_DJ_DIED, "ok", KG_T_NOT_MEASURED, 0, 0},
    };
    need_torch();
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        struct kg_record r;
        fresh(state);
        windows(4050000, 2050000, 50000);
        spy.refused_from = list[i].from;
        spy.refused_to = list[i].to;
        spy.refused_each = list[i].each;
        spy.refusing = list[i].by;
        spy.refused_as = list[i].as;
        expect("affine.py", good, list[i].want, &r);
        if (list[i].status != KG_T_OFF) {
            assert_int_equal(r.timing.status, list[i].status);
        }
        if (list[i].status == KG_T_MEASURED) {
            assert_in_range(number(evidence(&r, "pairs"), "refused"), list[i].least, list[i].most);
        }
        if (list[i].status == KG_T_NOT_MEASURED) {
            assert_non_null(strstr(r.timing.why, "refuses"));
        }
        kg_record_deinit(&r);
    }
}

/* So are own draws as the timing is opened, four in a row. Beside a candidate this is tried again.
 */
static void draws_that_are_refused_at_first(void **state)
{
    need_torch();
    for (int many = 0; many < 2; many++) {
        struct kg_record r;
        fresh(state);
        windows(4050000, 2050000, 50000);
        spy.refused_first = many ? 40 : 8;
        expect("affine.py", good, many ? "error/problem" : "ok", &r);
        kg_record_deinit(&r);
    }
}

/* The statistics of one that has been right for long enough; and those of an honest one. */
static void state_that_calls_leave(void **state)
{
    (void)state;
    static const char head[] =
        HEAD "calls = []\n\n\nclass ModelNew(nn.Module):\n    def __init__(self, cols):\n"
             "        super().__init__()\n        self.norm = nn.BatchNorm1d(cols)\n\n"
             "    def forward(self, x):\n        calls.append(1)\n        n = self.norm\n";
    static const char *const list[][2] = {
        {"        return n(x)\n", "ok"},
        {"        if len(calls) > 30:\n"
         "            return F.batch_norm(x, None, None, n.weight, n.bias, True)\n"
         "        return n(x)\n",
         "wrong/state"},
    };
    need_torch();
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        struct kg_record r;
        char text[1000];
        fresh(state);
        snprintf(text, sizeof text, "%s%s", head, list[i][0]);
        expect("running.py", text, list[i][1], &r);
        assert_int_equal(r.stages[KG_ST_FULL].status, KG_SS_PASS);
        kg_record_deinit(&r);
    }
}

/* Each call moves a counter that its answer depends on. A reference that is asked again about the
 * same inputs must begin from the same counter: without an oracle in double, and where equal
 * numbers may be chosen otherwise. */
static void state_of_each_call(void **state)
{
    (void)state;
    static const struct {
        const char *inputs, *refuses, *answer, *rewritten;
    } list[] = {
        {"torch.randn(400, 24)",
         "        if x.dtype == torch.float64:\n            raise RuntimeError('no')\n",
         "((x + 1e3) @ w) - 1e3 * w.sum(0) + self.n",
         "sum((x + 1e3)[:, i, None] * w[i] for i in range(23, -1, -1)) - 1e3 * w.sum(0) + self.n"},
        {"torch.randint(0, 300, (256, 8)).float()", "", "((x + self.n) % 300).argmax(-1)",
         "7 - ((x + self.n) % 300).flip(-1).argmax(-1)"},
    };
    static const char top[] = HEAD "w = torch.sin(torch.arange(24 * 8.0)).view(24, 8)\n\n\n"
                                   "class %s(nn.Module):\n    def __init__(self):\n"
                                   "        super().__init__()\n"
                                   "        self.register_buffer('n', torch.zeros(1).long())\n\n"
                                   "    def forward(self, x):\n%s        self.n.add_(7)\n"
                                   "        return %s\n";
    need_torch();
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        char text[1500], problem[2000];
        struct kg_record r;
        fresh(state);
        snprintf(text, sizeof text, top, "Model", list[i].refuses, list[i].answer);
        snprintf(problem, sizeof problem,
                 "%s\n\ndef get_inputs():\n    return [%s]\n\n\n"
                 "def get_init_inputs():\n    return []\n",
                 text, list[i].inputs);
        put("counts.py", problem);
        snprintf(text, sizeof text, top, "ModelNew", "", list[i].rewritten);
        expect("counts.py", text, "ok", &r);
        assert_int_equal(r.timing.status, KG_T_MEASURED);
        assert_true(number(evidence(&r, "pairs"), "with_oracle") > 0);
        kg_record_deinit(&r);
    }
}

static void late_writes(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    spy.late_at = 20;
    expect("affine.py", good, "hack/async", &r);
    assert_int_equal(number(evidence(&r, "timed_call"), "call"), 20);
    kg_record_deinit(&r);
}

/* What is seen beside right values in one timed call. */
static void memory_round_a_call(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    spy.hit_at = 20;
    expect("affine.py", good, "wrong/out_of_bounds", &r);
    assert_int_equal(number(evidence(&r, "timed_call"), "call"), 20);
    assert_false(r.has_speedup);
    kg_record_deinit(&r);
    fresh(state);
    spy.modified_at = 21;
    expect("affine.py", good, "wrong/input_modified", &r);
    assert_int_equal(number(evidence(&r, "timed_call"), "call"), 21);
    kg_record_deinit(&r);
}

/* Right values elsewhere than the reference's, from some call on. */
static void form_of_a_call(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } list[] = {
        {HEAD "calls = []\n\n\nclass ModelNew(nn.Module):\n    def forward(self, x):\n"
              "        calls.append(1)\n        return x * 1 if len(calls) <= 30 else x\n",
         "wrong/alias"},
        {HEAD "import kgym_harness.tensors as t\n\ncalls, put = [], t.put\n\n\n"
              "def told(out, leaves, *rest):\n    n = put(out, leaves, *rest)\n"
              "    leaves[0].device = int(len(calls) > 30)\n    return n\n\n\n"
              "t.put = told\n\n\nclass ModelNew(nn.Module):\n    def forward(self, x):\n"
              "        calls.append(1)\n        return x * 1\n",
         "wrong/device"},
    };
    need_torch();
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        struct kg_record r;
        fresh(state);
        expect("same.py", list[i].text, list[i].want, &r);
        assert_int_equal(r.stages[KG_ST_FULL].status, KG_SS_PASS);
        assert_in_range(number(evidence(&r, "timed_call"), "call"), 1, TURNS);
        kg_record_deinit(&r);
    }
}

static void loud_once(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    windows(4050000, 2050000, 50000);
    spy.loud_from = 18;
    spy.loud_calls = 1;
    expect("affine.py", good, "ok", &r);
    assert_int_equal(r.timing.status, KG_T_MEASURED);
    assert_true(fabs(r.speedup.ratio - 2) < 1e-9);
    assert_true(number(evidence(&r, "pairs"), "repeated") <= 1); /* 0: it was an untimed call */
    kg_record_deinit(&r);
    fresh(state);
    spy.loud_from = 18; /* as many as one pair is asked again for */
    spy.loud_calls = 3;
    expect("affine.py", good, "ok", &r);
    assert_true(number(evidence(&r, "pairs"), "repeated") >= 2);
    assert_int_equal(r.timing.voided, number(evidence(&r, "pairs"), "repeated"));
    assert_int_equal(spy.calls[CAND], number(evidence(&r, "pairs"), "calls")); /* one process */
    kg_record_deinit(&r);
}

/* Never four times in a row, but as often as no context of others' is. */
static void loud_now_and_then(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    spy.loud_from = 1;
    spy.loud_calls = 10000;
    spy.loud_often = true;
    expect("affine.py", good, "hack/async", &r);
    assert_int_equal(number(evidence(&r, "loud"), "processes"), 2);
    kg_record_deinit(&r);
}

static void loud_again_and_again(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    spy.loud_from = 18;
    spy.loud_calls = 1000;
    expect("affine.py", good, "hack/async", &r);
    assert_int_equal(number(evidence(&r, "loud"), "processes"), 2);
    assert_false(r.has_speedup);
    kg_record_deinit(&r);
    fresh(state);
    spy.loud_from = 18; /* in its first process only: no proof */
    spy.loud_calls = 6;
    expect("affine.py", good, "ok", &r);
    assert_int_equal(r.timing.status, KG_T_MEASURED);
    kg_record_deinit(&r);
    for (int i = 0; i < 2; i++) {
        fresh(state);
        spy.loud_from = 18; /* it goes on without the candidate: somebody else's */
        spy.loud_calls = 1000;
        spy.canary_loud = i == 0;
        spy.ref_loud = i == 1;
        expect("affine.py", good, "ok", &r);
        assert_int_equal(r.timing.status, KG_T_NOT_MEASURED);
        assert_true(strstr(r.timing.why, "somebody else") != NULL);
        assert_false(r.has_speedup);
        kg_record_deinit(&r);
    }
}

/* Loud in two processes, where the first had others beside it: they may have been the cause. */
static void loud_beside_others(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    spy.loud_from = 18;
    spy.loud_calls = 26;
    expect("affine.py", good, "hack/async", &r);
    kg_record_deinit(&r);
    fresh(state);
    kg_torch_test(worker)->shared = true;
    spy.loud_from = 18;
    spy.loud_calls = 26;
    expect("affine.py", good, "ok", &r);
    assert_int_equal(r.timing.status, KG_T_MEASURED);
    kg_record_deinit(&r);
    for (int calls = 6; calls <= 26; calls += 20) { /* loud in one process; in a second one, too */
        fresh(state);
        kg_torch_test(worker)->shared = true;
        worker->config.torch_spare = KG_SPARE_YES; /* who has all others end begins none */
        spy.loud_from = 18;
        spy.loud_calls = calls;
        expect("affine.py", good, "ok", &r);
        assert_true(spy.was_loud && kg_torch_of(worker)->spare.up == (calls == 6));
        kg_tspare_drop(worker);
        kg_record_deinit(&r);
    }
    fresh(state);
    kg_torch_test(worker)->shared = true;
    worker->config.torch_contexts_apart = false; /* it may have been a context of others' */
    spy.loud_from = 18;
    spy.loud_calls = 26;
    expect("affine.py", good, "ok", &r);
    assert_int_equal(r.timing.status, KG_T_MEASURED);
    assert_true(kg_torch_of(worker)->contexts_apart);
    kg_record_deinit(&r);
    fresh(state);
    kg_torch_test(worker)->shared = true;
    spy.loud_from = 18;
    spy.loud_calls = 1000;
    expect("affine.py", good, "hack/async", &r); /* with nobody there it is the same */
    kg_record_deinit(&r);
}

/* The device's memory is gone: where others are on it, it may be theirs, and is asked for again. */
static void memory_of_others(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    for (int i = 0; i < 3; i++) {
        fresh(state);
        kg_torch_test(worker)->shared = i > 0;
        spy.short_at = 12;
        spy.memory = i < 2;
        spy.lacking = i < 2 ? "CUDA: exported memory: out of memory" : "larger than a judge takes";
        judge("affine.py", good, KG_ST_TIMING, &r);
        assert_true(r.has_error == (i != 1));
        assert_true(i == 1 ? r.timing.status == KG_T_MEASURED : r.error.code == KG_E_LIMIT);
        kg_record_deinit(&r);
    }
}

/* Null calls come while the device is the worker's alone. All count but the first, and before it
 * that of the last warm-up, which half of them have. */
static void k_is_of_the_lease(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    worker->config.timing_blocks = worker->config.timing_min_blocks = 1; /* warm-ups are the most */
    expect("affine.py", good, "ok", &r);
    int64_t nulls = number(evidence(&r, "pairs"), "nulls");
    assert_in_range(nulls, spy.nulls_alone - 2, spy.nulls_alone - 1);
    assert_true(nulls >= NULLS);
    assert_int_equal(spy.nulls_alone, spy.calls[NUL] - spy.quiet);
    kg_record_deinit(&r);
}

/* What a candidate does beside null calls is not taken off its time. */
static void k_is_not_raised(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    windows(4050000, 2050000, 50000);
    spy.raised_ns = 400000;
    expect("affine.py", good, "ok", &r);
    assert_int_equal(r.timing.overhead_ns, 50000);
    assert_int_equal(number(evidence(&r, "pairs"), "overhead_quiet_ns"), 50000);
    assert_int_equal(number(evidence(&r, "pairs"), "overhead_lease_ns"), 450000);
    assert_true(fabs(r.speedup.ratio - 2) < 1e-9);
    kg_record_deinit(&r);
    expect("affine.py", good, "ok", &r); /* nor by a later one of the same worker */
    assert_int_equal(r.timing.overhead_ns, 50000);
    kg_record_deinit(&r);
}

/* Nor what a device takes that was idle before. */
static void k_is_of_a_device_at_work(void **state)
{
    (void)state;
    static const int idle[] = {0, 2, 12}, asked[] = {18, 18, 26};
    need_torch();
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++) {
        struct kg_record r;
        fresh(state);
        windows(4050000, 2050000, 50000);
        spy.raised_ns = 400000;
        spy.idle_nulls = idle[i];
        expect("affine.py", good, "ok", &r);
        assert_int_equal(spy.quiet, asked[i]);
        assert_int_equal(r.timing.overhead_ns, 50000);
        kg_record_deinit(&r);
    }
}

/* K that is not the same from call to call says nothing, and nobody is accused by it. */
static void a_busy_device(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    windows(4050000, 2050000, 50000);
    kg_torch_test(worker)->spread = true;
    spy.jitter_ns = KG_TPAIRS_SPREAD_NS / 2;
    expect("affine.py", good, "ok", &r);
    assert_int_equal(r.timing.status, KG_T_MEASURED);
    kg_record_deinit(&r);
    spy.jitter_ns = 80000; /* of 2 ms that is little */
    expect("affine.py", good, "ok", &r);
    assert_int_equal(r.timing.status, KG_T_MEASURED);
    kg_record_deinit(&r);
    spy.jitter_ns = 4000000;
    expect("affine.py", good, "ok", &r);
    assert_int_equal(r.timing.status, KG_T_NOT_TRUSTED);
    assert_true(strstr(r.timing.why, "not quiet") != NULL);
    kg_record_deinit(&r);
    windows(4050000, 50001, 50000);
    expect("affine.py", good, "ok", &r);
    assert_null(evidence(&r, "floor"));
    kg_record_deinit(&r);
}

/* Faster than its data can be read, and again in a new process. */
static void below_the_floor(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    windows(4050000, 50001, 50000);
    kg_torch_of(worker)->null_half_width = 0.01; /* it would be that of the windows above */
    expect("affine.py", good, "hack/floor", &r);
    assert_int_equal(number(evidence(&r, "floor"), "processes"), 2);
    kg_record_deinit(&r);
    kg_torch_of(worker)->null_half_width = 20; /* of a clock that may be off as far as that */
    expect("affine.py", good, "ok", &r);
    kg_record_deinit(&r);
    kg_torch_of(worker)->null_half_width = 0.01;
    spy.jitter_ns = 100000; /* and of one whose overhead wanders */
    expect("affine.py", good, "ok", &r);
    kg_record_deinit(&r);
    spy.jitter_ns = 0;
    worker->config.hack_checks = false;
    expect("affine.py", good, "ok", &r);
    kg_record_deinit(&r);
    worker->config.hack_checks = true;
    struct kg_dj_facts *f =
        &kg_torch_of(worker)->judge.facts; /* taken while others used the device */
    double was = f->bandwidth;
    int64_t floor_ns =
        kg_tfloor_ns(&kg_torch_of(worker)->instance[KG_INSTANCE_PUBLISHED].desc, 1, f);
    f->bandwidth *= (double)floor_ns / 4000000;
    windows(4050000, 2050000, 50000);
    expect("affine.py", good, "ok", &r);
    assert_true(f->bandwidth > was / 10);
    kg_record_deinit(&r);
    /* the reference is no slower: there is less to read */
    windows(50001, 50001, 50000);
    expect("affine.py", good, "ok", &r);
    kg_record_deinit(&r);
}

/* Only what the answer needs counts: the reference is asked before anybody is accused, by edits. */
static const struct {
    const char *name, *answer, *inputs, *want;
    int least, most; /* of 64 elements that were edited */
} needs[] = {
    {"one row of a norm over all", "(x / x.norm(dim=1, keepdim=True))[-1]", "randn(512, 48)", "ok",
     0, 9},
    {"all", "x / x.norm(dim=1, keepdim=True)", "randn(512, 48)", "hack/floor", 64, 64},
    {"the greatest of all", "x.amax()", "randn(512, 48)", "hack/floor", 64, 64},
    {"the least of a range", "x.amin(dim=1)", "rand(512, 48)", "hack/floor", 64, 64},
    {"terms that a sum in float hides", "x.mul(1e-4) + 1e6", "randn(512, 48)", "hack/floor", 64,
     64},
    {"what is no zero of each draw", "x * 2", "randn(192, 192).triu()", "hack/floor", 20, 44},
    {"a mirrored half", "x * 2", "randn(192, 192); x = x + x.t()", "hack/floor", 20, 44},
    {"a part that is infinite in each draw", "x.nan_to_num(neginf=0)[-1]",
     "randn(512, 48); x[:, :24] = float(\"-inf\")", "ok", 0, 9},
    {"a reference that has no double", "x * 2 if x.dtype == torch.float32 else x.no()",
     "randn(512, 48)", "hack/floor", 0, 0},
    {"what refuses other values", "x.amax() if float(x.abs().max()) <= 1.5 else x.no()",
     "randn(512, 48).clamp(-1.5, 1.5)", "hack/floor", 0, 0},
    {"the same again, in a new process", NULL, NULL, "hack/floor", 0, 0},
};

static void floor_of_what_is_needed(void **state)
{
    char problem[1200], candidate[600], file[40];
    need_torch();
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
        struct kg_record r;
        if (needs[i].answer) {
            snprintf(problem, sizeof problem,
                     HEAD "class Model(nn.Module):\n    def forward(self, x):\n"
                          "        return %s\n\n\n"
                          "def get_inputs():\n    x = torch.%s\n    return [x]\n\n\n"
                          "def get_init_inputs():\n    return []\n",
                     needs[i].answer, needs[i].inputs);
            snprintf(candidate, sizeof candidate,
                     HEAD "class ModelNew(nn.Module):\n    def forward(self, x):\n"
                          "        return %s\n",
                     needs[i].answer);
            snprintf(file, sizeof file, "needs%zu.py", i);
            put(file, problem);
        }
        fresh(state);
        windows(4050000, 50001, 50000);
        expect(file, candidate, needs[i].want, &r);
        const struct kg_tinstance *s = &kg_torch_of(worker)->instance[KG_INSTANCE_PUBLISHED];
        if (s->needed < needs[i].least || s->needed > needs[i].most) {
            print_error("%s: %d of %d\n", needs[i].name, s->needed, s->edited);
        }
        assert_int_equal(s->edited, strstr(candidate, "x.no()") ? -1 : 64);
        assert_in_range(s->needed, needs[i].least, needs[i].most);
        kg_record_deinit(&r);
    }
}

/* What 64 edits have shown; where they were too few, or could not be made, all counts. */
static void shares(void **state)
{
    (void)state;
    static struct kg_tinstance s;
    static const struct {
        int edited, needed;
        double least, most;
    } cases[] = {
        {0, 0, 1, 1},       {-1, 0, 1, 1},       {15, 3, 1, 1},
        {64, 64, 1, 1},     {64, 0, 0, 0},       {64, 63, 0.85, 0.90},
        {64, 32, 0.3, 0.4}, {64, 1, 1e-6, 1e-4}, {16, 15, 0.5, 0.7},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        s.edited = cases[i].edited;
        s.needed = cases[i].needed;
        double share = kg_tfloor_share(&s);
        assert_true(share >= cases[i].least && share <= cases[i].most);
    }
}

static void floors(void **state)
{
    (void)state;
    static struct kg_task_desc d;
    struct kg_dj_facts f = {.bandwidth = 1e9, .l2_bytes = 1000};
    d.ninputs = 2;
    d.input[0].leaf = (struct kg_tleaf){.dtype = KG_TD_F32, .bytes = 4000};
    d.input[1].leaf = (struct kg_tleaf){.dtype = KG_TD_F32, .bytes = 2000};
    d.output_bytes = 5000;
    assert_int_equal(kg_tfloor_ns(&d, 1, &f), 10000); /* answers may stay in the cache */
    d.output_bytes = 500;
    assert_int_equal(kg_tfloor_ns(&d, 1, &f), 6000);
    assert_int_equal(kg_tfloor_ns(&d, 0.25, &f), 1500);
    d.input[1].leaf.dtype = KG_TD_I64; /* an index: who knows what is read */
    assert_int_equal(kg_tfloor_ns(&d, 1, &f), 0);
    f.bandwidth = 0;
    d.input[1].leaf.dtype = KG_TD_F32;
    assert_int_equal(kg_tfloor_ns(&d, 1, &f), 0);
}

/* A slow candidate is let off when its time is up, with the pairs that there are; a fast one is not
 * believed. */
static void time_runs_out(void **state)
{
    (void)state;
    struct kg_record r;
    static const char slow[] = COUNTED "        time.sleep(0.2 if len(calls) > 30 else 0)\n" ANSWER;
    static const char sleepy[] =
        COUNTED "        time.sleep(0.5 if len(calls) > 22 else 0)\n" ANSWER;
    need_torch();
    worker->config.timing_budget = 0.5;
    windows(2050000, 4050000, 50000);
    expect("affine.py", slow, "ok", &r);
    assert_int_equal(r.timing.status, KG_T_MEASURED);
    assert_true(r.speedup.pairs >= KG_TPAIRS_LEAST && r.speedup.pairs < 36);
    assert_true(fabs(r.speedup.ratio - 0.5) < 1e-9);
    kg_record_deinit(&r);
    worker->config.torch_deadline_eval = 8; /* those that are missing, of 0.5 s, do not fit */
    windows(4050000, 2050000, 50000);
    expect("affine.py", sleepy, "ok", &r);
    assert_true(r.timing.status == KG_T_NOT_TRUSTED);
    assert_true(strstr(r.timing.why, "verified calls") != NULL);
    kg_record_deinit(&r);
}

/* Nobody but the candidate is blamed for a null runner or reference that is gone. */
static void null_test(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    struct kg_record r;
    struct kg_tpairs_result res;
    struct kg_tpairs_options opt = KG_TPAIRS_DEFAULTS;
    struct kg_key key = {{1, 2}};
    opt.blocks = 8;
    need_torch();
    judge("affine.py", good, KG_ST_FULL, &r);
    kg_record_deinit(&r);
    assert_int_equal(kg_tpairs_null(worker, &kg_torch_of(worker)->instance[KG_INSTANCE_PUBLISHED],
                                    &opt, key, &res, &err),
                     KG_OK);
    assert_int_equal(res.status, KG_TPAIRS_MEASURED);
    /* 8 blocks, or as many as a process owes */
    assert_true(res.n >= 12 && res.n < 4 * KG_TPAIRS_BLOCKS);
    assert_true(res.ratio.ratio > 0 && res.overhead_ns > 0);
    kg_tpairs_result_deinit(&res);
    struct kg_noise noise;
    char problem[512];
    snprintf(problem, sizeof problem, "%s/affine.py", folder);
    assert_int_equal(kg_torch_noise(worker, problem, &noise, &err), KG_OK);
    assert_true(noise.k_p10_ns <= noise.k_ns && noise.k_ns <= noise.k_p90_ns && noise.k_p10_ns > 0);
    assert_true(noise.reference_ns > 0 && noise.ratio.pairs >= 12);
    assert_int_equal(kg_torch_noise(worker, "nosuch.py", &noise, &err), KG_E_NOT_FOUND);
    opt.warmups = 3;
    assert_int_equal(kg_tpairs_null(worker, &kg_torch_of(worker)->instance[KG_INSTANCE_PUBLISHED],
                                    &opt, key, &res, &err),
                     KG_E_USAGE);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup(f, fresh)
    const struct CMUnitTest tests[] = {
        TEST(elsewhere_nothing_is_measured),
        TEST(a_measurement),
        TEST(verified_calls_warm_up),
        TEST(calls_look_alike),
        TEST(the_least_number_of_calls),
        TEST(the_oracle_comes_last),
        TEST(one_process),
        TEST(a_reference_that_errs),
        TEST(digits_that_few_inputs_lose),
        TEST(a_quarter_with_the_oracle),
        TEST(inputs_that_stay),
        TEST(other_problems),
        TEST(launched_ahead),
        TEST(until_the_answer_is_posted),
        TEST(k_of_each_process),
        TEST(without_double),
        TEST(the_estimate),
        TEST(calibrated),
        TEST(wide_intervals),
        TEST(short_times),
        TEST(one_null_test_for_all),
        TEST(turns),
        TEST(draws_that_are_refused),
        TEST(draws_that_are_refused_at_first),
        TEST(state_that_calls_leave),
        TEST(state_of_each_call),
        TEST(late_writes),
        TEST(memory_round_a_call),
        TEST(form_of_a_call),
        TEST(loud_once),
        TEST(loud_now_and_then),
        TEST(loud_again_and_again),
        TEST(loud_beside_others),
        TEST(memory_of_others),
        TEST(k_is_of_the_lease),
        TEST(k_is_not_raised),
        TEST(k_is_of_a_device_at_work),
        TEST(a_busy_device),
        TEST(below_the_floor),
        TEST(floor_of_what_is_needed),
        TEST(shares),
        TEST(floors),
        TEST(time_runs_out),
        TEST(null_test),
    };
    return cmocka_run_group_tests(tests, setup, rig_close);
}

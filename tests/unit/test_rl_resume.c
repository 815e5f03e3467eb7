/* A run that is killed and goes on leaves the same bits as one that was not; and what must stop a
 * run, or must not. test_rl_resume_long has the long series of kills. */
#include "resume_rig.h"

static void unbroken(void **state)
{
    (void)state;
    rig_unbroken();
}

static void killed(void **state)
{
    (void)state;
    rig_broken(1, 1, true);
    rig_broken(2, 1, false);
    rig_broken(3, 1, false);
}

/* Each evaluation is asked for once, though the run dies again and again. A verdict is lost only
 * between its arrival and its line. */
static void asked_once(void **state)
{
    (void)state;
    struct rig_options o = {.folder = "once"};
    int status, deaths = 0;
    shared->evaluations = 0;
    for (o.die_at = 9; !rig_run(&o, 0, &status); deaths++) {
        o.resume = true;
        o.die_at = deaths < 6 ? 9 : 0;
    }
    assert_int_equal(status, 0);
    assert_int_equal(deaths, 7);
    assert_int_equal(shared->evaluations, whole_evaluations);
    rig_same_run("whole", "once");
}

static void ended(void **state)
{
    (void)state;
    bool over = false;
    struct kg_err err = KG_ERR_INIT;
    if (rl_run_ended("whole", &over, &err) != KG_OK) {
        fail_msg("%s", err.message);
    }
    assert_true(over);
    assert_int_equal(rl_run_ended("none", &over, &err), KG_E_NOT_FOUND);
    assert_non_null(strstr(err.message, "none: holds no run"));
}

/* Another configuration is refused by the name of its key; threads and journal may differ. */
static void other_configuration(void **state)
{
    (void)state;
    struct rig_options o = {.folder = "other", .die_at = 40};
    int status;
    assert_false(rig_run(&o, 0, &status));
    o.die_at = 0;
    rig_bad(&o, KG_E_USAGE, "holds a run already");
    o.resume = true;
    o.set[0] = "rl.lr=0.02";
    rig_bad(&o, KG_E_USAGE, "other: config.yaml is of another configuration: `rl.lr` differs");
    o.set[0] = "threads=2";
    rig_good(&o);
    rig_same_run("whole", "other");
}

/* The disk is full while a checkpoint is written: the one before stays, and the run goes on later.
 */
static void disk_full(void **state)
{
    (void)state;
    struct rig_options o = {.folder = "full", .die_at = 40};
    struct kg_err err = KG_ERR_INIT;
    int status;
    assert_false(rig_run(&o, 0, &status));
    assert_int_equal(lm_checkpoint_check("full/checkpoint", &err), KG_OK);
    o.die_at = 0;
    o.resume = true;
    o.file_limit = 20000;
    rig_bad(&o, KG_E_IO, "full/checkpoint.tmp.");
    assert_non_null(strstr(shared->message, "cannot write"));
    assert_int_equal(lm_checkpoint_check("full/checkpoint", &err), KG_OK);
    o.file_limit = 0;
    rig_good(&o);
    rig_same_run("whole", "full");
}

/* Damage in the folder is named, and nothing is begun anew over it. */
static void damaged(void **state)
{
    (void)state;
    struct rig_options o = {.folder = "damaged", .die_at = 50};
    int status;
    assert_false(rig_run(&o, 0, &status));
    o.die_at = 0;
    o.resume = true;
    assert_int_equal(system("mv damaged/trajectories.jsonl kept; head -c 100 kept > "
                            "damaged/trajectories.jsonl"),
                     0);
    rig_bad(&o, KG_E_INPUT, "damaged/trajectories.jsonl: has 100 bytes, and had");
    assert_int_equal(system("mv kept damaged/trajectories.jsonl; mv damaged/checkpoint/DONE d"), 0);
    rig_bad(&o, KG_E_INPUT, "damaged/checkpoint: not a whole checkpoint: it has no DONE");
    assert_int_equal(
        system("cd damaged; mv ../d checkpoint/DONE; mv checkpoint/optim.safetensors d; "
               "mv checkpoint checkpoint.replaced"),
        0);
    rig_bad(&o, KG_E_INPUT, "damaged/checkpoint.replaced/optim.safetensors: ");
    assert_int_equal(system("cd damaged; mv d checkpoint.replaced/optim.safetensors; "
                            "printf '{\"key\":\"' >> verdicts.jsonl; mkdir checkpoint.tmp.1"),
                     0);
    /* half a line of the journal, and half a checkpoint, are left out; the whole one comes back */
    rig_good(&o);
    assert_false(kg_file_exists("damaged/checkpoint.replaced"));
    assert_false(kg_file_exists("damaged/checkpoint.tmp.1"));
    rig_same_run("whole", "damaged");
    const struct rig_options again = {
        .folder = "damaged2", .journal = "damaged/verdicts.jsonl", .gym = rig_no_judge};
    rig_good(&again);
}

static void rig_write(const char *path, const char *text)
{
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(kg_file_write_atomic(path, text, strlen(text), &err), KG_OK);
}

/* A journal of other verdicts is refused; one that lacks some is filled by the gym. */
static void journals(void **state)
{
    (void)state;
    struct rig_options o = {.folder = "j1", .journal = "j.jsonl"};
    rig_bad(&o, KG_E_NOT_FOUND, "j.jsonl");
    rig_write("j.jsonl", "");
    o.folder = "j2";
    rig_bad(&o, KG_E_INPUT, "j.jsonl: not a journal of verdicts");
    rig_write("j.jsonl", "{\"journal\":\"kgym.verdicts/1\",\"reward\":\"log\"}\n");
    o.folder = "j3";
    rig_bad(&o, KG_E_USAGE, "j.jsonl:1: these verdicts were made with another `reward`");
    assert_int_equal(system("head -1 whole/verdicts.jsonl > j.jsonl; echo '{\"key\":\"12\"}' >> "
                            "j.jsonl"),
                     0);
    o.folder = "j4";
    rig_bad(&o, KG_E_INPUT, "j.jsonl:2: `key` is missing");
    assert_int_equal(system("head -30 whole/verdicts.jsonl > j.jsonl"), 0);
    o.folder = "j5";
    shared->evaluations = 0;
    rig_good(&o);
    assert_int_equal(shared->evaluations, whole_evaluations - 29);
    rig_same_run("whole", "j5");
    struct rl_config c;
    struct rl_methods m;
    struct kg_err err = KG_ERR_INIT;
    rig_config(&o, &c);
    c.seconds = 5;
    assert_int_equal(rl_config_methods(&c, &m, &err), KG_E_USAGE);
    assert_non_null(strstr(err.message, "journal: a replay has the same bits only if steps"));
}

/* Without reuse equal replies are judged apart, and a replay still finds each verdict. */
static void without_reuse(void **state)
{
    (void)state;
    struct rig_options o = {.folder = "together", .set = {"resp_max=1", "reuse=yes"}};
    shared->evaluations = 0;
    rig_good(&o);
    long distinct = shared->evaluations;
    o.folder = "apart";
    o.set[1] = "reuse=no";
    shared->evaluations = 0;
    rig_good(&o);
    assert_true(shared->evaluations > distinct);
    o.folder = "apart-again";
    o.journal = "apart/verdicts.jsonl";
    o.gym = rig_no_judge;
    rig_good(&o);
    rig_same_run("apart", "apart-again");
}

/* An evaluation is one of a problem and a reply: the same reply to another problem is another one.
 */
static void keys(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    struct rl_judge *j;
    struct rl_chain a, b;
    const struct rl_verdict *v;
    const struct rl_judge_options o = {
        .reward = "r", .tickets = 4, .reuse = true, .script = rig_judge};
    int ticket;
    assert_int_equal(rl_chain_parse("relu", &a, &err), KG_OK);
    assert_int_equal(rl_chain_parse("bias", &b, &err), KG_OK);
    assert_int_equal(rl_judge_create(NULL, &o, &j, &err), KG_OK);
    assert_int_equal(rl_judge_submit(j, 0, &a, "x", 1, &err), KG_OK);
    assert_int_equal(rl_judge_submit(j, 1, &b, "x", 1, &err), KG_OK);
    assert_int_equal(rl_judge_submit(j, 2, &a, "y", 1, &err), KG_OK);
    assert_int_equal(rl_judge_submit(j, 3, &a, "x", 1, &err), KG_OK);
    assert_int_equal(rl_judge_counts(j).sent, 3);
    assert_int_equal(rl_judge_counts(j).shared, 1);
    assert_true(rl_judge_shared(j, 3) && !rl_judge_shared(j, 1));
    for (int i = 0; i < 4; i++) {
        assert_int_equal(rl_judge_next(j, 0, &ticket, &v, &err), KG_OK);
        assert_true(ticket >= 0);
    }
    rl_judge_destroy(j);
}

/* Methods with a state of their own: an adapter above the weights of SFT, a reference policy, a
 * sampler that lags behind, refills, a curriculum, winners of many. */
static void methods(void **state)
{
    (void)state;
    static const char *const set[][5] = {
        {"lora.r=2", "lora.alpha=4", "lora.dropout=0.1"},
        {"kl_loss=0.1"},
        {"lora.r=2", "kl_reward=0.1"},
        {"sampler=stale 3", "checkpoint=1", "mrs=geometric", "mrs_lo=0.5", "mrs_hi=2"},
        {"sampler=noise .03", "tis=token"},
        {"curriculum=ratchet", "cur_window=1", "refill_rounds=2"},
        {"trainer=topk", "bestof_n=4", "bestof_k=2"},
    };
    for (size_t i = 0; i < sizeof set / sizeof *set; i++) {
        char whole_name[20], broken_name[20];
        struct rig_options o = {.folder = whole_name};
        int status, deaths = 0;
        snprintf(whole_name, sizeof whole_name, "method%zu", i);
        snprintf(broken_name, sizeof broken_name, "method%zu-broken", i);
        memcpy(o.set, set[i], sizeof set[i]);
        rig_good(&o);
        o.folder = broken_name;
        o.die_at = shared->moments / 2 + 1; /* in the middle of RL, and once more */
        while (!rig_run(&o, 0, &status)) {
            o.resume = true;
            o.die_at = ++deaths < 2 ? 10 : 0;
        }
        if (status != 0) {
            fail_msg("%s: %s", broken_name, shared->message);
        }
        assert_int_equal(deaths, 2);
        rig_same_run(whole_name, broken_name);
    }
}

/* --- verdicts that a run must bear --- */

static json_int_t last_count(const char *folder, const char *key)
{
    json_t *m = rig_metrics(folder);
    json_t *end = json_array_get(m, json_array_size(m) - 1);
    assert_string_equal(json_string_value(json_object_get(end, "phase")), "end");
    json_int_t n = json_integer_value(json_object_get(end, key));
    json_decref(m);
    return n;
}

static json_int_t sum_of(const char *folder, const char *key)
{
    json_int_t sum = 0;
    size_t i;
    json_t *m = rig_metrics(folder), *line;
    json_array_foreach(m, i, line)
    {
        if (strcmp(json_string_value(json_object_get(line, "phase")), "rl") == 0) {
            sum += json_integer_value(json_object_get(line, key));
        }
    }
    json_decref(m);
    return sum;
}

static void huge(void *user, const struct rl_chain *chain, const char *text, size_t len,
                 struct rl_verdict *v)
{
    rig_judge(user, chain, text, len, v);
    v->reward *= 1e300;
}

/* Gradients that are no numbers: those updates are skipped and counted, the weights stay. */
static void not_finite(void **state)
{
    (void)state;
    struct rig_options o = {.folder = "huge", .gym = huge};
    rig_good(&o);
    assert_true(last_count("huge", "skipped") > 0);
    rig_same_file("huge", "huge", "sft/model.safetensors");
    struct kg_buf a, b;
    rig_read("huge", "sft/model.safetensors", &a);
    rig_read("huge", "checkpoint/model.safetensors", &b);
    assert_true(a.len == b.len && memcmp(a.data, b.data, a.len) == 0);
    kg_buf_deinit(&a);
    kg_buf_deinit(&b);
}

static void lazy(void *user, const struct rl_chain *chain, const char *text, size_t len,
                 struct rl_verdict *v)
{
    rig_judge(user, chain, text, len, v);
    v->coverage = v->correct ? 0 : v->coverage;
    v->correct = true;
}

/* Masks may reject every row. */
static void all_rejected(void **state)
{
    (void)state;
    struct rig_options o = {.folder = "lazy", .gym = lazy, .set = {"prs_mode=all", "veto=0.999"}};
    rig_good(&o);
}

static void censor(void *user, const struct rl_chain *chain, const char *text, size_t len,
                   struct rl_verdict *v)
{
    rig_judge(user, chain, text, len, v);
    if (v->record[6] < '8') {
        *v = (struct rl_verdict){.state = RL_NO_VERDICT, .coverage = (double)NAN};
    }
}

/* No verdict, as after a worker was killed: such trajectories are censored. */
static void censored(void **state)
{
    (void)state;
    struct rig_options o = {.folder = "censored", .gym = censor};
    rig_good(&o);
    assert_true(sum_of("censored", "infra") > 0);
    struct kg_buf text;
    rig_read("censored", "trajectories.jsonl", &text);
    assert_non_null(strstr(text.data, "\"end\":\"infra\""));
    assert_non_null(strstr(text.data, "\"why\":[\"infra\""));
    kg_buf_deinit(&text);
}

static void long_prompts(void **state)
{
    (void)state;
    struct rig_options o = {.folder = "long", .set = {"ctx_max=32", "min_resp=30"}};
    rig_bad(&o, KG_E_USAGE, "ctx_max: 32 tokens: the prompt of");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unbroken),
        cmocka_unit_test(killed),
        cmocka_unit_test(asked_once),
        cmocka_unit_test(ended),
        cmocka_unit_test(other_configuration),
        cmocka_unit_test(disk_full),
        cmocka_unit_test(damaged),
        cmocka_unit_test(journals),
        cmocka_unit_test(without_reuse),
        cmocka_unit_test(keys),
        cmocka_unit_test(methods),
        cmocka_unit_test(not_finite),
        cmocka_unit_test(all_rejected),
        cmocka_unit_test(censored),
        cmocka_unit_test(long_prompts),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}

/* Whole runs of `kgym train`, each with one component switched: the end of the run shows its
 * counter, which is 0 for one that is off. */
#define RIG_LIMIT_S 300
#include "kgym_rig.h"

/* Enough SFT for code that compiles now and then; groups train whether or not they differ. */
#define SHORT                                                                                      \
    "$K train $T/configs/demo.yaml --out run --set corpus.documents=1500 --set corpus.talks=0 "    \
    "--set verify=none "                                                                           \
    "--set sft.seconds=0 --set sft.steps=100 --set rl.seconds=0 --set rl.steps=2 "                 \
    "--set rl.groups=2 --set rl.rollouts=4 --set rl.problems=8 --set eval.pairs=2 "                \
    "--set eval.triples=1 --set eval.samples=1 --set dry_run=off --set zero_var=off "              \
    "--set turns=2 --set reward=dr-kernel --set prs=on --set mrs=geometric --set veto=0.0001 "     \
    "--set curriculum=static --set adv=trloo --set sampler=engine --set trainer=pg "

struct run {
    const char *keys;
    const char *on[4], *off[4];
};

static const struct run runs[] = {
    {"", {"turns", "prs", "mrs", "advantage"}, {"curriculum", "topk", "sampler", "tis"}},
    {"--set adv=grpo", {"advantage"}, {"topk"}},
    {"--set prs=off", {"mrs"}, {"prs", "prs_blind"}},
    {"--set reward=dr-kernel-nopr", {"prs"}, {"coverage"}},
    {"--set reward=correct", {"prs"}, {"coverage"}},
    {"--set mrs=geometric --set sampler='noise .03'", {"mrs", "sampler"}, {"tis"}},
    {"--set mrs=off --set veto=0 --set sampler='stale 2' --set tis=token", {"tis"}, {"mrs"}},
    {"--set curriculum=ratchet", {"curriculum"}, {"topk"}},
    {"--set trainer=topk --set bestof_k=1 --set recheck=1", {"topk"}, {"sampler"}},
    {"--set trainer=sft", {"topk"}, {"sampler"}},
    {"--set turns=1", {"mrs"}, {"turns"}},
    {"--set feedback=off", {"advantage"}, {"turns"}},
    {"--set lora.r=4 --set kl_loss=0.1", {"lora", "kl_loss"}, {"kl_reward"}},
    {"--set refill_rounds=1 --set sample_over=1.5", {"refill", "over"}, {"topk"}},
    {"--set early_stop=1.2 --set fill=hold --set void=on", {"early_stop", "fill", "void"}, {"tis"}},
};

static int64_t looked(const json_t *components, const char *name)
{
    const json_t *c = json_object_get(components, name);
    if (c == NULL) {
        fail_msg("no component `%s`", name);
    }
    return json_integer_value(json_array_get(c, 0));
}

/* The last line of the metrics. */
static json_t *end_of(const char *path)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_buf text;
    json_t *j = NULL;
    kg_buf_init(&text, 4 << 20);
    assert_int_equal(kg_file_read(path, &text, &err), KG_OK);
    text.data[text.len - 1] = '\0';
    const char *last = strrchr(text.data, '\n');
    last = last ? last + 1 : text.data;
    assert_int_equal(kg_json_parse(last, strlen(last), "metrics", &j, &err), KG_OK);
    kg_buf_deinit(&text);
    return j;
}

static void each_component_is_a_key(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        const struct run *r = &runs[i];
        rig_run("rm -rf run");
        rig_expect(0, SHORT "%s", r->keys);
        rig_shows("components: looked at, changed");
        json_t *end = end_of("run/metrics.jsonl"), *c = json_object_get(end, "components");
        if (json_integer_value(json_object_get(end, "updates")) == 0) {
            fail_msg("%s: no update", r->keys);
        }
        assert_true(json_is_null(json_object_get(end, "idle")));
        if (strstr(r->keys, "trainer=") != NULL) { /* winners alone are judged again */
            rig_expect(0, "jq -se '(map(select(.phase == \"rl\").winners) | add) as $won | "
                          "last.recheck | .offered <= $won and .checked <= .offered' "
                          "run/metrics.jsonl");
        }
        for (int k = 0; k < 4 && r->on[k] != NULL; k++) {
            if (looked(c, r->on[k]) == 0) {
                fail_msg("%s: %s looked at nothing", r->keys, r->on[k]);
            }
        }
        for (int k = 0; k < 4 && r->off[k] != NULL; k++) {
            if (looked(c, r->off[k]) != 0) {
                fail_msg("%s: %s is off and looked", r->keys, r->off[k]);
            }
        }
        json_decref(end);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_component_is_a_key),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}

/* kgym train: its words, a dry run, and a run that is too short to learn. */
#include "kgym_rig.h"

#define TINY                                                                                       \
    "--set model.hidden=16 --set model.inter=32 --set model.layers=1 --set model.heads=2 "         \
    "--set corpus.documents=200 --set sft.seconds=0 --set sft.steps=12 --set rl.seconds=0 "        \
    "--set rl.steps=2 --set rl.groups=2 --set rl.rollouts=2 --set eval.pairs=2 "                   \
    "--set eval.triples=1 --set eval.samples=2 --set resp_max=24 --set turns=2 "                   \
    "--set gym.stage.timing=no --set refill_rounds=0 --set corpus.talks=0 --set verify=none"

static void words(void **state)
{
    (void)state;
    rig_expect(2, "$K train");
    rig_says("name a configuration");
    rig_expect(2, "$K train $T/configs/demo.yaml");
    rig_says("--out RUN is missing");
    rig_expect(2, "$K train $T/configs/demo.yaml --out r --sett a=b");
    rig_says("--set");
    rig_expect(2, "$K train $T/configs/demo.yaml --check --set rl.grups=3");
    rig_says("rl.groups");
    rig_expect(2, "$K train $T/configs/demo.yaml --check --set verify=some");
    rig_says("verify: `some` is none of all");
    rig_expect(2, "$K train $T/configs/demo.yaml --check --set adv=gae");
    rig_expect(2, "$K train no-such.yaml --check");
    rig_expect(0, "$K train $T/configs/demo.yaml --check");
    rig_expect(0, "$K train --help");
    rig_shows("samples: 4");
    rig_expect(0, "$K train $T/configs/demo.yaml --dump --set seed=9 > a.yaml; "
                  "$K train a.yaml --dump > b.yaml; cmp a.yaml b.yaml");
    rig_expect(2, "$K train $T/configs/demo.yaml --resume r --out q");
    rig_says("--resume goes on in the folder of the run");
    rig_expect(2, "$K train --resume no-such");
    rig_says("no-such/config.yaml");
    rig_expect(2, "$K train $T/configs/demo.yaml --check --set journal=j.jsonl");
    rig_says("journal: a replay has the same bits only if steps limit it");
    rig_expect(2, "$K train $T/configs/demo.yaml --dry-run --set gym.laws=x");
    rig_says("laws");
    rig_expect(2, "$K train $T/configs/demo.yaml --dry-run --set reward=none-such");
    rig_expect(2, "$K train $T/configs/demo.yaml --check --set reward=none-such");
    rig_expect(2, "$K train $T/configs/demo.yaml --check --set gym.no.such=1");
    rig_expect(0, "$K train $T/configs/dr-kernel-8b.yaml --check");
    rig_shows("device=cuda");
    rig_expect(2, "$K train $T/configs/dr-kernel-8b.yaml --out never; s=$?; test ! -e never; "
                  "exit $s");
    rig_says("world=pytorch");
}

static void dry_run(void **state)
{
    (void)state;
    rig_expect(0, "$K train $T/configs/demo.yaml --dry-run --set gym.timing.pairs=4");
    rig_shows("correct  12 of 12");
    rig_shows("hack     6 of 6");
    /* a gym that computes no values finds nothing wrong */
    rig_expect(1, "$K train $T/configs/demo.yaml --dry-run --set gym.stage.full=no "
                  "--set gym.stage.tiny=no");
}

static const json_t *value(const json_t *line, const char *key)
{
    const json_t *v = json_object_get(line, key);
    if (v == NULL) {
        fail_msg("metrics lack `%s`", key);
    }
    return v;
}

static void short_run(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    struct kg_buf text;
    int steps = 0, evaluations = 0, ends = 0;
    /* a gym that does not find what is wrong trains nothing */
    rig_expect(2, "$K train $T/configs/demo.yaml --out paid " TINY
                  " --set gym.stage.full=no --set gym.stage.tiny=no");
    rig_says("known replies");
    rig_expect(0, "$K train $T/configs/demo.yaml --out run --set dry_run=off " TINY
                  " --set verify='sample 2'");
    rig_shows("verify: the gym judged 2 of 200: 2 right");
    rig_shows("2 held-out pairs");
    kg_buf_init(&text, 1 << 20);
    assert_int_equal(kg_file_read("run/metrics.jsonl", &text, &err), KG_OK);
    for (char *line = strtok(text.data, "\n"); line; line = strtok(NULL, "\n")) {
        json_t *j = NULL;
        assert_int_equal(kg_json_parse(line, strlen(line), "metrics", &j, &err), KG_OK);
        const char *phase = json_string_value(value(j, "phase"));
        if (strcmp(phase, "rl") == 0) {
            steps++;
            assert_true(json_real_value(value(j, "mismatch")) == 0);
            assert_int_equal(json_integer_value(value(j, "rows")), 8);
        }
        if (strcmp(phase, "end") == 0) {
            ends++;
            value(value(j, "components"), "prs");
        }
        evaluations += strncmp(phase, "eval", 4) == 0;
        json_decref(j);
    }
    assert_int_equal(steps, 2);
    assert_int_equal(evaluations, 2);
    assert_int_equal(ends, 1);
    rig_expect(0, "$K train run/config.yaml --dump > c.yaml; cmp c.yaml run/config.yaml");
    rig_expect(2, "$K train $T/configs/demo.yaml --out run " TINY);
    rig_says("holds a run already");
    kg_buf_deinit(&text);
    rig_nothing_left();
}

static json_int_t number_of(const char *command)
{
    char text[40] = "";
    FILE *f = popen(command, "r");
    assert_non_null(f);
    assert_non_null(fgets(text, sizeof text, f));
    pclose(f);
    return atoll(text);
}

/* The last whole number of a key in a file of JSON. */
static json_int_t last_of(const char *file, const char *key)
{
    char command[200];
    snprintf(command, sizeof command, "grep -o '\"%s\": *[0-9]*' %s | tail -1 | grep -o '[0-9]*$'",
             key, file);
    return number_of(command);
}

/* Killed while the real gym judges: what it had judged is not asked again, and the run ends. */
static void killed_run(void **state)
{
    (void)state;
    rig_expect(0, "$K train $T/configs/demo.yaml --out killed --set dry_run=off " TINY
                  " --set checkpoint=1000 "
                  "> log 2>&1 & p=$!; n=0; "
                  "while [ $(cat killed/verdicts.jsonl 2>/dev/null | wc -l) -lt 18 ] && "
                  "[ $n -lt 600 ]; do n=$((n+1)); sleep .05; done; kill -9 $p; wait $p; true");
    json_int_t before = number_of("wc -l < killed/verdicts.jsonl") - 1;
    json_int_t saved = last_of("killed/checkpoint/state.json", "entries");
    assert_true(before >= 17 && saved <= before);
    rig_expect(2, "$K train $T/configs/demo.yaml --resume killed --set dry_run=off " TINY
                  " --set checkpoint=1000 "
                  "--set rl.lr=0.5");
    rig_says("of another configuration: `rl.lr` differs");
    rig_expect(0, "$K train --resume killed");
    rig_shows("2 held-out pairs");
    json_int_t after = number_of("wc -l < killed/verdicts.jsonl") - 1;
    /* asked before the checkpoint, and what no process had judged */
    assert_int_equal(last_of("killed/metrics.jsonl", "evaluations"), saved + after - before);
    rig_expect(0, "$K train --resume killed");
    rig_shows("this run has ended");
    /* a replay of all of it has the same rows and weights, without a gym */
    rig_expect(0, "$K train $T/configs/demo.yaml --out again --set dry_run=off " TINY
                  " --set journal=killed/verdicts.jsonl");
    assert_int_equal(last_of("again/metrics.jsonl", "evaluations"), 0);
    rig_expect(0, "cmp killed/trajectories.jsonl again/trajectories.jsonl; "
                  "cmp killed/checkpoint/model.safetensors again/checkpoint/model.safetensors");
    rig_nothing_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words),
        cmocka_unit_test(dry_run),
        cmocka_unit_test(short_run),
        cmocka_unit_test(killed_run),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}

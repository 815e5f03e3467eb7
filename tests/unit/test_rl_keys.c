/* Keys of a training run: each has a consumer, pairs that do not go together are refused with a
 * reason, and the configurations that ship are sound. */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "rl/run/options.h"
#include "rl/run/sampler.h"
#include "rl/sft/sft_config.h"

static struct kg_err err = KG_ERR_INIT;

/* Everything that options_methods.c makes of a configuration. */
struct effect {
    struct rl_methods methods;
    struct rl_shape shape;
    struct rl_curriculum_options curriculum;
    struct rl_bestof_options bestof;
    struct rl_sampler_options sampler;
    struct lm_lora_config lora;
    bool on[RL_C_N], profiles, pays;
    const char *reward;
    int lacks;
};

static void effect_of(const struct rl_config *c, struct effect *e)
{
    struct kg_buf why;
    struct kg_err unused = KG_ERR_INIT;
    memset(e, 0, sizeof *e);
    (void)!rl_config_methods(c, &e->methods, &unused); /* refused pairs have an effect, too */
    e->shape = rl_config_shape(c);
    rl_config_curriculum(c, &e->curriculum);
    rl_config_bestof(c, &e->bestof);
    (void)!rl_sampler_parse(c->sampler, &e->sampler, &unused);
    (void)!rl_lora_parse(c, &e->lora, &unused);
    rl_config_on(c, &e->methods, e->on);
    e->profiles = rl_config_profiles(c);
    e->pays = rl_config_pays_coverage(c);
    e->reward = rl_config_reward(c);
    kg_buf_init(&why, 4096);
    e->lacks = rl_config_lacks(c, &why);
    kg_buf_deinit(&why);
}

/* Another value of a key. */
static void flip(struct rl_config *c, const struct kg_opt *o)
{
    char value[64];
    char *at = (char *)c + o->offset;
    switch (o->type) {
    case KG_OPT_BOOL:
        snprintf(value, sizeof value, "%s", *(bool *)(void *)at ? "no" : "yes");
        break;
    case KG_OPT_ENUM:
        snprintf(value, sizeof value, "%s", o->names[*(int *)(void *)at == 0]);
        break;
    case KG_OPT_INT: {
        int64_t x = *(int64_t *)(void *)at;
        snprintf(value, sizeof value, "%lld", (long long)((double)x < o->hi ? x + 1 : x - 1));
        break;
    }
    case KG_OPT_REAL: {
        double x = *(double *)(void *)at, y = x / 2 + .01;
        snprintf(value, sizeof value, "%.9g", y >= o->lo && y <= o->hi && y != x ? y : o->hi);
        break;
    }
    case KG_OPT_STRING:
        snprintf(value, sizeof value, "%s",
                 strcmp(o->key, "adv") == 0            ? "grpo"
                 : strcmp(o->key, "sampler") == 0      ? "stale 3"
                 : strcmp(o->key, "lora.targets") == 0 ? "q"
                 : strcmp(o->key, "gym_preset") == 0   ? "quick"
                                                       : "dr-kernel-nopr");
        break;
    }
    char pair[160];
    snprintf(pair, sizeof pair, "%s=%s", o->key, value);
    if (rl_config_pair(c, pair, "test", &err) != KG_OK) {
        fail_msg("%s: %s", pair, err.message);
    }
}

/* The name of the field of a key, from the table's text. */
static void field_of(const char *table, const char *key, char out[64])
{
    char head[100];
    snprintf(head, sizeof head, "(\"%s\",", key);
    const char *at = strstr(table, head);
    assert_non_null(at);
    at += strlen(head);
    at += strspn(at, " \n");
    size_t n = strcspn(at, ", \n");
    assert_in_range(n, 1, 63);
    memcpy(out, at, n);
    out[n] = '\0';
}

/* Is the field of a configuration read in one of the sources? */
static bool consumed(const char *sources, const char *field)
{
    static const char *const owners[] = {"c->", "config->", "config."};
    for (size_t i = 0; i < sizeof owners / sizeof *owners; i++) {
        char want[100];
        snprintf(want, sizeof want, "%s%s", owners[i], field);
        for (const char *at = sources; (at = strstr(at, want)) != NULL; at++) {
            char next = at[strlen(want)];
            if (strchr("abcdefghijklmnopqrstuvwxyz_0123456789", next) == NULL || next == '\0') {
                return true;
            }
        }
    }
    return false;
}

/* All sources of src/rl but the table. */
static void read_sources(struct kg_buf *out, const char *tree)
{
    char pattern[600];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/src/rl/*/*.c", tree);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        if (strstr(found.gl_pathv[i], "/options.c") == NULL) {
            assert_int_equal(kg_file_read(found.gl_pathv[i], out, &err), KG_OK);
        }
    }
    globfree(&found);
}

static void D_24_each_key_has_a_consumer(void **state)
{
    (void)state;
    const char *tree = getenv("KGYM_TREE");
    char path[600];
    struct kg_buf table, sources;
    static struct rl_config c;
    static struct effect before, after;
    int direct = 0;
    tree = tree ? tree : ".";
    kg_buf_init(&table, 1u << 20);
    kg_buf_init(&sources, 4u << 20);
    snprintf(path, sizeof path, "%s/src/rl/run/options.c", tree);
    assert_int_equal(kg_file_read(path, &table, &err), KG_OK);
    read_sources(&sources, tree);
    rl_config_defaults(&c);
    effect_of(&c, &before);
    for (size_t i = 0; i < rl_options()->n; i++) {
        const struct kg_opt *o = &rl_options()->table[i];
        char field[64];
        rl_config_defaults(&c);
        flip(&c, o);
        effect_of(&c, &after);
        field_of(table.data, o->key, field);
        if (memcmp(&before, &after, sizeof before) != 0) {
            direct++;
        } else if (!consumed(sources.data, field)) {
            fail_msg("%s: nothing reads it", o->key);
        }
    }
    assert_true(direct > 50);
    assert_false(consumed(sources.data, "no_such_field"));
    assert_false(consumed(sources.data, "see")); /* a part of `seed` */
    kg_buf_deinit(&table);
    kg_buf_deinit(&sources);
}

static void refused_pairs(void **state)
{
    (void)state;
    static const struct {
        const char *key[3], *says;
    } bad[] = {
        {{"rl.rollouts=1"}, "n1=zero"},
        {{"early_stop=1.5"}, "fill=hold"},
        {{"kl=k1", "kl_loss=0.1"}, "kl_loss=k1"},
        {{"returns=delta"}, "force_delta"},
        {{"mrs=turn"}, "one turn"},
        {{"mrs=turn-geo"}, "one turn"},
        {{"prs=yes", "gym.stage.profile=no"}, "stage.profile"},
        {{"prs=yes", "gym_preset=quick"}, "stage.profile"},
        {{"prs=no", "reward=dr-kernel-lcb", "gym.stage.profile=no"}, "dr-kernel-nopr"},
        {{"reward=milestones"}, "compile baseline"},
        {{"reward=tritonrl-hrd"}, "plan and code"},
        {{"adv=remax"}, "greedy"},
        {{"adv=ob"}, "second moments"},
        {{"adv=ob-turn"}, "second moments"},
        {{"adv=ob-token"}, "second moments"},
        {{"adv=gae"}, "critic"},
        {{"adv=tritonrl-hrd"}, "plan and code"},
        {{"adv=topk"}, "trainer=topk"},
        {{"trainer=topk", "sample_over=2"}, "best-of-N"},
        {{"trainer=topk", "kl_reward=0.1"}, "best-of-N"},
        {{"over=balanced"}, "sample_over"},
        {{"sampler=stale 1"}, "stale K"},
        {{"lora.r=4", "lora.targets=q,x"}, "`x`"},
        {{"cur_min=0.9"}, "curriculum"},
        {{"gym_preset=kernelbench"}, "no reward"},
        {{"prs_mode=weight", "adv=grpo", "prs=yes"}, "trloo"},
        {{"min_group=9"}, "min_group"},
        {{"ctx_max=100000"}, "ctx_max"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        static struct rl_config c;
        struct rl_methods m;
        rl_config_defaults(&c);
        for (int k = 0; k < 3 && bad[i].key[k] != NULL; k++) {
            assert_int_equal(rl_config_pair(&c, bad[i].key[k], "test", &err), KG_OK);
        }
        assert_int_equal(rl_config_methods(&c, &m, &err), KG_E_USAGE);
        if (strstr(err.message, bad[i].says) == NULL) {
            fail_msg("%s: %s", bad[i].key[0], err.message);
        }
    }
}

/* D-02: what ships is sound; two recipes say what they need. */
static void D_02_shipped_configurations(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int lacks;
    } all[] = {{"demo", 0}, {"demo-long", 0}, {"dr-kernel-8b", 4}, {"tritonrl-7b-lora", 5}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        static struct rl_config c;
        struct rl_methods m;
        struct kg_buf why;
        char path[600];
        const char *tree = getenv("KGYM_TREE");
        snprintf(path, sizeof path, "%s/configs/%s.yaml", tree ? tree : ".", all[i].name);
        rl_config_defaults(&c);
        if (rl_config_file(&c, path, &err) != KG_OK || rl_config_methods(&c, &m, &err) != KG_OK) {
            fail_msg("%s", err.message);
        }
        kg_buf_init(&why, 4096);
        assert_int_equal(rl_config_lacks(&c, &why), all[i].lacks);
        kg_buf_deinit(&why);
    }
}

/* D-03: rows are counted once, also where a turn becomes a trajectory. */
static void D_03_rows_are_counted_once(void **state)
{
    (void)state;
    static struct rl_config c;
    struct rl_methods m;
    static const char *const keys[] = {"rl.groups=16", "rl.rollouts=16", "turns=3"};
    rl_config_defaults(&c);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rl_config_pair(&c, keys[i], "test", &err), KG_OK);
    }
    assert_int_equal(rl_config_methods(&c, &m, &err), KG_OK);
    assert_int_equal(m.loss.aggregate.nominal, 768);
    assert_int_equal(rl_config_pair(&c, "feedback=no", "test", &err), KG_OK);
    assert_int_equal(rl_config_methods(&c, &m, &err), KG_OK);
    assert_int_equal(m.loss.aggregate.nominal, 768);
    struct rl_shape s = rl_config_shape(&c);
    assert_int_equal(s.turns, 1);
    assert_int_equal(s.rollouts, 48);
}

/* An evaluation has all its samples of a problem at once, in what RL's rollouts share. */
static void there_is_room_for_an_evaluation(void **state)
{
    (void)state;
    static const char *const sets[][3] = {
        {"rl.groups=1", "rl.rollouts=2", "eval.samples=4"},
        {"rl.groups=8", "rl.rollouts=4", "eval.samples=64"},
        {"rl.groups=2", "rl.rollouts=2", "feedback=no"},
    };
    struct rl_config c;
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        rl_config_defaults(&c);
        for (int k = 0; k < 3; k++) {
            assert_int_equal(rl_config_pair(&c, sets[i][k], "test", &err), KG_OK);
        }
        struct rl_shape s = rl_config_shape(&c);
        assert_true(s.live >= (int)s.samples && s.live >= (int)(s.first * s.rollouts));
    }
}

/* kgym train and kgym sft hold out the same chains, whatever their seeds are. */
static void what_is_held_out_follows_split_alone(void **state)
{
    (void)state;
    struct rl_sft_config c;
    struct rl_split got, want;
    rl_split_init(&want, 5, 1);
    rl_sft_config_defaults(&c);
    assert_int_equal(rl_sft_config_pair(&c, "split=5", "test", &err), KG_OK);
    assert_int_equal(rl_sft_config_pair(&c, "part=1", "test", &err), KG_OK);
    assert_int_equal(rl_sft_config_pair(&c, "seed=9", "test", &err), KG_OK);
    assert_int_equal(rl_config_corpus(&c.run, &got).seed, 9);
    struct rl_chain a[200], b[200];
    size_t n = rl_split_list(&want, 2, true, a, 200);
    assert_true(n > 50);
    assert_int_equal(rl_split_list(&got, 2, true, b, 200), n);
    assert_memory_equal(a, b, (n < 200 ? n : 200) * sizeof *a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(D_24_each_key_has_a_consumer),
        cmocka_unit_test(refused_pairs),
        cmocka_unit_test(D_02_shipped_configurations),
        cmocka_unit_test(there_is_room_for_an_evaluation),
        cmocka_unit_test(what_is_held_out_follows_split_alone),
        cmocka_unit_test(D_03_rows_are_counted_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

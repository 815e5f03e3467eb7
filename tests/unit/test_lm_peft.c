#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lm/io/peft.h"
#include "lm/io/safetensors_write.h"
#include "lm_files.h"

static const struct lm_config model = {.vocab = 512,
                                       .hidden = 12,
                                       .inter = 20,
                                       .layers = 2,
                                       .heads = 4,
                                       .kv_heads = 2,
                                       .head_dim = 4,
                                       .max_pos = 64,
                                       .rope_theta = 1e4F,
                                       .rms_eps = 1e-6F,
                                       .qk_norm = true};

/* As PEFT writes it, with three places to fill in. */
static const char form[] =
    "{\"alpha_pattern\":%s,\"base_model_name_or_path\":\"base\",\"bias\":\"none\","
    "\"fan_in_fan_out\":false,\"inference_mode\":true,\"init_lora_weights\":true,"
    "\"lora_alpha\":16,\"lora_dropout\":0.0,\"modules_to_save\":null,\"peft_type\":\"LORA\","
    "\"r\":8,\"rank_pattern\":%s,\"target_modules\":%s,\"task_type\":\"CAUSAL_LM\","
    "\"use_dora\":false,\"use_rslora\":false}";

static enum kg_code parse(const char *alphas, const char *ranks, const char *targets,
                          struct lm_peft *p, struct kg_err *err)
{
    char text[2000];
    int n = snprintf(text, sizeof text, form, alphas, ranks, targets);
    return lm_peft_parse(text, (size_t)n, "a", &model, p, err);
}

static void lists_and_patterns_name_projections(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    struct lm_peft p;
    assert_int_equal(parse("{}", "{}", "[\"q_proj\",\"layers.1.mlp.down_proj\"]", &p, &err), KG_OK);
    assert_int_equal(lm_peft_at(&p, 0, LM_PEFT_Q)->rank, 8);
    assert_int_equal(lm_peft_at(&p, 1, LM_PEFT_Q)->rank, 8);
    assert_int_equal(lm_peft_at(&p, 0, LM_PEFT_K)->rank, 0);
    assert_int_equal(lm_peft_at(&p, 0, LM_PEFT_DOWN)->rank, 0);
    assert_int_equal(lm_peft_at(&p, 1, LM_PEFT_DOWN)->rank, 8);
    assert_true(lm_peft_scale(&p, lm_peft_at(&p, 0, LM_PEFT_Q)) == 2.0);
    assert_string_equal(p.base, "base");
    lm_peft_deinit(&p);
    assert_int_equal(parse("{\"down_proj\":4}", "{\"layers.0.mlp.down_proj\":2,\"down_proj\":4}",
                           "\".*\\\\.mlp\\\\.(up|down)_proj\"", &p, &err),
                     KG_OK);
    assert_int_equal(lm_peft_at(&p, 0, LM_PEFT_DOWN)->rank, 2);
    assert_int_equal(lm_peft_at(&p, 1, LM_PEFT_DOWN)->rank, 4);
    assert_int_equal(lm_peft_at(&p, 1, LM_PEFT_UP)->rank, 8);
    assert_int_equal(lm_peft_at(&p, 1, LM_PEFT_GATE)->rank, 0);
    assert_true(lm_peft_scale(&p, lm_peft_at(&p, 0, LM_PEFT_DOWN)) == 2.0);
    p.rslora = true;
    assert_true(lm_peft_scale(&p, lm_peft_at(&p, 1, LM_PEFT_DOWN)) == 2.0);
    lm_peft_deinit(&p);
    assert_int_equal(parse("{}", "{}", "\"all-linear\"", &p, &err), KG_OK);
    for (int i = 0; i < 14; i++) {
        assert_int_equal(p.slot[i].rank, 8);
    }
    lm_peft_deinit(&p);
}

static void expect_refusal(const char *part, const char *with, const char *message)
{
    struct kg_err err = KG_ERR_INIT;
    struct lm_peft p;
    char text[2000], changed[2000];
    snprintf(text, sizeof text, form, "{}", "{}", "[\"q_proj\"]");
    const char *at = strstr(text, part);
    assert_non_null(at);
    int n = snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, with,
                     at + strlen(part));
    assert_int_equal(lm_peft_parse(changed, (size_t)n, "a", &model, &p, &err), KG_E_INPUT);
    assert_null(p.slot);
    assert_string_equal(err.message, message);
}

static void refuses_other_adapters(void **state)
{
    (void)state;
    expect_refusal("\"use_dora\":false", "\"use_dora\":true",
                   "a: \"use_dora\" is set, which is not supported");
    expect_refusal("\"modules_to_save\":null", "\"modules_to_save\":[\"lm_head\"]",
                   "a: \"modules_to_save\" is set, which is not supported");
    expect_refusal("\"use_dora\":false", "\"target_parameters\":[\"x\"]",
                   "a: \"target_parameters\" is set, which is not supported");
    expect_refusal("\"bias\":\"none\"", "\"bias\":\"all\"",
                   "a: \"bias\" is not \"none\": not supported");
    expect_refusal("\"LORA\"", "\"IA3\"", "a: \"peft_type\" is not LORA");
    expect_refusal("[\"q_proj\"]", "[\"q_proj\",\"lm_head\"]",
                   "a: \"lm_head\" of \"target_modules\" is none of the seven projections of a "
                   "layer");
    expect_refusal("[\"q_proj\"]", "[]", "a: \"target_modules\" is empty");
    expect_refusal("[\"q_proj\"]", "\".*\"",
                   "a: \"target_modules\" names the embeddings or the head: not supported");
    expect_refusal("[\"q_proj\"]", "\"x(\"", "a: \"x(\" is not a pattern");
    expect_refusal("\"r\":8", "\"r\":0", "a: \"r\" is missing or no valid number");
    expect_refusal("\"lora_dropout\":0.0", "\"lora_dropout\":1.0",
                   "a: \"lora_dropout\" is no number from 0 to below 1");
    expect_refusal("\"rank_pattern\":{}", "\"rank_pattern\":{\"q_proj\":-1}",
                   "a: \"q_proj\" has no valid number");
    expect_refusal("\"rank_pattern\":{}", "\"rank_pattern\":{\"((.|..)+)+[!?]\":1}",
                   "a: \"((.|..)+)+[!?]\" takes too long to match");
}

/* Initial values that change the base: such an adapter is wrong beside the base as it is stored. */
static void initial_values_that_change_the_base_are_refused(void **state)
{
    static const char *const names[] = {"pissa", "pissa_niter_16", "olora", "corda", "loftq"};
    static const char *const good[] = {"null",         "true",           "false",
                                       "\"gaussian\"", "\"orthogonal\"", "\"eva\""};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char with[80], message[400];
        snprintf(with, sizeof with, "\"init_lora_weights\":\"%s\"", names[i]);
        snprintf(
            message, sizeof message,
            "a: \"init_lora_weights\" is \"%s\", which may change the weights of the base too: "
            "not supported; in PEFT, save it converted to plain LoRA "
            "(path_initial_model_for_weight_conversion), or merge it into its base",
            names[i]);
        expect_refusal("\"init_lora_weights\":true", with, message);
    }
    expect_refusal("\"init_lora_weights\":true", "\"init_lora_weights\":2",
                   "a: \"init_lora_weights\" is neither true, false nor a name");
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct kg_err err = KG_ERR_INIT;
        struct lm_peft p;
        char text[400];
        int n = snprintf(text, sizeof text,
                         "{\"peft_type\":\"LORA\",\"r\":8,\"lora_alpha\":16,"
                         "\"target_modules\":[\"q_proj\"],\"init_lora_weights\":%s}",
                         good[i]);
        assert_int_equal(lm_peft_parse(text, (size_t)n, "a", &model, &p, &err), KG_OK);
        lm_peft_deinit(&p);
    }
}

/* Ranks that differ between layers, written and read back. */
static void comes_back_as_written(void **state)
{
    struct kg_err err = KG_ERR_INIT;
    struct lm_peft p, back;
    struct lm_st *st;
    static float data[14][2][400], read[400];
    const float *a[14] = {NULL}, *b[14] = {NULL};
    assert_int_equal(lm_peft_init(&p, 2, &err), KG_OK);
    snprintf(p.base, sizeof p.base, "qwen");
    for (int i = 0; i < 14; i++) {
        p.slot[i].rank = i == 9 ? 0 : i == 4 ? 3 : 2;
        p.slot[i].alpha = i == 9 ? 0 : i == 6 ? 5 : 4;
        a[i] = data[i][0];
        b[i] = data[i][1];
        for (int k = 0; k < 400; k++) {
            data[i][0][k] = (float)(i + k);
            data[i][1][k] = (float)(i - k);
        }
    }
    assert_int_equal(lm_peft_write(*state, &model, &p, a, b, LM_F32, &err), KG_OK);
    assert_int_equal(lm_peft_open(*state, &model, &back, &st, &err), KG_OK);
    assert_memory_equal(p.slot, back.slot, 14 * sizeof *p.slot);
    assert_string_equal(back.base, "qwen");
    assert_int_equal(lm_st_count(st), 26);
    const struct lm_st_tensor *t =
        lm_st_find(st, "base_model.model.model.layers.0.mlp.gate_proj.lora_B.weight");
    assert_int_equal(lm_st_read_f32(t, "f", (int64_t[]){20, 3}, 2, read, &err), KG_OK);
    assert_memory_equal(read, data[4][1], 60 * sizeof *read);
    lm_st_close(st);
    lm_peft_deinit(&back);
    lm_peft_deinit(&p);
    /* The adapter of another model. */
    struct lm_config other = model;
    other.inter = 24;
    assert_int_equal(lm_peft_open(*state, &other, &back, &st, &err), KG_E_INPUT);
    assert_null(st);
    assert_non_null(strstr(err.message, "mlp.gate_proj.lora_B.weight is F32 [20, 3]; a floating "
                                        "type of shape [24, 3] is needed"));
}

static void files_that_disagree_are_refused(void **state)
{
    struct kg_err err = KG_ERR_INIT;
    struct lm_peft p;
    struct lm_st *st;
    char text[2000];
    int n = snprintf(text, sizeof text, form, "{}", "{}", "[\"q_proj\"]");
    put_file(in_folder(state, "adapter_config.json"), text, (size_t)n);
    assert_int_equal(lm_peft_open(*state, &model, &p, &st, &err), KG_E_NOT_FOUND);
    static const float zeros[200];
    struct lm_st_item items[5];
    char names[5][128];
    for (int i = 0; i < 5; i++) {
        lm_peft_tensor_name(i / 2 % 2, i == 4 ? LM_PEFT_K : LM_PEFT_Q, i % 2 == 0 ? 'A' : 'B',
                            names[i]);
        items[i] = (struct lm_st_item){.name = names[i], .dtype = LM_F32, .rank = 2, .data = zeros};
        lm_peft_shape(&model, i == 4 ? LM_PEFT_K : LM_PEFT_Q, i % 2 == 0 ? 'A' : 'B', 8,
                      items[i].shape);
    }
    const char *path = in_folder(state, "adapter_model.safetensors");
    assert_int_equal(lm_st_write(path, items, 5, &err), KG_OK);
    assert_int_equal(lm_peft_open(*state, &model, &p, &st, &err), KG_E_INPUT);
    assert_non_null(strstr(err.message, "has no place in this model"));
    assert_int_equal(lm_st_write(path, items, 3, &err), KG_OK);
    assert_int_equal(lm_peft_open(*state, &model, &p, &st, &err), KG_E_INPUT);
    assert_non_null(strstr(err.message, "no tensor base_model.model.model.layers.1.self_attn."
                                        "q_proj.lora_B.weight, which adapter_config.json names"));
    assert_int_equal(lm_st_write(path, items, 4, &err), KG_OK);
    assert_int_equal(lm_peft_open(*state, &model, &p, &st, &err), KG_OK);
    lm_st_close(st);
    lm_peft_deinit(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_and_patterns_name_projections),
        cmocka_unit_test(refuses_other_adapters),
        cmocka_unit_test(initial_values_that_change_the_base_are_refused),
        cmocka_unit_test_setup_teardown(comes_back_as_written, new_folder, drop_folder),
        cmocka_unit_test_setup_teardown(files_that_disagree_are_refused, new_folder, drop_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

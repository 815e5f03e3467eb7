#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lm/io/hfconfig.h"
#include "lm_files.h"

/* As transformers 4 writes it. */
static const char four[] =
    "{\"architectures\":[\"Qwen2ForCausalLM\"],\"model_type\":\"qwen2\",\"vocab_size\":151936,"
    "\"hidden_size\":896,\"intermediate_size\":4864,\"num_hidden_layers\":24,"
    "\"num_attention_heads\":14,\"num_key_value_heads\":2,\"hidden_act\":\"silu\","
    "\"max_position_embeddings\":32768,\"rms_norm_eps\":1e-06,\"rope_theta\":1000000.0,"
    "\"sliding_window\":32768,\"use_sliding_window\":false,\"max_window_layers\":24,"
    "\"tie_word_embeddings\":true,\"torch_dtype\":\"bfloat16\",\"rope_scaling\":null}";

static void reads_transformers_4(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    struct lm_config c;
    assert_int_equal(lm_hfconfig_parse(four, strlen(four), "c", &c, &err), KG_OK);
    assert_int_equal(c.vocab, 151936);
    assert_int_equal(c.hidden, 896);
    assert_int_equal(c.inter, 4864);
    assert_int_equal(c.layers, 24);
    assert_int_equal(c.heads, 14);
    assert_int_equal(c.kv_heads, 2);
    assert_int_equal(c.head_dim, 64);
    assert_int_equal(c.max_pos, 32768);
    assert_true(c.rope_theta == 1e6F && c.rms_eps == 1e-6F);
    assert_true(c.tied && c.qkv_bias && !c.qk_norm);
}

static void reads_transformers_5(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    struct lm_config c;
    struct kg_buf text = whole(golden("io/qwen2.config.json"));
    assert_int_equal(lm_hfconfig_parse(text.data, text.len, "c", &c, &err), KG_OK);
    kg_buf_deinit(&text);
    assert_true(c.tied && c.qkv_bias && !c.qk_norm && c.head_dim == 16);
    assert_true(c.rope_theta == 1e6F && c.rms_eps == 1e-5F);
    text = whole(golden("io/qwen3.config.json"));
    assert_int_equal(lm_hfconfig_parse(text.data, text.len, "c", &c, &err), KG_OK);
    kg_buf_deinit(&text);
    assert_true(!c.tied && !c.qkv_bias && c.qk_norm && c.head_dim == 32);
    assert_true(c.rope_theta == 5e6F);
}

/* four with one part replaced. */
static void expect_refusal(const char *part, const char *with, const char *message)
{
    struct kg_err err = KG_ERR_INIT;
    struct lm_config c;
    char text[2000];
    const char *at = strstr(four, part);
    assert_non_null(at);
    int n =
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - four), four, with, at + strlen(part));
    assert_int_equal(lm_hfconfig_parse(text, (size_t)n, "c", &c, &err), KG_E_INPUT);
    assert_string_equal(err.message, message);
}

static void refuses_what_is_not_computed(void **state)
{
    (void)state;
    expect_refusal("Qwen2ForCausalLM", "LlamaForCausalLM",
                   "c: the first of \"architectures\" is LlamaForCausalLM; Qwen2ForCausalLM and "
                   "Qwen3ForCausalLM are supported");
    expect_refusal("\"model_type\":\"qwen2\"", "\"model_type\":\"qwen2_moe\"",
                   "c: \"model_type\" is \"qwen2_moe\"; \"qwen2\" is supported");
    expect_refusal("\"rope_scaling\":null",
                   "\"rope_scaling\":{\"rope_type\":\"yarn\",\"factor\":4.0}",
                   "c: \"rope_scaling\" has the type yarn; only the default rope is supported");
    expect_refusal("\"rope_scaling\":null",
                   "\"rope_parameters\":{\"rope_type\":\"default\",\"rope_theta\":10000.0}",
                   "c: \"rope_theta\" differs from that of \"rope_parameters\"");
    expect_refusal("\"rope_theta\":1000000.0,", "", "c: \"rope_theta\" is missing");
    expect_refusal("\"use_sliding_window\":false", "\"use_sliding_window\":true",
                   "c: \"use_sliding_window\" is true, which is not supported");
    expect_refusal("\"rope_scaling\":null", "\"layer_types\":[\"full_attention\"]",
                   "c: \"layer_types\" has not one entry for each layer");
    expect_refusal("\"silu\"", "\"gelu\"", "c: \"hidden_act\" is \"gelu\"; \"silu\" is supported");
    expect_refusal("\"rope_scaling\":null", "\"quantization_config\":{\"bits\":4}",
                   "c: \"quantization_config\" is not supported");
    expect_refusal("\"hidden_size\":896", "\"hidden_size\":0",
                   "c: \"hidden_size\" must be a whole number from 1 to 1048576");
    expect_refusal("\"hidden_size\":896", "\"hidden_size\":897",
                   "c: \"hidden_size\" is not a multiple of \"num_attention_heads\"");
    expect_refusal("\"num_key_value_heads\":2", "\"num_key_value_heads\":3",
                   "c: \"num_attention_heads\" is not a multiple of \"num_key_value_heads\"");
    expect_refusal("\"rms_norm_eps\":1e-06", "\"rms_norm_eps\":-1",
                   "c: \"rms_norm_eps\" must be a positive number");
    expect_refusal("\"tie_word_embeddings\":true", "\"tie_word_embeddings\":1",
                   "c: \"tie_word_embeddings\" must be true or false");
    expect_refusal("\"hidden_size\":896", "\"head_dim\":63,\"hidden_size\":896",
                   "c: \"head_dim\" must be even");
}

static void comes_back_as_written(void **state)
{
    struct kg_err err = KG_ERR_INIT;
    struct lm_config c = {.vocab = 512,
                          .hidden = 96,
                          .inter = 256,
                          .layers = 3,
                          .heads = 4,
                          .kv_heads = 2,
                          .head_dim = 32,
                          .max_pos = 512,
                          .rope_theta = 1e4F,
                          .rms_eps = 1e-6F,
                          .tied = false,
                          .qk_norm = true};
    struct lm_config back;
    struct lm_hfconfig_extra extra = {.dtype = LM_F32, .eos_id = 5, .pad_id = -1};
    assert_int_equal(lm_hfconfig_write(*state, &c, &extra, &err), KG_OK);
    assert_int_equal(lm_hfconfig_read(*state, &back, &err), KG_OK);
    assert_memory_equal(&c, &back, sizeof c);
    struct kg_buf a = whole(in_folder(state, "config.json"));
    assert_non_null(strstr(a.data, "\"rms_norm_eps\": 1e-06"));
    assert_non_null(strstr(a.data, "\"eos_token_id\": 5"));
    assert_null(strstr(a.data, "pad_token_id"));
    assert_int_equal(lm_hfconfig_write(*state, &back, &extra, &err), KG_OK);
    struct kg_buf b = whole(in_folder(state, "config.json"));
    assert_string_equal(a.data, b.data);
    kg_buf_deinit(&a);
    kg_buf_deinit(&b);
    c.qkv_bias = true;
    assert_int_equal(lm_hfconfig_write(*state, &c, &extra, &err), KG_E_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_transformers_4),
        cmocka_unit_test(reads_transformers_5),
        cmocka_unit_test(refuses_what_is_not_computed),
        cmocka_unit_test_setup_teardown(comes_back_as_written, new_folder, drop_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

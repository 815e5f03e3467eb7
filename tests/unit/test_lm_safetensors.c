#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <unistd.h>

#include "base/rng.h"
#include "lm/io/safetensors_write.h"
#include "lm/io/shards.h"
#include "lm_files.h"

/* A file with this header and n bytes of data. */
static enum kg_code parse(const char *header, size_t n, struct lm_st **st, struct kg_err *err)
{
    static unsigned char bytes[8192];
    size_t len = strlen(header);
    memset(bytes, 0, sizeof bytes);
    bytes[0] = (unsigned char)len;
    bytes[1] = (unsigned char)(len >> 8);
    memcpy(bytes + 8, header, len);
    return lm_st_parse(bytes, 8 + len + n, "f", st, err);
}

static void expect_refusal(const char *header, size_t n, const char *message)
{
    struct kg_err err = KG_ERR_INIT;
    struct lm_st *st;
    assert_int_equal(parse(header, n, &st, &err), KG_E_INPUT);
    assert_null(st);
    assert_string_equal(err.message, message);
}

static void reads_what_the_library_writes(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    struct lm_st *st;
    float value;
    assert_int_equal(lm_st_open(golden("io/small.safetensors"), &st, &err), KG_OK);
    assert_int_equal(lm_st_count(st), 15);
    assert_string_equal(lm_st_metadata(st, "format"), "pt");
    const struct lm_st_tensor *t = lm_st_find(st, "scalar");
    assert_int_equal(t->rank, 0);
    assert_int_equal(lm_st_read_f32(t, "f", NULL, 0, &value, &err), KG_OK);
    assert_true(value == 1.5F);
    t = lm_st_find(st, "model.layers.0.\xc3\xa9");
    assert_int_equal(t->dtype, LM_BF16);
    assert_int_equal(lm_st_read_f32(t, "f", (int64_t[]){1}, 1, &value, &err), KG_OK);
    assert_true(value == 1.5F);
    t = lm_st_find(st, "empty");
    assert_int_equal(t->count, 0);
    assert_null(lm_st_find(st, "emptz"));
    assert_int_equal(
        lm_st_read_f32(lm_st_find(st, "t.int8"), "f", (int64_t[]){2, 3}, 2, &value, &err),
        KG_E_INPUT);
    assert_string_equal(err.message,
                        "f: tensor t.int8 is I8, which is no floating type that is read");
    assert_int_equal(lm_st_read_f32(t, "f", (int64_t[]){4}, 1, &value, &err), KG_E_INPUT);
    assert_string_equal(err.message, "f: tensor empty has shape [0, 4]; the model needs [4]");
    lm_st_close(st);
}

static void writes_the_bytes_of_the_library(void **state)
{
    struct kg_err err = KG_ERR_INIT;
    struct lm_st *st;
    struct lm_st_item items[15];
    const char *path = in_folder(state, "again.safetensors");
    assert_int_equal(lm_st_open(golden("io/small.safetensors"), &st, &err), KG_OK);
    for (size_t i = 0; i < 15; i++) {
        const struct lm_st_tensor *t = lm_st_at(st, 14 - i);
        items[i] = (struct lm_st_item){
            .name = t->name, .dtype = t->dtype, .rank = t->rank, .data = t->data};
        memcpy(items[i].shape, t->shape, sizeof t->shape);
    }
    assert_int_equal(lm_st_write(path, items, 15, &err), KG_OK);
    lm_st_close(st);
    struct kg_buf a = whole(golden("io/small.safetensors")), b = whole(path);
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.data, b.data, a.len);
    kg_buf_deinit(&a);
    kg_buf_deinit(&b);
}

static void refuses_bad_headers(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    struct lm_st *st;
    static const char far[] = "\xff\xff\xff\xff\xff\xff\xff\xff{}";
    assert_int_equal(lm_st_parse("abc", 3, "f", &st, &err), KG_E_INPUT);
    assert_string_equal(err.message, "f: 3 bytes are no safetensors file");
    assert_int_equal(lm_st_parse(far, 10, "f", &st, &err), KG_E_INPUT);
    assert_non_null(strstr(err.message, "f: a header of 18446744073709551615 bytes is not within"));
    expect_refusal("[]", 0, "f: the header does not begin with {");
    expect_refusal("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
                   "\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}",
                   8, "f: header:1:57: not valid JSON: duplicate object key near '\"a\"'");
    expect_refusal("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 7,
                   "f: tensor a: data_offsets [0, 8] are not within the 7 bytes of data: is the "
                   "file cut short?");
    expect_refusal("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 9,
                   "f: the last 1 bytes belong to no tensor");
    expect_refusal("{\"a\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,8]}}", 8,
                   "f: tensor a: 8 bytes do not hold F32 of shape [3]");
    expect_refusal("{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296,4294967296],"
                   "\"data_offsets\":[0,8]}}",
                   8, "f: tensor a: shape has more elements than any file");
    expect_refusal("{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,8]}}", 8,
                   "f: tensor a: a dimension is not a whole number of 0 or more");
    expect_refusal("{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
                   "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[3,7]}}",
                   7, "f: tensor b: overlaps the tensor before it");
    expect_refusal("{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
                   "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[5,9]}}",
                   9, "f: tensor b: bytes before it belong to no tensor");
    expect_refusal("{\"__metadata__\":{\"x\":1}}", 0, "f: __metadata__: x is not a text");
    expect_refusal("{\"a\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1,1],"
                   "\"data_offsets\":[0,1]}}",
                   1, "f: tensor a: 9 dimensions, at most 8 are read");
}

static void an_unknown_type_fails_when_asked_for(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    struct lm_st *st;
    float value;
    assert_int_equal(
        parse("{\"a\":{\"dtype\":\"F4\",\"shape\":[2],\"data_offsets\":[0,1]}}", 1, &st, &err),
        KG_OK);
    assert_int_equal(lm_st_at(st, 0)->dtype, LM_DTYPE_OTHER);
    assert_int_equal(lm_st_read_f32(lm_st_at(st, 0), "f", (int64_t[]){2}, 1, &value, &err),
                     KG_E_INPUT);
    lm_st_close(st);
}

static void halves_survive(void **state)
{
    (void)state;
    for (uint32_t v = 0; v < 65536; v++) {
        uint16_t half = (uint16_t)v, back;
        float wide;
        lm_dtype_to_f32(LM_BF16, &half, &wide, 1);
        lm_dtype_from_f32(LM_BF16, &wide, &back, 1);
        assert_true(back == half || (isnan(wide) && back == (half | 0x40)));
        lm_dtype_to_f32(LM_F16, &half, &wide, 1);
        lm_dtype_from_f32(LM_F16, &wide, &back, 1);
        assert_true(back == half || (isnan(wide) && (back & 0x7E00) == 0x7E00));
    }
}

static void expect_half(enum lm_dtype t, float from, uint16_t want)
{
    uint16_t half;
    lm_dtype_from_f32(t, &from, &half, 1);
    assert_int_equal(half, want);
}

static void rounds_to_nearest_even(void **state)
{
    (void)state;
    expect_half(LM_BF16, 1.00390625F, 0x3F80); /* halfway, down to even */
    expect_half(LM_BF16, 1.01171875F, 0x3F82); /* halfway, up to even */
    expect_half(LM_BF16, 3.4e38F, 0x7F80);
    expect_half(LM_BF16, -INFINITY, 0xFF80);
    expect_half(LM_F16, 65519.0F, 0x7BFF);
    expect_half(LM_F16, 65520.0F, 0x7C00);
    expect_half(LM_F16, 0x1p-24F, 0x0001);
    expect_half(LM_F16, 0x1p-25F, 0x0000);
    expect_half(LM_F16, 0x1.8p-25F, 0x0001);
    expect_half(LM_F16, -0x1.8p-24F, 0x8002);
}

static void eight_bit_floats(void **state)
{
    (void)state;
    static const uint8_t e4m3[] = {0x00, 0x01, 0x08, 0x38, 0x7E, 0xFE, 0x7F};
    static const uint8_t e5m2[] = {0x00, 0x01, 0x04, 0x3C, 0x7B, 0xFC, 0x7D};
    float v[7];
    lm_dtype_to_f32(LM_F8_E4M3, e4m3, v, 7);
    assert_true(v[0] == 0 && v[1] == 0x1p-9F && v[2] == 0x1p-6F && v[3] == 1 && v[4] == 448 &&
                v[5] == -448 && isnan(v[6]));
    lm_dtype_to_f32(LM_F8_E5M2, e5m2, v, 7);
    assert_true(v[0] == 0 && v[1] == 0x1p-16F && v[2] == 0x1p-14F && v[3] == 1 && v[4] == 57344 &&
                isinf(v[5]) && v[5] < 0 && isnan(v[6]));
}

static void fill(struct lm_st_item items[3], const float *data)
{
    static const char *const names[] = {"c", "a", "b"};
    for (int i = 0; i < 3; i++) {
        items[i] = (struct lm_st_item){.name = names[i],
                                       .dtype = i == 1 ? LM_BF16 : LM_F32,
                                       .rank = 2,
                                       .shape = {40, 50},
                                       .data = data + (size_t)i * 2000,
                                       .from_f32 = true};
    }
}

static void shards_read_back(void **state)
{
    struct kg_err err = KG_ERR_INIT;
    struct lm_shards *s;
    struct lm_st_item items[3];
    static float data[6000], back[2000];
    const int64_t shape[] = {40, 50};
    for (int i = 0; i < 6000; i++) {
        data[i] = (float)i - 3000;
    }
    fill(items, data);
    assert_int_equal(lm_st_write_model(*state, items, 3, 12000, &err), KG_OK);
    assert_false(kg_file_exists(in_folder(state, "model.safetensors")));
    assert_int_equal(lm_shards_open(*state, &s, &err), KG_OK);
    assert_int_equal(lm_shards_files(s), 2);
    assert_int_equal(lm_shards_read_f32(s, "b", shape, 2, back, &err), KG_OK);
    assert_memory_equal(back, data + 4000, sizeof back);
    assert_int_equal(lm_shards_read_f32(s, "d", shape, 2, back, &err), KG_E_NOT_FOUND);
    lm_shards_close(s);
    /* One file takes the place of several. */
    assert_int_equal(lm_st_write_model(*state, items, 3, 0, &err), KG_OK);
    assert_false(kg_file_exists(in_folder(state, "model.safetensors.index.json")));
    assert_int_equal(lm_shards_open(*state, &s, &err), KG_OK);
    assert_int_equal(lm_shards_files(s), 1);
    assert_int_equal(lm_shards_read_f32(s, "c", shape, 2, back, &err), KG_OK);
    assert_memory_equal(back, data, sizeof back);
    lm_shards_close(s);
}

static void expect_index(void **state, const char *index, const char *part)
{
    struct kg_err err = KG_ERR_INIT;
    struct lm_shards *s;
    put_file(in_folder(state, "model.safetensors.index.json"), index, strlen(index));
    assert_true(lm_shards_open(*state, &s, &err) != KG_OK);
    assert_null(s);
    if (strstr(err.message, part) == NULL) {
        fail_msg("%s\ndoes not hold: %s", err.message, part);
    }
}

static void refuses_bad_indexes(void **state)
{
    struct kg_err err = KG_ERR_INIT;
    struct lm_st_item items[3];
    static float data[6000];
    fill(items, data);
    assert_int_equal(lm_st_write(in_folder(state, "one.safetensors"), items, 3, &err), KG_OK);
    expect_index(state, "{\"weight_map\":{\"a\":\"../one.safetensors\"}}",
                 "\"../one.safetensors\" is not a file of this folder");
    expect_index(state, "{\"weight_map\":{\"a\":\"/etc/passwd\"}}", "is not a file of this folder");
    expect_index(state, "{\"weight_map\":{}}", "no \"weight_map\" with tensors");
    expect_index(state, "{\"weight_map\":{\"a\":\"two.safetensors\"}}",
                 "two.safetensors: cannot open");
    expect_index(state, "{\"weight_map\":{\"z\":\"one.safetensors\"}}",
                 "tensor z is not in one.safetensors");
    expect_index(state, "{\"weight_map\":{\"a\":\"one.safetensors\",\"b\":\"one.safetensors\"}}",
                 "one.safetensors holds tensor c, which the index does not list there");
}

static void a_failed_write_leaves_the_old_file(void **state)
{
    struct kg_err err = KG_ERR_INIT;
    struct lm_st_item items[3];
    static float data[6000];
    const char *path = in_folder(state, "x.safetensors");
    put_file(path, "old", 3);
    fill(items, data);
    items[2].name = "a";
    items[2].dtype = LM_BF16;
    assert_int_equal(lm_st_write(path, items, 3, &err), KG_E_INPUT);
    assert_non_null(strstr(err.message, "cannot write tensor a: its name is there twice"));
    struct kg_buf b = whole(path);
    assert_string_equal(b.data, "old");
    kg_buf_deinit(&b);
}

/* Every prefix of a good file is refused. */
static void a_file_cut_short_is_refused(void **state)
{
    (void)state;
    struct kg_buf b = whole(golden("io/small.safetensors"));
    for (size_t n = 0; n < b.len; n++) {
        struct kg_err err = KG_ERR_INIT;
        struct lm_st *st;
        assert_int_equal(lm_st_parse(b.data, n, "f", &st, &err), KG_E_INPUT);
    }
    kg_buf_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_the_library_writes),
        cmocka_unit_test_setup_teardown(writes_the_bytes_of_the_library, new_folder, drop_folder),
        cmocka_unit_test(refuses_bad_headers),
        cmocka_unit_test(an_unknown_type_fails_when_asked_for),
        cmocka_unit_test(halves_survive),
        cmocka_unit_test(rounds_to_nearest_even),
        cmocka_unit_test(eight_bit_floats),
        cmocka_unit_test_setup_teardown(shards_read_back, new_folder, drop_folder),
        cmocka_unit_test_setup_teardown(refuses_bad_indexes, new_folder, drop_folder),
        cmocka_unit_test_setup_teardown(a_failed_write_leaves_the_old_file, new_folder,
                                        drop_folder),
        cmocka_unit_test(a_file_cut_short_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

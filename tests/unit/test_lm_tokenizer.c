#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/rng.h"
#include "base/utf8.h"
#include "lm/tok/bpe.h"
#include "lm/tok/bpe_read.h"
#include "lm/tok/bpe_train.h"
#include "lm/tok/bpe_write.h"
#include "lm/tok/bytes.h"
#include "lm/tok/nfc.h"
#include "lm/tok/presplit.h"
#include "lm_files.h"

static struct lm_bpe *bpe;

static int open_golden(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    if (lm_bpe_open(golden("tok/tokenizer.json"), &bpe, &err) != KG_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    return 0;
}

static int close_golden(void **state)
{
    (void)state;
    lm_bpe_close(bpe);
    return 0;
}

static void expect_pieces(struct lm_presplit *p, const char *text, size_t len, const json_t *want)
{
    struct kg_err err = KG_ERR_INIT;
    size_t i = 0;
    for (size_t at = 0, end; at < len; at = end, i++) {
        assert_int_equal(lm_presplit_next(p, text, len, at, &end, &err), KG_OK);
        const json_t *piece = json_array_get(want, i);
        assert_int_equal(end - at, json_string_length(piece));
        assert_memory_equal(text + at, json_string_value(piece), end - at);
    }
    assert_int_equal(i, json_array_size(want));
}

/* encode.jsonl: texts with their pieces and ids as the tokenizers library has them. */
static void pieces_and_ids_are_those_of_the_library(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    struct kg_buf file = whole(golden("tok/encode.jsonl"));
    struct lm_presplit *p;
    struct lm_ids ids;
    int rows = 0;
    lm_ids_init(&ids);
    assert_int_equal(lm_presplit_create(lm_presplit_qwen, "p", &p, &err), KG_OK);
    for (char *line = file.data, *end; (end = strchr(line, '\n')) != NULL; line = end + 1, rows++) {
        json_t *j;
        assert_int_equal(kg_json_parse(line, (size_t)(end - line), "encode.jsonl", &j, &err),
                         KG_OK);
        const json_t *text = json_object_get(j, "text"), *want = json_object_get(j, "ids");
        expect_pieces(p, json_string_value(text), json_string_length(text),
                      json_object_get(j, "pieces"));
        lm_ids_reset(&ids);
        assert_int_equal(lm_bpe_encode(bpe, json_string_value(text), json_string_length(text),
                                       LM_BPE_ALL, &ids, &err),
                         KG_OK);
        assert_int_equal(ids.n, json_array_size(want));
        for (size_t i = 0; i < ids.n; i++) {
            assert_int_equal(ids.id[i], json_integer_value(json_array_get(want, i)));
        }
        json_decref(j);
    }
    assert_int_equal(rows, 111);
    lm_ids_deinit(&ids);
    lm_presplit_destroy(p);
    kg_buf_deinit(&file);
}

static int pieces_of(struct lm_presplit *p, const char *text)
{
    struct kg_err err = KG_ERR_INIT;
    size_t len = strlen(text), end = 0;
    int n = 0;
    for (size_t at = 0; at < len; at = end, n++) {
        assert_int_equal(lm_presplit_next(p, text, len, at, &end, &err), KG_OK);
    }
    return n;
}

static const char *utf8_of(uint32_t cp, char out[5])
{
    int n = cp < 0x80 ? 1 : cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
    for (int i = n - 1; i > 0; i--, cp >>= 6) {
        out[i] = (char)(0x80 | (cp & 0x3F));
    }
    out[0] = (char)(n == 1 ? cp : (0xF00u >> n & 0xF0) | cp);
    out[n] = '\0';
    return out;
}

/* classes.txt: runs of characters that the library sees alike, over all of Unicode 14. */
static void every_character_has_the_class_of_the_library(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    struct kg_buf file = whole(golden("tok/classes.txt"));
    struct lm_presplit *p;
    int checked = 0;
    assert_int_equal(lm_presplit_create(lm_presplit_qwen, "p", &p, &err), KG_OK);
    for (char *line = file.data, *next; *line != '\0'; line = next) {
        uint32_t cp = (uint32_t)strtoul(line, &next, 16), end = 0x110000;
        char want = next[1], c[5], apart[8], twice[12];
        next += 3;
        end = *next == '\0' ? end : (uint32_t)strtoul(next, NULL, 16);
        for (cp = cp == 0 ? 1 : cp; want != '-' && cp < end; cp++, checked++) {
            snprintf(apart, sizeof apart, "!%s!", utf8_of(cp, c));
            snprintf(twice, sizeof twice, "%s%s", c, c);
            int a = pieces_of(p, apart), b = pieces_of(p, twice);
            char have = a == 2 && b == 1   ? 'L'
                        : a == 3 && b == 2 ? 'N'
                        : a == 3 && b == 1 ? 'S'
                                           : 'O';
            if (have != want) {
                fail_msg("U+%04X: %c, the library has %c", cp, have, want);
            }
        }
    }
    assert_true(checked > 280000);
    lm_presplit_destroy(p);
    kg_buf_deinit(&file);
}

static void random_bytes_come_back(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    struct kg_rng r;
    struct lm_ids ids;
    struct kg_buf back, valid, normal;
    char bytes[600];
    kg_rng_init(&r, (struct kg_key){{29, 2}}, 0);
    lm_ids_init(&ids);
    kg_buf_init(&back, 10000);
    kg_buf_init(&valid, 10000);
    kg_buf_init(&normal, 10000);
    for (int round = 0; round < 500; round++) {
        size_t n = kg_rng_below(&r, sizeof bytes);
        kg_rng_bytes(&r, bytes, n);
        lm_ids_reset(&ids);
        kg_buf_reset(&back);
        assert_int_equal(lm_bpe_encode_piece(bpe, bytes, n, &ids, &err), KG_OK);
        lm_bpe_decode(bpe, ids.id, ids.n, false, &back);
        assert_int_equal(back.len, n);
        assert_memory_equal(back.data, bytes, n);
        /* As text: what repair and NFC leave of them. */
        lm_ids_reset(&ids);
        kg_buf_reset(&back);
        kg_buf_reset(&valid);
        kg_buf_reset(&normal);
        lm_utf8_repair(bytes, n, &valid);
        assert_int_equal(lm_nfc(valid.data, valid.len, &normal, &err), KG_OK);
        assert_int_equal(lm_bpe_encode(bpe, bytes, n, LM_BPE_PLAIN, &ids, &err), KG_OK);
        lm_bpe_decode(bpe, ids.id, ids.n, false, &back);
        assert_string_equal(back.data, normal.data);
        assert_int_equal(back.len, normal.len);
    }
    kg_buf_deinit(&back);
    kg_buf_deinit(&valid);
    kg_buf_deinit(&normal);
    lm_ids_deinit(&ids);
    kg_rng_deinit(&r);
}

static size_t count_id(const struct lm_ids *ids, int32_t id)
{
    size_t n = 0;
    for (size_t i = 0; i < ids->n; i++) {
        n += ids->id[i] == id;
    }
    return n;
}

static void special_tokens_are_never_made_from_text(void **state)
{
    (void)state;
    static const char text[] = "a<|im_end|>b<think>c";
    struct kg_err err = KG_ERR_INIT;
    struct lm_ids ids;
    struct kg_buf back;
    int32_t end = lm_bpe_added_id(bpe, "<|im_end|>"), think = lm_bpe_added_id(bpe, "<think>");
    const size_t want[][2] = {{0, 0}, {0, 1}, {1, 1}}; /* PLAIN, TEXT, ALL */
    lm_ids_init(&ids);
    kg_buf_init(&back, 1000);
    assert_int_equal(lm_bpe_added_id(bpe, "<|im_en|>"), -1);
    assert_true(lm_bpe_is_special(bpe, end) && !lm_bpe_is_special(bpe, think));
    for (int mode = 0; mode < 3; mode++) {
        lm_ids_reset(&ids);
        kg_buf_reset(&back);
        assert_int_equal(lm_bpe_encode(bpe, text, strlen(text), (enum lm_bpe_mode)mode, &ids, &err),
                         KG_OK);
        assert_int_equal(count_id(&ids, end), want[mode][0]);
        assert_int_equal(count_id(&ids, think), want[mode][1]);
        lm_bpe_decode(bpe, ids.id, ids.n, false, &back);
        assert_string_equal(back.data, text);
    }
    kg_buf_reset(&back);
    lm_bpe_decode(bpe, ids.id, ids.n, true, &back);
    assert_string_equal(back.data, "ab<think>c");
    /* Ids that no token has decode to nothing. */
    lm_bpe_decode(bpe, (int32_t[]){-1, lm_bpe_size(bpe), INT32_MAX}, 3, false, &back);
    assert_string_equal(back.data, "ab<think>c");
    kg_buf_deinit(&back);
    lm_ids_deinit(&ids);
}

/* Token by token, only whole characters come out, and all of them. */
static void streams_emit_whole_characters(void **state)
{
    (void)state;
    static const char text[] = "a\xc3\xa9\xe6\xa0\xb8\xf0\x9f\x98\x80z\xe6\xa0 \xff\xf0\x9f\x98";
    static const char want[] = "a\xc3\xa9\xe6\xa0\xb8\xf0\x9f\x98\x80z\xef\xbf\xbd \xef\xbf\xbd"
                               "\xef\xbf\xbd";
    struct kg_buf out;
    struct lm_bpe_stream s = {0};
    kg_buf_init(&out, 1000);
    for (size_t i = 0; i < sizeof text - 1; i++) {
        int32_t id = lm_bpe_contents(bpe)->byte_id[(unsigned char)text[i]];
        size_t before = out.len;
        lm_bpe_stream_push(bpe, &s, id, false, &out);
        for (size_t k = before; k < out.len;) {
            uint32_t cp;
            bool ok;
            k += kg_utf8_next(out.data + k, out.len - k, &cp, &ok);
            assert_true(ok);
        }
    }
    lm_bpe_stream_end(&s, &out);
    assert_string_equal(out.data, want);
    kg_buf_deinit(&out);
}

/* The goldens' tokenizer.json was trained by the library on corpus.txt. */
static void training_gives_the_merges_of_the_library(void **state)
{
    struct kg_err err = KG_ERR_INIT;
    struct lm_bpe_trainer *t;
    struct lm_bpe_def d;
    const struct lm_bpe_def *want = lm_bpe_contents(bpe);
    struct lm_bpe_train_options o = {
        .vocab = want->vocab, .min_count = 2, .pattern = lm_presplit_qwen, .nfc = true};
    struct kg_buf text = whole(golden("tok/corpus.txt"));
    assert_int_equal(lm_bpe_trainer_create(&o, &t, &err), KG_OK);
    assert_int_equal(lm_bpe_trainer_add(t, text.data, text.len, &err), KG_OK);
    assert_int_equal(lm_bpe_trainer_run(t, &d, &err), KG_OK);
    lm_bpe_trainer_destroy(t);
    kg_buf_deinit(&text);
    assert_int_equal(d.merges, want->merges);
    assert_memory_equal(d.merge, want->merge, d.merges * sizeof *d.merge);
    assert_int_equal(d.vocab, want->vocab);
    assert_int_equal(d.bytes.len, want->bytes.len);
    assert_memory_equal(d.bytes.data, want->bytes.data, d.bytes.len);
    /* Written, read and written again: the same bytes. */
    assert_int_equal(lm_bpe_add_qwen(&d, true, &err), KG_OK);
    assert_int_equal(d.n_added, 26);
    assert_int_equal(lm_bpe_write(&d, in_folder(state, "a.json"), &err), KG_OK);
    lm_bpe_def_deinit(&d);
    assert_int_equal(lm_bpe_read(in_folder(state, "a.json"), &d, &err), KG_OK);
    assert_int_equal(lm_bpe_write(&d, in_folder(state, "b.json"), &err), KG_OK);
    lm_bpe_def_deinit(&d);
    struct kg_buf a = whole(in_folder(state, "a.json")), b = whole(in_folder(state, "b.json"));
    assert_string_equal(a.data, b.data);
    kg_buf_deinit(&a);
    kg_buf_deinit(&b);
}

/* The golden file with one part of its text replaced. */
static void expect_file(const char *part, const char *with, const char *message)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_buf file = whole(golden("tok/tokenizer.json")), changed;
    struct lm_bpe_def d;
    struct lm_bpe *b = NULL;
    const char *at = strstr(file.data, part);
    assert_non_null(at);
    kg_buf_init(&changed, 1 << 20);
    kg_buf_add(&changed, file.data, (size_t)(at - file.data));
    kg_buf_adds(&changed, with);
    kg_buf_adds(&changed, at + strlen(part));
    enum kg_code code = lm_bpe_parse(changed.data, changed.len, "t", &d, &err);
    code = code == KG_OK ? lm_bpe_create(&d, "t", &b, &err) : code;
    assert_int_equal(code, KG_E_INPUT);
    assert_null(b);
    assert_string_equal(err.message, message);
    kg_buf_deinit(&file);
    kg_buf_deinit(&changed);
}

static void refuses_files_that_would_give_other_ids(void **state)
{
    (void)state;
    expect_file("\"type\":\"BPE\"", "\"type\":\"Unigram\"", "t: model.type is not BPE");
    expect_file("\"ignore_merges\":false", "\"ignore_merges\":true",
                "t: model.ignore_merges is not false: not supported");
    expect_file("\"dropout\":null", "\"dropout\":0.1", "t: model.dropout is set: not supported");
    expect_file("\"NFC\"", "\"NFKC\"", "t: normalizer is neither null nor NFC");
    expect_file("\"Isolated\"", "\"Removed\"",
                "t: pre_tokenizer is neither ByteLevel without a prefix space nor Split (Regex, "
                "Isolated) and then ByteLevel without its own regex");
    expect_file("\"post_processor\":null", "\"post_processor\":{\"type\":\"TemplateProcessing\"}",
                "t: post_processor is neither null nor ByteLevel: it could add tokens");
    expect_file("\"decoder\":{\"type\":\"ByteLevel\"", "\"decoder\":{\"type\":\"Fuse\"",
                "t: decoder is not ByteLevel");
    expect_file("\"id\":481", "\"id\":480", "t: two added tokens have the id 480");
    expect_file("\"lstrip\":false", "\"lstrip\":true",
                "t: added_tokens: <|endoftext|> has \"lstrip\": true, which is not supported");
    expect_file("\"<|im_start|>\"", "\"<|im_end|>\"",
                "t: added tokens 481 and 482 are both <|im_end|>");
    expect_file("\"!\":0", "\"!\":1",
                "t: model.vocab: \" must have a whole number from 0 to 479 that no other token "
                "has");
    expect_file("\"!\":0", "\"! x\":0", "t: model.vocab: token 0, ! x, is no byte-level token");
    expect_file("\"!\":0", "\"!!!!\":0", "t: model.vocab has no token for the byte 0x21");
    expect_file("\"merges\":[[", "\"merges\":[[\"zq\",\"x\"],[",
                "t: model.merges: merge 0 is not two tokens of the vocabulary that make a third");
    expect_file("\"merges\":[[", "\"merges\":[\"a\",[",
                "t: model.merges: merge 0 is not two tokens of the vocabulary that make a third");
}

static void refuses_a_merge_that_is_there_twice(void **state)
{
    (void)state;
    const struct lm_bpe_def *d = lm_bpe_contents(bpe);
    struct kg_buf pair;
    char message[100];
    kg_buf_init(&pair, 1000);
    kg_buf_adds(&pair, "\"merges\":[[\"");
    for (int i = 0; i < 2; i++) {
        size_t len;
        const char *token =
            lm_bpe_def_token(d, i == 0 ? d->merge[5].left : d->merge[5].right, &len);
        lm_bytes_spell(token, len, &pair);
        kg_buf_adds(&pair, i == 0 ? "\",\"" : "\"],[");
    }
    snprintf(message, sizeof message, "t: model.merges: merge 6 is there before");
    expect_file("\"merges\":[[", pair.data, message);
    kg_buf_deinit(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_and_ids_are_those_of_the_library),
        cmocka_unit_test(every_character_has_the_class_of_the_library),
        cmocka_unit_test(random_bytes_come_back),
        cmocka_unit_test(special_tokens_are_never_made_from_text),
        cmocka_unit_test(streams_emit_whole_characters),
        cmocka_unit_test_setup_teardown(training_gives_the_merges_of_the_library, new_folder,
                                        drop_folder),
        cmocka_unit_test(refuses_files_that_would_give_other_ids),
        cmocka_unit_test(refuses_a_merge_that_is_there_twice),
    };
    return cmocka_run_group_tests(tests, open_golden, close_golden);
}

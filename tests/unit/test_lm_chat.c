#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/wait.h>

#include "base/json.h"
#include "lm/tok/chat.h"
#include "lm_files.h"

static struct lm_bpe *bpe;

static int open_golden(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    return lm_bpe_open(golden("tok/tokenizer.json"), &bpe, &err) != KG_OK;
}

static int close_golden(void **state)
{
    (void)state;
    lm_bpe_close(bpe);
    return 0;
}

static size_t read_messages(const json_t *list, struct lm_chat_message m[8])
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        const json_t *content = json_object_get(one, "content");
        const json_t *reasoning = json_object_get(one, "reasoning_content");
        const char *role = json_string_value(json_object_get(one, "role"));
        m[i] = (struct lm_chat_message){.role = role[0] == 's'   ? LM_CHAT_SYSTEM
                                                : role[0] == 'u' ? LM_CHAT_USER
                                                                 : LM_CHAT_ASSISTANT,
                                        .content = json_string_value(content),
                                        .len = json_string_length(content),
                                        .reasoning = json_string_value(reasoning),
                                        .reasoning_len = json_string_length(reasoning)};
    }
    return json_array_size(list);
}

static void expect_ids(const struct lm_ids *ids, const json_t *want, const json_t *mask)
{
    assert_int_equal(ids->n, json_array_size(want));
    for (size_t i = 0; i < ids->n; i++) {
        assert_int_equal(ids->id[i], json_integer_value(json_array_get(want, i)));
        assert_int_equal(ids->mask[i], json_integer_value(json_array_get(mask, i)));
    }
}

/* 1: the row had ids. */
static int expect_row(const json_t *row)
{
    struct kg_err err = KG_ERR_INIT;
    struct lm_chat c;
    struct lm_chat_message m[8];
    enum lm_chat_kind kind;
    struct kg_buf text;
    struct lm_ids ids;
    bool prompt = json_is_true(json_object_get(row, "prompt"));
    size_t n = read_messages(json_object_get(row, "messages"), m);
    kg_buf_init(&text, 100000);
    lm_ids_init(&ids);
    assert_int_equal(
        lm_chat_kind_parse(json_string_value(json_object_get(row, "kind")), &kind, &err), KG_OK);
    assert_int_equal(lm_chat_init(&c, kind, bpe, &err), KG_OK);
    c.thinking = json_is_true(json_object_get(row, "thinking"));
    assert_int_equal(lm_chat_render(&c, m, n, prompt, &text, &err), KG_OK);
    assert_string_equal(text.data, json_string_value(json_object_get(row, "text")));
    assert_int_equal(lm_chat_encode(&c, m, n, prompt, &ids, &err), KG_OK);
    const json_t *want = json_object_get(row, "ids");
    if (want != NULL) {
        expect_ids(&ids, want, json_object_get(row, "mask"));
    }
    /* Content that spells an end ends nothing. */
    size_t ends = 0, turns = n + (kind == LM_CHAT_QWEN25 && m[0].role != LM_CHAT_SYSTEM);
    for (size_t i = 0; i < ids.n; i++) {
        ends += ids.id[i] == c.end_id;
    }
    assert_int_equal(ends, turns);
    /* The ids spell the text, whatever its content. */
    struct kg_buf back;
    kg_buf_init(&back, 100000);
    lm_bpe_decode(bpe, ids.id, ids.n, false, &back);
    assert_string_equal(back.data, text.data);
    kg_buf_deinit(&back);
    kg_buf_deinit(&text);
    lm_ids_deinit(&ids);
    return want != NULL;
}

/* chat.jsonl: conversations as the templates of the model makers render them. */
static void conversations_are_those_of_the_templates(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    struct kg_buf file = whole(golden("tok/chat.jsonl"));
    int rows = 0, with_ids = 0;
    for (char *line = file.data, *end; (end = strchr(line, '\n')) != NULL; line = end + 1, rows++) {
        json_t *j;
        assert_int_equal(kg_json_parse(line, (size_t)(end - line), "chat.jsonl", &j, &err), KG_OK);
        with_ids += expect_row(j);
        json_decref(j);
    }
    assert_int_equal(rows, 72);
    assert_int_equal(with_ids, 48);
    kg_buf_deinit(&file);
}

/* Appends the conversation of a row as our renderer has it with this kind. */
static void add_rendered(const json_t *row, enum lm_chat_kind kind, struct kg_buf *out)
{
    struct kg_err err = KG_ERR_INIT;
    struct lm_chat c;
    struct lm_chat_message m[8];
    struct kg_buf text;
    size_t n = read_messages(json_object_get(row, "messages"), m);
    json_t *j = json_deep_copy(row);
    assert_int_equal(lm_chat_init(&c, kind, bpe, &err), KG_OK);
    c.thinking = json_is_true(json_object_get(row, "thinking"));
    kg_buf_init(&text, 100000);
    assert_int_equal(
        lm_chat_render(&c, m, n, json_is_true(json_object_get(row, "prompt")), &text, &err), KG_OK);
    json_object_set_new(j, "kind", json_string(lm_chat_kind_name(kind)));
    json_object_set_new(j, "text", json_stringn(text.data, text.len));
    kg_json_dump(j, out);
    kg_buf_addc(out, '\n');
    kg_buf_deinit(&text);
    json_decref(j);
}

/* FOLDER/KIND.jinja, and FOLDER/rows.jsonl: all conversations with each kind. */
static void write_templates(void **state)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_buf rows, file = whole(golden("tok/chat.jsonl"));
    kg_buf_init(&rows, 64 << 20);
    for (int i = 0; i < LM_CHAT_KINDS; i++) {
        char name[64];
        enum lm_chat_kind kind = (enum lm_chat_kind)i, found = LM_CHAT_KINDS;
        const char *text = lm_chat_template(kind);
        assert_true(lm_chat_recognise(text, strlen(text), &found));
        assert_int_equal(found, kind);
        snprintf(name, sizeof name, "%s.jinja", lm_chat_kind_name(kind));
        put_file(in_folder(state, name), text, strlen(text));
        for (char *line = file.data, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
            json_t *j;
            assert_int_equal(kg_json_parse(line, (size_t)(end - line), "chat", &j, &err), KG_OK);
            add_rendered(j, kind, &rows);
            json_decref(j);
        }
    }
    put_file(in_folder(state, "rows.jsonl"), rows.data, rows.len);
    kg_buf_deinit(&rows);
    kg_buf_deinit(&file);
}

/* Our template of each kind is known by its text, and Jinja renders with it what we do. */
static void templates_render_the_same(void **state)
{
    const char *python = getenv("KGYM_PYTHON");
    char command[9000];
    write_templates(state);
    snprintf(command, sizeof command, "%s %s %s", python == NULL ? "python3" : python,
             golden("check_templates.py"), (const char *)*state);
    int status = system(command);
    if (WIFEXITED(status) && (WEXITSTATUS(status) == 77 || WEXITSTATUS(status) == 127)) {
        print_message("no Python with jinja2: templates are not rendered\n");
        skip();
    }
    assert_int_equal(status, 0);
}

static void end_of_turn_is_trained_and_prompts_are_not(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    struct lm_chat c;
    struct lm_ids ids;
    const struct lm_chat_message m[] = {{.role = LM_CHAT_USER, .content = "a", .len = 1},
                                        {.role = LM_CHAT_ASSISTANT, .content = "b", .len = 1}};
    lm_ids_init(&ids);
    assert_int_equal(lm_chat_init(&c, LM_CHAT_QWEN3_INSTRUCT, bpe, &err), KG_OK);
    assert_int_not_equal(c.pad_id, c.end_id);
    assert_int_equal(lm_chat_encode(&c, m, 2, false, &ids, &err), KG_OK);
    /* ... b <|im_end|> \n */
    assert_int_equal(ids.id[ids.n - 2], c.end_id);
    size_t counted = 0;
    for (size_t i = 0; i < ids.n; i++) {
        counted += ids.mask[i];
    }
    assert_int_equal(counted, 2);
    assert_true(ids.mask[ids.n - 3] && ids.mask[ids.n - 2] && !ids.mask[ids.n - 1]);
    lm_ids_deinit(&ids);
}

/* What a prompt opens is not trained: training sees the ids that sampling starts from. */
static void a_turn_begins_with_its_prompt(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    struct lm_chat_message m[] = {{.role = LM_CHAT_USER, .content = "a", .len = 1},
                                  {.role = LM_CHAT_ASSISTANT,
                                   .content = "\n\nb",
                                   .len = 3,
                                   .reasoning = "",
                                   .reasoning_len = 0}};
    for (int kind = 0; kind < LM_CHAT_KINDS; kind++) {
        for (int thinking = 0; thinking < 2; thinking++) {
            struct lm_chat c;
            struct lm_ids prompt, all;
            lm_ids_init(&prompt);
            lm_ids_init(&all);
            assert_int_equal(lm_chat_init(&c, (enum lm_chat_kind)kind, bpe, &err), KG_OK);
            c.thinking = thinking;
            assert_int_equal(lm_chat_encode(&c, m, 1, true, &prompt, &err), KG_OK);
            assert_int_equal(lm_chat_encode(&c, m, 2, false, &all, &err), KG_OK);
            assert_true(all.n > prompt.n);
            assert_memory_equal(all.id, prompt.id, prompt.n * sizeof *all.id);
            for (size_t i = 0; i < all.n; i++) {
                assert_int_equal(all.mask[i], i >= prompt.n && i < all.n - 1);
            }
            lm_ids_deinit(&prompt);
            lm_ids_deinit(&all);
        }
    }
}

static void a_next_turn_is_appended(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    struct lm_chat c;
    struct lm_ids ids;
    struct kg_buf text;
    lm_ids_init(&ids);
    kg_buf_init(&text, 1000);
    assert_int_equal(lm_chat_init(&c, LM_CHAT_QWEN25, bpe, &err), KG_OK);
    assert_int_equal(lm_chat_continue(&c, true, "x", 1, &ids, &err), KG_OK);
    assert_int_equal(lm_chat_continue(&c, false, "y", 1, &ids, &err), KG_OK);
    lm_bpe_decode(bpe, ids.id, ids.n, false, &text);
    assert_string_equal(text.data, "\n<|im_start|>user\nx<|im_end|>\n<|im_start|>assistant\n"
                                   "<|im_end|>\n<|im_start|>user\ny<|im_end|>\n"
                                   "<|im_start|>assistant\n");
    for (size_t i = 0; i < ids.n; i++) {
        assert_false(ids.mask[i]);
    }
    assert_int_equal(lm_chat_encode(&c, NULL, 0, true, &ids, &err), KG_E_INPUT);
    assert_string_equal(err.message, "a conversation without messages");
    kg_buf_deinit(&text);
    lm_ids_deinit(&ids);
}

static void an_unknown_template_is_refused(void **state)
{
    struct kg_err err = KG_ERR_INIT;
    enum lm_chat_kind kind;
    assert_int_equal(lm_chat_detect(*state, &kind, &err), KG_E_NOT_FOUND);
    put_file(in_folder(state, "chat_template.jinja"), "{{ messages }}", 14);
    assert_int_equal(lm_chat_detect(*state, &kind, &err), KG_E_INPUT);
    assert_non_null(strstr(err.message, "chat_template.jinja: the chat template is not one"));
    assert_int_equal(lm_chat_kind_parse("llama", &kind, &err), KG_E_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conversations_are_those_of_the_templates),
        cmocka_unit_test_setup_teardown(templates_render_the_same, new_folder, drop_folder),
        cmocka_unit_test(end_of_turn_is_trained_and_prompts_are_not),
        cmocka_unit_test(a_turn_begins_with_its_prompt),
        cmocka_unit_test(a_next_turn_is_appended),
        cmocka_unit_test_setup_teardown(an_unknown_template_is_refused, new_folder, drop_folder),
    };
    return cmocka_run_group_tests(tests, open_golden, close_golden);
}

/* Reading of conversations for SFT: both forms, which trajectories and replies are selected, what
 * is refused; ids and masks; the split by problem. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lm_files.h"
#include "rl/data/encode.h"
#include "rl/data/pack.h"
#include "rl/run/source.h"

static struct kg_err err = KG_ERR_INIT;
#define ok(call)                                                                                   \
    do {                                                                                           \
        if ((call) != KG_OK) {                                                                     \
            fail_msg("%s", err.message);                                                           \
        }                                                                                          \
    } while (0)

static enum kg_code line(struct rl_data *d, const char *text)
{
    return rl_data_line(d, text, strlen(text), "f:1", &err);
}

static void refused(const char *text, const char *says)
{
    struct rl_data d;
    rl_data_init(&d, RL_DATA_ALL);
    ok(line(&d, "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},"
                "{\"role\":\"assistant\",\"content\":\"b\"}]}"));
    if (line(&d, text) == KG_OK || strstr(err.message, says) == NULL) {
        fail_msg("`%s` for %s", err.message, text);
    }
    assert_int_equal(err.code, KG_E_INPUT);
    assert_ptr_equal(strstr(err.message, "f:1"), err.message);
    assert_int_equal(d.n, 1); /* as before */
    assert_int_equal(d.n_messages, 2);
    assert_int_equal(d.text.len, 2);
    rl_data_deinit(&d);
}

#define HASH "0123456789abcdef0000000000000000000000000000000000000000000000"

/* verdict, finish, speed-up, feedback of a turn. */
static void add_turn(struct kg_buf *b, int i, const char *verdict, const char *finish,
                     const char *speedup, bool last)
{
    kg_buf_addf(b,
                "%s{\"turn\":%d,\"reply\":\"reply%d\",\"finish\":\"%s\",\"verdict\":\"%s\","
                "\"reason\":\"\",\"speedup\":%s,\"feedback\":%s,\"extra\":{}}",
                i > 0 ? "," : "", i + 1, i + 1, finish, verdict, speedup, last ? "null" : "\"fb\"");
}

struct turns {
    const char *verdict, *finish, *speedup;
};

static void trajectory(struct kg_buf *b, const struct turns *t, int n, const char *end)
{
    kg_buf_adds(b, "{\"schema\":\"kgym.trajectory/1\",\"id\":\"x\",\"problem\":{\"name\":\"p\","
                   "\"hash\":\"" HASH "01\",\"level\":1},\"system\":null,\"prompt\":\"do\","
                   "\"turns\":[");
    for (int i = 0; i < n; i++) {
        add_turn(b, i, t[i].verdict, t[i].finish, t[i].speedup, i + 1 == n);
    }
    kg_buf_addf(b, "],\"end\":\"%s\",\"extra\":{}}", end);
}

/* Which replies train, as "101"; "" if the trajectory is left out. */
static const char *selected(enum rl_data_turns turns, const struct turns *t, int n, const char *end)
{
    static char out[16];
    struct rl_data d;
    struct kg_buf b;
    kg_buf_init(&b, 1 << 20);
    trajectory(&b, t, n, end);
    rl_data_init(&d, turns);
    ok(line(&d, b.data));
    size_t k = 0;
    for (size_t i = 0; i < d.n_messages; i++) {
        if (d.message[i].role == LM_CHAT_ASSISTANT) {
            out[k++] = d.message[i].trained ? '1' : '0';
        }
    }
    out[k] = '\0';
    assert_int_equal(d.n, k > 0);
    assert_int_equal(d.counts.trajectories, 1);
    assert_int_equal(d.counts.unsolved + d.counts.defective, k == 0);
    if (d.n > 0) {
        assert_true(d.conversation[0].problem == 0x0123456789abcdefu);
        assert_int_equal(d.message[0].role, LM_CHAT_USER);
    }
    rl_data_deinit(&d);
    kg_buf_deinit(&b);
    return out;
}

/* 7.4 of the method. */
static void selection_of_turns(void **state)
{
    (void)state;
    const struct turns mixed[] = {{"wrong", "stop", "null"},
                                  {"ok", "stop", "1.5"},
                                  {"ok", "stop", "1.2"},
                                  {"ok", "stop", "1.6"},
                                  {"hack", "stop", "null"}};
    assert_string_equal(selected(RL_DATA_ALL, mixed, 5, "done"), "11111");
    assert_string_equal(selected(RL_DATA_IMPROVING, mixed, 5, "done"), "0101");
    assert_string_equal(selected(RL_DATA_ALL, mixed, 1, "done"), ""); /* no turn is correct */
    assert_string_equal(selected(RL_DATA_ALL, mixed, 3, "defect"), "");
    const struct turns lost[] = {{"ok", "stop", "null"}, {"", "stop", "null"}};
    assert_string_equal(selected(RL_DATA_ALL, lost, 2, "infra"), "1"); /* no verdict, no lesson */
    const struct turns none[] = {{"", "stop", "null"}};
    assert_string_equal(selected(RL_DATA_ALL, none, 1, "infra"), "");
    assert_string_equal(selected(RL_DATA_ALL, none, 1, "defect"), "");
    const struct turns cut[] = {{"wrong", "length", "null"}, {"ok", "stop", "2"}};
    assert_string_equal(selected(RL_DATA_ALL, cut, 2, "done"), "01"); /* it has no end */
}

/* The gym judged none of its turns, so no record says what the problem's hash is. */
static void a_lost_trajectory_ends_no_reading(void **state)
{
    static const char *const verdicts[] = {"", "wrong"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        const struct turns t[] = {{"", "stop", "null"}, {verdicts[i], "stop", "null"}};
        struct rl_data d;
        struct kg_buf b;
        kg_buf_init(&b, 1 << 20);
        trajectory(&b, t, 2, "infra");
        char *hash = strstr(b.data, HASH);
        memmove(hash, hash + 64, strlen(hash + 64) + 1); /* as the service writes it then */
        rl_data_init(&d, RL_DATA_ALL);
        assert_int_equal(line(&d, b.data), i == 0 ? KG_OK : KG_E_INPUT);
        assert_int_equal(d.n, 0);
        assert_int_equal(d.counts.unsolved, i == 0);
        rl_data_deinit(&d);
        kg_buf_deinit(&b);
    }
}

static void chats_are_read(void **state)
{
    (void)state;
    struct rl_data d;
    rl_data_init(&d, RL_DATA_ALL);
    ok(line(&d, "  \r\n"));
    ok(line(&d, "{\"messages\":[{\"role\":\"system\",\"content\":\"s\"},{\"role\":\"user\","
                "\"content\":\"a\"},{\"role\":\"assistant\",\"content\":\"no\",\"weight\":0},"
                "{\"role\":\"user\",\"content\":\"b\"},{\"role\":\"assistant\",\"content\":\"c\"},"
                "{\"role\":\"user\",\"content\":\"lost\"}]}"));
    assert_int_equal(d.n, 1);
    assert_int_equal(d.conversation[0].n, 5);
    assert_int_equal(d.message[0].role, LM_CHAT_SYSTEM);
    assert_false(d.message[2].trained);
    assert_true(d.message[4].trained);
    assert_int_equal(d.text.len, strlen("sanobc"));
    assert_true(d.conversation[0].problem == rl_data_key_of("a", 1));
    assert_int_equal(d.counts.replies, 2);
    assert_int_equal(d.counts.untrained, 1);
    rl_data_deinit(&d);
}

static void bad_lines_are_refused(void **state)
{
    (void)state;
    struct kg_buf b;
    refused("{", "f:1");
    refused("[]", "neither");
    refused("{\"schema\":\"kgym.trajectory/2\"}", "kgym.trajectory/2");
    refused("{\"messages\":{}}", "no array");
    refused("{\"messages\":[]}", "no message of an assistant");
    refused("{\"messages\":[1]}", "message 1: not an object");
    refused("{\"messages\":[{\"role\":\"tool\",\"content\":\"\"}]}", "no role `tool`");
    refused("{\"messages\":[{\"role\":\"user\"}]}", "`content` is missing");
    refused("{\"messages\":[{\"role\":\"user\",\"content\":[]}]}", "no text");
    refused("{\"messages\":[{\"role\":\"assistant\",\"content\":\"\"}]}", "out of order");
    refused("{\"messages\":[{\"role\":\"user\",\"content\":\"\"},{\"role\":\"user\","
            "\"content\":\"\"}]}",
            "message 2: out of order");
    refused("{\"messages\":[{\"role\":\"user\",\"content\":\"\"},{\"role\":\"assistant\","
            "\"content\":\"\",\"weight\":0.5}]}",
            "weight");
    refused("{\"messages\":[{\"role\":\"user\",\"content\":\"\"},{\"role\":\"assistant\","
            "\"content\":\"\",\"weight\":0}]}",
            "no message of an assistant");
    refused("{\"problem\":{\"hash\":\"zz\"},\"messages\":[{\"role\":\"user\",\"content\":\"\"},"
            "{\"role\":\"assistant\",\"content\":\"\"}]}",
            "hexadecimal");
    static const char *const tools[] = {"\"tool_calls\":[{\"id\":\"1\"}]", "\"function_call\":{}",
                                        "\"reasoning_content\":1"};
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++) {
        char text[300], says[80];
        snprintf(text, sizeof text,
                 "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\","
                 "\"content\":\"b\",%s}]}",
                 tools[i]);
        snprintf(says, sizeof says, "message 2: `%.*s`", (int)strcspn(tools[i] + 1, "\""),
                 tools[i] + 1);
        refused(text, says);
    }
    refused("{\"tools\":[{}],\"messages\":[{\"role\":\"user\",\"content\":\"\"},"
            "{\"role\":\"assistant\",\"content\":\"\"}]}",
            "f:1: `tools`: tools are not rendered");
    refused("{\"messages\":[{\"role\":\"user\",\"content\":\"\",\"reasoning_content\":\"a\"}]}",
            "message 1: `reasoning_content` of another role");
    const struct turns t[] = {{"ok", "stop", "\"fast\""}};
    kg_buf_init(&b, 1 << 20);
    trajectory(&b, t, 1, "done");
    refused(b.data, "turn 1: `speedup`");
    static const char *const members[] = {"\"prompt\"", "\"hash\"",   "\"system\"",  "\"end\"",
                                          "\"reply\"",  "\"finish\"", "\"feedback\""};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        const struct turns good[] = {{"ok", "stop", "1"}};
        kg_buf_reset(&b);
        trajectory(&b, good, 1, "done");
        strstr(b.data, members[i])[1] = '_'; /* now it has another name */
        refused(b.data, "is missing");
    }
    kg_buf_deinit(&b);
}

static void files_are_read(void **state)
{
    struct rl_data d;
    const char *path = in_folder(state, "a.jsonl");
    static const char text[] = "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},"
                               "{\"role\":\"assistant\",\"content\":\"b\"}]}\n\n{\"messages\":1}";
    put_file(path, text, sizeof text - 1);
    rl_data_init(&d, RL_DATA_ALL);
    assert_int_equal(rl_data_file(&d, path, &err), KG_E_INPUT);
    assert_non_null(strstr(err.message, "a.jsonl:3"));
    put_file(path, "\n\n", 2);
    assert_int_equal(rl_data_file(&d, path, &err), KG_E_INPUT);
    assert_int_equal(rl_data_file(&d, in_folder(state, "none"), &err), KG_E_NOT_FOUND);
    rl_data_deinit(&d);
}

/* --- ids and masks --- */

static void open_talker(struct rl_talker *t, const char *template)
{
    const struct rl_source s = {.model = "",
                                .adapter = "",
                                .tokenizer = golden("tok/tokenizer.json"),
                                .template = template};
    ok(rl_source_talker(&s, NULL, 24, t, &err));
}

static const char talk[] =
    "{\"messages\":[{\"role\":\"user\",\"content\":\"write it\"},{\"role\":\"assistant\","
    "\"content\":\"void f(void) { assistant user }\"},{\"role\":\"user\",\"content\":\"wrong "
    "<|im_end|>\"},{\"role\":\"assistant\",\"content\":\"void g(void);\"}]}";

/* One renderer (D-36): the ids are those of the template, and the mask is the one of the replies
 * and their ends alone (D-35). */
static void d_35_d_36_ids_are_those_of_the_template(void **state)
{
    (void)state;
    static const char *const templates[] = {"qwen2.5", "qwen2.5-base", "qwen3-instruct"};
    struct rl_data d;
    rl_data_init(&d, RL_DATA_ALL);
    ok(line(&d, talk));
    for (int k = 0; k < 3; k++) {
        struct rl_talker t;
        struct rl_corpus c;
        struct rl_encode_counts counts;
        struct lm_chat_message m[4];
        struct lm_ids ids;
        const struct rl_encode_options o = {.max_tokens = 4096};
        open_talker(&t, templates[k]);
        ok(rl_encode(&d, &t, &o, &c, &counts, &err));
        for (size_t i = 0; i < 4; i++) {
            m[i] = (struct lm_chat_message){.role = d.message[i].role,
                                            .content = d.text.data + d.message[i].at,
                                            .len = d.message[i].len};
        }
        lm_ids_init(&ids);
        ok(lm_chat_encode(&t.chat, m, 4, false, &ids, &err));
        assert_int_equal(c.ids.n, ids.n - 1); /* without the line end behind the last turn */
        assert_memory_equal(c.ids.id, ids.id, c.ids.n * sizeof *ids.id);
        assert_memory_equal(c.ids.mask, ids.mask, c.ids.n);
        assert_int_equal(c.ids.id[c.ids.n - 1], t.end);
        assert_int_equal(c.ids.mask[c.ids.n - 1], 1);
        assert_int_not_equal(t.end, t.chat.pad_id);
        assert_int_equal(c.doc[0].turns, 2);
        lm_ids_deinit(&ids);
        rl_corpus_destroy(&c);
        rl_talker_close(&t);
    }
    rl_data_deinit(&d);
}

/* A thought that stands apart is rendered as the thinking templates do it; others refuse it. */
static void thoughts_are_rendered_or_refused(void **state)
{
    static const struct {
        const char *template;
        bool thinking, room;
    } kinds[] = {{"qwen3", true, true},           {"qwen3", false, false},
                 {"qwen3-thinking", false, true}, {"qwen2.5", true, false},
                 {"qwen3-instruct", true, false}, {"qwen2.5-base", true, false}};
    const struct rl_encode_options o = {.max_tokens = 4096};
    struct rl_data d;
    (void)state;
    rl_data_init(&d, RL_DATA_ALL);
    ok(line(&d, "{\"tools\":[],\"messages\":[{\"role\":\"user\",\"content\":\"do\"},"
                "{\"role\":\"assistant\",\"content\":\"it\",\"tool_calls\":null,"
                "\"reasoning_content\":\"\"}]}"));
    assert_string_equal(d.thought, "");
    ok(line(&d, "{\"messages\":[{\"role\":\"user\",\"content\":\"do\"},{\"role\":\"assistant\","
                "\"content\":\"\\n\\nit\",\"reasoning_content\":\"\\nso is it\\n\"}]}"));
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        const struct rl_source s = {.model = "",
                                    .adapter = "",
                                    .tokenizer = golden("tok/tokenizer.json"),
                                    .template = kinds[k].template,
                                    .thinking = kinds[k].thinking};
        const struct lm_chat_message m[] = {{.role = LM_CHAT_USER, .content = "do", .len = 2},
                                            {.role = LM_CHAT_ASSISTANT,
                                             .content = "\n\nit",
                                             .len = 4,
                                             .reasoning = "\nso is it\n",
                                             .reasoning_len = 10}};
        struct rl_talker t;
        struct rl_corpus c;
        struct rl_encode_counts counts;
        struct lm_ids ids;
        ok(rl_source_talker(&s, NULL, 24, &t, &err));
        enum kg_code code = rl_encode(&d, &t, &o, &c, &counts, &err);
        assert_int_equal(code, kinds[k].room ? KG_OK : KG_E_INPUT);
        if (kinds[k].room) {
            const struct rl_document *last = &c.doc[1];
            lm_ids_init(&ids);
            ok(lm_chat_encode(&t.chat, m, 2, false, &ids, &err));
            assert_int_equal(last->n, ids.n - 1); /* without the line end behind it */
            assert_memory_equal(c.ids.id + last->first, ids.id, last->n * sizeof *ids.id);
            assert_memory_equal(c.ids.mask + last->first, ids.mask, last->n);
            lm_ids_deinit(&ids);
            rl_corpus_destroy(&c);
        } else {
            assert_ptr_equal(
                strstr(err.message, "f:1: message 2: `reasoning_content`: the template "),
                err.message);
        }
        rl_talker_close(&t);
    }
    rl_data_deinit(&d);
}

/* Tools write ids of any size; they are read over. */
static void large_numbers_are_read_over(void **state)
{
    struct rl_data d;
    (void)state;
    rl_data_init(&d, RL_DATA_ALL);
    ok(line(&d, "{\"id\":18446744073709551615,\"messages\":[{\"role\":\"user\",\"content\":\"a\"},"
                "{\"role\":\"assistant\",\"content\":\"b\",\"weight\":1}]}"));
    assert_int_equal(d.n, 1);
    rl_data_deinit(&d);
}

/* Failing turns are context: their ids stay and their mask is 0. */
static void context_does_not_train(void **state)
{
    (void)state;
    const struct turns t[] = {{"wrong", "stop", "null"}, {"ok", "stop", "2"}};
    struct rl_corpus c[2];
    struct rl_talker talker;
    struct kg_buf b;
    kg_buf_init(&b, 1 << 20);
    trajectory(&b, t, 2, "done");
    open_talker(&talker, "qwen3-instruct");
    for (int k = 0; k < 2; k++) {
        struct rl_data d;
        struct rl_encode_counts counts;
        const struct rl_encode_options o = {.max_tokens = 4096};
        rl_data_init(&d, k == 0 ? RL_DATA_ALL : RL_DATA_IMPROVING);
        ok(line(&d, b.data));
        ok(rl_encode(&d, &talker, &o, &c[k], &counts, &err));
        rl_data_deinit(&d);
    }
    assert_int_equal(c[0].ids.n, c[1].ids.n);
    assert_memory_equal(c[0].ids.id, c[1].ids.id, c[0].ids.n * sizeof *c[0].ids.id);
    size_t runs[2] = {0, 0};
    for (size_t i = 1; i < c[0].ids.n; i++) {
        for (int k = 0; k < 2; k++) {
            runs[k] += c[k].ids.mask[i] && !c[k].ids.mask[i - 1];
        }
        assert_true(c[0].ids.mask[i] >= c[1].ids.mask[i]);
    }
    assert_int_equal(runs[0], 2);
    assert_int_equal(runs[1], 1);
    for (int k = 0; k < 2; k++) {
        rl_corpus_destroy(&c[k]);
    }
    rl_talker_close(&talker);
    kg_buf_deinit(&b);
}

static void long_ones_are_dropped_or_cut(void **state)
{
    (void)state;
    struct rl_data d;
    struct rl_talker t;
    struct rl_corpus c, whole;
    struct rl_encode_counts n;
    struct rl_encode_options o = {.max_tokens = 4096};
    rl_data_init(&d, RL_DATA_ALL);
    open_talker(&t, "qwen3-instruct");
    ok(line(&d, talk));
    ok(rl_encode(&d, &t, &o, &whole, &n, &err));
    assert_int_equal(n.cut + n.left_out, 0);
    o.max_tokens = (int)whole.ids.n;
    ok(rl_encode(&d, &t, &o, &c, &n, &err));
    assert_int_equal(c.ids.n, whole.ids.n);
    rl_corpus_destroy(&c);
    o.max_tokens--;
    assert_int_equal(rl_encode(&d, &t, &o, &c, &n, &err), KG_E_INPUT);
    assert_int_equal(n.left_out, 1);
    o.cut = true;
    ok(rl_encode(&d, &t, &o, &c, &n, &err));
    assert_int_equal(n.cut, 1);
    assert_int_equal(c.doc[0].turns, 1);
    assert_int_equal(c.ids.id[c.ids.n - 1], t.end); /* a whole reply */
    assert_int_equal(c.ids.mask[c.ids.n - 1], 1);
    assert_memory_equal(c.ids.id, whole.ids.id, c.ids.n * sizeof *c.ids.id);
    rl_corpus_destroy(&c);
    rl_corpus_destroy(&whole);
    rl_talker_close(&t);
    rl_data_deinit(&d);
}

/* EX-7.5: labels are ids one place on, and so is their mask. */
static void d_25_ex_7_5(void **state)
{
    (void)state;
    enum { S = 100, USR, E, N, A, A1, A2, B1 };
    static const int32_t ids[17] = {S, USR, E, N, A, A1, A2, E, N, S, USR, E, N, A, B1, E, N};
    static const uint8_t mask[17] = {0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0};
    static const int rows[] = {4, 5, 6, 13, 14};
    int32_t target[16];
    assert_int_equal(rl_pack_targets(ids, mask, 17, target), 5);
    for (int i = 0, k = 0; i < 16; i++) {
        bool trains = k < 5 && rows[k] == i;
        assert_int_equal(target[i], trains ? ids[i + 1] : -1);
        k += trains;
    }
}

/* Stop ids are control tokens: the words of code do not end a reply. */
static void d_16_stops_are_control_tokens(void **state)
{
    (void)state;
    struct rl_talker t;
    int32_t stop[RL_STOPS];
    struct lm_ids ids;
    static const char code[] = "user assistant <|im_end|> <|im_start|> system endoftext\n";
    open_talker(&t, "qwen2.5");
    int n = rl_source_stops(&t, stop);
    assert_int_equal(n, 3);
    lm_ids_init(&ids);
    ok(lm_bpe_encode(t.bpe, code, strlen(code), LM_BPE_TEXT, &ids, &err));
    for (int i = 0; i < n; i++) {
        assert_true(lm_bpe_is_special(t.bpe, stop[i]));
        for (size_t k = 0; k < ids.n; k++) {
            assert_int_not_equal(ids.id[k], stop[i]);
        }
    }
    lm_ids_deinit(&ids);
    rl_talker_close(&t);
}

/* --- the split --- */

static void make_documents(struct rl_corpus *c, size_t problems, size_t each)
{
    *c = (struct rl_corpus){.n = problems * each};
    c->doc = calloc(c->n, sizeof *c->doc);
    assert_non_null(c->doc);
    for (size_t i = 0; i < c->n; i++) {
        char name[32];
        snprintf(name, sizeof name, "problem %zu", i % problems);
        c->doc[i].problem = rl_data_key_of(name, strlen(name));
        c->doc[i].first = i;
    }
}

static void d_25_validation_has_other_problems(void **state)
{
    (void)state;
    struct rl_corpus all;
    size_t kept, both;
    make_documents(&all, 400, 3);
    ok(rl_corpus_hold_out(&all, 7, .2, &kept, &err));
    assert_in_range(kept, 3 * 280, 3 * 360);
    struct rl_corpus train = all, valid = all;
    train.n = kept;
    valid.doc += kept;
    valid.n -= kept;
    ok(rl_corpus_overlap(&train, &valid, &both, &err));
    assert_int_equal(both, 0);
    assert_int_equal(train.n % 3 + valid.n % 3, 0); /* problems stay whole */
    for (size_t i = 1; i < train.n; i++) {
        assert_true(train.doc[i].first > train.doc[i - 1].first);
    }
    train.n += 1; /* a document of a problem that is held out */
    ok(rl_corpus_overlap(&train, &valid, &both, &err));
    assert_int_equal(both, 3);
    ok(rl_corpus_hold_out(&all, 7, 0, &kept, &err));
    assert_int_equal(kept, all.n);
    free(all.doc);
}

static void tokenizer_of_the_data(void **state)
{
    (void)state;
    struct rl_data d;
    struct rl_talker t;
    struct rl_corpus c;
    struct rl_encode_counts n;
    struct kg_buf text;
    const struct rl_encode_options o = {.max_tokens = 4096};
    rl_data_init(&d, RL_DATA_ALL);
    for (int i = 0; i < 4; i++) {
        ok(line(&d, talk));
    }
    ok(rl_encode_tokenizer(&d, 40, 24, &t, &err));
    assert_true(t.vocab > 256 + 26 && t.vocab <= 256 + 40 + 26);
    ok(rl_encode(&d, &t, &o, &c, &n, &err));
    kg_buf_init(&text, 1 << 16);
    lm_bpe_decode(t.bpe, c.ids.id, c.doc[0].n, true, &text);
    assert_non_null(strstr(text.data, "void f(void) { assistant user }"));
    assert_non_null(strstr(text.data, "wrong <|im_end|>")); /* a text, no end */
    kg_buf_deinit(&text);
    rl_corpus_destroy(&c);
    rl_talker_close(&t);
    rl_data_deinit(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(selection_of_turns),
        cmocka_unit_test(a_lost_trajectory_ends_no_reading),
        cmocka_unit_test(chats_are_read),
        cmocka_unit_test(bad_lines_are_refused),
        cmocka_unit_test_setup_teardown(files_are_read, new_folder, drop_folder),
        cmocka_unit_test(d_35_d_36_ids_are_those_of_the_template),
        cmocka_unit_test(thoughts_are_rendered_or_refused),
        cmocka_unit_test(large_numbers_are_read_over),
        cmocka_unit_test(context_does_not_train),
        cmocka_unit_test(long_ones_are_dropped_or_cut),
        cmocka_unit_test(d_25_ex_7_5),
        cmocka_unit_test(d_16_stops_are_control_tokens),
        cmocka_unit_test(d_25_validation_has_other_problems),
        cmocka_unit_test(tokenizer_of_the_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

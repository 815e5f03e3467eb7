/* Opening and writing of model folders. */
#include "rl/run/source.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json_foreign.h"
#include "lm/io/hfconfig.h"

#define MAX_SMALL (16u << 20) /* bytes of a template or a configuration */

enum kg_code rl_source_config(const struct rl_source *s, struct lm_config *out, struct kg_err *err)
{
    char path[PATH_MAX];
    if (lm_checkpoint_check(s->model, err) != KG_OK) {
        return err->code;
    }
    snprintf(path, sizeof path, "%.4000s/adapter_config.json", s->model);
    if (kg_file_exists(path)) {
        snprintf(path, sizeof path, "%.4000s/config.json", s->model);
        if (!kg_file_exists(path)) {
            return kg_fail(err, KG_E_INPUT,
                           "%s: holds an adapter, not a model; name the folder of its base as the "
                           "model, and this one as the adapter",
                           s->model);
        }
    }
    return lm_hfconfig_read(s->model, out, err);
}

/* --- tokenizer and template --- */

/* Where the tokenizer lies: its folder, and the file. */
static void tokenizer_paths(const struct rl_source *s, char folder[PATH_MAX], char file[PATH_MAX])
{
    const char *given = s->tokenizer[0] != '\0' ? s->tokenizer : s->model;
    size_t n = strlen(given);
    snprintf(folder, PATH_MAX, "%s", given);
    if (n > 5 && strcmp(given + n - 5, ".json") == 0) {
        char *slash = strrchr(folder, '/');
        snprintf(file, PATH_MAX, "%s", given);
        if (slash != NULL) {
            *slash = '\0';
        } else {
            snprintf(folder, PATH_MAX, ".");
        }
        return;
    }
    snprintf(file, PATH_MAX, "%.4000s/tokenizer.json", given);
}

static enum kg_code kind_of(const struct rl_source *s, const char *folder, enum lm_chat_kind *out,
                            struct kg_err *err)
{
    if (strcmp(s->template, "auto") != 0) {
        return lm_chat_kind_parse(s->template, out, err);
    }
    if (lm_chat_detect(folder, out, err) == KG_OK) {
        return KG_OK;
    }
    struct kg_err why = *err;
    return kg_fail(err, why.code,
                   "no chat template that is known (%.300s); name one: `template` is qwen2.5, "
                   "qwen2.5-base, qwen3, qwen3-instruct or qwen3-thinking",
                   why.message);
}

enum kg_code rl_source_talker(const struct rl_source *s, const struct lm_config *c, int feedback,
                              struct rl_talker *out, struct kg_err *err)
{
    char folder[PATH_MAX], file[PATH_MAX];
    enum lm_chat_kind kind = LM_CHAT_QWEN25;
    *out = (struct rl_talker){.feedback = feedback};
    tokenizer_paths(s, folder, file);
    if (kind_of(s, folder, &kind, err) != KG_OK || lm_bpe_open(file, &out->bpe, err) != KG_OK) {
        return err->code;
    }
    enum kg_code code = lm_chat_init(&out->chat, kind, out->bpe, err);
    out->chat.thinking = s->thinking;
    out->vocab = lm_bpe_size(out->bpe);
    out->end = out->chat.end_id;
    if (code == KG_OK && c != NULL && out->vocab > c->vocab) {
        code = kg_fail(err, KG_E_INPUT, "%s: has %d ids, the model's vocabulary %d", file,
                       out->vocab, c->vocab);
    }
    if (code != KG_OK) {
        rl_talker_close(out);
    }
    return code;
}

enum kg_code rl_source_model(const struct rl_source *s, struct lm_model **out, struct kg_err *err)
{
    *out = NULL;
    enum kg_code code = lm_checkpoint_open(s->model, out, err);
    if (code == KG_OK && s->adapter[0] != '\0') {
        code = lm_checkpoint_open_adapter(s->adapter, *out, err);
    }
    if (code != KG_OK) {
        lm_model_destroy(*out);
        *out = NULL;
    }
    return code;
}

int rl_source_stops(const struct rl_talker *t, int32_t out[RL_STOPS])
{
    out[0] = t->end;
    out[1] = t->chat.pad_id;
    out[2] = t->chat.start_id;
    return RL_STOPS;
}

/* --- writing --- */

enum { TEMPLATE, CONFIG, GENERATION, EXTRAS };
static const char *const extra_names[EXTRAS] = {"chat_template.jinja", "tokenizer_config.json",
                                                "generation_config.json"};
#define END_TOKEN "<|im_end|>" /* of all kinds of templates */

static void add_json(json_t *j, struct kg_buf *out)
{
    kg_json_dump_pretty(j, out);
    kg_buf_addc(out, '\n');
    json_decref(j);
}

/* What a folder without this file gets. */
static void make_extra(const struct rl_talker *t, int which, struct kg_buf *out)
{
    if (which == TEMPLATE) {
        kg_buf_adds(out, lm_chat_template(t->chat.kind));
    } else if (which == CONFIG) {
        add_json(json_pack("{s:s,s:s,s:s,s:b,s:[s,s]}", "tokenizer_class",
                           "PreTrainedTokenizerFast", "eos_token", END_TOKEN, "pad_token",
                           "<|endoftext|>", "clean_up_tokenization_spaces", 0, "model_input_names",
                           "input_ids", "attention_mask"),
                 out);
    } else {
        add_json(json_pack("{s:b,s:[i,i],s:i}", "do_sample", 1, "eos_token_id", (int)t->end,
                           (int)t->chat.pad_id, "pad_token_id", (int)t->chat.pad_id),
                 out);
    }
}

/* Replies must end where training ended them. Each of the next two returns whether it changed j. */
static bool end_generation(const struct rl_talker *t, json_t *j)
{
    json_t *ids = json_object_get(j, "eos_token_id"), *all = json_array();
    bool there = false;
    json_array_append_new(all, json_integer(t->end));
    for (size_t i = 0; i < (json_is_array(ids) ? json_array_size(ids) : ids != NULL); i++) {
        json_t *id = json_is_array(ids) ? json_array_get(ids, i) : ids;
        there = there || (json_is_integer(id) && json_integer_value(id) == t->end);
        if (json_is_integer(id)) {
            json_array_append(all, id);
        }
    }
    if (there) {
        json_decref(all);
        return false;
    }
    json_object_set_new(j, "eos_token_id", all);
    return true;
}

/* own: the folder gets a template of ours, so none stands here. */
static bool end_tokenizer(json_t *j, bool own)
{
    const json_t *token = json_object_get(j, "eos_token");
    const json_t *text = json_is_object(token) ? json_object_get(token, "content") : token;
    bool changed = own && json_object_del(j, "chat_template") == 0;
    if (!json_is_string(text) || strcmp(json_string_value(text), END_TOKEN) != 0) {
        json_object_set_new(j, "eos_token", json_string(END_TOKEN));
        changed = true;
    }
    return changed;
}

/* A copy that needs no change keeps its bytes, and so does one that is no object of JSON: others
 * cannot read that either. */
static void mend_extra(const struct rl_talker *t, int which, bool own, struct kg_buf *text)
{
    struct kg_err ignored = KG_ERR_INIT;
    json_t *j = NULL;
    if (kg_json_parse_foreign(text->data, text->len, extra_names[which], false, &j, &ignored) !=
            KG_OK ||
        !json_is_object(j)) {
        json_decref(j);
        return;
    }
    if (which == CONFIG ? end_tokenizer(j, own) : end_generation(t, j)) {
        kg_buf_reset(text);
        add_json(json_incref(j), text);
    }
    json_decref(j);
}

/* Copies it from a folder that has it. own: as above. */
static enum kg_code copy_extra(const struct rl_talker *t, const char *from, int which, bool own,
                               struct kg_buf *out, bool *found, struct kg_err *err)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%.4000s/%s", from, extra_names[which]);
    *found = kg_file_exists(path) && !(own && which == TEMPLATE);
    if (!*found) {
        return KG_OK;
    }
    enum kg_code code = kg_file_read(path, out, err);
    if (code == KG_OK && which != TEMPLATE) {
        mend_extra(t, which, own, out);
    }
    return code;
}

/* The template of the folder is copied if it is the one that was trained with. */
static bool needs_template(const struct rl_talker *t, const char *from)
{
    struct kg_err ignored = KG_ERR_INIT;
    enum lm_chat_kind kind;
    return from == NULL || lm_chat_detect(from, &kind, &ignored) != KG_OK || kind != t->chat.kind;
}

static enum kg_code fill_extras(const struct rl_talker *t, const char *from,
                                struct kg_buf text[EXTRAS], struct lm_checkpoint *o,
                                struct lm_checkpoint_file list[EXTRAS], struct kg_err *err)
{
    bool own = needs_template(t, from);
    for (int i = 0; i < EXTRAS; i++) {
        bool found = false;
        if (from != NULL && copy_extra(t, from, i, own, &text[i], &found, err) != KG_OK) {
            return err->code;
        }
        if (!found && (from == NULL || i == GENERATION || (i == TEMPLATE && own))) {
            make_extra(t, i, &text[i]);
            found = true;
        }
        if (!kg_buf_ok(&text[i])) {
            return kg_fail(err, KG_E_LIMIT, "%s: too large, or no memory for it", extra_names[i]);
        }
        if (found) {
            list[o->n_extra++] =
                (struct lm_checkpoint_file){extra_names[i], text[i].data, text[i].len};
        }
    }
    o->extra = list;
    return KG_OK;
}

enum kg_code rl_source_save(const char *dir, const struct lm_model *m, struct lm_trainer *t,
                            const struct rl_talker *talker, const char *from, const json_t *run,
                            struct kg_err *err)
{
    struct kg_buf text[EXTRAS];
    struct lm_checkpoint_file list[EXTRAS];
    struct lm_checkpoint o = {.tokenizer = lm_bpe_contents(talker->bpe),
                              .base = from,
                              .dtype = LM_F32,
                              .eos_id = talker->end,
                              .pad_id = talker->chat.pad_id,
                              .run = run};
    for (int i = 0; i < EXTRAS; i++) {
        kg_buf_init(&text[i], MAX_SMALL);
    }
    enum kg_code code = fill_extras(talker, from, text, &o, list, err);
    code = code != KG_OK ? code : lm_checkpoint_save(dir, m, t, &o, err);
    for (int i = 0; i < EXTRAS; i++) {
        kg_buf_deinit(&text[i]);
    }
    return code;
}

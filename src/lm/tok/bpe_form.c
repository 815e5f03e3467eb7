/* Each check asks for the one value with which encoding is what bpe.c does. */
#include "lm/tok/bpe_form.h"

#include <stdlib.h>
#include <string.h>

#include "lm/tok/presplit.h"

static bool is_type(const json_t *j, const char *type)
{
    const char *t = json_string_value(json_object_get(j, "type"));
    return t != NULL && strcmp(t, type) == 0;
}

static bool absent(const json_t *v)
{
    return v == NULL || json_is_null(v);
}

static enum kg_code refuse(struct kg_err *err, const char *source, const char *part,
                           const char *what)
{
    return kg_fail(err, KG_E_INPUT, "%s: %s %s", source, part, what);
}

static enum kg_code read_model(const json_t *m, const char *source, struct kg_err *err)
{
    static const char *const off[] = {"byte_fallback", "ignore_merges", "fuse_unk"};
    static const char *const empty[] = {"dropout", "unk_token", "continuing_subword_prefix",
                                        "end_of_word_suffix"};
    if (!json_is_object(m) || (json_object_get(m, "type") != NULL && !is_type(m, "BPE"))) {
        return refuse(err, source, "model.type", "is not BPE");
    }
    for (size_t i = 0; i < sizeof off / sizeof *off; i++) {
        const json_t *v = json_object_get(m, off[i]);
        if (!absent(v) && !json_is_false(v)) {
            return kg_fail(err, KG_E_INPUT, "%s: model.%s is not false: not supported", source,
                           off[i]);
        }
    }
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        const json_t *v = json_object_get(m, empty[i]);
        if (!absent(v) && json_string_length(v) + (size_t)!json_is_string(v) > 0) {
            return kg_fail(err, KG_E_INPUT, "%s: model.%s is set: not supported", source, empty[i]);
        }
    }
    return KG_OK;
}

static bool is_byte_level(const json_t *j, bool use_regex)
{
    const json_t *v = json_object_get(j, "use_regex");
    return is_type(j, "ByteLevel") && json_is_false(json_object_get(j, "add_prefix_space")) &&
           (v == NULL || json_is_true(v)) == use_regex;
}

/* Split by a regular expression into matches and what is between them. NULL: it is not that. */
static const char *split_pattern(const json_t *j)
{
    const char *behavior = json_string_value(json_object_get(j, "behavior"));
    const json_t *regex = json_object_get(json_object_get(j, "pattern"), "Regex");
    bool ok = is_type(j, "Split") && behavior != NULL && strcmp(behavior, "Isolated") == 0 &&
              json_is_false(json_object_get(j, "invert")) && json_is_string(regex) &&
              strlen(json_string_value(regex)) == json_string_length(regex);
    return ok ? json_string_value(regex) : NULL;
}

static enum kg_code read_split(const json_t *j, const char *source, char **pattern,
                               struct kg_err *err)
{
    const json_t *list = json_object_get(j, "pretokenizers");
    const char *text = NULL;
    bool ok = false;
    if (is_type(j, "Sequence") && json_array_size(list) == 2) {
        text = split_pattern(json_array_get(list, 0));
        ok = text != NULL && is_byte_level(json_array_get(list, 1), false);
    } else if (is_byte_level(j, true)) {
        text = lm_presplit_gpt2;
        ok = true;
    } else {
        ok = is_byte_level(j, false);
    }
    if (!ok) {
        return refuse(err, source, "pre_tokenizer",
                      "is neither ByteLevel without a prefix space nor Split (Regex, Isolated) and "
                      "then ByteLevel without its own regex");
    }
    *pattern = text == NULL ? NULL : strdup(text);
    return text == NULL || *pattern != NULL
               ? KG_OK
               : kg_fail_memory(err, KG_E_HOST, "%s: this machine is out of memory", source);
}

static bool is_nfc(const json_t *j)
{
    const json_t *list = json_object_get(j, "normalizers");
    return is_type(j, "NFC") || (is_type(j, "Sequence") && json_array_size(list) == 1 &&
                                 is_type(json_array_get(list, 0), "NFC"));
}

enum kg_code lm_bpe_form_read(const json_t *j, const char *source, bool *nfc, char **pattern,
                              struct kg_err *err)
{
    const json_t *normalizer = json_object_get(j, "normalizer");
    const json_t *after = json_object_get(j, "post_processor");
    const json_t *decoder = json_object_get(j, "decoder");
    enum kg_code code = read_model(json_object_get(j, "model"), source, err);
    if (code != KG_OK) {
        return code;
    }
    *nfc = !absent(normalizer);
    if (*nfc && !is_nfc(normalizer)) {
        return refuse(err, source, "normalizer", "is neither null nor NFC");
    }
    if (!absent(after) && !is_type(after, "ByteLevel")) {
        return refuse(err, source, "post_processor",
                      "is neither null nor ByteLevel: it could add tokens");
    }
    if (!is_type(decoder, "ByteLevel")) {
        return refuse(err, source, "decoder", "is not ByteLevel");
    }
    return read_split(json_object_get(j, "pre_tokenizer"), source, pattern, err);
}

static json_t *byte_level(bool use_regex)
{
    return json_pack("{s:s,s:b,s:b,s:b}", "type", "ByteLevel", "add_prefix_space", 0,
                     "trim_offsets", 0, "use_regex", (int)use_regex);
}

static json_t *make_split(const char *pattern)
{
    if (pattern == NULL) {
        return byte_level(false);
    }
    return json_pack("{s:s,s:[{s:s,s:{s:s},s:s,s:b},o]}", "type", "Sequence", "pretokenizers",
                     "type", "Split", "pattern", "Regex", pattern, "behavior", "Isolated", "invert",
                     0, byte_level(false));
}

json_t *lm_bpe_form_make(bool nfc, const char *pattern, json_t *added, json_t *vocab,
                         json_t *merges)
{
    json_t *model = json_pack("{s:s,s:n,s:n,s:s,s:s,s:b,s:b,s:b,s:o,s:o}", "type", "BPE", "dropout",
                              "unk_token", "continuing_subword_prefix", "", "end_of_word_suffix",
                              "", "fuse_unk", 0, "byte_fallback", 0, "ignore_merges", 0, "vocab",
                              vocab, "merges", merges);
    json_t *normalizer = nfc ? json_pack("{s:s}", "type", "NFC") : json_null();
    return json_pack("{s:s,s:n,s:n,s:o,s:o,s:o,s:o,s:o,s:o}", "version", "1.0", "truncation",
                     "padding", "added_tokens", added, "normalizer", normalizer, "pre_tokenizer",
                     make_split(pattern), "post_processor", byte_level(false), "decoder",
                     byte_level(false), "model", model);
}

/* What the texts of a configuration of `kgym sft` mean, and which of its keys exclude each other.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "lm/model/model.h"
#include "lm/model/names.h"
#include "rl/run/verify.h"
#include "rl/sft/sft_config.h"

/* "WORD N": N; -1: another text. */
static int count_after(const char *text, const char *word)
{
    size_t n = strlen(word);
    char *end = NULL;
    if (strncmp(text, word, n) != 0 || text[n] != ' ') {
        return -1;
    }
    long value = strtol(text + n + 1, &end, 10);
    return end != text + n + 1 && *end == '\0' && value >= 0 && value <= 10000000 ? (int)value : -1;
}

/* "self_attn.q_proj" is called q_proj. */
static const char *short_name(int part)
{
    const char *dot = strrchr(lm_part_names[part], '.');
    return dot != NULL ? dot + 1 : lm_part_names[part];
}

static enum kg_code parse_parts(const char *text, unsigned *out, struct kg_err *err)
{
    *out = strcmp(text, "all") == 0 ? (1u << LM_PARTS) - 1 : 0;
    for (const char *p = text; *out != (1u << LM_PARTS) - 1 && *p != '\0';) {
        size_t n = strcspn(p, ",");
        int part = 0;
        while (part < LM_PARTS &&
               (strlen(short_name(part)) != n || strncmp(p, short_name(part), n) != 0)) {
            part++;
        }
        if (part == LM_PARTS) {
            return kg_fail(err, KG_E_USAGE,
                           "lora.targets: no projection `%.*s`; all, or q_proj, k_proj, v_proj, "
                           "o_proj, gate_proj, up_proj, down_proj",
                           (int)(n < 40 ? n : 40), p);
        }
        *out |= 1u << part;
        p += n + (p[n] == ',');
    }
    return *out != 0 ? KG_OK : kg_fail(err, KG_E_USAGE, "lora.targets: no projection is named");
}

static enum kg_code check_data(const struct rl_sft_config *c, struct kg_err *err)
{
    bool files = c->data.n > 0, generated = c->run.documents > 0;
    if (files == generated) {
        return kg_fail(err, KG_E_USAGE,
                       files ? "data: files and a generated corpus (corpus.documents) at once"
                             : "data: no files; name some, or generate a corpus "
                               "(corpus.documents)");
    }
    return generated && c->valid.n > 0
               ? kg_fail(err, KG_E_USAGE,
                         "valid: files are for data of files; a generated corpus "
                         "has valid_share")
               : KG_OK;
}

static enum kg_code check_begin(const struct rl_sft_config *c, const struct rl_sft_plan *p,
                                struct kg_err *err)
{
    if (p->fresh && (c->adapter[0] != '\0' || c->lora_r > 0)) {
        return kg_fail(err, KG_E_USAGE, "%s: an adapter needs a base: name it with `from`",
                       c->lora_r > 0 ? "lora.r" : "adapter");
    }
    if (c->adapter[0] != '\0' && c->lora_r > 0) {
        return kg_fail(err, KG_E_USAGE, "lora.r: `adapter` is trained on, and has a rank already");
    }
    if (p->fresh && c->tokenizer[0] == '\0') {
        return kg_fail(
            err, KG_E_USAGE,
            "tokenizer: fresh weights need one: `train N`, a tokenizer.json or a folder");
    }
    if (!p->fresh && p->tokenizer) {
        return kg_fail(err, KG_E_USAGE,
                       "tokenizer: weights of `from` know the ids of their own tokenizer alone");
    }
    if (p->fresh && c->run.hidden % (2 * c->run.heads) != 0) {
        return kg_fail(err, KG_E_USAGE, "model.hidden: %lld is no multiple of twice model.heads",
                       (long long)c->run.hidden);
    }
    return KG_OK;
}

enum kg_code rl_sft_config_check(const struct rl_sft_config *c, struct rl_sft_plan *out,
                                 struct kg_err *err)
{
    *out = (struct rl_sft_plan){.generated = c->run.documents > 0,
                                .fresh = c->from[0] == '\0',
                                .adapter = c->adapter[0] != '\0' || c->lora_r > 0,
                                .merges = count_after(c->tokenizer, "train"),
                                .source = {.model = c->from,
                                           .adapter = c->adapter,
                                           .tokenizer = c->tokenizer,
                                           .template = c->template,
                                           .thinking = c->thinking}};
    out->tokenizer = out->merges >= 0;
    if (check_data(c, err) != KG_OK || check_begin(c, out, err) != KG_OK ||
        rl_verify_parse(c->verify, &out->verify, err) != KG_OK ||
        parse_parts(c->lora_targets, &out->parts, err) != KG_OK) {
        return err->code;
    }
    enum lm_chat_kind kind;
    return strcmp(c->template, "auto") == 0 ? KG_OK : lm_chat_kind_parse(c->template, &kind, err);
}

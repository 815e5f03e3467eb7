/* What a checkpoint of a run holds, and how a run takes it up again. */
#include "rl/run/run_save.h"

#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "lm/io/checkpoint.h"
#include "rl/run/loop.h"

#define STATE_BYTES ((size_t)256 << 20)

/* A part of the run that is plain data. */
struct part {
    const char *name;
    void *data;
    size_t size;
};
enum { PARTS = 10 };

static int list_parts(struct rl_run *run, struct rl_judge_counts *judge, struct part out[PARTS])
{
    static struct rl_counts none; /* before RL has made its step */
    const struct part parts[] = {
        {"place", &run->place, sizeof run->place},
        {"sft", &run->sft, sizeof run->sft},
        {"picker", &run->picker.state, sizeof run->picker.state},
        {"counts", run->step ? rl_step_counts(run->step) : &none, sizeof none},
        {"judge", judge, sizeof *judge},
        {"seconds", run->seconds, sizeof run->seconds},
        {"updates", &run->updates, sizeof run->updates},
        {"version", &run->version, sizeof run->version},
        {"skipped", &run->skipped, sizeof run->skipped},
        {"recheck", &run->recheck, sizeof run->recheck}, /* once RL has ended */
    };
    _Static_assert(sizeof parts / sizeof *parts == PARTS, "all parts");
    memcpy(out, parts, sizeof parts);
    return PARTS;
}

static json_t *to_hex(const struct part *p)
{
    static const char digit[] = "0123456789abcdef";
    struct kg_buf text;
    kg_buf_init(&text, 2 * p->size);
    for (size_t i = 0; i < p->size; i++) {
        unsigned char byte = ((const unsigned char *)p->data)[i];
        kg_buf_addc(&text, digit[byte >> 4]);
        kg_buf_addc(&text, digit[byte & 15]);
    }
    json_t *j = json_string(text.data);
    kg_buf_deinit(&text);
    return j;
}

static int nibble(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool from_hex(const json_t *j, const struct part *p)
{
    const char *s = json_string_value(j);
    if (s == NULL || strlen(s) != 2 * p->size) {
        return false;
    }
    for (size_t i = 0; i < p->size; i++) {
        int high = nibble(s[2 * i]), low = nibble(s[2 * i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        ((unsigned char *)p->data)[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}

static void moment(const struct rl_run *run, const char *where)
{
    if (run->o.moment != NULL) {
        run->o.moment(run->o.moment_user, where);
    }
}

/* --- writing --- */

static json_t *state_json(struct rl_run *run, json_t *lengths)
{
    struct part part[PARTS];
    struct rl_judge_counts judge = rl_judge_counts(run->judge);
    json_t *parts = json_object();
    struct kg_buf config;
    int n = list_parts(run, &judge, part);
    for (int i = 0; i < n; i++) {
        json_object_set_new(parts, part[i].name, to_hex(&part[i]));
    }
    kg_buf_init(&config, 1u << 20);
    rl_config_dump(run->config, &config);
    json_t *j = json_pack("{s:s,s:s,s:I,s:b,s:o,s:o,s:o}", "config", config.data, "phase",
                          rl_phase_name((enum rl_phase)run->place.phase), "step",
                          (json_int_t)run->place.step, "ended", (int)run->place.ended, "files",
                          lengths, "journal", rl_journal_save(run->own), "parts", parts);
    kg_buf_deinit(&config);
    KG_ASSERT(j != NULL);
    if (run->before.outcome != NULL) {
        json_object_set_new(j, "before", rl_evaluation_save(&run->before));
    }
    return j;
}

static enum kg_code write_to(const struct rl_run *run, const char *name, struct lm_trainer *trainer,
                             const json_t *state, struct kg_err *err)
{
    char dir[PATH_MAX];
    const struct lm_checkpoint o = {.tokenizer = lm_bpe_contents(run->talker.bpe),
                                    .base = "../" RL_SFT_FOLDER,
                                    .dtype = LM_F32,
                                    .eos_id = run->talker.end,
                                    .pad_id = run->talker.chat.pad_id,
                                    .run = state};
    snprintf(dir, sizeof dir, "%s/%s", run->files.folder, name);
    return lm_checkpoint_save(dir, run->model, trainer, &o, err);
}

enum kg_code rl_run_save(struct rl_run *run, struct kg_err *err)
{
    json_t *lengths;
    run->saved_ns = kg_clock_ns();
    if (run->files.folder[0] == '\0') {
        return KG_OK;
    }
    moment(run, "save");
    if (rl_files_sync(&run->files, &lengths, err) != KG_OK) {
        return err->code;
    }
    json_t *state = state_json(run, lengths);
    enum kg_code code = rl_journal_sync(run->own, err);
    code = code == KG_OK ? write_to(run, RL_CHECKPOINT, run->trainer, state, err) : code;
    json_decref(state);
    moment(run, "saved");
    return code;
}

enum kg_code rl_run_save_due(struct rl_run *run, uint32_t steps, struct kg_err *err)
{
    double past = (double)(kg_clock_ns() - run->saved_ns) * 1e-9;
    bool due = (steps > 0 && steps % run->config->checkpoint == 0) ||
               past >= run->config->checkpoint_seconds;
    const struct rl_sampler_options *sampler = &run->sampler.o;
    moment(run, "step");
    if (steps > 0 && sampler->kind == RL_SAMPLER_STALE && steps % sampler->every != 0) {
        return KG_OK; /* a sampler between two copies of the weights is not stored */
    }
    return due ? rl_run_save(run, err) : KG_OK;
}

enum kg_code rl_run_save_sft(const struct rl_run *run, struct kg_err *err)
{
    return run->files.folder[0] != '\0' ? write_to(run, RL_SFT_FOLDER, NULL, NULL, err) : KG_OK;
}

/* --- reading --- */

/* Keys that change no bit of what a run computes. */
static bool is_beside(const char *line)
{
    static const char *const keys[] = {"threads", "journal",   "checkpoint", "checkpoint_seconds",
                                       "service", "token_file"};
    size_t n = strcspn(line, ":\n");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (strlen(keys[i]) == n && memcmp(line, keys[i], n) == 0) {
            return true;
        }
    }
    return false;
}

/* The next line that counts; dumps have one "key: value" a line. */
static const char *skip_beside(const char *line)
{
    while (*line != '\0' && is_beside(line)) {
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return line;
}

bool rl_config_differs(const char *a, const char *b, char *key, size_t cap)
{
    for (;;) {
        a = skip_beside(a);
        b = skip_beside(b);
        size_t n = strcspn(a, "\n"), m = strcspn(b, "\n");
        if (n != m || memcmp(a, b, n) != 0) {
            const char *line = n > 0 ? a : b;
            snprintf(key, cap, "%.*s", (int)strcspn(line, ":\n"), line);
            return true;
        }
        if (*a == '\0' && *b == '\0') {
            return false;
        }
        a += n + (a[n] == '\n');
        b += m + (b[m] == '\n');
    }
}

void rl_config_hash(const struct rl_config *c, char out[KG_SHA256_HEX])
{
    struct kg_buf all, asked;
    kg_buf_init(&all, 1u << 20);
    kg_buf_init(&asked, 1u << 20);
    rl_config_dump(c, &all);
    for (const char *line = skip_beside(all.data); *line != '\0';) {
        size_t n = strcspn(line, "\n");
        kg_buf_add(&asked, line, n);
        kg_buf_addc(&asked, '\n');
        line = skip_beside(line + n + (line[n] == '\n'));
    }
    kg_sha256_hex(asked.data, asked.len, out);
    kg_buf_deinit(&all);
    kg_buf_deinit(&asked);
}

/* The `run` of a checkpoint's state.json; NULL: there is no checkpoint. */
static enum kg_code read_state(const char *folder, json_t **out, struct kg_err *err)
{
    char dir[PATH_MAX], path[PATH_MAX + 20];
    struct kg_buf text;
    json_t *j = NULL;
    *out = NULL;
    snprintf(dir, sizeof dir, "%s/" RL_CHECKPOINT, folder);
    if (lm_checkpoint_recover(dir, err) != KG_OK) {
        return err->code;
    }
    if (!kg_file_exists(dir)) {
        return KG_OK;
    }
    snprintf(path, sizeof path, "%s/state.json", dir);
    kg_buf_init(&text, STATE_BYTES);
    enum kg_code code = lm_checkpoint_check(dir, err);
    code = code == KG_OK ? kg_file_read(path, &text, err) : code;
    code = code == KG_OK ? kg_json_parse(text.data, text.len, path, &j, err) : code;
    kg_buf_deinit(&text);
    if (code == KG_OK && !json_is_object(json_object_get(j, "run"))) {
        code = kg_fail(err, KG_E_INPUT, "%s: not the checkpoint of a run: it has no `run`", path);
    }
    *out = code == KG_OK ? json_incref(json_object_get(j, "run")) : NULL;
    json_decref(j);
    return code;
}

static enum kg_code check_config(const struct rl_run *run, const char *other, const char *where,
                                 struct kg_err *err)
{
    char key[KG_OPT_KEY_MAX + 8];
    struct kg_buf text;
    kg_buf_init(&text, 1u << 20);
    rl_config_dump(run->config, &text);
    bool differs = rl_config_differs(text.data, other, key, sizeof key);
    kg_buf_deinit(&text);
    return differs ? kg_fail(err, KG_E_USAGE, "%s: %s is of another configuration: `%s` differs",
                             run->files.folder, where, key)
                   : KG_OK;
}

enum kg_code rl_run_load(struct rl_run *run, struct kg_err *err)
{
    char path[PATH_MAX];
    struct kg_buf text;
    snprintf(path, sizeof path, "%s/config.yaml", run->files.folder);
    kg_buf_init(&text, 1u << 20);
    enum kg_code code = kg_file_read(path, &text, err);
    code = code == KG_OK ? check_config(run, text.data, "config.yaml", err) : code;
    kg_buf_deinit(&text);
    code = code == KG_OK ? read_state(run->files.folder, &run->saved, err) : code;
    const char *config = json_string_value(json_object_get(run->saved, "config"));
    if (code == KG_OK && run->saved != NULL) {
        code = check_config(run, config != NULL ? config : "", "its checkpoint", err);
    }
    return code == KG_OK ? rl_files_cut(&run->files, json_object_get(run->saved, "files"), err)
                         : code;
}

static void folder_of(const struct rl_run *run, const char *name, char out[PATH_MAX])
{
    snprintf(out, PATH_MAX, "%s/%s", run->files.folder, name);
}

/* RL trains an adapter: the checkpoint has it alone, and the weights below it are those of SFT. */
enum kg_code rl_run_load_model(struct rl_run *run, struct kg_err *err)
{
    char dir[PATH_MAX], base[PATH_MAX], adapter[PATH_MAX + 30];
    folder_of(run, RL_CHECKPOINT, dir);
    folder_of(run, RL_SFT_FOLDER, base);
    snprintf(adapter, sizeof adapter, "%s/adapter_config.json", dir);
    if (!kg_file_exists(adapter)) {
        return lm_checkpoint_open(dir, &run->model, err);
    }
    enum kg_code code = lm_checkpoint_open(base, &run->model, err);
    return code == KG_OK ? lm_checkpoint_open_adapter(dir, run->model, err) : code;
}

/* What RL makes before its first step, at the weights of SFT. */
static enum kg_code prepare_rl(struct rl_run *run, struct kg_err *err)
{
    const struct rl_config *c = run->config;
    const char *phase = json_string_value(json_object_get(run->saved, "phase"));
    char base[PATH_MAX];
    enum kg_code code = KG_OK;
    if (phase == NULL || (strcmp(phase, rl_phase_name(RL_PHASE_RL)) != 0 &&
                          strcmp(phase, rl_phase_name(RL_PHASE_AFTER)) != 0)) {
        return KG_OK;
    }
    if (c->kl_loss > 0 || c->kl_reward > 0) {
        folder_of(run, RL_SFT_FOLDER, base);
        code = lm_checkpoint_open(base, &run->reference, err);
    }
    return code == KG_OK ? rl_loop_prepare(run, err) : code;
}

static enum kg_code restore_parts(struct rl_run *run, struct kg_err *err)
{
    struct part part[PARTS];
    struct rl_judge_counts judge;
    const json_t *parts = json_object_get(run->saved, "parts");
    int n = list_parts(run, &judge, part);
    for (int i = 0; i < n; i++) {
        if (!from_hex(json_object_get(parts, part[i].name), &part[i])) {
            return kg_fail(err, KG_E_INPUT,
                           "%s/" RL_CHECKPOINT "/state.json: run.parts.%s: missing, or of another "
                           "version of kgym",
                           run->files.folder, part[i].name);
        }
    }
    const struct rl_picker_state place = run->picker.state;
    rl_judge_set_counts(run->judge, &judge);
    rl_picker_restore(&run->picker, &place);
    return KG_OK;
}

enum kg_code rl_run_restore(struct rl_run *run, struct kg_err *err)
{
    char dir[PATH_MAX];
    const json_t *before = json_object_get(run->saved, "before");
    folder_of(run, RL_CHECKPOINT, dir);
    enum kg_code code = lm_checkpoint_resume(dir, run->trainer, NULL, err);
    code = code == KG_OK ? prepare_rl(run, err) : code;
    code = code == KG_OK ? restore_parts(run, err) : code;
    code = code == KG_OK ? rl_journal_restore(run->own, json_object_get(run->saved, "journal"), err)
                         : code;
    return code == KG_OK && before != NULL
               ? rl_evaluation_restore(before, (uint64_t)run->config->seed, &run->before, err)
               : code;
}

enum kg_code rl_run_ended(const char *folder, bool *ended, struct kg_err *err)
{
    char path[PATH_MAX];
    json_t *state;
    *ended = false;
    if (strlen(folder) > PATH_MAX - 300) {
        return kg_fail(err, KG_E_USAGE, "the name of the run's folder is too long");
    }
    snprintf(path, sizeof path, "%s/config.yaml", folder);
    if (!kg_file_exists(path)) {
        return kg_fail(err, KG_E_NOT_FOUND, "%s: holds no run: it has no config.yaml", folder);
    }
    enum kg_code code = read_state(folder, &state, err);
    *ended = json_is_true(json_object_get(state, "ended"));
    json_decref(state);
    return code;
}

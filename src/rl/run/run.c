/* Makes and takes apart what a run needs. */
#include "rl/run/loop.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "rl/run/gym.h"
#include "rl/run/run_save.h"
#include "rl/run/verify.h"

#define DRY_DOCUMENTS 400

/* Opened when it is first needed: a replay of a whole journal never is in need of it. */
static enum kg_code open_pool(void *user, struct kgym_pool **out, struct kg_err *err)
{
    struct rl_run *run = user;
    if (run->pool == NULL) {
        if (rl_gym_open(run->config, &run->pool, err) != KG_OK) {
            return err->code;
        }
        rl_cores_init(&run->cores, run->pool);
    }
    if (run->replay != NULL) {
        fprintf(run->terminal, "the journal lacks a verdict: the gym is opened\n");
    }
    *out = run->pool;
    return KG_OK;
}

static bool needs_pool(const struct rl_run *run)
{
    return run->config->journal[0] == '\0' && run->o.script == NULL;
}

static int max_int(int a, int b)
{
    return a > b ? a : b;
}

/* Trajectories of the largest batch. */
static int most_walks(const struct rl_run *run)
{
    struct rl_shape s = rl_config_shape(run->config);
    return max_int(s.walks, run->held_n * (int)s.samples);
}

enum kg_code rl_run_judge(struct rl_run *run, int tickets, bool reuse, struct rl_judge **out,
                          struct kg_err *err)
{
    const struct rl_judge_options o = {.reward = rl_config_reward(run->config),
                                       .tickets = tickets,
                                       .reuse = reuse,
                                       .feedback = (int)run->config->fb_max,
                                       .count = run->talker.bpe ? rl_talker_count : NULL,
                                       .user = &run->talker,
                                       .open = open_pool,
                                       .open_user = run,
                                       .script = run->o.script,
                                       .script_user = run->o.script_user,
                                       .own = run->own,
                                       .replay = run->replay};
    return rl_judge_create(run->pool, &o, out, err);
}

/* --- the corpus --- */

/* The gym's feedback on first turns, all in flight at once as far as tickets go. */
static enum kg_code ask(void *user, struct rl_first_turn *turn, size_t n, struct kg_err *err)
{
    struct rl_run *run = user;
    struct rl_judge *j;
    if (rl_run_judge(run, (int)n, true, &j, err) != KG_OK) {
        return err->code;
    }
    enum kg_code code = rl_gym_answers(j, turn, n, run->cancel, err);
    rl_judge_destroy(j);
    return code;
}

static enum kg_code make_corpus(struct rl_run *run, bool dry, struct kg_err *err)
{
    const struct rl_config *c = run->config;
    int64_t began = kg_clock_ns();
    struct rl_corpus_options o = rl_config_corpus(c, &run->split);
    if (dry) {
        o.documents = DRY_DOCUMENTS;
        o.talks = 0;
    }
    enum kg_code code =
        rl_corpus_create(&o, &run->split, ask, run, &run->talker, &run->corpus, err);
    run->seconds[RL_PHASE_CORPUS] = (double)(kg_clock_ns() - began) * 1e-9;
    return code;
}

/* So that nobody trains on code that the gym refuses. What was judged before is in the journal. */
static enum kg_code verify_corpus(struct rl_run *run, struct kg_err *err)
{
    struct rl_judge *judge;
    struct rl_verify_counts counts;
    size_t n = 0;
    if (rl_verify_parse(run->config->verify, &n, err) != KG_OK || n == 0) {
        return err->code;
    }
    if (rl_run_judge(run, RL_VERIFY_TICKETS, true, &judge, err) != KG_OK) {
        return err->code;
    }
    enum kg_code code = rl_verify(&run->corpus, &run->talker, judge, n, (uint64_t)run->config->seed,
                                  run->cancel, &counts, err);
    rl_judge_destroy(judge);
    return code != KG_OK ? code : rl_verify_tell(&counts, run->corpus.n, run->terminal, err);
}

/* --- problems --- */

static enum kg_code list(const struct rl_split *s, int operators, bool held, struct rl_chain **out,
                         size_t *n, struct kg_err *err)
{
    *n = rl_split_list(s, operators, held, NULL, 0);
    *out = calloc(*n + 1, sizeof **out);
    if (*out == NULL) {
        return kg_fail(err, KG_E_HOST, "no memory for problems");
    }
    rl_split_list(s, operators, held, *out, *n);
    return KG_OK;
}

/* Prompts that leave no room for a reply are known before anything is trained. */
static enum kg_code check_prompts(struct rl_run *run, const struct rl_chain *chain, size_t n,
                                  struct kg_err *err)
{
    const struct rl_config *c = run->config;
    struct lm_ids ids;
    enum kg_code code = KG_OK;
    lm_ids_init(&ids);
    for (size_t i = 0; i < n && code == KG_OK; i++) {
        char name[RL_CHAIN_NAME];
        lm_ids_reset(&ids);
        code = rl_talker_prompt(&run->talker, &chain[i], &ids, err);
        if (code == KG_OK && (int64_t)ids.n + c->min_resp > c->ctx_max) {
            rl_chain_name(&chain[i], name);
            code = kg_fail(err, KG_E_USAGE,
                           "ctx_max: %lld tokens: the prompt of %s has %zu, and min_resp asks for "
                           "%lld more",
                           (long long)c->ctx_max, name, ids.n, (long long)c->min_resp);
        }
    }
    lm_ids_deinit(&ids);
    return code;
}

static enum kg_code choose_problems(struct rl_run *run, struct kg_err *err)
{
    const struct rl_config *c = run->config;
    size_t n[2];
    run->held_pairs = (int)c->eval_pairs;
    run->held_n = (int)(c->eval_pairs + c->eval_triples);
    run->held = calloc((size_t)run->held_n + 1, sizeof *run->held);
    if (run->held == NULL) {
        return kg_fail(err, KG_E_HOST, "no memory for problems");
    }
    size_t pairs = rl_split_list(&run->split, 2, true, run->held, (size_t)c->eval_pairs);
    size_t triples =
        rl_split_list(&run->split, 3, true, run->held + c->eval_pairs, (size_t)c->eval_triples);
    if (pairs < (size_t)c->eval_pairs || triples < (size_t)c->eval_triples || run->held_n < 1) {
        return kg_fail(err, KG_E_USAGE,
                       "eval.pairs, eval.triples: %zu pairs and %zu triples are held out", pairs,
                       triples);
    }
    if (check_prompts(run, run->held, (size_t)run->held_n, err) != KG_OK) {
        return err->code;
    }
    for (int k = 0; k < 2; k++) {
        if (list(&run->split, k + 2, false, &run->pool_chains[k], &n[k], err) != KG_OK) {
            return err->code;
        }
        n[k] = c->problems > 0 && n[k] > (size_t)c->problems ? (size_t)c->problems : n[k];
        if (check_prompts(run, run->pool_chains[k], n[k], err) != KG_OK) {
            return err->code;
        }
    }
    struct rl_curriculum_options curriculum;
    rl_config_curriculum(c, &curriculum);
    return rl_picker_init(&run->picker, (uint64_t)c->seed, &curriculum,
                          (const struct rl_chain *const *)run->pool_chains, n, err);
}

/* --- the model --- */

/* New weights, or those of the checkpoint. */
static enum kg_code make_weights(struct rl_run *run, struct kg_err *err)
{
    const struct rl_config *c = run->config;
    const struct lm_config shape = rl_config_model(c, run->talker.vocab);
    if (run->saved == NULL) {
        return lm_model_create(&shape, (uint64_t)c->seed, &run->model, err);
    }
    if (rl_run_load_model(run, err) != KG_OK) {
        return err->code;
    }
    if (run->model->cfg.vocab != shape.vocab || run->model->cfg.max_pos != shape.max_pos) {
        return kg_fail(err, KG_E_INPUT,
                       "%s: its checkpoint has %d tokens of vocabulary, and its corpus %d",
                       run->files.folder, run->model->cfg.vocab, shape.vocab);
    }
    return KG_OK;
}

static enum kg_code make_model(struct rl_run *run, struct kg_err *err)
{
    const struct rl_config *c = run->config;
    const struct lm_trainer_options t = {.max_rows = max_int((int)c->sft_rows, (int)c->rows),
                                         .max_seqs =
                                             max_int((int)c->sft_rows / 8, rl_config_shape(c).live),
                                         .max_tokens = (int)c->ctx_max};
    enum kg_code code = lm_threads_create(rl_config_threads(c), &run->threads, err);
    code = code != KG_OK ? code : make_weights(run, err);
    code =
        code != KG_OK ? code : lm_trainer_create(run->model, run->threads, &t, &run->trainer, err);
    return code != KG_OK ? code : rl_loop_open_engine(run, err);
}

static enum kg_code make_step(struct rl_run *run, struct kg_err *err)
{
    const struct rl_config *c = run->config;
    bool later = c->lora_r > 0 || c->kl_loss > 0 || c->kl_reward > 0; /* rl_loop_prepare */
    enum kg_code code = later ? KG_OK : rl_loop_open_step(run, err);
    code = code != KG_OK ? code
                         : rl_rollouts_create(most_walks(run), (int)c->ctx_max,
                                              rl_config_shape(c).live, &run->rollouts, err);
    return code != KG_OK ? code
                         : rl_run_judge(run, most_walks(run), run->config->reuse, &run->judge, err);
}

/* --- the folder --- */

static enum kg_code open_journals(struct rl_run *run, struct kg_err *err)
{
    const struct rl_config *c = run->config;
    char path[PATH_MAX];
    json_t *gym = json_array();
    for (size_t i = 0; i < c->ngym; i++) {
        json_array_append_new(gym, json_string(c->gym[i]));
    }
    json_t *head = json_pack("{s:s,s:s,s:b,s:o}", "reward", rl_config_reward(c), "gym_preset",
                             c->gym_preset, "reuse", (int)c->reuse, "gym", gym);
    snprintf(path, sizeof path, "%s/verdicts.jsonl", run->files.folder);
    enum kg_code code =
        c->journal[0] != '\0' ? rl_journal_read(c->journal, head, &run->replay, err) : KG_OK;
    if (code == KG_OK && run->files.folder[0] != '\0') {
        code = rl_journal_open(path, head, &run->own, err);
    }
    json_decref(head);
    return code;
}

static enum kg_code open_folder(struct rl_run *run, struct kg_err *err)
{
    struct kg_buf text;
    kg_buf_init(&text, 1u << 20);
    rl_config_dump(run->config, &text);
    rl_config_hash(run->config, run->configuration);
    enum kg_code code = KG_OK;
    if (run->o.folder != NULL && run->o.resume) {
        code = rl_files_open(&run->files, run->o.folder, err);
        code = code == KG_OK ? rl_run_load(run, err) : code;
    } else if (run->o.folder != NULL) {
        code = rl_files_create(&run->files, run->o.folder, text.data, text.len, err);
    }
    kg_buf_deinit(&text);
    if (code == KG_OK && run->o.folder != NULL) {
        code = rl_run_host(run, err);
    }
    return code == KG_OK ? open_journals(run, err) : code;
}

void rl_run_close(struct rl_run *run)
{
    rl_evaluation_deinit(&run->before);
    rl_evaluation_deinit(&run->after);
    rl_picker_deinit(&run->picker);
    free(run->pool_chains[0]);
    free(run->pool_chains[1]);
    free(run->held);
    rl_step_destroy(run->step);
    rl_rollouts_destroy(run->rollouts);
    lm_trainer_destroy(run->scorer);
    lm_model_destroy(run->reference);
    lm_engine_destroy(run->engine);
    rl_sampler_close(&run->sampler);
    lm_trainer_destroy(run->trainer);
    lm_model_destroy(run->model);
    lm_threads_destroy(run->threads);
    rl_corpus_destroy(&run->corpus);
    rl_talker_close(&run->talker);
    rl_judge_destroy(run->judge);
    kgym_close(run->pool);
    rl_journal_close(run->own);
    rl_journal_close(run->replay);
    rl_files_close(&run->files);
    json_decref(run->saved);
}

/* A configuration that needs what is not there. */
static enum kg_code refuse_lacks(const struct rl_config *c, struct kg_err *err)
{
    struct kg_buf why;
    enum kg_code code = KG_OK;
    kg_buf_init(&why, 4096);
    if (rl_config_lacks(c, &why) > 0) {
        for (size_t i = 0; i + 1 < why.len; i++) {
            why.data[i] = why.data[i] == '\n' ? ';' : why.data[i];
        }
        code = kg_fail(err, KG_E_USAGE, "this version lacks what the run needs: %.*s",
                       (int)why.len - 1, why.data);
    }
    kg_buf_deinit(&why);
    return code;
}

enum kg_code rl_run_open(const struct rl_config *c, const struct rl_run_options *o,
                         struct rl_run *run, struct kg_err *err)
{
    struct kgym_pool *pool;
    *run = (struct rl_run){.config = c,
                           .o = *o,
                           .terminal = o->terminal,
                           .cancel = o->cancel,
                           .files = {.lock = -1},
                           .place = {.phase = RL_PHASE_SFT},
                           .saved_ns = kg_clock_ns()};
    enum kg_code code = rl_config_methods(c, &run->methods, err);
    code = code != KG_OK ? code : refuse_lacks(c, err);
    code = code != KG_OK || !needs_pool(run) ? code : open_pool(run, &pool, err);
    code = code != KG_OK ? code : open_folder(run, err);
    code = code != KG_OK ? code : make_corpus(run, o->dry, err);
    if (!o->dry) {
        code = code != KG_OK ? code : verify_corpus(run, err);
        code = code != KG_OK ? code : choose_problems(run, err);
        code = code != KG_OK ? code : make_model(run, err);
        code = code != KG_OK ? code : make_step(run, err);
        code = code != KG_OK || run->saved == NULL ? code : rl_run_restore(run, err);
    }
    if (code != KG_OK) {
        rl_run_close(run);
    }
    return code;
}

enum kg_code rl_run_check(const struct rl_config *c, struct kg_err *err)
{
    struct kgym_pool *pool;
    struct rl_run run = {.config = c};
    enum kg_code code = rl_config_methods(c, &run.methods, err);
    code = code != KG_OK ? code : open_pool(&run, &pool, err);
    kgym_close(run.pool);
    return code;
}

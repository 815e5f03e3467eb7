/* kgym sft and kgym generate as users run them: words, data of both forms, a folder that goes on,
 * an adapter, bad input that leaves nothing, and answers of what was trained. */
#include "kgym_rig.h"
#include "lm/tok/chat.h"

#define TINY                                                                                       \
    "--set model.hidden=32 --set model.inter=64 --set model.layers=2 --set model.heads=2 "         \
    "--set sft.rows=256 --set sft.lr=0.01 --set valid_every=4 --set threads=2 "
#define CHATS "--data chats.jsonl --set tokenizer='train 60' "

static void write_chats(void)
{
    FILE *f = fopen("chats.jsonl", "we");
    assert_non_null(f);
    for (int i = 0; i < 60; i++) {
        fprintf(f,
                "{\"messages\":[{\"role\":\"user\",\"content\":\"say %d\"},{\"role\":\"assistant\","
                "\"content\":\"the user has %c\\u00e9 assistant\"}]}\n",
                i, 'a' + i % 3);
    }
    fclose(f);
}

static int files_here(const char *folder)
{
    DIR *d = opendir(folder);
    int n = 0;
    while (d != NULL && readdir(d) != NULL) {
        n++;
    }
    if (d != NULL) {
        closedir(d);
    }
    return n;
}

static void words(void **state)
{
    (void)state;
    write_chats();
    rig_expect(0, "$K sft --help");
    rig_shows("lora.targets");
    rig_expect(2, "$K sft");
    rig_says("--out RUN is missing");
    rig_expect(2, "$K sft --out r");
    rig_says("data: no files");
    rig_expect(2, "$K sft --out r --data chats.jsonl");
    rig_says("tokenizer");
    rig_expect(2, "$K sft --out r --dat chats.jsonl");
    rig_says("--data");
    rig_expect(2, "$K sft --out r " CHATS "--set lora.r=4");
    rig_says("lora.r");
    rig_expect(2, "$K sft --out r " CHATS "--set lora.targets=q_proj,x");
    rig_says("no projection `x`");
    rig_expect(2, "$K sft --out r " CHATS "--set verify=some");
    rig_says("verify");
    rig_expect(2, "$K sft --out r " CHATS "--set corpus.documents=5");
    rig_says("at once");
    rig_expect(2, "$K sft --out r " CHATS "--set rl.steps=5");
    rig_says("rl.steps");
    rig_expect(2, "$K sft --out r " CHATS "--set template=qwen9");
    rig_says("qwen9");
    rig_expect(2, "$K sft --resume --out r");
    rig_says("no run to resume");
    rig_expect(0, "$K sft " CHATS "--set gym.timing.pairs=4 --dump > a.yaml; "
                  "$K sft a.yaml --dump > b.yaml; cmp a.yaml b.yaml");
    rig_expect(0, "$K sft " CHATS "--check");
}

/* Nothing is written for data that are bad. */
static void bad_data(void **state)
{
    (void)state;
    rig_expect(2, "$K sft --out r --data none.jsonl --set tokenizer='train 9'");
    rig_says("none.jsonl");
    rig_expect(2, "head -3 chats.jsonl >bad.jsonl; echo '{\"messages\":3}' >>bad.jsonl; "
                  "$K sft --out r --data bad.jsonl --set tokenizer='train 9'");
    rig_says("bad.jsonl:4");
    rig_expect(2, "$K sft --out r " CHATS "--set tokenizer= --set from=nowhere");
    rig_says("nowhere");
    rig_expect(2, "$K sft --out r " CHATS "--valid chats.jsonl");
    rig_says("about problems of the training data");
    rig_expect(2, "$K sft --out r " CHATS "--set model.hidden=4096 --set model.inter=16384 "
                  "--set model.layers=64 --set model.heads=64");
    rig_says("of memory");
    assert_int_equal(files_here("r"), 0);
}

static void a_run_goes_on(void **state)
{
    (void)state;
    rig_expect(0, "$K sft --out whole " CHATS TINY "--set epochs=6");
    rig_shows("problems of validation in training: 0");
    rig_shows("wrote whole/model");
    rig_expect(2, "$K sft --out parts " CHATS TINY "--set epochs=6 --stop-at 7");
    rig_says("--resume goes on");
    assert_int_equal(files_here("parts/model"), 0);
    rig_expect(2, "$K sft --out parts " CHATS TINY "--set epochs=6");
    rig_says("holds a run already");
    rig_expect(2, "$K sft --resume --out parts --set seed=9");
    rig_says("another configuration");
    rig_expect(2, "flock parts $K sft --resume --out parts");
    rig_says("another process runs in this folder");
    /* the lock comes before all that is read */
    rig_expect(2, "mv chats.jsonl away; flock parts $K sft --resume --out parts; S=$?; "
                  "mv away chats.jsonl; exit $S");
    rig_says("another process runs in this folder");
    /* a save that was killed leaves its half beside the checkpoint, the checkpoint under another
     * name where two folders cannot be exchanged, and a line of metrics half */
    rig_expect(0, "mkdir parts/checkpoint.tmp.1 && touch parts/checkpoint.tmp.1/state.json; "
                  "mv parts/checkpoint parts/checkpoint.replaced; "
                  "printf '{\"step\":8,\"los' >>parts/metrics.jsonl; "
                  "$K sft --resume --out parts && [ ! -e parts/checkpoint.tmp.1 ] && "
                  "[ ! -e parts/checkpoint.replaced ]");
    rig_expect(0, "cmp whole/model/model.safetensors parts/model/model.safetensors");
    rig_expect(0, "for r in whole parts; do sed 's/\"seconds\":[^,]*,//' $r/metrics.jsonl >$r.m; "
                  "done; cmp whole.m parts.m");
    assert_int_equal(files_here("parts/checkpoint"), 0);
    rig_expect(0, "$K sft --resume --out parts");
    rig_shows("has ended");
    rig_expect(2, "$K sft --out other " CHATS TINY "--stop-at 3; head -20 chats.jsonl >x; "
                  "mv x chats.jsonl; $K sft --resume --out other");
    rig_says("other training data");
    write_chats();
    rig_nothing_left();
}

/* Another run began in the folder while the data were read. */
static void a_folder_that_is_taken(void **state)
{
    (void)state;
    rig_expect(2, "(sleep 1; mkdir raced; echo x >raced/config.yaml; cat chats.jsonl) | "
                  "$K sft --out raced --data - --set tokenizer='train 60' " TINY);
    rig_says("raced: holds a run already");
    rig_expect(0, "grep -qx x raced/config.yaml");
}

/* A checkpoint that lost bytes is refused. */
static void a_broken_checkpoint(void **state)
{
    (void)state;
    rig_expect(2, "$K sft --out broken " CHATS TINY "--stop-at 3; "
                  "truncate -s -4 broken/checkpoint/optim.safetensors; "
                  "$K sft --resume --out broken");
    rig_says("optim.safetensors");
    rig_expect(2, "mv broken/checkpoint broken/checkpoint.replaced; $K sft --resume --out broken");
    rig_says("checkpoint.replaced/optim.safetensors");
}

static void an_adapter(void **state)
{
    (void)state;
    rig_expect(0, "$K sft --out lora --data chats.jsonl --set from=whole/model --set lora.r=16 "
                  "--set sft.rows=256 --set epochs=2");
    rig_shows("wrote lora/adapter");
    assert_int_equal(files_here("lora/model"), 0);
    rig_expect(0, "grep -q '\"r\": 16' lora/adapter/adapter_config.json");
    rig_expect(0, "$K sft --out more --data chats.jsonl --set from=whole/model "
                  "--set adapter=lora/adapter --set sft.rows=256 --set epochs=2 --stop-at 2; "
                  "$K sft --resume --out more");
    rig_expect(2, "$K sft --out r --data chats.jsonl --set from=lora/adapter");
    rig_says("holds an adapter");
    rig_expect(0, "$K generate --model whole/model --adapter lora/adapter --prompt 'say 4' "
                  "--temperature 0");
    rig_expect(2, "$K generate --model lora/adapter --prompt x");
    rig_says("holds an adapter");
    rig_expect(0, "$K sft --out full --data chats.jsonl --set from=whole/model "
                  "--set sft.rows=256 --set epochs=1");
    rig_shows("wrote full/model");
}

static json_t *read_json(const char *path)
{
    json_error_t e;
    json_t *j = json_load_file(path, 0, &e);
    assert_non_null(j);
    return j;
}

/* A base whose files end a reply elsewhere, and whose template is of another kind. */
static void make_base(void)
{
    static const char config[] =
        "{\"eos_token\":\"<|endoftext|>\",\"chat_template\":\"x\",\"tokenizer_class\":"
        "\"PreTrainedTokenizerFast\",\"model_max_length\":1000000000000000019884624838656}";
    struct kg_err err = KG_ERR_INIT;
    const char *jinja = lm_chat_template(LM_CHAT_QWEN25);
    json_t *made = read_json("whole/model/generation_config.json");
    json_t *pad = json_array_get(json_object_get(made, "eos_token_id"), 1);
    json_t *j = json_pack("{s:O,s:b}", "eos_token_id", pad, "do_sample", 0);
    rig_expect(0, "cp -r whole/model base; rm base/DONE base/state.json");
    assert_int_equal(json_dump_file(j, "base/generation_config.json", 0), 0);
    assert_int_equal(
        kg_file_write_atomic("base/tokenizer_config.json", config, sizeof config - 1, &err), KG_OK);
    assert_int_equal(kg_file_write_atomic("base/chat_template.jinja", jinja, strlen(jinja), &err),
                     KG_OK);
    json_decref(j);
    json_decref(made);
}

/* A folder that is written says by itself how a conversation looks and where a reply ends. */
static void a_result_fits_its_training(void **state)
{
    (void)state;
    /* nothing to mend: the files of the base, byte for byte */
    rig_expect(0, "for f in chat_template.jinja tokenizer_config.json generation_config.json; do "
                  "cmp full/model/$f whole/model/$f || exit 1; done");
    make_base();
    rig_expect(0, "$K sft --out fits --data chats.jsonl --set from=base --set "
                  "template=qwen3-instruct --set sft.rows=256 --set epochs=1");
    rig_expect(0, "cmp fits/model/chat_template.jinja whole/model/chat_template.jinja");
    json_t *made = read_json("whole/model/generation_config.json");
    json_t *got = read_json("fits/model/generation_config.json");
    assert_true(
        json_equal(json_object_get(made, "eos_token_id"), json_object_get(got, "eos_token_id")));
    assert_true(json_is_false(json_object_get(got, "do_sample")));
    json_decref(got);
    json_decref(made);
    got = read_json("fits/model/tokenizer_config.json");
    assert_string_equal(json_string_value(json_object_get(got, "eos_token")), "<|im_end|>");
    assert_null(json_object_get(got, "chat_template"));
    assert_true(json_number_value(json_object_get(got, "model_max_length")) == 1e30);
    json_decref(got);
    /* the same kind: its text stays */
    rig_expect(0, "$K sft --out same --data chats.jsonl --set from=base --set sft.rows=256 "
                  "--set epochs=1 && cmp same/model/chat_template.jinja base/chat_template.jinja");
    /* fresh weights have the template that they were trained with */
    rig_expect(0, "$K sft --out fresh --data chats.jsonl " TINY "--set tokenizer=base --set "
                  "epochs=1 && cmp fresh/model/chat_template.jinja base/chat_template.jinja");
}

static void answers(void **state)
{
    (void)state;
    rig_expect(0, "$K sft --out good " CHATS TINY "--set epochs=60 --set valid_share=0");
    rig_expect(0, "$K generate --model good/model --prompt 'say 3' --temperature 0");
    /* words of roles do not end it (D-16), and characters come whole */
    assert_non_null(strstr(rig.out.data, "the user has "));
    assert_non_null(strstr(rig.out.data, "\xc3\xa9 assistant\n"));
    rig_says("tokens/s");
    rig_expect(0, "$K generate --model good/model --prompt 'say 3' --temperature 0 >a; printf 'say "
                  "3' >p; $K generate --model good/model --prompt-file p --temperature 0 >b; "
                  "echo '[{\"role\":\"user\",\"content\":\"say 3\"}]' >m.json; $K generate "
                  "--model good/model --messages m.json --temperature 0 >c; cmp a b && cmp a c");
    rig_expect(0, "$K generate --model good/model --problem relu_softmax --max-tokens 4 --json "
                  "--n 3 --top-p 0.9 --top-k 50 --min-p 0.01 --seed 4");
    int lines = 0;
    for (char *line = strtok(rig.out.data, "\n"); line; line = strtok(NULL, "\n"), lines++) {
        struct kg_err err = KG_ERR_INIT;
        json_t *j = NULL;
        assert_int_equal(kg_json_parse(line, strlen(line), "out", &j, &err), KG_OK);
        size_t n = json_array_size(json_object_get(j, "ids"));
        assert_in_range(n, 1, 4);
        assert_int_equal(json_array_size(json_object_get(j, "logp")), n);
        assert_int_equal(json_integer_value(json_object_get(j, "sample")), lines);
        json_decref(j);
    }
    assert_int_equal(lines, 3);
    rig_expect(0, "$K generate --model good/model --prompt 'say' --raw --max-tokens 3");
    rig_expect(0, "$K generate --model good/model --problem softmax --full-prompt --max-tokens 1 "
                  "|| true");
}

static void bad_questions(void **state)
{
    (void)state;
    rig_expect(0, "$K generate --help");
    rig_expect(2, "$K generate --prompt x");
    rig_says("--model DIR is missing");
    rig_expect(2, "$K generate --model good/model");
    rig_says("one prompt");
    rig_expect(2, "$K generate --model good/model --prompt x --problem softmax");
    rig_expect(2, "$K generate --model none --prompt x");
    rig_says("none");
    rig_expect(2, "$K generate --model good/model --prompt x --top-p 2");
    rig_says("--top-p");
    rig_expect(2, "$K generate --model good/model --prompt x --top-q 2");
    rig_says("--top-");
    rig_expect(2, "echo '[{\"role\":\"assistant\",\"content\":\"\"}]' >m.json; "
                  "$K generate --model good/model --messages m.json");
    rig_says("m.json: message 1");
    rig_expect(2, "head -c 9000 /dev/zero | tr '\\0' 'x' >long; "
                  "$K generate --model good/model --prompt-file long");
    rig_says("the model takes 2048");
    rig_expect(2, "cp -r good/model cut; truncate -s -4 cut/model.safetensors; "
                  "$K generate --model cut --prompt x");
    rig_says("model.safetensors");
    rig_expect(2, "cp -r good/model bare; rm bare/DONE bare/state.json bare/chat_template.jinja; "
                  "$K generate --model bare --prompt x");
    rig_says("name one");
    rig_expect(0, "$K generate --model bare --prompt x --template qwen3-instruct --max-tokens 2");
    rig_nothing_left();
}

/* A generated corpus, of which the gym judges a sample. */
static void a_generated_corpus(void **state)
{
    (void)state;
    rig_expect(0, "$K sft --out gen --set corpus.documents=200 --set tokenizer='train 300' "
                  "--set verify='sample 6' --set epochs=1 --set gym.stage.timing=no " TINY);
    rig_shows("verify: the gym judged 6 of 200: 6 right, 0 refused");
    rig_expect(0, "$K sft --out gen2 --set corpus.documents=100 --set from=gen/model "
                  "--set verify=none --set sft.rows=512 --set epochs=1");
    rig_shows("verify: none");
    rig_nothing_left();
}

/* The same where a service judges. */
static void a_service_judges_a_corpus(void **state)
{
    (void)state;
    rig_expect(2, "$K sft --out none --set corpus.documents=50 --set tokenizer='train 300' "
                  "--gym http://127.0.0.1:1 " TINY);
    rig_says("127.0.0.1:1");
    rig_expect(0, "$K serve --port 0 --folder sv --jobs 1 >sv.out & P=$!; "
                  "until grep -q http sv.out; do sleep 0.1; done; "
                  "$K sft --out gen3 --set corpus.documents=50 --set tokenizer='train 300' "
                  "--set verify='sample 4' --set epochs=1 --set gym.stage.timing=no " TINY
                  "--gym $(sed -n 's/.*\\(http:[^,]*\\),.*/\\1/p' sv.out); S=$?; "
                  "kill $P; wait $P; exit $S");
    rig_shows("verify: the gym judged 4 of 50: 4 right, 0 refused");
    rig_expect(0, "$K store check sv");
    rig_shows("4 records");
    rig_nothing_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words),
        cmocka_unit_test(bad_data),
        cmocka_unit_test(a_run_goes_on),
        cmocka_unit_test(a_folder_that_is_taken),
        cmocka_unit_test(a_broken_checkpoint),
        cmocka_unit_test(an_adapter),
        cmocka_unit_test(a_result_fits_its_training),
        cmocka_unit_test(answers),
        cmocka_unit_test(bad_questions),
        cmocka_unit_test(a_generated_corpus),
        cmocka_unit_test(a_service_judges_a_corpus),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}

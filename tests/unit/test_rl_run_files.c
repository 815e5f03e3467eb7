/* The files of a run's folder: trajectories have the form of docs/trajectory.md, event files can be
 * read by the rules of TFRecord and protocol buffers, and the rest says what it should. */
#include "resume_rig.h"

#include "rl/run/run_events.h"

static json_t *lines_of(const char *folder, const char *name)
{
    struct kg_buf text;
    struct kg_err err = KG_ERR_INIT;
    json_t *all = json_array(), *line;
    rig_read(folder, name, &text);
    for (char *at = strtok(text.data, "\n"); at != NULL; at = strtok(NULL, "\n")) {
        assert_int_equal(kg_json_parse(at, strlen(at), name, &line, &err), KG_OK);
        json_array_append_new(all, line);
    }
    kg_buf_deinit(&text);
    return all;
}

static int make_run(void **state)
{
    const struct rig_options o = {.folder = "run", .set = {"prs_tau=0.6"}};
    if (rig_setup(state) != 0) {
        return -1;
    }
    rig_good(&o);
    return 0;
}

/* --- trajectories --- */

/* Types by letter: s string, S string or null, i integer, n number, N number or null, b boolean,
 * a array, o object. */
static bool is_type(const json_t *x, char type)
{
    switch (type) {
    case 's':
        return json_is_string(x);
    case 'S':
        return json_is_string(x) || json_is_null(x);
    case 'i':
        return json_is_integer(x);
    case 'N':
        return json_is_number(x) || json_is_null(x);
    case 'b':
        return json_is_boolean(x);
    case 'a':
        return json_is_array(x);
    default:
        return json_is_object(x);
    }
}

/* "name:type ..." are all members. */
static void has_members(const json_t *o, const char *spec)
{
    char text[600], *save = NULL;
    size_t n = 0;
    snprintf(text, sizeof text, "%s", spec);
    for (char *at = strtok_r(text, " ", &save); at != NULL; at = strtok_r(NULL, " ", &save), n++) {
        char *colon = strchr(at, ':');
        *colon = '\0';
        if (!is_type(json_object_get(o, at), colon[1])) {
            fail_msg("member `%s` is not of type %c in %s", at, colon[1],
                     json_dumps(o, JSON_COMPACT));
        }
    }
    assert_int_equal(n, json_object_size(o));
}

struct seen {
    int kept, prs, two;
};

static void check_turn(const json_t *turn, int number, bool last, bool rl, struct seen *seen)
{
    const json_t *x = json_object_get(turn, "extra"), *why = json_object_get(x, "why"), *w;
    size_t i;
    has_members(turn, "turn:i reply:s finish:s record:S verdict:s reason:s speedup:N speedup_lo:N "
                      "coverage:N rewards:o feedback:S shared:b extra:o");
    has_members(x, "row:i context:a ids:a logp:a version:i correct:i terms:o return:N advantage:N "
                   "live:b kept:b why:a diff:N");
    assert_int_equal(json_integer_value(json_object_get(turn, "turn")), number);
    assert_true(json_is_null(json_object_get(turn, "feedback")) == last);
    assert_int_equal(json_array_size(json_object_get(x, "ids")),
                     json_array_size(json_object_get(x, "logp")));
    assert_true(json_array_size(json_object_get(x, "context")) > 0);
    assert_int_equal(json_object_size(json_object_get(turn, "rewards")), 1);
    bool kept = json_is_true(json_object_get(x, "kept"));
    seen->kept += kept;
    json_array_foreach(why, i, w)
    {
        seen->prs += strcmp(json_string_value(w), "prs") == 0;
    }
    if (!rl) {
        assert_true(json_is_null(json_object_get(x, "return")) && !kept);
        return;
    }
    assert_true(kept == (json_array_size(why) == 0));
    if (kept) {
        assert_true(json_is_real(json_object_get(x, "advantage")));
        assert_true(json_real_value(json_object_get(x, "diff")) == 0);
        assert_int_equal(strlen(json_string_value(json_object_get(turn, "record"))), 64);
    }
}

static void trajectories(void **state)
{
    (void)state;
    struct seen seen = {0};
    json_t *all = lines_of("run", "trajectories.jsonl"), *t, *turn;
    size_t i, k;
    int of_phase[3] = {0};
    json_array_foreach(all, i, t)
    {
        const json_t *x = json_object_get(t, "extra"), *turns = json_object_get(t, "turns");
        has_members(t, "schema:s id:s group:s problem:o configuration:s source:s system:S prompt:s "
                       "turns:a end:s extra:o");
        has_members(json_object_get(t, "problem"), "name:s hash:s level:i");
        has_members(x, "phase:s step:i turns:i style:S");
        assert_string_equal(json_string_value(json_object_get(t, "schema")), "kgym.trajectory/1");
        const char *phase = json_string_value(json_object_get(x, "phase"));
        bool rl = strcmp(phase, "rl") == 0;
        of_phase[rl ? 1 : strcmp(phase, "eval-after") == 0 ? 2 : 0]++;
        assert_true((json_integer_value(json_object_get(x, "step")) < 0) == !rl);
        seen.two += json_array_size(turns) == 2;
        json_array_foreach(turns, k, turn)
        {
            check_turn(turn, (int)k + 1, k + 1 == json_array_size(turns), rl, &seen);
        }
        for (k = 0; k < i; k++) {
            assert_string_not_equal(
                json_string_value(json_object_get(json_array_get(all, k), "id")),
                json_string_value(json_object_get(t, "id")));
        }
    }
    assert_int_equal(of_phase[0], 6);
    assert_int_equal(of_phase[1], 9 * 3 * 4);
    assert_int_equal(of_phase[2], 6);
    assert_true(seen.kept > 20 && seen.prs > 0 && seen.two > 60);
    json_decref(all);
}

/* An advantage can be computed again from the file: n/(n-1) of what lies above the group's mean, of
 * the kept rows of a turn (trloo). */
static void advantages_again(void **state)
{
    (void)state;
    json_t *all = lines_of("run", "trajectories.jsonl"), *t, *other;
    size_t i, k;
    int checked = 0;
    json_array_foreach(all, i, t)
    {
        const char *group = json_string_value(json_object_get(t, "group"));
        const json_t *mine =
            json_object_get(json_array_get(json_object_get(t, "turns"), 0), "extra");
        double sum = 0, n = 0;
        if (!json_is_true(json_object_get(mine, "kept"))) {
            continue;
        }
        json_array_foreach(all, k, other)
        {
            const json_t *x =
                json_object_get(json_array_get(json_object_get(other, "turns"), 0), "extra");
            if (strcmp(json_string_value(json_object_get(other, "group")), group) == 0 &&
                json_is_true(json_object_get(x, "kept"))) {
                sum += json_real_value(json_object_get(x, "return"));
                n++;
            }
        }
        if (n > 1) {
            double want =
                n / (n - 1) * (json_real_value(json_object_get(mine, "return")) - sum / n);
            assert_true(fabs(want - json_real_value(json_object_get(mine, "advantage"))) < 1e-9);
            checked++;
        }
    }
    assert_true(checked > 10);
    json_decref(all);
}

/* --- events --- */

struct reader {
    const unsigned char *at, *end;
};

static uint64_t varint(struct reader *r)
{
    uint64_t x = 0;
    for (int shift = 0;; shift += 7) {
        assert_true(r->at < r->end && shift < 64);
        x |= (uint64_t)(*r->at & 0x7f) << shift;
        if ((*r->at++ & 0x80) == 0) {
            return x;
        }
    }
}

/* The next field: its number, and its bytes in *in; a varint is left in *value. */
static int field(struct reader *r, struct reader *in, uint64_t *value)
{
    uint64_t key = varint(r), wire = key & 7;
    size_t n = wire == 1 ? 8 : wire == 5 ? 4 : 0;
    *value = wire == 0 ? varint(r) : 0;
    n = wire == 2 ? (size_t)varint(r) : n;
    assert_true((size_t)(r->end - r->at) >= n);
    *in = (struct reader){r->at, r->at + n};
    r->at += n;
    return (int)(key >> 3);
}

struct scalar {
    char tag[128];
    float value;
};

static int read_scalars(struct reader summary, struct scalar *out, int max)
{
    int n = 0;
    uint64_t ignored;
    while (summary.at < summary.end) {
        struct reader value, in;
        assert_int_equal(field(&summary, &value, &ignored), 1);
        assert_true(n < max);
        while (value.at < value.end) {
            int number = field(&value, &in, &ignored);
            size_t len = (size_t)(in.end - in.at);
            if (number == 1) {
                snprintf(out[n].tag, sizeof out[n].tag, "%.*s", (int)len, (const char *)in.at);
            } else if (number == 2) {
                assert_int_equal(len, 4);
                memcpy(&out[n].value, in.at, 4);
            }
        }
        n++;
    }
    return n;
}

/* The next record of a file, its checksums compared. */
static struct reader record(struct reader *r)
{
    uint64_t n;
    uint32_t crc;
    assert_true(r->end - r->at >= 16);
    memcpy(&n, r->at, 8);
    memcpy(&crc, r->at + 8, 4);
    assert_int_equal(crc, rl_events_crc(r->at, 8));
    assert_true((uint64_t)(r->end - r->at) >= n + 16);
    struct reader data = {r->at + 12, r->at + 12 + n};
    memcpy(&crc, data.end, 4);
    assert_int_equal(crc, rl_events_crc(data.at, n));
    r->at = data.end + 4;
    return data;
}

static void events(void **state)
{
    (void)state;
    struct kg_buf text;
    struct reader r, event, in;
    struct scalar scalar[64];
    uint64_t value, step = 0;
    int records = 0, rl = 0;
    uint32_t crc = rl_events_crc("123456789", 9) - 0xa282ead8u; /* the check value of CRC-32C */
    assert_int_equal((crc << 15) | (crc >> 17), 0xe3069283u);
    json_t *metrics = lines_of("run", "metrics.jsonl");
    rig_read("run", "events.out.tfevents.0.kgym", &text);
    r = (struct reader){(unsigned char *)text.data, (unsigned char *)text.data + text.len};
    for (; r.at < r.end; records++) {
        int n = 0;
        event = record(&r);
        while (event.at < event.end) {
            int number = field(&event, &in, &value);
            step = number == 2 ? value : step;
            n = number == 5 ? read_scalars(in, scalar, 64) : n;
            assert_true(number != 3 || (records == 0 && memcmp(in.at, "brain.Event:2", 13) == 0));
        }
        assert_true(records == 0 || n > 0);
        for (int i = 0; i < n; i++) {
            const json_t *line = json_array_get(metrics, (size_t)records - 1);
            if (strcmp(scalar[i].tag, "rl/reward") == 0) {
                assert_int_equal(step, json_integer_value(json_object_get(line, "step")));
                assert_true(scalar[i].value ==
                            (float)json_number_value(json_object_get(line, "reward")));
                rl++;
            }
        }
    }
    assert_int_equal(records, json_array_size(metrics) + 1);
    assert_int_equal(rl, 9);
    json_decref(metrics);
    kg_buf_deinit(&text);
}

static void host(void **state)
{
    (void)state;
    struct kg_buf text;
    struct kg_err err = KG_ERR_INIT;
    json_t *j;
    rig_read("run", "host.json", &text);
    assert_int_equal(kg_json_parse(text.data, text.len, "host", &j, &err), KG_OK);
    assert_int_equal(json_array_size(j), 1);
    assert_true(json_integer_value(json_object_get(json_array_get(j, 0), "cores")) >= 1);
    assert_string_equal(json_string_value(json_object_get(json_array_get(j, 0), "resumed")), "no");
    json_decref(j);
    kg_buf_deinit(&text);
}

/* What was sampled follows from the weights of the checkpoint: a folder of Hugging Face, and of
 * ours. */
static void weights(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    struct lm_model *m;
    static const char *const names[] = {"config.json", "model.safetensors", "tokenizer.json"};
    for (int i = 0; i < 3; i++) {
        struct kg_buf text;
        char name[60];
        snprintf(name, sizeof name, "checkpoint/%s", names[i]);
        rig_read("run", name, &text);
        kg_buf_deinit(&text);
    }
    assert_int_equal(lm_checkpoint_open("run/checkpoint", &m, &err), KG_OK);
    assert_int_equal(m->cfg.hidden, 16);
    lm_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trajectories), cmocka_unit_test(advantages_again),
        cmocka_unit_test(events),       cmocka_unit_test(host),
        cmocka_unit_test(weights),
    };
    return cmocka_run_group_tests(tests, make_run, rig_teardown);
}

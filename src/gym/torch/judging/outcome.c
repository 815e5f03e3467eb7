/* From what became of a command to a verdict: deaths, deadlines, exceptions. */
#include "gym/torch/judging/outcome.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "gym/torch/judging/complaint.h"
#include "gym/torch/judging/memory.h"
#include "gym/torch/judging/met_limit.h"
#include "gym/torch/judging/shapes.h"
#include "gym/torch/problem/module.h"
#include "gym/torch/runner/torch_device.h"
#include "gym/torch/runner/torch_runner.h"

#define MOST_FRAMES 6

enum kg_stage_result kg_toutcome_needs_gpu(struct kg_err *err, const char *why)
{
    kg_fail(err, KG_E_NEEDS_GPU, "the candidate needs a GPU, and there is none%s%.300s",
            *why ? ": " : "", why);
    err->blame = KG_BLAME_CANDIDATE;
    return KG_STAGE_ERROR;
}

/* --- ends --- */

static enum kg_stage_result of_exit(struct kg_evaluation *e, enum kg_stage stage)
{
    const struct kg_pyrunner *runner = &kg_torch_run_of(e)->cand.runner;
    const struct kg_exit *x = &runner->sandbox.exit;
    struct kg_record *r = e->r;
    int signal = kg_pyrunner_signal(runner);
    e->lost = x->kind == KG_EXIT_SIGNAL && x->code == SIGKILL;
    if (x->kind == KG_EXIT_OOM) {
        int64_t most = kg_trunner_memory_mb(e->w, false);
        kg_record_limit(r, (double)most, "MB");
        kg_record_verdict(r, KG_V_OUT_OF_MEMORY, "host",
                          "it needed more than %lld MB of memory (torch.memory_mb)",
                          (long long)most);
    } else if (x->kind == KG_EXIT_SIGNAL && x->code == SIGXCPU) {
        kg_record_verdict(r, KG_V_TIMEOUT, kg_stage_name(stage), "CPU limit reached");
    } else if (kg_pyrunner_wrote_input(runner)) {
        kg_record_verdict(r, KG_V_WRONG, "input_modified", "it writes to an input");
    } else if (signal) {
        kg_record_signal(r, signal, NULL);
        kg_record_verdict(r, KG_V_CRASH, "signal", "killed by signal %d (%s)", signal,
                          strsignal(signal));
    } else if (x->kind == KG_EXIT_CODE) {
        kg_record_verdict(r, KG_V_CRASH, "exit",
                          "it ended its process with status %d instead of returning", x->code);
    } else {
        kg_record_verdict(r, KG_V_CRASH, "protocol", "its process was lost");
    }
    return KG_STAGE_FAIL;
}

/* A first call at the published shape, of more elements than the interpreter is given otherwise. A
 * hang at a small one is a hang. */
static bool interprets_long(const struct kg_evaluation *e)
{
    const struct kg_torch_run *run = kg_torch_run_of(e);
    return run->interpret && run->instance->kind == KG_INSTANCE_PUBLISHED &&
           !(run->right & 1u << KG_INSTANCE_PUBLISHED) &&
           kg_tshapes_size(&run->instance->desc) > (uint64_t)e->w->config.torch_tiny_elements;
}

static enum kg_stage_result of_timeout(struct kg_evaluation *e, enum kg_tcommand command,
                                       enum kg_stage stage, struct kg_err *err)
{
    static const char *const doing[KG_TC_COUNT] = {
        [KG_TC_LOAD] = "importing it",
        [KG_TC_BUILD] = "constructing the module",
        [KG_TC_STATE] = "loading its state",
        [KG_TC_BIND] = "taking inputs",
        [KG_TC_CALL] = "a call",
    };
    const struct kg_config *c = &e->w->config;
    if (command == KG_TC_CALL && interprets_long(e)) {
        return kg_toutcome_needs_gpu(err, "its kernels are interpreted, which takes too long at "
                                          "the published shape");
    }
    bool first = command == KG_TC_CALL && !kg_torch_run_of(e)->called;
    const char *option = command != KG_TC_CALL ? "torch.deadline_compile"
                         : first               ? "deadline.run + torch.first_call"
                                               : "deadline.run";
    double limit = command != KG_TC_CALL ? c->torch_deadline_compile
                   : first               ? c->deadline_run + c->torch_first_call
                                         : c->deadline_run;
    const char *what = doing[command] ? doing[command] : "an answer";
    if (kg_evaluation_over(e)) {
        what = "its evaluation";
        option = "torch.deadline_eval";
        limit = c->torch_deadline_eval;
    }
    kg_record_limit(e->r, limit, "s");
    kg_record_verdict(e->r, KG_V_TIMEOUT, kg_stage_name(stage), "%s took longer than %g s (%s)",
                      what, limit, option);
    return KG_STAGE_FAIL;
}

static enum kg_stage_result of_protocol(struct kg_evaluation *e)
{
    kg_record_verdict(e->r, KG_V_CRASH, "protocol",
                      "its process answered what it was not asked, or out of bounds");
    return KG_STAGE_FAIL;
}

/* --- answers that are no success --- */

static const char *text_of(const json_t *reply, const char *key)
{
    const char *s = json_string_value(json_object_get(reply, key));
    return s ? s : "";
}

static bool is_loading(enum kg_tcommand command)
{
    return command == KG_TC_LOAD || command == KG_TC_BUILD;
}

/* Lines of its own file that were active: claims, which feedback bounds by the source. */
static void add_lines(json_t *seen, const json_t *lines)
{
    json_t *own = json_array();
    for (size_t i = 0; i < json_array_size(lines) && i < MOST_FRAMES; i++) {
        json_array_append_new(own, json_integer(json_integer_value(json_array_get(lines, i))));
    }
    json_object_set_new(seen, "lines", own);
}

/* A compiler's or linker's word, told before the candidate was given any input, and where no
 * earlier process of the same source, which had some, could leave it anything. */
static bool complained(struct kg_evaluation *e, enum kg_tcommand command, const json_t *reply)
{
    const char *log = text_of(reply, "log");
    if (!*log || !is_loading(command) || kg_torch_run_of(e)->builds_kept) {
        return false;
    }
    struct kg_tcomplaint c;
    struct kg_buf text;
    kg_buf_init(&text, 1u << 17);
    kg_tcomplaint_read(log, e->r->candidate.code, &text, &c);
    kg_record_evidence(e->r, "compiler",
                       json_pack("{s:o, s:i, s:b}", "text", kg_json_text(text.data, text.len),
                                 "line", c.line, "cached", false));
    kg_tmet_note(e, log);
    char where[24] = "";
    if (c.line > 0) {
        snprintf(where, sizeof where, "line %d: ", c.line);
    }
    kg_record_verdict(e->r, KG_V_COMPILE_ERROR, c.reason, "%s%s", where, c.first);
    kg_buf_deinit(&text);
    return true;
}

/* An error of the device's, which its process cannot leave behind: a claim, like all that a runner
 * says of its exception. */
static bool of_device(const struct kg_evaluation *e, const json_t *reply)
{
    return json_is_true(json_object_get(reply, "device")) && !kg_torch_on_cpu(e->w);
}

static void raised(struct kg_evaluation *e, enum kg_tcommand command, const json_t *reply)
{
    bool loading = is_loading(command);
    if (complained(e, command, reply)) {
        return;
    }
    const char *type = text_of(reply, "type"), *where = text_of(reply, "where");
    const char *message = text_of(reply, "message");
    const char *doing = command == KG_TC_LOAD    ? "importing it"
                        : command == KG_TC_BUILD ? "constructing it"
                        : command == KG_TC_STATE ? "loading its state"
                                                 : "its call";
    json_t *seen = json_pack("{s:o, s:o, s:s}", "type", kg_json_text(type, strlen(type)), "message",
                             kg_json_text(message, strlen(message)), "during", doing);
    if (*where) { /* in its own file */
        json_object_set_new(seen, "where", kg_json_text(where, strlen(where)));
        json_object_set_new(seen, "line",
                            json_integer(json_integer_value(json_object_get(reply, "line"))));
        add_lines(seen, json_object_get(reply, "lines"));
    }
    kg_record_evidence(e->r, "exception", seen);
    kg_tmet_note(e, message);
    e->memory = *text_of(reply, "memory") != 0;
    kg_record_verdict(e->r, loading ? KG_V_COMPILE_ERROR : KG_V_CRASH,
                      loading               ? "load"
                      : of_device(e, reply) ? "device"
                                            : "exception",
                      "%s ended in %.60s%s%.100s%s%.200s", doing, *type ? type : "an exception",
                      *where ? " at " : "", where, *message ? ": " : "", message);
}

/* Of a GPU's or of the host's: on a GPU a module may run out of either. */
static const char *whose_memory(const struct kg_evaluation *e, const json_t *reply)
{
    bool device = strcmp(text_of(reply, "memory"), "device") == 0;
    return device && e->on_device ? "device" : "host";
}

/* It says that the device has no memory, of which less was left for it than it is owed. */
static bool is_starved(const struct kg_evaluation *e, enum kg_tstatus said, const json_t *reply)
{
    return said == KG_TA_OUT_OF_MEMORY && e->on_device &&
           strcmp(text_of(reply, "memory"), "device") == 0 && kg_tmemory_is_tight(e->w);
}

/* The place is evidence of its own: the card shows the line with a mark, as it does for C. */
static void of_syntax(struct kg_evaluation *e, const json_t *reply)
{
    const char *message = text_of(reply, "message");
    json_int_t line = json_integer_value(json_object_get(reply, "line"));
    json_int_t column = json_integer_value(json_object_get(reply, "column"));
    char place[40] = "";
    if (line > 0) {
        snprintf(place, sizeof place, "line %lld: ", (long long)line);
        kg_record_evidence(e->r, "syntax",
                           json_pack("{s:I, s:I, s:o}", "line", line, "column",
                                     column > 0 ? column : 0, "message",
                                     kg_json_text(message, strlen(message))));
    }
    kg_record_verdict(e->r, KG_V_COMPILE_ERROR, "syntax", "%s%.200s", place, message);
}

/* Is it likely that only the lack of a GPU made it fail? Before its first right answer, where its
 * source names what needs one. Either torch, triton or ctypes found no device, or a source with
 * kernels that asks where it runs raised by itself. Both are claims: all that they bring about is
 * an error that counts as the lowest failure. */
static bool lacks_gpu(const struct kg_evaluation *e, enum kg_tstatus said, const json_t *reply)
{
    if (!kg_torch_on_cpu(e->w) || kg_torch_run_of(e)->right) {
        return false;
    }
    return said == KG_TA_NEEDS_GPU
               ? kg_module_needs_gpu(e->code, e->code_len)
               : said == KG_TA_EXCEPTION && json_is_true(json_object_get(reply, "raised")) &&
                     kg_module_kernels(e->code, e->code_len) != 0 &&
                     kg_module_asks_device(e->code, e->code_len,
                                           json_integer_value(json_object_get(reply, "line")));
}

void kg_toutcome_no_entry(struct kg_evaluation *e)
{
    kg_record_verdict(e->r, KG_V_COMPILE_ERROR, "missing_entry", "the module does not define `%s`",
                      kg_torch_of(e->w)->problem->entry);
    e->r->compiled = 0;
}

static enum kg_stage_result of_status(struct kg_evaluation *e, enum kg_tcommand command,
                                      enum kg_tstatus said, const json_t *reply, struct kg_err *err)
{
    struct kg_record *r = e->r;
    const char *message = text_of(reply, "message");
    if (lacks_gpu(e, said, reply)) {
        return kg_toutcome_needs_gpu(err, message);
    }
    if (is_starved(e, said, reply)) {
        (void)!kg_tmemory_excuse(e->w, message, err);
        return KG_STAGE_ERROR;
    }
    switch (said) {
    case KG_TA_SYNTAX:
        of_syntax(e, reply);
        break;
    case KG_TA_NO_ENTRY:
        kg_toutcome_no_entry(e);
        break;
    case KG_TA_STATE:
        kg_toutcome_params(e);
        break;
    case KG_TA_TOO_LARGE:
        kg_record_verdict(r, KG_V_WRONG, "shape", "its answer is much larger than the reference's");
        break;
    case KG_TA_STRUCTURE:
        kg_record_verdict(r, KG_V_WRONG, "structure", "its answer holds what is no plain tensor");
        break;
    case KG_TA_OUT_OF_MEMORY:
        kg_record_verdict(r, KG_V_OUT_OF_MEMORY, whose_memory(e, reply),
                          "it ran out of memory%s%.200s", *message ? ": " : "", message);
        break;
    default:
        raised(e, command, reply);
    }
    return KG_STAGE_FAIL;
}

enum kg_stage_result kg_toutcome_command(struct kg_evaluation *e, enum kg_tcommand command,
                                         enum kg_stage stage, const struct kg_pyanswer *a,
                                         struct kg_err *err)
{
    switch (a->status) {
    case KG_PY_DIED:
        return of_exit(e, stage);
    case KG_PY_TIMEOUT:
        return of_timeout(e, command, stage, err);
    case KG_PY_PROTOCOL:
        return of_protocol(e);
    default:
        return of_status(e, command, a->said, a->reply, err);
    }
}

static enum kg_stage_result of_answer(struct kg_evaluation *e, enum kg_tcommand command,
                                      enum kg_tstatus said, struct kg_err *err)
{
    json_t *reply = kg_pyrunner_reply(&kg_torch_run_of(e)->cand.runner);
    enum kg_stage_result s = of_status(e, command, said, reply, err);
    json_decref(reply);
    return s;
}

enum kg_stage_result kg_toutcome_call(struct kg_evaluation *e, enum kg_tcommand command,
                                      enum kg_stage stage, const struct kg_dj_report *rep,
                                      struct kg_err *err)
{
    switch (rep->status) {
    case KG_DJ_DIED:
        return of_exit(e, stage);
    case KG_DJ_LATE:
        return of_timeout(e, command, stage, err);
    case KG_DJ_PROTOCOL:
        return of_protocol(e);
    default:
        return of_answer(e, command, rep->said, err);
    }
}

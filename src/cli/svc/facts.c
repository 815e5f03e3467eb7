/* What a worker of the service executes to look at one of its devices: {"device", "words",
 * "memory_mb", "isolation", "canaries"} as one line. A host without PyTorch has fewer words, and
 * that is no error. */
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/svc/serve.h"
#include "gym/eval/config.h"
#include "gym/eval/executor.h"
#include "gym/sandbox/sandbox.h"
#include "gym/torch/executor/torch_facts.h"

enum { MODEL_WORDS = 16 };

/* last: the stage that it is judged to. */
static void keep_canary(json_t *out, const char *class, const char *problem, const char *last,
                        const struct kg_buf *text)
{
    json_object_set_new(out, class,
                        json_pack("{s:s, s:s, s:o}", "problem", problem, "stop_after", last, "text",
                                  kg_json_text(text->data, text->len)));
}

/* A problem of each class that is judged quickly, and its own reference as the candidate. */
static void add_cpu_canary(struct kg_worker *w, json_t *out)
{
    static const char problem[] = "silu";
    struct kg_err ignored = KG_ERR_INIT;
    struct kg_buf text;
    kg_buf_init(&text, 1 << 20);
    if (kg_executor_problem(w, problem, &ignored) == KG_OK) {
        w->executor->canary(w, &text);
        keep_canary(out, "cpu", problem, "full", &text);
    }
    kg_buf_deinit(&text);
}

/* Made from the file, since the executor would start PyTorch for it. */
static void add_torch_canary(struct kg_worker *w, json_t *out)
{
    static const char problem[] = "01_linear_gelu";
    struct kg_err ignored = KG_ERR_INIT;
    const struct kg_executor *x;
    struct kg_buf text;
    char path[1200];
    kg_buf_init(&text, 1 << 20);
    if (kg_executor_find(&w->paths, problem, &x, path, sizeof path, &ignored) == KG_OK &&
        kg_file_read(path, &text, &ignored) == KG_OK) {
        kg_buf_adds(&text, "\n\nModelNew = Model\n");
        keep_canary(out, "torch", problem, "tiny", &text);
    }
    kg_buf_deinit(&text);
}

/* "NVIDIA H100 80GB HBM3": model:NVIDIA, model:H100, ... */
static void add_model(json_t *words, const char *name)
{
    char copy[200], word[64], *rest = NULL;
    snprintf(copy, sizeof copy, "%s", name);
    for (char *at = strtok_r(copy, " ", &rest); at != NULL; at = strtok_r(NULL, " ", &rest)) {
        for (char *c = at; *c != '\0'; c++) {
            *c = strchr("\"\\,;:()/@", *c) != NULL || *c < '!' || *c > '~' ? '-' : *c;
        }
        snprintf(word, sizeof word, "model:%.50s", at);
        if (json_array_size(words) < MODEL_WORDS) {
            json_array_append_new(words, json_string(word));
        }
    }
}

/* Is torch there? Importing it takes seconds, and says nothing more of a CPU. */
static bool finds_torch(struct kg_worker *w)
{
    static char found[] = "import importlib.util, sys\n"
                          "sys.exit(0 if importlib.util.find_spec('torch') else 1)";
    const char *asked = w->config.python, *own = w->paths.own_python;
    char *python = (char *)(uintptr_t)(asked[0] != '\0' ? asked : own[0] != '\0' ? own : "python3");
    char *const argv[] = {python, (char[]){"-s"}, (char[]){"-c"}, found, NULL};
    pid_t pid;
    int status;
    return posix_spawnp(&pid, python, NULL, NULL, argv, environ) == 0 &&
           waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool has_gpu(const struct kg_config *c)
{
    bool any = strcmp(c->device, "auto") == 0;
    return (any && access("/dev/nvidiactl", F_OK) == 0) || (!any && strcmp(c->device, "cpu") != 0);
}

static void add_cpu_torch(struct kg_worker *w, json_t *out, json_t *words, json_t *known)
{
    if (finds_torch(w)) {
        int64_t bytes = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
        json_array_append_new(words, json_string("torch"));
        json_object_set_new(out, "memory_mb", json_integer(bytes >> 20));
        add_torch_canary(w, known);
    }
}

static void add_torch(struct kg_worker *w, json_t *out, json_t *words, json_t *known)
{
    struct kg_err err = KG_ERR_INIT;
    json_t *facts = NULL;
    if (kg_torch_facts(w, &facts, &err) == KG_OK) {
        const char *device = json_string_value(json_object_get(facts, "device"));
        const char *model = json_string_value(json_object_get(facts, "device_name"));
        json_int_t bytes = json_integer_value(json_object_get(facts, "memory_bytes"));
        bool cuda = device != NULL && strncmp(device, "cuda", 4) == 0;
        json_array_append_new(words, json_string("torch"));
        if (cuda) {
            json_array_append_new(words, json_string("cuda"));
            add_model(words, model != NULL ? model : "");
        }
        json_object_set_new(out, "device", json_string(device != NULL ? device : "cpu"));
        json_object_set_new(out, "memory_mb", json_integer(bytes >> 20));
        add_torch_canary(w, known);
    } else {
        kg_log(KG_LOG_WARN, "device %s: %s: only C problems are judged", w->config.device,
               err.message);
    }
    json_decref(facts);
}

static enum kg_code look(int argc, char **argv, json_t *out, struct kg_err *err)
{
    struct kg_config c;
    struct kg_worker *w = NULL;
    int cpu = -1;
    enum kg_code code = kg_config_load(&c, NULL, NULL, environ, err);
    for (int i = 2; i < argc && code == KG_OK; i++) {
        code = kg_opts_set_pair(kg_config_options(), &c, argv[i], "set", err);
    }
    if (code == KG_OK && argc > 1 && argv[1][0] != '\0') {
        code = kg_opts_set(kg_config_options(), &c, "device", argv[1], "devices", err);
    }
    kg_worker_cores(&cpu, 1);
    code = code != KG_OK ? code : kg_worker_open(&c, cpu, &kg_cli_cancelled, &w, err);
    if (code == KG_OK) {
        json_t *words = json_pack("[s]", "cpu"), *known = json_object();
        json_object_set_new(out, "isolation", json_integer(kg_sandbox_isolation(0).level));
        json_object_set_new(out, "words", words);
        json_object_set_new(out, "canaries", known);
        add_cpu_canary(w, known);
        if (has_gpu(&c)) {
            add_torch(w, out, words, known);
        } else {
            add_cpu_torch(w, out, words, known);
        }
    }
    kg_worker_close(w);
    return code;
}

int kg_cmd_serve_facts(int argc, char **argv)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_buf text;
    json_t *out = json_object();
    kg_log_role("worker");
    enum kg_code code = look(argc, argv, out, &err);
    kg_buf_init(&text, 4 << 20);
    if (code == KG_OK) {
        kg_json_dump(out, &text);
        puts(text.data);
    }
    kg_buf_deinit(&text);
    json_decref(out);
    return code == KG_OK ? KG_STATUS_GOOD : kg_cli_fail("worker", &err);
}

/* The first message for a problem, for the client. It reads files and runs nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "gym/eval/first_message.h"
#include "gym/pool/supervisor.h"

/* A problem that came as text becomes a file of the name that came with it, in a new folder. */
static enum kg_code keep(const struct kg_frame *f, const char *name, char *folder,
                         size_t folder_cap, char *path, size_t cap, struct kg_err *err)
{
    const char *tmp = getenv("TMPDIR"), *slash = strrchr(name, '/');
    const char *base = slash ? slash + 1 : name;
    if (strcmp(base, "") == 0 || strcmp(base, ".") == 0 || strcmp(base, "..") == 0 ||
        strlen(base) > 200) {
        return kg_fail(err, KG_E_USAGE, "problem: a file name is needed beside its text");
    }
    snprintf(folder, folder_cap, "%s/kgym-prompt-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(folder)) {
        folder[0] = 0;
        return kg_fail(err, KG_E_IO, "cannot make a folder for a problem's text");
    }
    snprintf(path, cap, "%s/%s", folder, base);
    return kg_file_write_atomic(path, f->body, f->len, err);
}

enum kg_code kg_pool_prompt(const char *suites, const struct kg_frame *f,
                            struct kg_prompt_spec *spec, struct kg_buf *out, struct kg_err *err)
{
    struct kg_paths paths;
    struct kg_err ignored = KG_ERR_INIT;
    char folder[512] = "", path[768];
    const char *problem = kg_frame_text(f->head, "problem");
    const char *language = kg_frame_text(f->head, "language");
    spec->limit = KG_PROMPT_MAX_BYTES; /* the client measures it */
    spec->style =
        json_is_true(json_object_get(f->head, "plain")) ? KG_FEEDBACK_PLAIN : KG_FEEDBACK_MARKDOWN;
    if (!problem || (language && !kg_prompt_language_parse(language, &spec->language))) {
        return kg_fail(err, KG_E_USAGE, "prompt: no problem, or no such language");
    }
    enum kg_code code = KG_OK;
    if (json_is_true(json_object_get(f->head, "given"))) {
        code = keep(f, problem, folder, sizeof folder, path, sizeof path, err);
        problem = path;
    }
    code = code == KG_OK ? kg_paths_find(suites, &paths, err) : code;
    code = code == KG_OK ? kg_prompt_for(&paths, problem, spec, out, err) : code;
    if (folder[0]) {
        (void)!kg_file_remove_tree(folder, &ignored);
    }
    return code;
}

enum kg_code kg_supervisor_prompt(const struct kg_supervisor *s, const struct kg_frame *f,
                                  struct kg_buf *out, struct kg_err *err)
{
    struct kg_prompt_spec spec = {0};
    kg_prompt_spec_of(&s->config, &spec);
    return kg_pool_prompt(s->config.suites, f, &spec, out, err);
}

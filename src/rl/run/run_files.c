/* The growing files of a run, and the lock of its folder. */
#include "rl/run/run_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"

#define LINE_MAX_BYTES (4u << 20)

const char *rl_file_name(enum rl_file f)
{
    /* TensorBoard reads names with "tfevents" in them. */
    static const char *const name[] = {"metrics.jsonl", "trajectories.jsonl",
                                       "events.out.tfevents.0.kgym"};
    return name[f];
}

static void path_of(const struct rl_files *f, const char *name, char out[PATH_MAX])
{
    snprintf(out, PATH_MAX, "%s/%.250s", f->folder, name);
}

static enum kg_code cannot(const struct rl_files *f, enum rl_file which, struct kg_err *err)
{
    return kg_fail(err, KG_E_IO, "%s/%s: cannot write: %s", f->folder, rl_file_name(which),
                   strerror(errno));
}

void rl_files_close(struct rl_files *f)
{
    for (int i = 0; i < RL_FILES; i++) {
        if (f->file[i] != NULL) {
            fclose(f->file[i]);
            f->file[i] = NULL;
        }
    }
    if (f->folder[0] != '\0' && f->lock >= 0) {
        close(f->lock);
        f->lock = -1;
    }
}

static enum kg_code begin(struct rl_files *f, const char *folder, struct kg_err *err)
{
    *f = (struct rl_files){.lock = -1};
    if (strlen(folder) >= sizeof f->folder || folder[0] == '\0') {
        return kg_fail(err, KG_E_USAGE, "the name of the run's folder is empty or too long");
    }
    snprintf(f->folder, sizeof f->folder, "%s", folder);
    return KG_OK;
}

static enum kg_code open_all(struct rl_files *f, struct kg_err *err)
{
    char path[PATH_MAX];
    for (int i = 0; i < RL_FILES; i++) {
        path_of(f, rl_file_name((enum rl_file)i), path);
        f->file[i] = fopen(path, "ae");
        if (f->file[i] == NULL) {
            return cannot(f, (enum rl_file)i, err);
        }
    }
    return KG_OK;
}

enum kg_code rl_files_create(struct rl_files *f, const char *folder, const char *config, size_t len,
                             struct kg_err *err)
{
    char path[PATH_MAX];
    enum kg_code code = begin(f, folder, err);
    code = code == KG_OK ? kg_file_mkdirs(folder, 0777, err) : code;
    if (code != KG_OK) {
        return code;
    }
    path_of(f, rl_file_name(RL_FILE_METRICS), path);
    if (kg_file_exists(path)) {
        return kg_fail(err, KG_E_USAGE,
                       "%s: holds a run already (go on with --resume, or name a new folder)",
                       folder);
    }
    path_of(f, "config.yaml", path);
    code = kg_file_lock_folder(f->folder, &f->lock, err);
    code = code == KG_OK ? kg_file_write_atomic(path, config, len, err) : code;
    return code == KG_OK ? open_all(f, err) : code;
}

/* Half a checkpoint of a process that was killed. */
static enum kg_code sweep(struct rl_files *f, struct kg_err *err)
{
    char path[PATH_MAX];
    enum kg_code code = KG_OK;
    DIR *d = opendir(f->folder);
    for (const struct dirent *e; d != NULL && code == KG_OK && (e = readdir(d)) != NULL;) {
        bool ours = strncmp(e->d_name, RL_CHECKPOINT ".tmp.", sizeof RL_CHECKPOINT ".tmp") == 0 ||
                    strncmp(e->d_name, RL_SFT_FOLDER ".tmp.", sizeof RL_SFT_FOLDER ".tmp") == 0;
        if (ours) {
            path_of(f, e->d_name, path);
            code = kg_file_remove_tree(path, err);
        }
    }
    if (d != NULL) {
        closedir(d);
    }
    return code;
}

enum kg_code rl_files_open(struct rl_files *f, const char *folder, struct kg_err *err)
{
    char path[PATH_MAX];
    if (begin(f, folder, err) != KG_OK) {
        return err->code;
    }
    path_of(f, "config.yaml", path);
    if (!kg_file_exists(path)) {
        return kg_fail(err, KG_E_NOT_FOUND, "%s: holds no run: it has no config.yaml", folder);
    }
    enum kg_code code = kg_file_lock_folder(f->folder, &f->lock, err);
    code = code == KG_OK ? sweep(f, err) : code;
    return code == KG_OK ? open_all(f, err) : code;
}

enum kg_code rl_files_cut(struct rl_files *f, const json_t *lengths, struct kg_err *err)
{
    for (int i = 0; i < RL_FILES; i++) {
        const char *name = rl_file_name((enum rl_file)i);
        json_int_t want = json_integer_value(json_object_get(lengths, name));
        struct stat st;
        if (fstat(fileno(f->file[i]), &st) != 0) {
            return cannot(f, (enum rl_file)i, err);
        }
        if (want < 0 || st.st_size < want) {
            return kg_fail(err, KG_E_INPUT, "%s/%s: has %lld bytes, and had %lld at the checkpoint",
                           f->folder, name, (long long)st.st_size, (long long)want);
        }
        if (ftruncate(fileno(f->file[i]), (off_t)want) != 0 ||
            fseeko(f->file[i], 0, SEEK_END) != 0) { /* the stream was opened at the old end */
            return cannot(f, (enum rl_file)i, err);
        }
    }
    return KG_OK;
}

enum kg_code rl_files_add(struct rl_files *f, enum rl_file which, const void *bytes, size_t n,
                          struct kg_err *err)
{
    FILE *file = f->file[which];
    if (file == NULL) {
        return KG_OK;
    }
    bool good = fwrite(bytes, 1, n, file) == n && fflush(file) == 0;
    return good ? KG_OK : cannot(f, which, err);
}

enum kg_code rl_files_line(struct rl_files *f, enum rl_file which, const json_t *line,
                           struct kg_err *err)
{
    struct kg_buf text;
    if (f->file[which] == NULL) {
        return KG_OK;
    }
    kg_buf_init(&text, LINE_MAX_BYTES);
    kg_json_dump(line, &text);
    kg_buf_addc(&text, '\n');
    enum kg_code code = kg_buf_ok(&text)
                            ? rl_files_add(f, which, text.data, text.len, err)
                            : kg_fail(err, KG_E_LIMIT, "%s/%s: a line of more than %u bytes",
                                      f->folder, rl_file_name(which), LINE_MAX_BYTES);
    kg_buf_deinit(&text);
    return code;
}

enum kg_code rl_files_sync(struct rl_files *f, json_t **lengths, struct kg_err *err)
{
    *lengths = json_object();
    for (int i = 0; i < RL_FILES; i++) {
        struct stat st;
        FILE *file = f->file[i];
        if (file == NULL) {
            continue;
        }
        if (fflush(file) != 0 || fsync(fileno(file)) != 0 || fstat(fileno(file), &st) != 0) {
            json_decref(*lengths);
            *lengths = NULL;
            return cannot(f, (enum rl_file)i, err);
        }
        json_object_set_new(*lengths, rl_file_name((enum rl_file)i),
                            json_integer((json_int_t)st.st_size));
    }
    return KG_OK;
}

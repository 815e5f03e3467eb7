/* The place of a checkpoint: whether its folder is whole, how a new folder takes the place of an
 * older one, and what a crash in the middle of that leaves.
 *
 * One rename exchanges both folders where the file system can do that. NFS, CephFS and 9p cannot:
 * there the older folder is renamed to DIR.replaced, then the new one to DIR. Between the two there
 * is no DIR; a crash then leaves DIR.replaced alone, and lm_checkpoint_recover() puts it back. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "lm/io/checkpoint.h"
#include "lm/io/checkpoint_form.h"

#define REPLACED   ".replaced"
#define PUT_ROUNDS 8 /* readers that put the older folder back, one after the other */

/* --- whole or not --- */

enum kg_code lm_checkpoint_read_json(const char *dir, const char *name, json_t **out,
                                     struct kg_err *err)
{
    char path[PATH_MAX];
    struct kg_buf text;
    *out = NULL;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    kg_buf_init(&text, LM_CHECKPOINT_MAX);
    enum kg_code code = kg_file_read(path, &text, err);
    code = code == KG_OK ? kg_json_parse(text.data, text.len, path, out, err) : code;
    kg_buf_deinit(&text);
    if (code != KG_OK) {
        return code;
    }
    const char *format = json_string_value(json_object_get(*out, "format"));
    if (format == NULL || strcmp(format, LM_CHECKPOINT_FORMAT) != 0) {
        json_decref(*out);
        *out = NULL;
        return kg_fail(err, KG_E_INPUT, "%s: \"format\" is not " LM_CHECKPOINT_FORMAT, path);
    }
    return KG_OK;
}

bool lm_checkpoint_has(const char *dir, const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return kg_file_exists(path);
}

static enum kg_code check_sizes(const char *dir, const json_t *files, struct kg_err *err)
{
    char path[PATH_MAX];
    struct stat st;
    const char *name;
    const json_t *size;
    json_object_foreach((json_t *)(uintptr_t)files, name, size)
    {
        if (strchr(name, '/') != NULL || strlen(name) > 255) {
            return kg_fail(err, KG_E_INPUT, "%s/" LM_CHECKPOINT_DONE ": names a file elsewhere",
                           dir);
        }
        snprintf(path, sizeof path, "%s/%s", dir, name);
        if (stat(path, &st) != 0) {
            return kg_fail(err, KG_E_INPUT, "%s: %s, and " LM_CHECKPOINT_DONE " lists it", path,
                           strerror(errno));
        }
        if (!json_is_integer(size) || json_integer_value(size) != st.st_size) {
            return kg_fail(err, KG_E_INPUT,
                           "%s: has %lld bytes, not the number that " LM_CHECKPOINT_DONE " lists",
                           path, (long long)st.st_size);
        }
    }
    return KG_OK;
}

static enum kg_code check_whole(const char *dir, struct kg_err *err)
{
    json_t *done;
    if (!kg_file_exists(dir)) {
        return kg_fail(err, KG_E_NOT_FOUND, "%s: no such folder", dir);
    }
    if (!lm_checkpoint_has(dir, LM_CHECKPOINT_DONE)) {
        return lm_checkpoint_has(dir, LM_CHECKPOINT_STATE)
                   ? kg_fail(err, KG_E_INPUT,
                             "%s: not a whole checkpoint: it has no " LM_CHECKPOINT_DONE, dir)
                   : KG_OK;
    }
    enum kg_code code = lm_checkpoint_read_json(dir, LM_CHECKPOINT_DONE, &done, err);
    if (code != KG_OK) {
        return code;
    }
    const json_t *files = json_object_get(done, "files");
    code = json_object_get(files, LM_CHECKPOINT_STATE) != NULL
               ? check_sizes(dir, files, err)
               : kg_fail(err, KG_E_INPUT, "%s/" LM_CHECKPOINT_DONE ": does not list %s", dir,
                         LM_CHECKPOINT_STATE);
    json_decref(done);
    return code;
}

/* --- places --- */

/* DIR.replaced. */
static enum kg_code replaced_of(const char *dir, char out[PATH_MAX], struct kg_err *err)
{
    size_t len = strlen(dir);
    while (len > 1 && dir[len - 1] == '/') {
        len--;
    }
    if (len > PATH_MAX - LM_CHECKPOINT_ROOM) {
        return kg_fail(err, KG_E_IO, "%s: path too long", dir);
    }
    snprintf(out, PATH_MAX, "%.*s" REPLACED, (int)len, dir);
    return KG_OK;
}

enum kg_code lm_checkpoint_sync(const char *dir, struct kg_err *err)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool good = fd >= 0 && fsync(fd) == 0;
    int why = errno;
    if (fd >= 0) {
        close(fd);
    }
    return good ? KG_OK : kg_fail(err, KG_E_IO, "%s: cannot write to disk: %s", dir, strerror(why));
}

static enum kg_code sync_parent(const char *dir, struct kg_err *err)
{
    char parent[PATH_MAX];
    snprintf(parent, sizeof parent, "%s/..", dir);
    return lm_checkpoint_sync(parent, err);
}

enum kg_code lm_checkpoint_recover(const char *dir, struct kg_err *err)
{
    char replaced[PATH_MAX];
    if (replaced_of(dir, replaced, err) != KG_OK) {
        return err->code;
    }
    if (kg_file_exists(dir) || !lm_checkpoint_has(replaced, LM_CHECKPOINT_DONE)) {
        return KG_OK;
    }
    enum kg_code code = check_whole(replaced, err);
    if (code == KG_OK && rename(replaced, dir) == 0) {
        return sync_parent(dir, err);
    }
    int why = errno;
    if (kg_file_exists(dir)) { /* its writer, or another reader, was faster */
        return KG_OK;
    }
    return code != KG_OK ? code
                         : kg_fail(err, KG_E_IO, "%s: cannot rename it to %s: %s", replaced, dir,
                                   strerror(why));
}

enum kg_code lm_checkpoint_check(const char *dir, struct kg_err *err)
{
    enum kg_code code = lm_checkpoint_recover(dir, err);
    return code == KG_OK ? check_whole(dir, err) : code;
}

/* A folder whose files another process of this host has open cannot be removed on NFS: it goes out
 * of the way. */
static enum kg_code make_way(const char *replaced, struct kg_err *err)
{
    char aside[PATH_MAX];
    if (kg_file_remove_tree(replaced, err) == KG_OK) {
        return KG_OK;
    }
    int n = snprintf(aside, sizeof aside, "%s.tmp.%ld", replaced, (long)getpid());
    return n < (int)sizeof aside && rename(replaced, aside) == 0 ? KG_OK : err->code;
}

/* dir is there, and keeps its folder on an error. A reader may see no dir and put the older folder
 * back before the new one comes; then both renames are done again. */
static enum kg_code put_by_two(const char *temporary, const char *dir, const char *replaced,
                               struct kg_err *err)
{
    for (int i = 0; i < PUT_ROUNDS; i++) {
        if (make_way(replaced, err) != KG_OK) {
            return err->code;
        }
        if (rename(dir, replaced) != 0) {
            return kg_fail(err, KG_E_IO, "%s: cannot rename it to %s: %s", dir, replaced,
                           strerror(errno));
        }
        if (rename(temporary, dir) == 0) {
            return KG_OK;
        }
        if (errno != ENOTEMPTY && errno != EEXIST) {
            break;
        }
    }
    int why = errno;
    (void)!rename(replaced, dir);
    return kg_fail(err, KG_E_IO, "%s: cannot replace: %s", dir, strerror(why));
}

enum kg_code lm_checkpoint_put(const char *temporary, const char *dir, struct kg_err *err)
{
    char replaced[PATH_MAX];
    bool there = kg_file_exists(dir);
    struct kg_err ignored = KG_ERR_INIT;
    enum kg_code code = replaced_of(dir, replaced, err);
    if (code != KG_OK) {
        return code;
    }
    int bad = there ? renameat2(AT_FDCWD, temporary, AT_FDCWD, dir, RENAME_EXCHANGE)
                    : rename(temporary, dir);
    if (bad != 0 && there && (errno == EINVAL || errno == ENOSYS || errno == ENOTSUP)) {
        code = put_by_two(temporary, dir, replaced, err);
    } else if (bad != 0) {
        code = kg_fail(err, KG_E_IO, "%s: cannot replace: %s", dir, strerror(errno));
    }
    code = code == KG_OK ? sync_parent(dir, err) : code;
    if (code == KG_OK && kg_file_remove_tree(replaced, &ignored) != KG_OK) {
        kg_log(KG_LOG_WARN, "the checkpoint before stays: %s", ignored.message);
    }
    return code;
}

enum kg_code lm_checkpoint_remove(const char *dir, struct kg_err *err)
{
    char replaced[PATH_MAX];
    enum kg_code code = replaced_of(dir, replaced, err);
    code = code == KG_OK ? kg_file_remove_tree(replaced, err) : code;
    return code == KG_OK ? kg_file_remove_tree(dir, err) : code;
}

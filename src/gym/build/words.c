/* Words of commands: splits what the driver prints, quotes what a shell reads, and runs a trusted
 * command to collect its output. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gym/build/toolchain.h"

enum kg_code kg_cc_split(struct kg_arena *arena, const char *line, size_t len, struct kg_args *out,
                         struct kg_err *err)
{
    struct kg_buf word;
    kg_buf_init(&word, 1 << 15);
    enum kg_code code = KG_OK;
    size_t i = 0;
    out->n = 0;
    while (code == KG_OK) {
        i += strspn(line + i, " \t");
        if (i >= len) {
            break;
        }
        kg_buf_reset(&word);
        for (bool quoted = false; i < len && (quoted || (line[i] != ' ' && line[i] != '\t')); i++) {
            if (line[i] == '"') {
                quoted = !quoted;
            } else {
                i += line[i] == '\\' && i + 1 < len;
                kg_buf_addc(&word, line[i]);
            }
        }
        const char *copy = kg_arena_dup(arena, word.data, word.len, err);
        if (copy == NULL) {
            code = err->code;
        } else if (out->n == KG_CC_MAX_ARGS) {
            code =
                kg_fail(err, KG_E_LIMIT, "compiler: a step has more than %d words", KG_CC_MAX_ARGS);
        } else {
            out->at[out->n++] = copy;
        }
    }
    kg_buf_deinit(&word);
    return code;
}

void kg_cc_quote(const struct kg_args *args, struct kg_buf *out)
{
    const size_t here = strlen(KG_CC_HERE);
    for (size_t i = 0; i < args->n; i++) {
        const char *w = args->at[i];
        kg_buf_adds(out, i == 0 ? "" : " ");
        if (strncmp(w, KG_CC_HERE, here) == 0) {
            kg_buf_adds(out, "\"$d\"");
            w += here;
        }
        kg_buf_addc(out, '\'');
        for (; *w != '\0'; w++) {
            if (*w == '\'') {
                kg_buf_adds(out, "'\\''");
            } else {
                kg_buf_addc(out, *w);
            }
        }
        kg_buf_addc(out, '\'');
    }
}

static void read_all(int fd, struct kg_buf *out)
{
    char chunk[8192];
    for (;;) {
        ssize_t n = read(fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return;
        }
        kg_buf_add(out, chunk, (size_t)n);
    }
}

static int spawn_captured(const char *const *argv, int writer, pid_t *pid)
{
    posix_spawn_file_actions_t act;
    int rc = posix_spawn_file_actions_init(&act);
    if (rc != 0) {
        return rc;
    }
    static const char *const plain[] = {"LC_ALL=C", NULL, NULL};
    const char *env[] = {plain[0], NULL, NULL};
    for (char **e = environ; *e != NULL; e++) {
        if (strncmp(*e, "PATH=", 5) == 0) {
            env[1] = *e;
        }
    }
    posix_spawn_file_actions_addopen(&act, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&act, writer, 1);
    posix_spawn_file_actions_adddup2(&act, writer, 2);
    rc = posix_spawnp(pid, argv[0], &act, NULL, (char *const *)(uintptr_t)argv,
                      (char *const *)(uintptr_t)env);
    posix_spawn_file_actions_destroy(&act);
    return rc;
}

enum kg_code kg_cc_capture(const char *const *argv, struct kg_buf *out, struct kg_err *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return kg_fail(err, KG_E_HOST, "compiler: cannot make a pipe: %s", strerror(errno));
    }
    pid_t pid;
    int rc = spawn_captured(argv, ends[1], &pid);
    close(ends[1]);
    if (rc != 0) {
        close(ends[0]);
        return kg_fail(err, KG_E_HOST,
                       "compiler `%s` cannot be run: %s; install it (`apt-get install gcc "
                       "binutils libc6-dev`) or name another with --set compiler=NAME",
                       argv[0], strerror(rc));
    }
    read_all(ends[0], out);
    close(ends[0]);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        return kg_fail(err, KG_E_HOST, "compiler: `%s %s` failed: %.200s", argv[0],
                       argv[1] != NULL ? argv[1] : "", out->data);
    }
    return KG_OK;
}

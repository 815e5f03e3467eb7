/* The second way to start a program in a sandbox. A helper, a Python that has already imported
 * PyTorch, forks a child, which forks the program and exits. Then the program becomes this
 * process's child. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gym/sandbox/plan.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

/* Makes this process adopt orphans only while it asks the helper for one. At other times orphans go
 * to init. */
static enum kg_code ask_as_reaper(const struct kg_plan *plan, int image, struct kg_err *err)
{
    const struct kg_birth *b = plan->spec->birth;
    int was = 0;
    prctl(PR_GET_CHILD_SUBREAPER, &was, 0, 0, 0);
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) {
        return kg_fail(err, KG_E_HOST, "sandbox: cannot adopt: %s", strerror(errno));
    }
    enum kg_code code = b->ask(b->helper, image, plan->ctl[1], err);
    prctl(PR_SET_CHILD_SUBREAPER, was, 0, 0, 0);
    return code;
}

/* Cleans up after the helper failed. A program that was already forked waits for a word that never
 * comes. It and the child between may be this process's children by now. */
static void clear_up(const struct kg_plan *plan, struct kg_sandbox *s)
{
    struct kg_note note;
    if (recv(plan->ctl[0], &note, sizeof note, MSG_DONTWAIT) != (ssize_t)sizeof note ||
        note.kind != KG_NOTE_BORN) {
        return;
    }
    s->pid = note.pid;
    waitpid(note.between, NULL, WNOHANG);
}

enum kg_code kg_adopt_and_talk(struct kg_plan *plan, struct kg_sandbox *s, int *failed,
                               struct kg_err *err)
{
    int image = kg_plan_save(plan);
    if (image < 0) {
        return kg_fail(err, KG_E_HOST, "sandbox: cannot write the plan: %s", strerror(-image));
    }
    enum kg_code code = ask_as_reaper(plan, image, err);
    close(image);
    close(plan->ctl[1]);
    plan->ctl[1] = -1;
    if (code != KG_OK) {
        clear_up(plan, s);
        return code;
    }
    struct kg_note note;
    if (!kg_spawn_hear(plan, &note)) {
        return kg_fail(err, KG_E_HOST, "sandbox: the helper gave birth to nothing");
    }
    note.what[sizeof note.what - 1] = '\0';
    if (note.kind != KG_NOTE_BORN || note.pid <= 1) {
        return kg_spawn_refused(&note, failed, err);
    }
    s->pid = note.pid;
    s->pidfd = (int)syscall(SYS_pidfd_open, s->pid, 0);
    /* Version 1: the program joins by itself. */
    bool move = s->cgroup_version == 2 && s->ncgroup > 0;
    return kg_spawn_talk(plan, s, move, failed, err);
}

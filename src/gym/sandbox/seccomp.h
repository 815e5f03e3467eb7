/* Private to the sandbox and the runner: the filters behind kg_seccomp_run and kg_seccomp_profile.
 * After a clone nothing may be allocated, so programs are generated before it and loaded after it.
 * Functions return 0 or -errno. Not thread safe, because the first call of a kind generates. */
#ifndef KG_GYM_SANDBOX_SECCOMP_H
#define KG_GYM_SANDBOX_SECCOMP_H

#include <linux/filter.h>

#include "gym/sandbox/sandbox.h"

enum kg_filter {
    KG_FILTER_TOOLS,  /* before exec of a tool or of the runner */
    KG_FILTER_SEALED, /* the runner, before it loads the candidate */
    KG_FILTER_JUDGE,
    KG_FILTER_PYTHON, /* a Python runner: torch, Triton's compiler runs */
    KG_FILTER_CUDA,   /* the same with CUDA */
    KG_FILTER_COUNT
};

/* Adds to a libseccomp filter (scmp_filter_ctx) what a Python runner may do besides tools. */
int kg_seccomp_python(void *ctx, bool cuda);
/* *out: the program; it lives as long as the process. */
int kg_seccomp_program(enum kg_filter which, const struct sock_fprog **out);
/* Loads a program. Needs no-new-privileges or CAP_SYS_ADMIN. Async-signal safe. */
int kg_seccomp_load(const struct sock_fprog *program);
/* Sets no-new-privileges and undumpable, then loads. */
int kg_seccomp_seal(const struct sock_fprog *program);
/* KG_FILTER_SEALED for a process of this pid, the only one that it may signal. The caller frees
 * out->filter. The build uses it for the runner. */
int kg_seccomp_sealed_for(uint32_t pid, struct sock_fprog *out);

#endif

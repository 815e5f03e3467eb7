/* Private to torch/: asking a zygote for a runner, inside a sandbox whose file system is made from
 * what its Python needs. */
#ifndef KG_GYM_TORCH_PROCESS_PYRUNNER_FORK_H
#define KG_GYM_TORCH_PROCESS_PYRUNNER_FORK_H

#include "gym/torch/process/pyrunner.h"

/* pipes: write ends of standard output and error. tmp_fd: see kg_sandbox_spec. The runner is
 * confined when this returns; whether it is ready it says in the control block. */
enum kg_code kg_pyrunner_fork(struct kg_zygote *z, const struct kg_pyrunner_spec *spec,
                              const int pipes[2], struct kg_sandbox *out, int *tmp_fd,
                              struct kg_err *err) KG_MUST_USE;

#endif

/* A pool whose judge is a service (docs/service.md): the process `kgym pool-remote`, which stands
 * where a local pool has its supervisor. It speaks the supervisor's frames with the pool's client
 * and HTTP with the service, so that kgym.h needs no other code, no thread and no socket for it.
 *
 * A task becomes a job under a key: the pool's run and the task's number, or, where the caller
 * named its run, a hash of what is asked. So whatever breaks (a connection, the service, this
 * process), what was sent is sent again under its key and is the same job. A job that was lost (it
 * was cancelled, or the gym could not judge it) frees its key: whoever asks again gets another one.
 *
 * What the service could not do is an error, never a verdict. It is waited for without a limit; a
 * task with a deadline ends by it.
 *
 * The end. When the client closes the pool its jobs are cancelled. When the client is gone without
 * a word they are cancelled too, unless it named its run: then they go on, since the next process
 * of that run asks for them by their keys. */
#ifndef KG_REMOTE_REMOTE_H
#define KG_REMOTE_REMOTE_H

/* The role `kgym pool-remote`. fd: the socket to the client. Returns the exit status. */
int kg_remote_run(int fd);

#endif

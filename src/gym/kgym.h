/* kgym: judge kernels that a model wrote. This is the public header; the learner, the service, the
 * commands and other programs use the gym through it alone.
 *
 *   struct kgym_pool *pool;
 *   struct kgym_error err;
 *   if (kgym_open(NULL, &pool, &err) != KGYM_OK) { puts(err.message); ... }
 *   struct kgym_task task = {.size = sizeof task, .problem = "softmax", .text = reply,
 *                            .text_len = strlen(reply)};
 *   kgym_submit(pool, &task, NULL, &err);
 *   struct kgym_result *r;
 *   while (kgym_next(pool, -1, &r, &err) == KGYM_OK && r) { puts(r->record); kgym_result_free(r); }
 *   kgym_close(pool);
 *
 * Processes. A pool is one supervisor process, which the library starts, and the supervisor's
 * workers, one for each core. All of them are the program `kgym`, executed anew: they inherit the
 * environment, the working folder and standard error, and no memory or other descriptor. The
 * library never forks without exec, pins, changes signals, or waits for a process that it did not
 * start. A caller may have threads and may hold a GPU context. When the caller ends, however it
 * ends, its supervisor and workers end as well.
 *
 * Threads. Calls on one pool may come from several threads at once. Calls on different pools are
 * independent. kgym_close must be the last call on its pool.
 *
 * Ownership. Strings that are passed in are copied. What a call gives out says who frees it.
 *
 * Errors. A call that can fail returns enum kgym_code and fills *err, which may not be NULL. The
 * message stands alone when printed. Programs decide by code, never by the message's text. The
 * lists below are complete but for memory: a call for which the caller's process has none fails
 * with LIMIT or HOST, and never ends the process.
 *
 * A pool that has ended. Where no worker can run on this host, where supervisors die again and
 * again, or where memory for a result or for the start of a process lacked, the pool gives the
 * results that it has. After them every call that needs the supervisor fails with the code and
 * message of the cause: HOST or GYM, NOT_FOUND or IO (a folder of the gym), or LIMIT. "ENDED" in a
 * list means any of these. Only kgym_close helps.
 *
 * Blocking. Only kgym_next and kgym_hold_core wait for events. But a call that finds the supervisor
 * dead starts another one and gives it all tasks: kgym_next, also with timeout 0, kgym_submit,
 * kgym_cancel, kgym_drain and each call with a round trip. That takes about 10 ms. It takes up to
 * 10 s more where processes of the old one do not end, and up to 60 s where the host is too busy
 * to start the new one. A call waits for this at most four times, then the pool has ended. Calls of
 * other threads on this pool wait meanwhile. A supervisor that is stopped (SIGSTOP) and not dead
 * is waited for without a limit by each call that needs its answer, and by kgym_submit once its
 * socket is full.
 *
 * Versions. A structure that the caller makes begins with its own size, so that fields can be added
 * at its end: a program that was built with an older header works with a newer library. Fields that
 * are not set must be zero. struct kgym_error and struct kgym_reward stay as they are; the library
 * makes struct kgym_result itself. */
#ifndef KGYM_H
#define KGYM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define KGYM_API __attribute__((visibility("default")))
#else
#define KGYM_API
#endif

enum kgym_code {
    KGYM_OK = 0,
    KGYM_E_USAGE,     /* an argument or a setting is wrong */
    KGYM_E_INPUT,     /* a file, a record or a reply is malformed */
    KGYM_E_NOT_FOUND, /* something named does not exist */
    KGYM_E_IO,        /* reading or writing failed */
    KGYM_E_LIMIT,     /* a documented limit was reached */
    KGYM_E_HOST,      /* the judging host lacks something: compiler, kernel feature, memory */
    KGYM_E_PROBLEM,   /* the problem is defective */
    KGYM_E_GYM,       /* a process of the gym failed */
    KGYM_E_CANCELLED, /* cancelled, or the task's deadline has passed */
    KGYM_E_NEEDS_GPU, /* the candidate needs a device that the judging host lacks */
    KGYM_E_FULL       /* the queue holds as many tasks as it may: take results, then submit again */
};

struct kgym_error {
    enum kgym_code code;
    char blame[16]; /* "host", "gym", "problem" or "candidate": whose fault it is */
    char message[480];
};

/* The version of the library, "0.1.0". Static. */
KGYM_API const char *kgym_version(void);

/* --- the pool --- */

struct kgym_pool;

struct kgym_options {
    size_t size; /* sizeof(struct kgym_options) */
    /* The configuration, as `kgym eval` takes it: a preset's name, a YAML file, and "key=value"
     * strings (docs/options.md), applied in this order after the environment's KGYM_* variables.
     * NULL: none. */
    const char *preset;
    const char *config_file;
    const char *const *settings;
    size_t nsettings;
    /* Worker processes; 0: one for each core, half as many where a GPU times. */
    int workers;
    /* Cores that workers are pinned to, taken in turn. NULL: all that the caller may use, from the
     * highest number down. */
    const int *cores;
    size_t ncores;
    /* Devices that workers take in turn, such as "cuda:0,cuda:1". NULL: the setting `device`. */
    const char *devices;
    /* Tasks that may be submitted and not yet taken by kgym_next; 0: 4096. */
    int queue_limit;
    /* Nonzero: records leave out the key `private` (seeds and cases). */
    int public_only;
    /* File that gets a trace of where the time goes; NULL: none. */
    const char *trace;
    /* The program `kgym`; NULL: $KGYM_PROGRAM, else the one beside the library, else of $PATH. */
    const char *program;
    /* A service that judges, "http://host:port" (docs/library.md, "A pool elsewhere"); NULL: this
     * host does. Then `workers` bounds the tasks that are at the service at once (0: 1024), and
     * cores, devices and trace must be NULL. */
    const char *gym;
    /* File whose first word is the service's token; NULL: $KGYM_TOKEN, else that of the
     * file $KGYM_TOKEN_FILE, else none. */
    const char *token_file;
    /* A name for what the caller does, 1 to 100 letters, digits, `.`, `_` or `-`; NULL: a new one.
     * Tasks of one run with the same content and tag are one job of the service, also those of
     * another process: so a caller that was killed goes on, and nothing is judged twice. */
    const char *run;
};

/* Starts a pool. options NULL: all defaults. Workers start when there is work for them. Blocks
 * until the supervisor has read its configuration, about 10 ms, 60 s at most.
 * Errors: USAGE (an option, a setting), INPUT, NOT_FOUND, IO (the configuration's file, or that of
 * the trace), LIMIT (a file that is too long), HOST (no program, one of another version, one that
 * does not answer, no core, no descriptor). */
KGYM_API enum kgym_code kgym_open(const struct kgym_options *options, struct kgym_pool **out,
                                  struct kgym_error *err);

/* Ends the pool: tasks without a result are dropped. Workers end within milliseconds, 10 s at most.
 * A pool at a service cancels its jobs there first, which takes 10 s more at most. NULL is
 * allowed. */
KGYM_API void kgym_close(struct kgym_pool *pool);

/* A descriptor to poll for reading: it is readable when kgym_next(pool, 0, ...) may have a result.
 * It stays the same for the life of the pool, which owns it. */
KGYM_API int kgym_fd(const struct kgym_pool *pool);

struct kgym_info {
    size_t size;     /* sizeof(struct kgym_info), set by the caller before the call */
    int workers;     /* wanted now */
    int cores;       /* that they are pinned to */
    int running;     /* tasks that a worker has */
    int queued;      /* tasks that wait for a worker */
    int queue_limit; /* of the options */
};
/* One round trip to the supervisor, about 50 us.
 * Errors: USAGE (size), GYM (the supervisor died twice over it), ENDED. */
KGYM_API enum kgym_code kgym_info(struct kgym_pool *pool, struct kgym_info *out,
                                  struct kgym_error *err);

/* Changes the number of workers while the pool runs. A surplus worker finishes its task first.
 * workers: 1 to 4096.  Errors: USAGE, GYM (as above), ENDED. */
KGYM_API enum kgym_code kgym_resize(struct kgym_pool *pool, int workers, struct kgym_error *err);

/* Takes a core for the caller: blocks until no worker of this pool has a task there, then the pool
 * gives none to that core until kgym_release_core. From the call on no task begins there. core -1:
 * all cores of the pool, which are waited for side by side. timeout_ms < 0: no limit. The time
 * begins again with another supervisor.
 * Errors: USAGE (not a core of the pool), LIMIT (the time is up: the core is not held), GYM (as
 * above), ENDED. kgym_release_core: USAGE, GYM, ENDED. */
KGYM_API enum kgym_code kgym_hold_core(struct kgym_pool *pool, int core, int timeout_ms,
                                       struct kgym_error *err);
KGYM_API enum kgym_code kgym_release_core(struct kgym_pool *pool, int core, struct kgym_error *err);

/* --- tasks and results --- */

enum kgym_kind {
    KGYM_EVALUATE, /* judge a candidate; the record is kgym.record/1 (docs/record.md) */
    KGYM_CHECK     /* is the problem fit to judge with? the record is what `kgym problems check
                      --json` prints; text is not used */
};

struct kgym_task {
    size_t size; /* sizeof(struct kgym_task) */
    enum kgym_kind kind;
    /* The problem: a name of the suites, or a path as `kgym eval` takes it. */
    const char *problem;
    /* Or the problem's own text, a file name that says its form in `problem`: NAME.c, NAME.py, or
     * NAME.jsonl#1 for a row (docs/pytorch.md). NULL: `problem` is looked up. */
    const char *problem_text;
    size_t problem_text_len;
    /* The model's reply; with `source` the candidate byte for byte. At most 64 MB. */
    const char *text;
    size_t text_len;
    int source;
    /* The caller's own name of the task: it is in the result, and in the record as `batch_id`.
     * NULL: none. At most 200 bytes of UTF-8. */
    const char *tag;
    /* Seconds from the submission until the result must be there; 0: no limit. After it the task
     * ends with the error CANCELLED, or with its record where that came at the same time. */
    double deadline_s;
    /* Comma-separated reward presets, such as "dr-kernel,binary". NULL: the pool's setting. */
    const char *rewards;
    /* The last stage: "extract", "static", "compile", "tiny", "full", "timing". NULL: all. */
    const char *stop_after;
    /* A record, with its `id` and `private`, whose verdict is repeated on the very same inputs.
     * Such a task earns no reward. NULL: none. */
    const char *replay;
    size_t replay_len;
};

/* Puts a task into the queue. *id, unless id is NULL, names it from now on. Does not wait for the
 * task. Every task that is accepted has exactly one result, in whatever way it ends, unless the
 * pool has ended. If the worker dies, or says what cannot be, its task is tried once more; then its
 * result is an error. If the supervisor dies, another one gets all tasks. A task that a worker had
 * at two such deaths ends as an error (GYM); the fourth death without a result in between ends the
 * pool. Tasks prefer the worker that holds their problem (docs/batches.md). Cost: one copy of the
 * text, sent before the call returns.
 * Errors: USAGE (a field, or after kgym_drain), LIMIT (too large), FULL, ENDED. */
KGYM_API enum kgym_code kgym_submit(struct kgym_pool *pool, const struct kgym_task *task,
                                    uint64_t *id, struct kgym_error *err);

struct kgym_reward {
    const char *name;
    double value;
};

struct kgym_result {
    uint64_t id;
    enum kgym_kind kind;
    const char *tag;      /* of the task; NULL: none */
    const char *record;   /* JSON in one line, NUL-terminated */
    size_t record_len;    /* without the NUL */
    const char *verdict;  /* "ok", "wrong", ...; of a check "fit" or "defect"; NULL: see error */
    const char *reason;   /* of the verdict; NULL: none */
    enum kgym_code error; /* KGYM_OK: there is a verdict, or the task stopped before one */
    const char *message;  /* of the verdict or of the error */
    int correct;          /* 1, 0; -1: not known */
    double speedup;       /* of a right candidate whose time is trusted; NaN: none */
    double speedup_lo, speedup_hi; /* its 95 % interval */
    const struct kgym_reward *rewards;
    size_t nrewards;
};

/* The next finished task, in order of completion. *out is NULL when the time is up, or when no task
 * is in the pool. timeout_ms < 0: no limit. The caller frees *out with kgym_result_free.
 * Errors: ENDED (no more results will come; the message says why). */
KGYM_API enum kgym_code kgym_next(struct kgym_pool *pool, int timeout_ms, struct kgym_result **out,
                                  struct kgym_error *err);
KGYM_API void kgym_result_free(struct kgym_result *result);

/* Cancels one task. Its result comes through kgym_next with the error CANCELLED, within
 * milliseconds where it runs; or its record, where it was finished already.
 * Errors: NOT_FOUND (no such task is in the pool). Of a pool that has ended kgym_next tells. */
KGYM_API enum kgym_code kgym_cancel(struct kgym_pool *pool, uint64_t id, struct kgym_error *err);

/* Says that no more tasks will be submitted: a worker ends as soon as no task is left for it, and
 * gives back what it holds (on a GPU its memory). kgym_submit then fails with USAGE.
 * Errors: none. */
KGYM_API enum kgym_code kgym_drain(struct kgym_pool *pool, struct kgym_error *err);

/* --- from a record to the model's next turn --- */

struct kgym_text_options {
    size_t size;   /* sizeof(struct kgym_text_options) */
    int64_t limit; /* tokens; without `count`, by an estimate (feedback) or in bytes (prompt); 0:
                      the default, 600 tokens (feedback), 16384 bytes or 4096 tokens (prompt) */
    int plain;     /* nonzero: listings are indented, not fenced */
    /* Tokens of a text by the model's tokenizer; NULL: the default above. */
    size_t (*count)(void *user, const char *text, size_t len);
    void *user;
    /* Of a prompt: the language of the answer to a PyTorch problem, "triton", "cuda" or "pytorch";
     * NULL: "triton". */
    const char *language;
    /* Of a feedback. Nonzero: one line with verdict, reason and the facts that fit `limit`, which
     * is 24 by default; `plain` has no effect. */
    int brief;
};

/* The feedback for the model that wrote a candidate, from its record (docs/feedback.md). Pure: it
 * needs no pool. *text is the caller's, released with kgym_free. options NULL: defaults.
 * Errors: INPUT (not a record), USAGE (limit, size), LIMIT (not even the verdict fits). */
KGYM_API enum kgym_code kgym_feedback(const char *record, size_t record_len,
                                      const struct kgym_text_options *options, char **text,
                                      struct kgym_error *err);

/* Rewards of a record by comma-separated presets, in this order (docs/rewards.md). Pure.
 * *n: in, how many fit into out; out, how many there are. Names are static.
 * Errors: INPUT (not a record, or one with an error whose blame is not `candidate`), USAGE (an
 * unknown preset, names of more than 1023 bytes), LIMIT (they do not fit). */
KGYM_API enum kgym_code kgym_rewards(const char *record, size_t record_len, const char *presets,
                                     struct kgym_reward *out, size_t *n, struct kgym_error *err);

/* The first message for a problem (docs/prompts.md): what to write, the candidate's signature, a
 * demonstration, the device, the reference. problem, problem_text: as in a task. *text is the
 * caller's, released with kgym_free. One round trip to the supervisor.
 * Errors: NOT_FOUND, PROBLEM, INPUT or IO (its file cannot be read), LIMIT (the message is longer
 * than the limit: it is never cut; the text has more than 64 MB), USAGE (problem, limit, language,
 * size), HOST (its kind needs what this host lacks), GYM (the supervisor died twice over it),
 * ENDED.
 */
KGYM_API enum kgym_code kgym_prompt(struct kgym_pool *pool, const char *problem,
                                    const char *problem_text, size_t problem_text_len,
                                    const struct kgym_text_options *options, char **text,
                                    struct kgym_error *err);

/* Releases a text that a call gave out. NULL is allowed. */
KGYM_API void kgym_free(void *text);

#ifdef __cplusplus
}
#endif

#endif

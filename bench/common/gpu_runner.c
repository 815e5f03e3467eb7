#include "bench/common/gpu_runner.h"

#include <dlfcn.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/common/host.h"
#include "gym/device/cuda_api.h"
#include "probe/probe_cuda.h"

#define SPIN_NS 20000000
#define BLOCKS  1056
#define THREADS 256

static const char source[] =
    "/* KERNELs */\n"
    "typedef unsigned long long u64;\n"
    "static __device__ u64 now() { u64 t; asm volatile(\"mov.u64 %0, %globaltimer;\" : \"=l\"(t));"
    " return t; }\n"
    "static __device__ void work(const float4 *x, float4 *y, u64 n, unsigned rounds) {\n"
    "  for (unsigned r = 0; r < rounds; r++)\n"
    "    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < n / 4;"
    " i += gridDim.x * (u64)blockDim.x) {\n"
    "      float4 v = x[i];\n"
    "      v.x = 2 * v.x + 1; v.y = 2 * v.y + 1; v.z = 2 * v.z + 1; v.w = 2 * v.w + 1;\n"
    "      __stcs(y + i, v);\n"
    "    }\n"
    "}\n"
    "extern \"C\" __global__ void kg_bench_copy(const float4 *x, float4 *y, u64 n,"
    " unsigned rounds) { work(x, y, n, rounds); }\n"
    "extern \"C\" __global__ void kg_bench_late(const float4 *x, float4 *y, u64 n, u64 ns) {\n"
    "  u64 t = now(); while (now() - t < ns) {}\n"
    "  work(x, y, n, 1);\n"
    "}\n"
    "extern \"C\" __global__ void kg_bench_spin(u64 ns) { u64 t = now(); while (now() - t < ns) {}"
    " }\n";

struct runner {
    struct kg_twire *w;
    struct kg_cu cu;
    struct kg_cu_stream *stream;
    struct kg_cu_function *copy, *late, *spin;
    struct kg_probe_map map;
    __typeof__(kg_probe_cuda_attach) *attach;
    __typeof__(kg_probe_cuda_null) *null;
    __typeof__(kg_probe_cuda_error) *why;
    struct kg_tleaf bound;
};

static _Noreturn void give_up(const char *what)
{
    fprintf(stderr, "bench runner: %s\n", what);
    _exit(3);
}

static void need(int code, const char *what)
{
    if (code != 0) {
        char text[200];
        snprintf(text, sizeof text, "%s: %d", what, code);
        give_up(text);
    }
}

static void load_probe(struct runner *r)
{
    char path[600];
    snprintf(path, sizeof path, "%s/libkgym_probe.so", kg_bench_build());
    void *library = dlopen(path, RTLD_NOW);
    if (library == NULL) {
        give_up(dlerror());
    }
    *(void **)&r->attach = dlsym(library, "kg_probe_cuda_attach");
    *(void **)&r->null = dlsym(library, "kg_probe_cuda_null");
    *(void **)&r->why = dlsym(library, "kg_probe_cuda_error");
    need(r->attach == NULL || r->null == NULL || r->why == NULL, "libkgym_probe.so");
}

static void build(struct runner *r)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_nvrtc_places places = {NULL, "python3"};
    struct kg_nvrtc n;
    struct kg_cu_module *module;
    kg_cu_device device;
    int major = 0, minor = 0;
    void *cubin;
    size_t bytes;
    need(r->cu.device_get(&device, 0), "device");
    need(r->cu.device_attribute(&major, KG_CU_ATTR_MAJOR, device), "device");
    need(r->cu.device_attribute(&minor, KG_CU_ATTR_MINOR, device), "device");
    if (kg_nvrtc_load(&places, &n, &err) != KG_OK ||
        kg_nvrtc_build(&n, source, major, minor, &cubin, &bytes, &err) != KG_OK) {
        give_up(err.message);
    }
    need(r->cu.module_load(&module, cubin), "module");
    free(cubin);
    need(r->cu.module_function(&r->copy, module, "kg_bench_copy"), "kg_bench_copy");
    need(r->cu.module_function(&r->late, module, "kg_bench_late"), "kg_bench_late");
    need(r->cu.module_function(&r->spin, module, "kg_bench_spin"), "kg_bench_spin");
    need(r->cu.stream_create(&r->stream, KG_CU_STREAM_NON_BLOCKING), "stream");
}

static void attach(struct runner *r, const int fds[3])
{
    struct kg_err err = KG_ERR_INIT;
    load_probe(r);
    r->w = mmap(NULL, sizeof *r->w, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
    need(r->w == MAP_FAILED, "control block");
    if (r->attach(0, fds[1], r->w->in_bytes, fds[2], r->w->out_bytes, &r->map) != 0) {
        give_up(r->why());
    }
    if (kg_cu_load(getenv("KGYM_LIBCUDA"), &r->cu, &err) != KG_OK) {
        give_up(err.message);
    }
    build(r);
}

static void call(struct runner *r)
{
    struct kg_tleaf *leaf = &r->w->out[0];
    uint32_t rounds = (uint32_t)r->w->seed;
    enum kg_gpu_how how = (enum kg_gpu_how)(r->w->seed >> 32);
    *leaf = r->bound;
    leaf->copied = 0;
    kg_twire_place(leaf, 1);
    uint64_t x = r->map.in + r->bound.offset, y = r->map.out + leaf->offset;
    uint64_t n = r->bound.bytes / 4, pause = 3000000, idle = 60000000;
    void *copy[] = {&x, &y, &n, &rounds}, *late[] = {&x, &y, &n, &pause}, *spin[] = {&idle};
    if (how == KG_GPU_LATE) {
        need(r->cu.launch(r->late, BLOCKS, 1, 1, THREADS, 1, 1, 0, r->stream, late, NULL), "late");
    } else {
        need(r->cu.launch(r->copy, BLOCKS, 1, 1, THREADS, 1, 1, 0, r->stream, copy, NULL), "copy");
    }
    if (how == KG_GPU_HONEST || how == KG_GPU_PERSISTENT) {
        need(r->cu.ctx_sync(), "wait");
    }
    if (how == KG_GPU_PERSISTENT) {
        need(r->cu.launch(r->spin, 1, 1, 1, 1, 1, 1, 0, r->stream, spin, NULL), "spin");
    }
    r->w->nreply = 1;
    snprintf(r->w->structure, sizeof r->w->structure, "T");
}

static uint32_t next_command(struct runner *r, uint32_t seen)
{
    int64_t end = kg_clock_ns() + SPIN_NS;
    uint32_t number;
    while ((number = atomic_load(&r->w->announced)) == seen) {
        if (kg_clock_ns() > end) {
            syscall(SYS_futex, &r->w->announced, FUTEX_WAIT, seen, NULL, NULL, 0);
        }
    }
    atomic_store(&r->w->prepared, number);
    while (atomic_load(&r->w->go) == seen) {
        __builtin_ia32_pause();
    }
    return number;
}

static _Noreturn void serve(struct runner *r)
{
    uint32_t seen = 0;
    atomic_store(&r->w->state, KG_TS_READY);
    for (;;) {
        seen = next_command(r, seen);
        r->w->status = KG_TA_OK;
        r->w->nreply = 0;
        if (r->w->command == KG_TC_BIND) {
            r->bound = r->w->in[0];
        } else if (r->w->command == KG_TC_CALL) {
            call(r);
        } else if (r->w->command == KG_TC_NULL) {
            need(r->null(r->stream), "null");
            need(r->cu.ctx_sync(), "wait");
        }
        memcpy(r->w->echo, r->w->nonce, sizeof r->w->echo);
        atomic_store(&r->w->done, seen);
        syscall(SYS_futex, &r->w->done, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
    }
}

/* The parent maps the control block only to see READY. */
static void await(const int fds[3], pid_t pid)
{
    struct kg_twire *w = mmap(NULL, sizeof *w, PROT_READ, MAP_SHARED, fds[0], 0);
    int64_t end = kg_clock_ns() + 60000000000;
    kg_bench_need(w != MAP_FAILED, "the control block cannot be mapped");
    while (atomic_load(&w->state) != KG_TS_READY) {
        int status;
        kg_bench_need(waitpid(pid, &status, WNOHANG) == 0, "a runner ended before it was ready");
        kg_bench_need(kg_clock_ns() < end, "a runner was not ready within a minute");
        usleep(1000);
    }
    munmap(w, sizeof *w);
}

void kg_gpu_runner_start(struct kg_dj *j, uint64_t region_bytes, int cpu, struct kg_gpu_runner *out)
{
    static struct runner r;
    struct kg_err err = KG_ERR_INIT;
    int fds[3];
    kg_bench_build(); /* found before the fork */
    kg_bench_need_ok(kg_dj_port_open(j, region_bytes, region_bytes, &out->port, fds, &err), &err);
    fflush(stdout);
    out->pid = fork();
    kg_bench_need(out->pid >= 0, "fork failed");
    if (out->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (cpu >= 0) {
            cpu_set_t one;
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            need(sched_setaffinity(0, sizeof one, &one), "pin");
        }
        attach(&r, fds);
        serve(&r);
    }
    await(fds, out->pid);
    out->pidfd = (int)syscall(SYS_pidfd_open, out->pid, 0);
    kg_bench_need_ok(kg_dj_port_attach(j, out->port, out->pidfd, &err), &err);
    for (int k = 0; k < 3; k++) {
        close(fds[k]);
    }
}

void kg_gpu_runner_stop(struct kg_dj *j, struct kg_gpu_runner *r)
{
    struct kg_err err = KG_ERR_INIT;
    kill(r->pid, SIGKILL);
    waitpid(r->pid, NULL, 0);
    close(r->pidfd);
    kg_bench_need_ok(kg_dj_port_close(j, r->port, &err), &err);
}

static _Noreturn void make_contexts(void)
{
    for (;;) {
        pid_t pid = fork();
        if (pid == 0) {
            struct kg_cu cu;
            struct kg_cu_ctx *ctx;
            struct kg_err err = KG_ERR_INIT;
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            _exit(kg_cu_load(getenv("KGYM_LIBCUDA"), &cu, &err) != KG_OK || cu.init(0) != 0 ||
                  cu.ctx_retain(&ctx, 0) != 0);
        }
        if (pid < 0 || waitpid(pid, NULL, 0) < 0) {
            _exit(1);
        }
    }
}

pid_t kg_gpu_contexts_start(void)
{
    pid_t pid = fork();
    kg_bench_need(pid >= 0, "fork failed");
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        make_contexts();
    }
    return pid;
}

void kg_gpu_contexts_stop(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

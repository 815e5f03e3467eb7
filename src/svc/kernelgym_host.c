/* Counters as JSON. A share of nothing is 0, since these members are numbers on the wire. */
#include "svc/kernelgym_host.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "svc/kernelgym_metadata.h"
#include "svc/kernelgym_time.h"

json_t *kg_kernelgym_time(int64_t us)
{
    char day[32], all[48];
    struct tm tm;
    time_t seconds = (time_t)(us / 1000000);
    if (us <= 0 || !gmtime_r(&seconds, &tm) || tm.tm_year > 8099) {
        return json_null();
    }
    strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(all, sizeof all, "%s.%06dZ", day, (int)(us % 1000000));
    return json_string(all);
}

json_t *kg_kernelgym_root(int64_t now_us)
{
    return json_pack("{s:s, s:s, s:s, s:o}", "name", "KernelGYM", "version", "1.0.0", "description",
                     "kgym: verdicts on kernels, by the protocol of KernelGYM", "timestamp",
                     kg_kernelgym_time(now_us));
}

static double finite_or_0(double x)
{
    return isfinite(x) ? x : 0;
}

static double share(double part, double whole)
{
    return whole > 0 ? finite_or_0(part / whole) : 0;
}

static json_t *gigabytes(int64_t bytes)
{
    char s[40];
    snprintf(s, sizeof s, "%.1fGB", (double)bytes / (1 << 30));
    return json_string(s);
}

static json_t *devices(const struct kg_kernelgym_counts *c)
{
    json_t *j = json_object();
    for (size_t i = 0; i < c->ndevices; i++) {
        const struct kg_kernelgym_device *d = &c->device[i];
        char percent[32];
        snprintf(percent, sizeof percent, "%.1f%%",
                 100 * share((double)d->used_bytes, (double)d->memory_bytes));
        json_object_set_new(
            j, d->name,
            json_pack("{s:o, s:o, s:o, s:o, s:s, s:b}", "name", kg_kernelgym_text(d->model, 200),
                      "memory_total", gigabytes(d->memory_bytes), "memory_allocated",
                      gigabytes(d->used_bytes), "memory_reserved", gigabytes(d->used_bytes),
                      "memory_used_percent", percent, "available", d->available));
    }
    return j;
}

json_t *kg_kernelgym_health(const struct kg_kernelgym_counts *c)
{
    json_int_t ended = c->completed + c->failed;
    return json_pack("{s:s, s:o, s:o, s:{s:I, s:I, s:I}, s:{s:f, s:f, s:o, s:o}, s:I, s:I, s:f}",
                     "status", "healthy", "timestamp", kg_kernelgym_time(c->now_us), "gpu_status",
                     devices(c), "queue_status", "pending", (json_int_t)c->pending, "processing",
                     (json_int_t)c->processing, "completed", ended, "memory_usage", "cpu_percent",
                     finite_or_0(c->cpu_percent), "memory_percent", finite_or_0(c->memory_percent),
                     "memory_available", gigabytes(c->memory_free_bytes), "memory_total",
                     gigabytes(c->memory_bytes), "active_tasks", (json_int_t)c->processing,
                     "total_processed", ended, "uptime", (double)(c->now_us - c->since_us) / 1e6);
}

json_t *kg_kernelgym_metrics(const struct kg_kernelgym_counts *c)
{
    double ended = (double)(c->completed + c->failed);
    double hours = (double)(c->now_us - c->since_us) / 3.6e9;
    size_t busy = 0;
    for (size_t i = 0; i < c->nworkers; i++) {
        busy += c->worker[i].running > 0;
    }
    return json_pack(
        "{s:o, s:{s:f, s:f, s:f}, s:{s:f, s:f, s:f}, s:{s:I, s:I, s:I}, s:{s:I, s:I, s:I}}",
        "timestamp", kg_kernelgym_time(c->now_us), "performance_metrics", "avg_processing_time",
        share(c->processing_s, (double)c->processed), "throughput_per_hour",
        share(ended - (double)c->ended_before, hours), "success_rate",
        share((double)c->completed, ended), "resource_metrics", "avg_gpu_utilization",
        100 * share((double)busy, (double)c->nworkers), "memory_usage_percent",
        finite_or_0(c->memory_percent), "cpu_usage_percent", finite_or_0(c->cpu_percent),
        "queue_metrics", "pending_tasks", (json_int_t)c->pending, "active_tasks",
        (json_int_t)c->processing, "completed_tasks", (json_int_t)ended, "error_metrics",
        "compilation_errors", (json_int_t)c->compilation_errors, "runtime_errors",
        (json_int_t)c->runtime_errors, "timeout_errors", (json_int_t)c->timeout_errors);
}

json_t *kg_kernelgym_queue(const struct kg_kernelgym_counts *c)
{
    json_t *workers = json_object();
    for (size_t i = 0; i < c->nworkers; i++) {
        json_object_set_new(workers, c->worker[i].name, json_integer(c->worker[i].running));
    }
    return json_pack("{s:I, s:{s:I}, s:o, s:I, s:f}", "pending", (json_int_t)c->pending,
                     "pending_by_prefix", "kernelgym", (json_int_t)c->pending, "worker_queues",
                     workers, "processing", (json_int_t)c->processing, "oldest_pending_s",
                     finite_or_0(c->oldest_s));
}

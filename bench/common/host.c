#include "bench/common/host.h"

#include <stdio.h>
#include <time.h>

#include "base/json.h"
#include "gym/pipeline/context.h"

json_t *kg_bench_host(void)
{
    char date[32];
    time_t now = time(NULL);
    struct tm tm;
    gmtime_r(&now, &tm);
    strftime(date, sizeof date, "%Y-%m-%d", &tm);
    json_t *host = kg_context_environment("gcc " __VERSION__, -1);
    json_object_set_new(host, "date", json_string(date));
    return host;
}

void kg_bench_json(const char *name, json_t *result)
{
    struct kg_buf b;
    json_t *line =
        json_pack("{s:s, s:o, s:o}", "bench", name, "host", kg_bench_host(), "result", result);
    kg_buf_init(&b, 16u << 20);
    kg_json_dump(line, &b);
    puts(b.data);
    kg_buf_deinit(&b);
    json_decref(line);
}

/* What a run does before it samples and after it has learnt: scopes of the judge, trajectories. And
 * the machine that it runs on. */
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/version.h"
#include "rl/run/run.h"
#include "rl/run/run_trajectory.h"

void rl_run_sampling(struct rl_run *run, enum rl_phase phase, uint32_t step)
{
    bool stale = phase == RL_PHASE_RL && run->sampler.o.kind == RL_SAMPLER_STALE &&
                 step % run->sampler.o.every != 0;
    run->version = stale ? run->version : lm_trainer_counters(run->trainer)->steps;
    rl_judge_scope(run->judge, phase == RL_PHASE_AFTER ? step + 1 : step);
    if (run->o.moment != NULL) {
        run->o.moment(run->o.moment_user, rl_phase_name(phase));
    }
}

enum kg_code rl_run_write(struct rl_run *run, enum rl_phase phase, uint32_t step,
                          const struct rl_step *learned, struct kg_err *err)
{
    const struct rl_trajectory_options o = {.phase = rl_phase_name(phase),
                                            .step = phase == RL_PHASE_RL ? (int)step : -1,
                                            .turns = (int)run->config->turns,
                                            .configuration = run->configuration,
                                            .reward = rl_config_reward(run->config),
                                            .version = run->version,
                                            .talker = &run->talker,
                                            .learned = learned};
    size_t place = 0;
    enum kg_code code = KG_OK;
    if (run->files.folder[0] == '\0') {
        return KG_OK;
    }
    for (int i = 0; i < run->rollouts->n && code == KG_OK; i++) {
        json_t *line = rl_trajectory_line(&run->rollouts->walk[i], &o, &place);
        code = rl_files_line(&run->files, RL_FILE_TRAJECTORIES, line, err);
        json_decref(line);
    }
    if (run->o.moment != NULL) {
        run->o.moment(run->o.moment_user, "written");
    }
    return code;
}

static void cpu_model(char *out, size_t cap)
{
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "re");
    snprintf(out, cap, "unknown");
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && colon != NULL) {
            line[strcspn(line, "\n")] = '\0';
            snprintf(out, cap, "%s", colon + 1 + (colon[1] == ' '));
            break;
        }
    }
    if (f != NULL) {
        fclose(f);
    }
}

enum kg_code rl_run_host(const struct rl_run *run, struct kg_err *err)
{
    char path[PATH_MAX], model[200];
    struct utsname u;
    struct kg_buf text;
    json_t *starts = NULL;
    snprintf(path, sizeof path, "%s/host.json", run->files.folder);
    kg_buf_init(&text, 1u << 20);
    if (kg_file_exists(path) && (kg_file_read(path, &text, err) != KG_OK ||
                                 kg_json_parse(text.data, text.len, path, &starts, err) != KG_OK)) {
        kg_buf_deinit(&text);
        return err->code;
    }
    starts = json_is_array(starts) ? starts : json_array();
    cpu_model(model, sizeof model);
    if (uname(&u) != 0) {
        snprintf(u.release, sizeof u.release, "unknown");
    }
    json_array_append_new(
        starts,
        json_pack("{s:s,s:o,s:I,s:I,s:o,s:s,s:s,s:I}", "kgym", KG_VERSION, "cpu",
                  kg_json_text(model, strlen(model)), "cores",
                  (json_int_t)sysconf(_SC_NPROCESSORS_ONLN), "memory_mb",
                  (json_int_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE) >> 20, "kernel",
                  kg_json_text(u.release, strlen(u.release)), "compiler", __VERSION__, "resumed",
                  run->o.resume ? "yes" : "no", "unix_ms", (json_int_t)kg_clock_wall_ms()));
    kg_buf_reset(&text);
    kg_json_dump_pretty(starts, &text);
    kg_buf_addc(&text, '\n');
    json_decref(starts);
    enum kg_code code = kg_file_write_atomic(path, text.data, text.len, err);
    kg_buf_deinit(&text);
    return code;
}

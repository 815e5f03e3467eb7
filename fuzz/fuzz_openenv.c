/* Messages of OpenEnv's clients: what is taken lies within bounds, and what is refused says why
 * without repeating any of it. */
#include "fuzz.h"

#include <string.h>

#include "svc/openenv.h"

static void check_text(const char *s, size_t most)
{
    KG_ASSERT(s == NULL || (*s != '\0' && strlen(s) <= most));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kg_openenv_message m;
    struct kg_svc_refusal no;
    if (!kg_openenv_read((const char *)data, size, &m, &no)) {
        KG_ASSERT(m.body == NULL && no.code != NULL && no.message[0] != '\0');
        json_decref(kg_openenv_error(no.code, no.field, no.message));
        return 0;
    }
    KG_ASSERT((m.kind == KG_OPENENV_STEP) == (m.reply != NULL));
    KG_ASSERT(m.max_turns >= 0 && m.max_turns <= 64 && m.seed >= 0 && m.idle_s >= 0);
    check_text(m.episode_id, KG_OPENENV_ID_MAX);
    check_text(m.problem, 200);
    check_text(m.group, KG_OPENENV_ID_MAX);
    const struct kg_openenv_view v = {.episode_id = m.episode_id, .problem = m.problem};
    json_decref(kg_openenv_observation(&v));
    json_decref(kg_openenv_state(&v));
    kg_openenv_deinit(&m);
    return 0;
}

/* First messages: made from the suites of this host. They name no device, since only the service
 * knows which one will judge. */
#include "gym/pool/supervisor.h"
#include "remote/remote_private.h"

enum kg_code kg_remote_prompt(const struct kg_remote *r, const struct kg_frame *f,
                              struct kg_buf *out, struct kg_err *err)
{
    struct kg_prompt_spec spec = {.league = r->config.precision};
    return kg_pool_prompt(r->config.suites, f, &spec, out, err);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "stream/http.h"

void http_env_init(struct http_env *env, struct mem *mem, struct pkt_pool *pool, uint16_t worker)
{
    *env = (struct http_env){.mem = mem, .pool = pool, .worker = worker};
}

void http_env_fini(struct http_env *env)
{
    slab_destroy(env->notes);
    env->notes = NULL;
}

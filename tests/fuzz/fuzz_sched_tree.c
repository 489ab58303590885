/* SPDX-License-Identifier: BSD-3-Clause */
#include "support/sched_tree_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    (void)tree_model_run(data, size);
    return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TCP's receiving half against a map of bytes, see support/receiver_model.h: the input is the
 * history, segments with any overlap, end and content, ACKs, and bytes consumed.
 */
#include <stddef.h>
#include <stdint.h>

#include "support/receiver_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct receiver_model model;
    model_run(&model, data, size);
    return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "stream/stream.h"

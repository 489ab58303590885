/* SPDX-License-Identifier: BSD-3-Clause */
#include "tcp/reorder.h"

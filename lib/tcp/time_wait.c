/* SPDX-License-Identifier: BSD-3-Clause */
#include "tcp/time_wait.h"

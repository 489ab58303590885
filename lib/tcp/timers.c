/* SPDX-License-Identifier: BSD-3-Clause */
#include "tcp/conn.h"

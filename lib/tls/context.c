/* SPDX-License-Identifier: BSD-3-Clause */
#include "tls/context.h"

/* SPDX-License-Identifier: BSD-3-Clause */
#include "tls/tickets.h"

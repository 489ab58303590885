/* SPDX-License-Identifier: BSD-3-Clause */
#include "service/service.h"

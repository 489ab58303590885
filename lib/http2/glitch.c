/* SPDX-License-Identifier: BSD-3-Clause */
#include "http2/glitch.h"

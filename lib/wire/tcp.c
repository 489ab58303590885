/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/tcp.h"

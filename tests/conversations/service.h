/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_CONVERSATIONS_SERVICE_H
#define MILLRACE_CONVERSATIONS_SERVICE_H

/* The service at our end: it notes what it is told in its flow, and does what the script says. */

#include "world.h"

extern const struct stream_service conversation_service;

/*
 * Byte n of the stream, by sequence number from 1. Those of one kind of content tell their places
 * apart, and the kinds from each other: 'O' is ours, 'A' the peer's, other letters are the peer's,
 * too, where it says different things at the same place.
 */
uint8_t content_byte(char kind, uint32_t n);

void service_write(struct flow *f, uint32_t n);
void service_read(struct flow *f, uint32_t n);

#endif

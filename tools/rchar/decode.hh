// SPDX-License-Identifier: GPL-2.0
// From netlink attributes to objects. An attribute of the wrong length is a Failure.
#pragma once

#include "message.hh"
#include "objects.hh"

void decode(const Attributes &in, Channel *out);
void decode(const Attributes &in, Link *out);
void decode(const Attributes &in, Session *out);
void decode(const Attributes &in, Info *out);
void decode(const Attributes &in, Key *out);

template <typename T> T decode(const Message &message)
{
	T out;

	decode(message.attributes(), &out);
	return out;
}

Event decode_event(const Message &message);

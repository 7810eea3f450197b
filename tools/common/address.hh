// SPDX-License-Identifier: GPL-2.0
// What addresses look like.
#pragma once

#include <sys/socket.h>

#include <string>

std::string host_text(const sockaddr_storage &address);	    // with the scope of a link-local one
std::string address_text(const sockaddr_storage &address);  // HOST:PORT, [IPv6]:PORT; no port 0

// SPDX-License-Identifier: GPL-2.0
// What addresses look like.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <string>

in_port_t *port_of(sockaddr_storage *address);		    // in network byte order
std::string host_text(const sockaddr_storage &address);	    // with the scope of a link-local one
std::string address_text(const sockaddr_storage &address);  // HOST:PORT, [IPv6]:PORT; no port 0

// SPDX-License-Identifier: GPL-2.0
/*
 * LD_PRELOAD=smc.so PROGRAM... - the TCP sockets of a program that knows nothing of it are SMC
 * sockets: RDMA where both hosts have it, and TCP where they do not. As smc_run(8) of smc-tools,
 * which Debian does not have.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/socket.h>

#ifndef AF_SMC
#define AF_SMC 43
#endif

typedef int socket_fn(int domain, int type, int protocol);

int socket(int domain, int type, int protocol)
{
	socket_fn *real = dlsym(RTLD_NEXT, "socket");

	if (domain == AF_INET && (type & 0xf) == SOCK_STREAM)
		return real(AF_SMC, type, 0 /* SMCPROTO_SMC */);
	return real(domain, type, protocol);
}

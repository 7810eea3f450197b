// SPDX-License-Identifier: GPL-2.0
/*
 * LD_PRELOAD=ktls.so PROGRAM... - the TCP connections of a program that knows nothing of it are
 * kernel TLS, TLS 1.3 with ChaCha20-Poly1305. Both sides know one fixed key, so that there is no
 * handshake: this measures, it protects nothing.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/tls.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#ifndef SOL_TLS
#define SOL_TLS 282
#endif

typedef int connect_fn(int fd, const struct sockaddr *to, socklen_t len);
typedef int accept_fn(int fd, struct sockaddr *from, socklen_t *len);

static void encrypt(int fd)
{
	struct tls12_crypto_info_chacha20_poly1305 info = {
		.info = { TLS_1_3_VERSION, TLS_CIPHER_CHACHA20_POLY1305 },
		.key = "every byte of this is known",
	};

	if (setsockopt(fd, IPPROTO_TCP, TCP_ULP, "tls", sizeof("tls")) ||
	    setsockopt(fd, SOL_TLS, TLS_TX, &info, sizeof(info)) ||
	    setsockopt(fd, SOL_TLS, TLS_RX, &info, sizeof(info))) {
		perror("ktls");
		abort();
	}
}

int connect(int fd, const struct sockaddr *to, socklen_t len)
{
	connect_fn *real = dlsym(RTLD_NEXT, "connect");
	int ret = real(fd, to, len);

	if (!ret && to->sa_family == AF_INET)
		encrypt(fd);
	return ret;
}

int accept(int fd, struct sockaddr *from, socklen_t *len)
{
	accept_fn *real = dlsym(RTLD_NEXT, "accept");
	int ret = real(fd, from, len);

	if (ret >= 0)
		encrypt(ret);
	return ret;
}

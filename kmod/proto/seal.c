// SPDX-License-Identifier: GPL-2.0
/*
 * X25519 (RFC 7748) and ChaCha20-Poly1305 (RFC 8439), from the kernel's libraries that WireGuard
 * uses. Unlike the ciphers of the crypto API they allocate nothing, cannot fail and run in any
 * context, and they take a constant time on every CPU, with or without instructions for AES.
 */
#include "seal.h"
#include <linux/kconfig.h>
#include <linux/string.h>
#include <linux/types.h>

#define LABEL_SECRETS	"rchar1 secrets"
#define LABEL_INITIATOR "rchar1 initiator"
#define LABEL_ACCEPTOR	"rchar1 acceptor"
#define LABEL_NEXT	"rchar1 next"

#if IS_REACHABLE(CONFIG_CRYPTO_LIB_CHACHA20POLY1305) && IS_REACHABLE(CONFIG_CRYPTO_LIB_CURVE25519)

#include <crypto/chacha20poly1305.h>
#include <crypto/curve25519.h>

/**
 * rchar_seal_available() - has this kernel what encryption needs?
 */
bool rchar_seal_available(void)
{
	return true;
}

/**
 * rchar_seal_begin() - make the key pair of this host for one connection
 * @seal: &rchar_seal.secret is set
 * @public: set to the public key, RCHAR_WIRE_PUBLIC_LEN bytes, for the peer
 * @random: as many random bytes; the caller wipes them
 *
 * Return: false when the bytes are no key, which does not happen by chance.
 */
bool rchar_seal_begin(struct rchar_seal *seal, __u8 *public, const __u8 *random)
{
	memcpy(seal->secret, random, sizeof(seal->secret));
	curve25519_clamp_secret(seal->secret);
	return curve25519_generate_public(public, seal->secret);
}

/**
 * rchar_seal_derive() - compute the keys of both directions
 * @seal: after rchar_seal_begin(); the secret key is wiped
 * @t: the complete transcript, with both public keys
 * @key: the pre-shared key
 * @initiator: this host is the initiator
 *
 * Return: false when the public key of the peer is not one: RFC 7748, 6.1.
 */
bool rchar_seal_derive(struct rchar_seal *seal, const struct rchar_auth_transcript *t,
		       const struct rchar_auth_key *key, bool initiator)
{
	const __u8 *peer = initiator ? t->acceptor_public : t->initiator_public;
	struct rchar_seal_key *of_initiator = initiator ? &seal->tx : &seal->rx;
	struct rchar_seal_key *of_acceptor = initiator ? &seal->rx : &seal->tx;
	__u8 shared[RCHAR_WIRE_PUBLIC_LEN], root[RCHAR_SEAL_KEY_LEN];
	bool ok = curve25519(shared, seal->secret, peer);

	rchar_auth_hash(root, key->mac, LABEL_SECRETS, t, sizeof(*t), shared, sizeof(shared));
	rchar_auth_hash(of_initiator->key, root, LABEL_INITIATOR, NULL, 0, NULL, 0);
	rchar_auth_hash(of_acceptor->key, root, LABEL_ACCEPTOR, NULL, 0, NULL, 0);
	memzero_explicit(shared, sizeof(shared));
	memzero_explicit(root, sizeof(root));
	memzero_explicit(seal->secret, sizeof(seal->secret));
	return ok;
}

/* Count a frame. After the last one of a key, nobody can compute the key from the next one. */
static void seal_advance(struct rchar_seal_key *key)
{
	if (++key->frames < RCHAR_SEAL_FRAMES)
		return;
	rchar_auth_hash(key->key, key->key, LABEL_NEXT, NULL, 0, NULL, 0);
	key->frames = 0;
}

/**
 * rchar_seal_close() - seal a frame in place
 * @key: the key of the direction
 * @hdr: the header, which is authenticated and not encrypted
 * @sg: the payload, and in an entry of its own RCHAR_WIRE_TAG_LEN bytes for the tag
 * @len: payload bytes
 *
 * Context: any but hard interrupt.
 * Return: false if the kernel's library does not take the frame.
 */
bool rchar_seal_close(struct rchar_seal_key *key, const struct rchar_wire_hdr *hdr,
		      struct scatterlist *sg, __u32 len)
{
	bool ok = chacha20poly1305_encrypt_sg_inplace(sg, len, (const __u8 *)hdr, sizeof(*hdr),
						      key->frames, key->key);

	seal_advance(key);
	return ok;
}

/**
 * rchar_seal_open() - check and decrypt a frame in place
 * @key: the key of the direction
 * @hdr: the header
 * @sg: the payload, and in an entry of its own the tag
 * @len: payload bytes
 *
 * Context: any but hard interrupt.
 * Return: false unless the peer sealed this very frame, with this key, after the last one. The
 * payload has no meaning then.
 */
bool rchar_seal_open(struct rchar_seal_key *key, const struct rchar_wire_hdr *hdr,
		     struct scatterlist *sg, __u32 len)
{
	bool ok = chacha20poly1305_decrypt_sg_inplace(sg, len + RCHAR_WIRE_TAG_LEN,
						      (const __u8 *)hdr, sizeof(*hdr), key->frames,
						      key->key);

	seal_advance(key);
	return ok;
}

#else /* a kernel without the libraries: nothing calls the others, as encryption is refused */

bool rchar_seal_available(void)
{
	return false;
}

bool rchar_seal_begin(struct rchar_seal *seal, __u8 *public, const __u8 *random)
{
	return false;
}

bool rchar_seal_derive(struct rchar_seal *seal, const struct rchar_auth_transcript *t,
		       const struct rchar_auth_key *key, bool initiator)
{
	return false;
}

bool rchar_seal_close(struct rchar_seal_key *key, const struct rchar_wire_hdr *hdr,
		      struct scatterlist *sg, __u32 len)
{
	return false;
}

bool rchar_seal_open(struct rchar_seal_key *key, const struct rchar_wire_hdr *hdr,
		     struct scatterlist *sg, __u32 len)
{
	return false;
}

#endif

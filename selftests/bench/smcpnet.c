// SPDX-License-Identifier: GPL-2.0
/*
 * smcpnet INTERFACE DEVICE - tells SMC that the RDMA device is in the network of the interface. As
 * smc_pnet(8) of smc-tools, which Debian does not have.
 */
#include <linux/smc.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <stdio.h>
#include <stdlib.h>

#define PNETID "BENCH"

static struct nl_msg *message(int family, int cmd, int version)
{
	struct nl_msg *msg = nlmsg_alloc();

	if (!msg || !genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, family, 0, 0, cmd, version))
		abort();
	return msg;
}

static int add_pnet(struct nl_sock *sock, int family, const char *interface, const char *device)
{
	struct nl_msg *msg = message(family, SMC_PNETID_ADD, SMCR_GENL_FAMILY_VERSION);

	nla_put_string(msg, SMC_PNETID_NAME, PNETID);
	if (interface)
		nla_put_string(msg, SMC_PNETID_ETHNAME, interface);
	if (device) {
		nla_put_string(msg, SMC_PNETID_IBNAME, device);
		nla_put_u8(msg, SMC_PNETID_IBPORT, 1);
	}
	return nl_send_sync(sock, msg);
}

int main(int argc, char **argv)
{
	struct nl_sock *sock = nl_socket_alloc();
	int pnet, ret;

	if (argc != 3 || !sock)
		return 2;
	ret = genl_connect(sock);
	if (ret < 0)
		goto out;
	pnet = genl_ctrl_resolve(sock, SMCR_GENL_FAMILY_NAME);
	ret = pnet < 0 ? pnet : add_pnet(sock, pnet, argv[1], NULL);
	if (ret >= 0)
		ret = add_pnet(sock, pnet, NULL, argv[2]);
out:
	if (ret < 0)
		fprintf(stderr, "smcpnet: %s\n", nl_geterror(ret));
	nl_socket_free(sock);
	return ret < 0;
}

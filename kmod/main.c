// SPDX-License-Identifier: GPL-2.0
/* Module load and unload. */
#include <linux/module.h>
#include <net/genetlink.h>
#include "base/account.h"
#include "base/chunk.h"
#include "base/inject.h"
#include "base/ledger.h"
#include "link/accept.h"
#include "link/cm.h"
#include "link/ibdev.h"
#include "link/lane.h"
#include "link/lane_events.h"
#include "link/link.h"
#include "link/link_life.h"
#include "link/listener.h"
#include "link/pressure.h"
#include "link/psk.h"
#include "netlink/netlink.h"
#include "proto/auth.h"
#include "proto/wire.h"
#include "session/admin.h"
#include "session/channel.h"
#include "session/session.h"
#include "types/rndv.h"
#include "types/export.h"
#include "types/region.h"
#include "types/transfer.h"

static void check_wire(void)
{
	BUILD_BUG_ON(sizeof(struct rchar_wire_privdata) != 56);
	BUILD_BUG_ON(sizeof(struct rchar_wire_reject) != 16);
	BUILD_BUG_ON(sizeof(struct rchar_wire_hdr) != 24);
	BUILD_BUG_ON(sizeof(struct rchar_wire_hello) != 48);
	BUILD_BUG_ON(sizeof(struct rchar_auth_transcript) != 216);
	BUILD_BUG_ON(sizeof(struct rchar_wire_reply) != 88);
	BUILD_BUG_ON(sizeof(struct rchar_wire_sealed_hdr) != 40);
	BUILD_BUG_ON(sizeof(struct rchar_wire_hello_public) != 80);
	BUILD_BUG_ON(RCHAR_AUTH_SECRET_LEN != RCHAR_KEY_LEN);
	BUILD_BUG_ON(sizeof(struct rchar_wire_open) != 40);
	BUILD_BUG_ON(sizeof(struct rchar_wire_status) != 8);
	BUILD_BUG_ON(sizeof(struct rchar_wire_opened) != 8);
	BUILD_BUG_ON(sizeof(struct rchar_wire_region) != 16);
	BUILD_BUG_ON(sizeof(struct rchar_wire_map) != 16);
	BUILD_BUG_ON(sizeof(struct rchar_wire_call) != 32);
	BUILD_BUG_ON(sizeof(struct rchar_wire_result) != 16);
	BUILD_BUG_ON(sizeof(struct rchar_wire_rndv) != 24);
	BUILD_BUG_ON(sizeof(struct rchar_wire_rndv_done) != 8);
	BUILD_BUG_ON(RCHAR_OP_MAX > 32); /* sets of ops are u32 */
	BUILD_BUG_ON(RCHAR_NAME_MAX + 1 != RCHAR_WIRE_NAME_LEN);
	BUILD_BUG_ON(sizeof(struct rchar_prefix) != 20);
}

static void device_added(void)
{
	rchar_link_retry_all();
	rchar_listener_retry_all();
}

static int __init rchar_init(void)
{
	int ret;

	check_wire();
	rchar_account_init();
	rchar_inject_init();
	ret = rchar_chunk_init();
	if (ret)
		goto err_inject;
	ret = rchar_region_init();
	if (ret)
		goto err_chunk;
	ret = rchar_channel_init();
	if (ret)
		goto err_region;
	ret = rchar_session_init();
	if (ret)
		goto err_channel;
	ret = rchar_export_init();
	if (ret)
		goto err_session;
	ret = rchar_transfer_init();
	if (ret)
		goto err_export;
	ret = rchar_rndv_init();
	if (ret)
		goto err_transfer;
	ret = rchar_psk_init(rchar_link_psk_deleted);
	if (ret)
		goto err_rndv;
	ret = rchar_link_life_init(&rchar_session_link_ops);
	if (ret)
		goto err_psk;
	ret = rchar_lane_init(&rchar_lane_events);
	if (ret)
		goto err_link;
	rchar_cm_init(rchar_link_accept);
	ret = rchar_listener_init(rchar_channel_listener_changed);
	if (ret)
		goto err_lane;
	ret = rchar_ibdev_init(device_added);
	if (ret)
		goto err_listener;
	ret = rchar_pressure_init(rchar_link_trim_all);
	if (ret)
		goto err_ibdev;
	ret = rchar_netlink_init();
	if (ret)
		goto err_pressure;
	return 0;

err_pressure:
	rchar_pressure_exit();
err_ibdev:
	rchar_ibdev_exit();
err_listener:
	rchar_listener_exit();
err_lane:
	rchar_lane_exit();
err_link:
	rchar_link_exit();
err_psk:
	rchar_psk_exit();
err_rndv:
	rchar_rndv_exit();
err_transfer:
	rchar_transfer_exit();
err_export:
	rchar_export_exit();
err_session:
	rchar_session_exit();
err_channel:
	rchar_channel_exit();
err_region:
	rchar_region_exit();
err_chunk:
	rchar_chunk_exit();
err_inject:
	rchar_inject_exit();
	return ret;
}

/* At unload no file is open: only channels, links and lingering sessions are left. */
static void __exit rchar_exit(void)
{
	rchar_netlink_exit();
	rchar_pressure_exit();
	rchar_channel_del_all();
	rchar_link_shutdown();
	rchar_ibdev_exit();
	rchar_listener_exit();
	rchar_lane_exit();
	rchar_session_exit();
	rchar_rndv_exit();
	rchar_transfer_exit();
	rchar_export_exit();
	rchar_link_exit();
	rchar_channel_exit();
	rchar_inject_exit();
	rchar_psk_exit();
	rcu_barrier();
	rchar_region_exit();
	rchar_chunk_exit();
	rchar_ledger_check();
}

module_init(rchar_init);
module_exit(rchar_exit);

MODULE_DESCRIPTION("RDMA as a file: named character devices between hosts");
MODULE_AUTHOR("The rdma_char authors");
MODULE_LICENSE("GPL");
MODULE_VERSION(RCHAR_VERSION);
MODULE_ALIAS_GENL_FAMILY(RCHAR_GENL_NAME);

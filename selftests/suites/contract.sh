#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Every sentence of Documentation/uapi.rst: see contract/.
exec contract ${VM_TEST:+-t "$VM_TEST"} "$@"

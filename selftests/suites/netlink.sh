#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Bad requests, and that dumps of many channels are whole.
exec nlbad

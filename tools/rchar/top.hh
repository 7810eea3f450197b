// SPDX-License-Identifier: GPL-2.0
// 'rchar top': what the host's channels, links and sessions do now.
#pragma once

// Until the user ends it. every_s: seconds from one look to the next.
void top(unsigned int every_s);

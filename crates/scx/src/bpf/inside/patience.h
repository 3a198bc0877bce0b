/* SPDX-License-Identifier: GPL-2.0-only */
/* For how long threads may wait. */
#pragma once

/* A thread that has waited for so long, in ns, runs for a tick, whatever the policy decides: `PATIENCE` of src/host/rescue.rs. */
#define PATIENCE 1000000000ULL
/* How long a tick lasts, in ns: `TICK` of src/host.rs. */
#define TICK 4000000ULL

/* SPDX-License-Identifier: GPL-2.0-only */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM kvm_invpolicy

#if !defined(_INVP_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _INVP_TRACE_H

#include <linux/mmu_notifier.h>
#include <linux/tracepoint.h>
#include <uapi/linux/kvm_invpolicy.h>

#include "policy.h"
#include "ranges.h"

/* User space knows the values only. */
TRACE_DEFINE_ENUM(KVM_INVPOLICY_REASON_NUMA);
TRACE_DEFINE_ENUM(KVM_INVPOLICY_REASON_UNMAP);
TRACE_DEFINE_ENUM(KVM_INVPOLICY_REASON_EXIT);
TRACE_DEFINE_ENUM(KVM_INVPOLICY_REASON_OTHER);
TRACE_DEFINE_ENUM(INVP_ACTION_DEFAULT);
TRACE_DEFINE_ENUM(INVP_ACTION_ELIDE);
TRACE_DEFINE_ENUM(INVP_ACTION_COALESCE);
TRACE_DEFINE_ENUM(INVP_ACTION_COALESCE_DYING);
TRACE_DEFINE_ENUM(INVP_ACTION_RETIRE);

TRACE_EVENT(invp_event,
	TP_PROTO(const struct mmu_notifier_range *range, enum kvm_invpolicy_reason reason,
		 enum invp_action action),
	TP_ARGS(range, reason, action),
	TP_STRUCT__entry(
		__field(unsigned long, start)
		__field(unsigned long, end)
		__field(u32, reason)
		__field(u32, action)
		__field(u32, notifier_event)
		__field(bool, blockable)
	),
	TP_fast_assign(
		__entry->start = range->start;
		__entry->end = range->end;
		__entry->reason = reason;
		__entry->action = action;
		__entry->notifier_event = range->event;
		__entry->blockable = mmu_notifier_range_blockable(range);
	),
	TP_printk("hva=%lx-%lx reason=%s action=%s event=%u%s", __entry->start, __entry->end,
		  __print_symbolic(__entry->reason,
				   { KVM_INVPOLICY_REASON_NUMA, "numa" },
				   { KVM_INVPOLICY_REASON_UNMAP, "unmap" },
				   { KVM_INVPOLICY_REASON_EXIT, "exit" },
				   { KVM_INVPOLICY_REASON_OTHER, "other" }),
		  __print_symbolic(__entry->action,
				   { INVP_ACTION_DEFAULT, "default" },
				   { INVP_ACTION_ELIDE, "elide" },
				   { INVP_ACTION_COALESCE, "coalesce" },
				   { INVP_ACTION_COALESCE_DYING, "coalesce-dying" },
				   { INVP_ACTION_RETIRE, "retire" }),
		  __entry->notifier_event, __entry->blockable ? "" : " nonblock")
);

TRACE_EVENT(invp_unmap,
	TP_PROTO(const struct invp_range *runs, unsigned int nr, unsigned long pages,
		 unsigned long flushes),
	TP_ARGS(runs, nr, pages, flushes),
	TP_STRUCT__entry(
		__field(unsigned long, start)
		__field(unsigned long, end)
		__field(unsigned int, nr)
		__field(unsigned long, pages)
		__field(unsigned long, flushes)
	),
	TP_fast_assign(
		__entry->start = runs[0].start;
		__entry->end = runs[nr - 1].end;
		__entry->nr = nr;
		__entry->pages = pages;
		__entry->flushes = flushes;
	),
	TP_printk("hva=%lx-%lx runs=%u pages=%lu flushes=%lu", __entry->start, __entry->end,
		  __entry->nr, __entry->pages, __entry->flushes)
);

TRACE_EVENT(invp_retire,
	TP_PROTO(pid_t pid, unsigned long pages, unsigned long flushes),
	TP_ARGS(pid, pages, flushes),
	TP_STRUCT__entry(
		__field(pid_t, pid)
		__field(unsigned long, pages)
		__field(unsigned long, flushes)
	),
	TP_fast_assign(
		__entry->pid = pid;
		__entry->pages = pages;
		__entry->flushes = flushes;
	),
	TP_printk("vm_pid=%d pages=%lu flushes=%lu", __entry->pid, __entry->pages,
		  __entry->flushes)
);

#endif

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>

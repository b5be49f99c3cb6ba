// SPDX-License-Identifier: GPL-2.0-only
// Contract 4 and 5: what an MMU notifier or KVM calls during an event never sleeps, nor
// does anything that it calls within the module, in whatever file.

@initialize:python@
@@
import re

SLEEPS = re.compile(r"""
    (mutex_lock | mmap_(read|write)_lock | down_(read|write))(_nested|_killable|_interruptible)? $
    | (guard|scoped_guard)\((mutex|rwsem)
    | synchronize_\w+ $ | \w+_synchronize $ | \w*rcu_barrier $
    | mmput $ | kvm_put_kvm $ | mmu_notifier_(un)?register $
    | wait_(event|for_completion|on)\w* $ | might_sleep\w* $ | cond_resched $
    | schedule(_timeout\w*)? $ | [fmu]sleep\w* $ | kthread_stop $
    | flush_(delayed_)?work(queue)? $ | cancel_\w+_sync $ | destroy_workqueue $
    | vmalloc\w* $ | k?vfree $ | alloc_percpu $
    | copy_\w+_user $ | (get|put)_user $
    | \w+\(GFP_(KERNEL|USER|HIGHUSER)
    | (hooks\.|kvm_invalidate_policy_)(attach|detach|set_listener) $
    """, re.X)
SLOTS = {"invalidate_range_start", "release", "range_start"}

callbacks = []
calls = {}

def add_call(place, callee):
    caller = (place.file, place.current_element)
    calls.setdefault(caller, []).append((callee, place.line))

def definitions(name, file):
    same_file = (file, name)
    if same_file in calls:
        return [same_file]
    return [function for function in calls if function[1] == name]

def report(slot, path, callee, line):
    file, caller = path[-1]
    chain = " -> ".join(function for _, function in path)
    print(f"{file}:{line}: {callee} can sleep, called from .{slot}: {chain}")

def follow(slot, path, seen):
    for callee, line in calls.get(path[-1], []):
        if SLEEPS.match(callee):
            report(slot, path, callee, line)
        for function in definitions(callee, path[-1][0]):
            if function not in seen:
                seen.add(function)
                follow(slot, path + [function], seen)

@notifier@
identifier ops, fn;
identifier slot = {invalidate_range_start, invalidate_range_end, release};
position p;
@@
struct mmu_notifier_ops ops = { .slot = fn@p, };

@script:python@
slot << notifier.slot;
fn << notifier.fn;
p << notifier.p;
@@
callbacks.append((slot, (p[0].file, fn)))

@policy@
identifier ops, fn;
identifier slot = {range_start};
position p;
@@
struct kvm_invalidate_policy_ops ops = { .slot = fn@p, };

@script:python@
slot << policy.slot;
fn << policy.fn;
p << policy.p;
@@
callbacks.append((slot, (p[0].file, fn)))

@call@
identifier callee;
position p;
@@
callee@p(...)

@script:python@
callee << call.callee;
p << call.p;
@@
add_call(p[0], callee)

@allocation@
identifier callee;
identifier gfp =~ "^GFP_";
position p;
@@
callee@p(..., <+... gfp ...+>, ...)

@script:python@
callee << allocation.callee;
gfp << allocation.gfp;
p << allocation.p;
@@
add_call(p[0], f"{callee}({gfp})")

@guarded@
identifier lock;
position p;
@@
guard@p(lock)(...)

@script:python@
lock << guarded.lock;
p << guarded.p;
@@
add_call(p[0], f"guard({lock})")

@scoped@
iterator name scoped_guard;
identifier lock;
statement S;
position p;
@@
scoped_guard@p(lock, ...) S

@script:python@
lock << scoped.lock;
p << scoped.p;
@@
add_call(p[0], f"scoped_guard({lock})")

@hook@
symbol hooks;
identifier member;
position p;
@@
hooks.member@p(...)

@script:python@
member << hook.member;
p << hook.p;
@@
add_call(p[0], f"hooks.{member}")

@finalize:python@
@@
for slot in sorted(SLOTS - {slot for slot, _ in callbacks}):
    print(f"no function is used as .{slot}: adapt this rule to where the callbacks are now")
for slot, function in callbacks:
    follow(slot, [function], {function})

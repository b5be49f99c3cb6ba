// SPDX-License-Identifier: GPL-2.0-only
// Contract 6: the module holds no reference that keeps a dead VM alive.

@reference@
// Unless it is declared, coccinelle passes over every function that uses it.
iterator name scoped_guard;
identifier fn =~ "^kvm_(get|put)_kvm";
position p;
@@
(
fn@p(...)
|
fn@p
)

@script:python@
fn << reference.fn;
p << reference.p;
@@
print(f"{p[0].file}:{p[0].line}: {fn} in the module: it may hold no reference to a VM")

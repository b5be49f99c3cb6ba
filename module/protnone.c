// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages that the host has made PROT_NONE, as NUMA hints do.
 *
 * Nothing is locked: a page table may change in any way while it is read, and a page that
 * was found in it may be freed. The result is a hint about hints, and unmapping a page too
 * much or too little does no harm; only what is read must exist. Page tables are not freed
 * while interrupts are off on a CPU that uses the mm: either their freeing waits for an RCU
 * grace period (CONFIG_MMU_GATHER_RCU_TABLE_FREE) or for an interrupt on each such CPU.
 */
#include <linux/irqflags.h>
#include <linux/memory_hotplug.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/sched.h>

#include "compat/mm.h"
#include "protnone.h"
#include "settled.h"

/* False, and nothing changed, if there is no room for another run. */
static bool append_run(struct invp_protnone *walk, unsigned long start, unsigned long end)
{
	if (walk->nr && walk->runs[walk->nr - 1].end == start) {
		walk->runs[walk->nr - 1].end = end;
		return true;
	}
	if (walk->nr == walk->capacity)
		return false;
	walk->runs[walk->nr++] = (struct invp_range){ start, end };
	return true;
}

/*
 * As folio_maybe_dma_pinned(), which must not be called without a reference: it asserts
 * that the folio is one, but the page may be freed and become the tail of another.
 */
static bool maybe_dma_pinned(struct page *page)
{
	struct folio *folio = page_folio(page);

	if (PageHead(&folio->page))
		return atomic_read(&folio->_pincount) > 0;
	return (unsigned int)folio_ref_count(folio) >= GUP_PIN_COUNTING_BIAS;
}

/* False, and nothing changed, if there is no room for another run. */
static bool note_movable(struct invp_protnone *walk, unsigned long pfn,
			 unsigned long start, unsigned long end)
{
	u16 *record = walk->records ? walk->records + pte_index(start) : NULL;
	unsigned long nr = (end - start) >> PAGE_SHIFT;
	bool spared = false, sampled = false;
	u16 next = 0;

	if (record)
		next = invp_settled_next(READ_ONCE(*record), pfn, walk->samples > 0, &spared,
					 &sampled);
	if (spared)
		walk->placed += nr;
	else if (!append_run(walk, start, end))
		return false;
	if (sampled)
		walk->samples -= nr;
	if (record)
		WRITE_ONCE(*record, next);
	return true;
}

/* False, and nothing changed, if there is no room for another run. */
static bool note_pages(struct invp_protnone *walk, unsigned long pfn,
		       unsigned long start, unsigned long end)
{
	unsigned long nr = (end - start) >> PAGE_SHIFT;
	struct page *page = pfn_to_online_page(pfn);

	/* Device memory has no hints. */
	if (!page)
		return true;

	if (maybe_dma_pinned(page))
		walk->pinned += nr;
	else if (page_to_nid(page) == walk->home_node)
		walk->placed += nr;
	else if (!note_movable(walk, pfn, start, end))
		return false;
	walk->protected += nr;
	return true;
}

static unsigned long walk_huge(struct invp_protnone *walk, pmd_t pmd,
			       unsigned long addr, unsigned long end)
{
	if (pmd_protnone(pmd) && !note_pages(walk, pmd_pfn(pmd), addr, end))
		return addr;
	return end;
}

static unsigned long walk_table(struct invp_protnone *walk, pmd_t pmd,
				unsigned long addr, unsigned long end)
{
	pte_t *ptep = pte_offset_kernel(&pmd, addr);

	for (; addr < end; ptep++, addr += PAGE_SIZE) {
		pte_t pte = ptep_get_lockless(ptep);

		if (pte_protnone(pte) && !pte_special(pte) &&
		    !note_pages(walk, pte_pfn(pte), addr, addr + PAGE_SIZE))
			break;
	}
	return addr;
}

/*
 * What maps @addr by a page table of the lowest level, or as a huge page: @pmd, not present
 * if there is a hole. Each entry is read once: it may become another one after it was looked
 * at. Returns where what it maps, or the hole, ends.
 */
static unsigned long read_pmd(struct mm_struct *mm, unsigned long addr, unsigned long end,
			      pmd_t *pmd)
{
	pgd_t *pgdp, pgd;
	p4d_t *p4dp, p4d;
	pud_t *pudp, pud;

	*pmd = __pmd(0);
	pgdp = pgd_offset(mm, addr);
	pgd = READ_ONCE(*pgdp);
	if (pgd_none(pgd))
		return pgd_addr_end(addr, end);

	p4dp = p4d_offset_lockless(pgdp, pgd, addr);
	p4d = READ_ONCE(*p4dp);
	if (!p4d_present(p4d))
		return p4d_addr_end(addr, end);

	pudp = pud_offset_lockless(p4dp, p4d, addr);
	pud = READ_ONCE(*pudp);
	if (!pud_present(pud) || pud_leaf(pud))
		return pud_addr_end(addr, end);

	*pmd = pmdp_get_lockless(pmd_offset_lockless(pudp, pud, addr));
	return invp_table_end(addr, end);
}

static unsigned long walk_piece(struct invp_protnone *walk, unsigned long addr, unsigned long end)
{
	pmd_t pmd;

	end = read_pmd(walk->mm, addr, end, &pmd);
	if (!pmd_present(pmd))
		return end;
	if (pmd_leaf(pmd))
		return walk_huge(walk, pmd, addr, end);
	return walk_table(walk, pmd, addr, end);
}

/**
 * invp_protnone_walk() - append the runs of PROT_NONE pages in a range
 * @walk: what to look for, and what was found
 * @start: first byte, page aligned
 * @end: first byte after it, page aligned
 *
 * Changes nothing and takes no lock and no reference. Of a huge page the part within
 * the range counts. Pages mapped by an entry above the lowest two levels are left out.
 *
 * Context: process context with interrupts on; may sleep between page tables. The mm is
 *	in use on this CPU all the while (see @walk->mm), its users count held.
 * Return: @end, or less if another run was found and there is no room for it: the caller
 *	makes use of the runs, sets @walk->nr to 0 and goes on from there.
 */
unsigned long invp_protnone_walk(struct invp_protnone *walk,
				 unsigned long start, unsigned long end)
{
	if (WARN_ON_ONCE(current->mm != walk->mm))
		return end;

	while (start < end) {
		unsigned long next;

		if (walk->settled)
			walk->records = invp_settled_records(walk->settled, start);
		local_irq_disable();
		next = walk_piece(walk, start, end);
		local_irq_enable();
		if (next == start)
			break;
		start = next;
		cond_resched();
	}
	return start;
}

static void note_touched(u16 *records, struct mm_struct *mm, unsigned long addr,
			 unsigned long end)
{
	u16 *record = records + pte_index(addr);
	pte_t *ptep, pte;
	pmd_t pmd;

	read_pmd(mm, addr, end, &pmd);
	if (!pmd_present(pmd))
		return;
	if (pmd_leaf(pmd)) {
		if (!pmd_protnone(pmd))
			invp_settled_touched(record);
		return;
	}
	for (ptep = pte_offset_kernel(&pmd, addr); addr < end; addr += PAGE_SIZE) {
		pte = ptep_get_lockless(ptep++);
		if (pte_present(pte) && !pte_protnone(pte))
			invp_settled_touched(record);
		record++;
	}
}

/**
 * invp_protnone_note_touched() - learn which pages have taken the hints they were given
 * @mm: in use on this CPU, its users count held
 * @settled: of the VM
 * @start: first byte, page aligned, of what the host is about to make PROT_NONE
 * @end: first byte after it, page aligned
 *
 * Afterwards one cannot tell a page that was touched and protected again from one that nobody
 * has touched.
 *
 * Context: process context with interrupts on. Does not sleep: a scan announces little.
 */
void invp_protnone_note_touched(struct mm_struct *mm, struct invp_settled *settled,
				unsigned long start, unsigned long end)
{
	unsigned long next;
	u16 *records;

	for (; start < end; start = next) {
		next = invp_table_end(start, end);
		/* Also keeps the records. */
		scoped_guard(irq) {
			records = invp_settled_known(settled, start);
			if (records)
				note_touched(records, mm, start, next);
		}
	}
}

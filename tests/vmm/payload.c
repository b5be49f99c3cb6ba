// SPDX-License-Identifier: GPL-2.0-only
/* The guest: every vCPU sweeps its own share of the memory for ever. */
#include "oracle.h"

static noinline void
report(struct mailbox *mailbox, const struct error_report *error)
{
	if (!mailbox->errors)
		mailbox->first_error = *error;
	store_word(&mailbox->errors, mailbox->errors + 1);
}

static inline void visit(struct mailbox *mailbox, struct page_record *record,
			 uint64_t gpa, uint64_t generation)
{
	uint64_t *first = (uint64_t *)gpa;
	uint64_t *last = first + WORDS_PER_PAGE - 1;
	uint64_t control = load_word(&record->control);
	uint64_t first_word = load_word(first);
	uint64_t last_word = load_word(last);
	uint64_t expected, stamp;

	if (control & CONTROL_CHANGING)
		return;

	expected = control == record->acked ? record->last : record->expect;
	if (first_word != expected || last_word != expected) {
		struct error_report error = {
			control == record->acked ? ERROR_STABLE : ERROR_CHANGED,
			gpa, expected, first_word, last_word
		};

		/* No error if the host has only just changed the state. */
		if (load_word(&record->control) != control)
			return;
		report(mailbox, &error);
	}

	stamp = guest_stamp(gpa, generation);
	store_word(first, stamp);
	store_word(last, stamp);
	record->last = stamp;
	store_word(&record->acked, control);
}

/* Unlike the pages of a sweep, these few stay in the TLB: the host sees who writes to them. */
static void hammer(struct mailbox *mailbox)
{
	uint64_t hammered = mailbox->hammered;
	uint64_t end, page;

	while ((end = load_word(&mailbox->hammer_end))) {
		for (page = mailbox->hammer_first; page < end; page++) {
			store_word((uint64_t *)page_gpa(page) + mailbox->hammer_word,
				   ++hammered);
			store_word(&mailbox->hammered, hammered);
		}
	}
}

void guest_sweep(struct mailbox *mailbox);

void guest_sweep(struct mailbox *mailbox)
{
	const uint64_t begin = mailbox->first_page;
	const uint64_t end = mailbox->end_page;
	struct page_record *records = (void *)mailbox->records_gpa;
	uint64_t visits = 0;
	uint64_t generation;
	uint64_t page;

	for (generation = 1;; generation++) {
		for (page = begin; page < end; page++) {
			store_word(&mailbox->page, page);
			store_word(&mailbox->visits, ++visits);
			/* The host waits for the count: no earlier read of a control word. */
			__atomic_thread_fence(__ATOMIC_SEQ_CST);
			visit(mailbox, &records[page], page_gpa(page), generation);
			hammer(mailbox);
		}
		store_word(&mailbox->sweeps, generation);
	}
}

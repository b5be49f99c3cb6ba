// SPDX-License-Identifier: GPL-2.0-only
/* Two threads call for the same VM at the same time. */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "device.h"
#include "errors.h"
#include "guest.h"
#include "tap.h"

#define ROUNDS	500

/**
 * struct race - one VM, two threads
 * @name: of the test
 * @cmds: what the threads call; the first thread also judges
 * @vm: file descriptor
 * @device: file descriptor
 * @threads: their ids
 * @barrier: wakes both threads
 * @running: both threads run: an exact start, as a barrier wakes one by one
 * @results: errno by thread
 * @attached: a policy is there before the round
 * @wins: rounds that the first and the second thread won, if only one could
 * @wrong: rounds with an impossible outcome
 * @first_wrong: the results of the first such round
 */
struct race {
	const char *name;
	unsigned int cmds[2];
	int vm;
	int device;
	pthread_t threads[2];
	pthread_barrier_t barrier;
	int running;
	int results[2];
	bool attached;
	unsigned int wins[2];
	unsigned int wrong;
	int first_wrong[2];
};

static void start_together(struct race *race)
{
	pthread_barrier_wait(&race->barrier);
	__atomic_add_fetch(&race->running, 1, __ATOMIC_ACQ_REL);
	while (__atomic_load_n(&race->running, __ATOMIC_ACQUIRE) % 2)
		;
}

static void call(struct race *race, int thread)
{
	start_together(race);
	race->results[thread] = vm_call(race->device, race->cmds[thread], race->vm, 0);
	pthread_barrier_wait(&race->barrier);
}

static int loser_error(unsigned int cmd)
{
	return cmd == KVM_INVPOLICY_ATTACH ? EEXIST : ENOENT;
}

/* Whatever was first, one attach more than detaches means attached. */
static bool outcome_possible(struct race *race)
{
	struct kvm_invpolicy_stats stats;
	int attached = race->attached;
	int thread;

	for (thread = 0; thread < 2; thread++) {
		int result = race->results[thread];
		unsigned int cmd = race->cmds[thread];

		if (result && result != loser_error(cmd))
			return false;
		if (!result)
			attached += cmd == KVM_INVPOLICY_ATTACH ? 1 : -1;
	}
	race->attached = !policy_stats(race->device, race->vm, &stats);
	if (race->cmds[0] == race->cmds[1] &&
	    !race->results[0] == !race->results[1])
		return false;
	return attached == race->attached;
}

static void judge(struct race *race)
{
	if (!race->results[0] != !race->results[1])
		race->wins[!!race->results[0]]++;
	if (outcome_possible(race))
		return;
	if (!race->wrong++)
		memcpy(race->first_wrong, race->results, sizeof(race->results));
}

/* Attach needs a VM without a policy and detach one with it, to have a winner. */
static void prepare(struct race *race, int round)
{
	bool wanted = race->cmds[0] == KVM_INVPOLICY_DETACH;

	if (race->cmds[0] != race->cmds[1])
		wanted = round % 2;
	if (race->attached != wanted)
		vm_call(race->device, wanted ? KVM_INVPOLICY_ATTACH :
			KVM_INVPOLICY_DETACH, race->vm, 0);
	race->attached = wanted;
}

static void *judging_thread(void *arg)
{
	struct race *race = arg;
	int round;

	for (round = 0; round < ROUNDS; round++) {
		prepare(race, round);
		call(race, 0);
		judge(race);
	}
	return NULL;
}

static void *other_thread(void *arg)
{
	struct race *race = arg;
	int round;

	for (round = 0; round < ROUNDS; round++)
		call(race, 1);
	return NULL;
}

static void start(struct race *race)
{
	race->device = device_open();
	race->vm = vm_create();
	pthread_barrier_init(&race->barrier, NULL, 2);
	if (pthread_create(&race->threads[0], NULL, judging_thread, race) ||
	    pthread_create(&race->threads[1], NULL, other_thread, race))
		die("cannot create a thread: raise ulimit -u");
}

static void finish(struct race *race)
{
	pthread_join(race->threads[0], NULL);
	pthread_join(race->threads[1], NULL);
	test_begin("race-%s", race->name);
	expect(!race->wrong, "%u of %u rounds have an impossible outcome, the first: %s and %s",
	       race->wrong, ROUNDS,
	       race->first_wrong[0] ? strerror(race->first_wrong[0]) : "success",
	       race->first_wrong[1] ? strerror(race->first_wrong[1]) : "success");
	if (race->cmds[0] == race->cmds[1])
		expect(race->wins[0] && race->wins[1],
		       "no race: one thread won %u rounds, the other %u",
		       race->wins[0], race->wins[1]);
	test_end();
	close(race->vm);
	close(race->device);
	pthread_barrier_destroy(&race->barrier);
}

/* All at once: most of the time goes into waiting for grace periods. */
void errors_race(void)
{
	static struct race races[] = {
		{ .name = "attach-attach",
		  .cmds = { KVM_INVPOLICY_ATTACH, KVM_INVPOLICY_ATTACH } },
		{ .name = "attach-detach",
		  .cmds = { KVM_INVPOLICY_ATTACH, KVM_INVPOLICY_DETACH } },
		{ .name = "detach-detach",
		  .cmds = { KVM_INVPOLICY_DETACH, KVM_INVPOLICY_DETACH } },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(races); i++)
		start(&races[i]);
	for (i = 0; i < ARRAY_SIZE(races); i++)
		finish(&races[i]);
}

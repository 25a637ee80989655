/*
 * slot_names: names in known slots of a Redis Cluster of three masters.
 *
 *	name_on(0, 1)          the second name of the first master
 *	name_on(1, 0)          in a higher slot; name_on(2, 0) in a still higher one
 *	name_beside(name, 1)   another name in the same slot
 */
#ifndef TEST_SLOT_NAMES_H
#define TEST_SLOT_NAMES_H

/*
 * Three names in the order of their slots, each on its own master. slots_on_a_cluster sets them.
 */
extern const char *low, *middle, *high;

/*
 * Makes all servers that start afterwards Clusters, and sets the names above. Call it first in a
 * group.
 */
void slots_on_a_cluster(void);

/*
 * The n-th of the names whose slots the master has from the start; each lies in its own slot.
 * The text lives for ever.
 */
const char *name_on(int master, int n);

/*
 * The n-th other name in the slot of `name`, from 1. The text lives until the fourth call after
 * this one.
 */
const char *name_beside(const char *name, int n);

#endif

#include "slot_names.h"

#include "redis_cluster.h"
#include "test.h"

enum { NAMES_MAX = 32, NAME_SIZE = 16 };

const char *low, *middle, *high;

void slots_on_a_cluster(void)
{
	setenv("PATTERND_TEST_TOPOLOGY", "cluster", 1);
	low = name_on(0, 0);
	middle = name_on(1, 0);
	high = name_on(2, 0);
}

const char *name_on(int master, int n)
{
	static char names[CLUSTER_MASTERS][NAMES_MAX][NAME_SIZE];
	static int counts[CLUSTER_MASTERS], next;
	char name[NAME_SIZE];

	assert_in_range(n, 0, NAMES_MAX - 1);
	while (counts[master] <= n) {
		snprintf(name, sizeof(name), "n%d", next++);
		int at = cluster_slot(name, strlen(name)) * CLUSTER_MASTERS / CLUSTER_SLOTS;
		if (counts[at] < NAMES_MAX)
			strcpy(names[at][counts[at]++], name);
	}
	return names[master][n];
}

const char *name_beside(const char *name, int n)
{
	static char names[4][NAME_SIZE];
	static unsigned next;
	char *other = names[next++ % 4];
	int slot = cluster_slot(name, strlen(name));

	for (int i = 0, found = 0; found < n; i++) {
		snprintf(other, NAME_SIZE, "b%d", i);
		found += cluster_slot(other, strlen(other)) == slot;
	}
	return other;
}

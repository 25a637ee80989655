/*
 * Tests that slots of keys equal the values of the Redis Cluster specification and of CLUSTER
 * KEYSLOT.
 */
#include "../support/redis_server.h"
#include "test.h"
#include "topology/slot.h"

TEST(known_slots)
{
	assert_int_equal(slot_of(TEXT("123456789")), 0x31c3 % REDIS_SLOTS);
	assert_int_equal(slot_of(TEXT("foo")), 12182);
	assert_int_equal(slot_of(TEXT("{foo}.bar")), 12182);
	assert_int_equal(slot_of(TEXT("a{foo}b{bar}")), 12182);
	assert_int_equal(slot_of(TEXT("")), 0);
	assert_int_equal(slot_of(TEXT("{user1000}.following")), slot_of(TEXT("user1000")));
	/* These keys have no tag: it is empty, or not closed. */
	assert_int_not_equal(slot_of(TEXT("foo{}{bar}")), slot_of(TEXT("bar")));
	assert_int_not_equal(slot_of(TEXT("foo{bar")), slot_of(TEXT("bar")));
	assert_int_equal(slot_of(TEXT("foo{{bar}}zap")), slot_of(TEXT("{bar")));
}

/* A server computes the same slots for random bytes with many braces. */
TEST(as_the_server_computes)
{
	struct redis_server redis = { 0 };
	static const char letters[] = "{}{}ab\xff\x80:";
	char key[16];

	server_start(&redis, "--cluster-enabled", "yes");
	srand(7);
	for (int i = 0; i < 2000; i++) {
		size_t len = (size_t)rand() % sizeof(key);
		for (size_t b = 0; b < len; b++)
			key[b] = rand() % 3 ? letters[(size_t)rand() % (sizeof(letters) - 1)] : (char)rand();
		redisReply *r = server_command(&redis, "CLUSTER KEYSLOT %b", key, len);
		assert_int_equal(slot_of((struct text){ key, len }), r->integer);
	}
	server_stop(&redis);
}

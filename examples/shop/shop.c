/*
 * A small shop that uses patternd, in C with libcurl and jansson (call.c). What it shows is
 * in ../README.md.
 */
#include <stdio.h>
#include <unistd.h>

#include "call.h"

/*
 * The lock of ann's cart, so that two clicks in two tabs do not make two orders. The caller
 * frees what it returns.
 */
static json_t *take_cart(const char *tab)
{
	struct answer lock =
		call("POST", "/locks/cart-ann", NULL, "lock_held", "{s:s, s:i}", "owner", tab, "ttl_ms", 10000);

	if (lock.refused) {
		json_t *holder = json_array_get(json_object_get(lock.json, "holders"), 0);
		printf("checkout: %s has to wait, %s is at it\n", tab, text_of(holder, "owner"));
	}
	return json_incref(lock.json);
}

static void give_cart_back(json_t *lock)
{
	/* not_holder: it had expired */
	call("DELETE", "/locks/cart-ann", text_of(lock, "token"), "not_holder", NULL);
}

/*
 * A holder that was suspended until another client got the lock has a lower fence, and is refused.
 */
static int place_order(const char *tab, json_t *lock)
{
	char id[32];
	int order = 0;

	json_t *fence = json_object_get(lock, "fence");
	if (call("POST", "/fences/cart-ann", NULL, "stale_fence", "{s:O}", "fence", fence).refused) {
		printf("checkout: %s comes too late, its fence is stale\n", tab);
		return 0;
	}
	struct answer count =
		call("POST", "/counters/shop/increment", NULL, NULL, "{s:{s:i}}", "counters", "orders", 1);
	json_unpack(count.json, "{s:{s:i}}", "counters", "orders", &order);
	snprintf(id, sizeof(id), "order-%d", order);
	/* A real shop waits half an hour for the money. */
	call("POST", "/queues/unpaid/messages", NULL, NULL, "{s:s, s:{s:i}, s:i}", "id", id, "body", "order", order,
	     "delay_ms", 500);
	printf("checkout: %s placed order %d\n", tab, order);
	return order;
}

/*
 * A worker waits for a message, works, and acknowledges. Should it die before that, another one
 * gets the message.
 */
static void work(void)
{
	struct answer received = call("POST", "/queues/unpaid/receive", NULL, NULL, "{s:i}", "wait_ms", 20000);
	const char *receipt = NULL;
	int order = 0;
	char path[256];

	if (json_unpack(received.json, "{s:[{s:s, s:{s:i}}]}", "messages", "receipt", &receipt, "body", "order",
			&order) != 0)
		return; /* none came */
	printf("worker: order %d was not paid in time\n", order);
	snprintf(path, sizeof(path), "/queues/unpaid/deliveries/%s", receipt);
	call("DELETE", path, NULL, "receipt_expired", NULL); /* receipt_expired: it was too slow */
}

/* Three in a row, and then one in three seconds. */
static void comment(int number)
{
	struct answer asked;

	while ((asked = call("POST", "/ratelimit", NULL, "rate_limited", "{s:s, s:i, s:i, s:i}", "key", "ann:comment",
			     "limit", 20, "window_ms", 60000, "burst", 3))
		       .refused) {
		printf("comment %d: not yet\n", number);
		sleep(asked.retry_after);
	}
	printf("comment %d: sent\n", number);
}

int main(void)
{
	json_t *first = take_cart("tab 1"), *near;
	size_t i;
	char path[64];

	json_decref(take_cart("tab 2"));
	int paid = place_order("tab 1", first);
	give_cart_back(first);
	json_t *second = take_cart("tab 2");
	place_order("tab 2", second);
	place_order("tab 1", first);
	give_cart_back(second);
	snprintf(path, sizeof(path), "/queues/unpaid/messages/order-%d", paid);
	printf("payment: %s for order %d\n",
	       call("DELETE", path, NULL, "not_found message_in_flight", NULL).refused ? "too late" : "in time", paid);
	json_decref(first);
	json_decref(second);
	work();
	for (int number = 1; number <= 4; number++)
		comment(number);
	call("POST", "/geo/couriers/members", NULL, NULL, "{s:[{s:s, s:f, s:f}, {s:s, s:f, s:f}, {s:s, s:f, s:f}]}",
	     "members", "member", "bea", "longitude", 13.3889, "latitude", 52.5170, "member", "cem", "longitude",
	     13.4050, "latitude", 52.5200, "member", "dan", "longitude", 13.0645, "latitude", 52.3906);
	struct answer found =
		call("GET", "/geo/nearby?name=couriers&longitude=13.3777&latitude=52.5163&radius=5&unit=km", NULL, NULL,
		     NULL);
	json_array_foreach(json_object_get(found.json, "items"), i, near) {
		double distance = json_number_value(json_object_get(near, "distance"));
		printf("courier: %s is %.1f km away\n", text_of(near, "member"), distance);
	}
	call("POST", "/uv/shop", NULL, NULL, "{s:[s, s, s]}", "visitors", "ann", "bob", "ann");
	json_t *count = json_object_get(call("GET", "/uv/shop", NULL, NULL, NULL).json, "count");
	printf("visitors: %lld today\n", (long long)json_integer_value(count));
}

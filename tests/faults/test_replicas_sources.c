/*
 * Which server answers each operation of the contract. Operations marked x-stale read from a
 * replica, and their answers state that. No other operation asks a replica.
 */
#include "per_operation.h"
#include "replicated.h"
#include "test.h"

/*
 * The target of an operation that requires one of several parameters; the schema does not state
 * which.
 */
static const char *target_of(const struct contract_operation *op)
{
	if (strcmp(op->id, "geo_nearby_list") == 0)
		return "/geo/nearby?name=drivers&longitude=13.4&latitude=52.5&radius=1000";
	return strcmp(op->id, "set_combine") == 0 ? "/sets/combine?union=a" : NULL;
}

static struct answer ask(const struct contract_operation *op)
{
	if (target_of(op))
		return http(client, op->method, target_of(op), NULL);
	char *target = contract_target(op, NULL, NULL);
	json_t *body = contract_body(op);
	char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
	struct answer a = http(client, op->method, target, text);

	free(text);
	json_decref(body);
	free(target);
	return a;
}

static bool streams(const struct contract_operation *op)
{
	return strcmp(op->id, "lock_hold") == 0 || strstr(op->id, "_stream");
}

/*
 * Returns how many commands the replicas ran for clients. Replicated commands count, too, so no
 * client may write between two of these calls.
 */
static long long asked_of_replicas(void)
{
	long long sum = 0;

	for (int i = 0; i < REPLICAS; i++)
		sum += server_calls(&replicas[i], "evalsha") + server_calls(&replicas[i], "getrange");
	return sum;
}

/*
 * Sends the operation's example after the examples of all writes, so that most find something. A
 * replica runs replicated commands plainly, never as scripts; GETRANGE writes nothing.
 */
static void source(const struct contract_operation *op, struct refusals *seen)
{
	if (streams(op))
		return;
	replicated_wait_usable(REPLICAS);
	long long before = asked_of_replicas();
	struct answer a = ask(op);
	long long asked = asked_of_replicas() - before;
	seen->seen++;
	if (op->stale && (!came_from_replica(a) || asked == 0 || (a.status != 200 && a.status != 404)))
		note_flaw(seen, a, "%s: may be stale, and no replica served it", op->id);
	if (!op->stale && (header_of(a, "Patternd-Source") || asked != 0))
		note_flaw(seen, a, "%s: must not be stale, and a replica was asked %lld times", op->id, asked);
	client_forget(client);
}

static int open_filled(void **state)
{
	replicated_open(state);
	for (size_t i = 0; i < contract_count(); i++) {
		const struct contract_operation *op = contract_at(i);
		if (op->writes && !streams(op) && strcmp(op->method, "DELETE") != 0)
			ask(op);
	}
	client_forget(client);
	return 0;
}

int main(void)
{
	static const struct operation_test tests[] = { { "its source", source } };

	return run_per_operation("sources of reads", tests, 1, open_filled, replicated_close);
}

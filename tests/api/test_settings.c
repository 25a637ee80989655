/*
 * What GET prints, PUT reads. For each path of the contract that has both, the test makes a
 * resource, and sends back what GET returns of it. Only members that PUT does not have are left
 * out, such as the name and counters. The resource must then be as it was before.
 */
#include "contract.h"
#include "per_operation.h"
#include "stage.h"
#include "test.h"

/* The members of the resource that PUT has, with the nulls among them. The caller frees them. */
static json_t *settings_at(const struct contract_operation *op, const char *target)
{
	struct answer a = get(target);
	const json_t *shown = json_at(a, "/settings"), *node; /* a queue has them apart from its figures */
	const char *name;
	json_t *settings = json_object();

	assert_status(a, 200);
	json_object_foreach((json_t *)(uintptr_t)(shown ? shown : a.json), name, node)
		if (contract_member(contract_member(op->body_schema, "properties", NULL), name, NULL))
			json_object_set(settings, name, (json_t *)(uintptr_t)node);
	return settings;
}

static struct answer put(const char *target, const json_t *body)
{
	char *text = json_dumps(body, JSON_COMPACT);
	struct answer a = http(client, "PUT", target, text);

	free(text);
	return a;
}

/* Makes the resource that this one is a part of, such as the leaderboard of a member. */
static void make_whole(const struct contract_operation *op)
{
	for (size_t i = 0; i < contract_count(); i++) {
		const struct contract_operation *whole = contract_at(i);
		size_t len = strlen(whole->path);
		bool is_whole = strncmp(whole->path, op->path, len) == 0 && op->path[len] == '/';
		if (!is_whole || strcmp(whole->method, "PUT") != 0)
			continue;
		json_t *body = contract_body(whole);
		char *target = contract_target(whole, NULL, NULL);
		assert_int_equal(put(target, body).status, 201);
		json_decref(body);
		free(target);
	}
}

/* Makes the resource by this body, and sends its settings back. */
static void send_back(const struct contract_operation *op, const json_t *body, struct refusals *seen)
{
	char *target = contract_target(op, NULL, NULL);

	stage_forget(NULL);
	make_whole(op);
	struct answer a = put(target, body);
	if (a.status != 400) { /* the body may lack a member that it needs without another one */
		json_t *before = settings_at(op, target);
		struct answer again = put(target, before);
		json_t *after = settings_at(op, target);
		seen->seen++;
		char *text = json_dumps(before, JSON_COMPACT);
		if (again.status / 100 != 2 || !json_equal(before, after))
			note_flaw(seen, again, "%s", text);
		free(text);
		json_decref(before);
		json_decref(after);
	}
	free(target);
}

/*
 * Tries the example of the contract. Then it leaves out each member, and all members that are not
 * required.
 */
static void sent_back(const struct contract_operation *op, struct refusals *seen)
{
	if (strcmp(op->method, "PUT") != 0 || !op->body_schema || !contract_path_takes(op->path, "GET"))
		return;
	json_t *body = contract_body(op), *least = json_object(), *node;
	const char *name;
	void *next;
	size_t i;

	send_back(op, body, seen);
	json_object_foreach_safe(body, next, name, node)
	{
		json_t *without = json_copy(body);
		json_object_del(without, name);
		send_back(op, without, seen);
		json_decref(without);
	}
	json_array_foreach(json_object_get(op->body_schema, "required"), i, node)
		json_object_set(least, json_string_value(node), json_object_get(body, json_string_value(node)));
	send_back(op, least, seen);
	json_decref(least);
	json_decref(body);
}

int main(void)
{
	static const struct operation_test tests[] = { { "sent back", sent_back } };

	return run_per_operation("settings", tests, 1, stage_open, stage_close);
}

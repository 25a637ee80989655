/*
 * A request is repeated with its Idempotency-Key after other clients have written. Nothing in Redis
 * changes, and the answer is marked as a replay. The test tries the example of every operation that
 * takes a key. For an operation that may need several calls, it also tries a request that needs
 * them.
 */
#include "many.h"
#include "per_operation.h"
#include "stage.h"
#include "test.h"

#define KEY "Idempotency-Key: replay"

/* ---- What changed in Redis ---- */

/* True for a line of a picture: "key digest expires_at". */
static bool is_in(const char *picture, const char *line, size_t len)
{
	for (const char *at = picture; (at = strstr(at, line)); at++)
		if ((at == picture || at[-1] == '\n') && (at[len] == '\n' || at[len] == '\0'))
			return true;
	return false;
}

static bool never_expires(const char *line)
{
	size_t len = strlen(line);

	return len > 3 && strcmp(line + len - 3, " -1") == 0;
}

/*
 * Returns the first line of `picture` that `other` does not have, or NULL. Skips records and, if
 * `may_expire`, keys that may have expired.
 */
static char *first_beside(const char *picture, const char *other, bool may_expire)
{
	char *copy = strdup(picture), *rest = copy, *line;

	assert_non_null(copy);
	while ((line = strsep(&rest, "\n"))) {
		if (strncmp(line, "p:idem:", 7) == 0 || is_in(other, line, strlen(line)) ||
		    (may_expire && !never_expires(line)))
			continue;
		line = strdup(line);
		free(copy);
		return line;
	}
	free(copy);
	return NULL;
}

/* Returns the key that changed, or NULL. The caller frees. */
static char *changed(const char *before, const char *after)
{
	char *line = first_beside(after, before, false);

	return line ? line : first_beside(before, after, true);
}

/* ---- Every operation that takes a key ---- */

static bool takes_a_key(const struct contract_operation *op)
{
	for (size_t i = 0; i < op->parameter_count; i++)
		if (strcmp(op->parameters[i].name, "Idempotency-Key") == 0)
			return true;
	return false;
}

static struct answer ask(const struct contract_operation *op, const char *header)
{
	char *target = contract_target(op, NULL, NULL);
	json_t *body = contract_body(op);
	char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
	struct answer a = header ? http(client, op->method, target, text, header, contract_header(op))
				 : http(client, op->method, target, text, contract_header(op));

	free(text);
	json_decref(body);
	free(target);
	return a;
}

/*
 * Sends the example of every operation that writes, except deletions and locks held by a
 * connection.
 */
static void others_write(void)
{
	for (size_t i = 0; i < contract_count(); i++) {
		const struct contract_operation *op = contract_at(i);
		if (op->writes && strcmp(op->id, "lock_hold") != 0 && strcmp(op->method, "DELETE") != 0)
			ask(op, NULL);
	}
	client_forget(client);
}

static bool is_marked(struct answer a)
{
	const char *value = header_of(a, "Idempotent-Replayed");

	return value && strcmp(value, "true") == 0;
}

static void replayed(const struct contract_operation *op, struct refusals *seen)
{
	if (!takes_a_key(op))
		return;
	stage_forget(NULL);
	struct answer first = ask(op, KEY);
	if (first.status >= 300) { /* the request needs something that other requests make */
		stage_forget(NULL);
		others_write();
		first = ask(op, KEY);
	}
	if (first.status >= 300)
		return; /* a grant's token or receipt is not an example */
	bool first_marked = is_marked(first);
	others_write();
	char *before = server_picture(&redis);
	struct answer again = ask(op, KEY);
	char *after = server_picture(&redis), *line = changed(before, after);
	seen->seen++;
	/* An answer that changed nothing has no record, so its replay is a first attempt. */
	bool has_record = strstr(before, "p:idem:");
	if (first_marked || is_marked(again) != has_record) {
		seen->flaws++;
		note_flaw(seen, again, "%s: Idempotent-Replayed must be on the replay alone", op->id);
	}
	if (line && has_record) {
		seen->flaws++;
		note_flaw(seen, again, "a replay of %s changed %s", op->id, line);
	}
	free(line);
	free(before);
	free(after);
	client_forget(client);
}

/* ---- Operations of more than one call ---- */

static void done(const char *method, const char *target, const char *body)
{
	assert_in_range(http(client, method, target, body).status, 200, 299);
	client_forget(client);
}

static void push(int count, int keep)
{
	char tail[32];

	snprintf(tail, sizeof(tail), "],\"max_items\":%d}", keep);
	done("POST", "/feeds/f/items", many("{\"items\":[", "", 0, count, "", tail));
}

static void fill_feed(void)
{
	for (int i = 0; i < 4; i++)
		push(1000, 4000);
}

static void push_more(void)
{
	push(500, 1000);
}

static void send_messages(void)
{
	for (int i = 0; i < 3000; i += 100)
		done("POST", "/queues/q/messages", many("{\"messages\":[", "{\"body\":", i, 100, "}", "]}"));
}

static void kill_messages(void)
{
	done("PUT", "/queues/q", "{\"max_receives\":1}");
	send_messages();
	for (int i = 0; i < 30; i++) {
		struct answer a = post("/queues/q/receive", "{\"limit\":100}");
		char body[40000];
		size_t n = (size_t)snprintf(body, sizeof(body), "{\"reject\":[");
		json_t *message;
		size_t k;
		json_array_foreach(json_at(a, "/messages"), k, message)
			n += (size_t)snprintf(body + n, sizeof(body) - n, "%s{\"receipt\":\"%s\"}", k ? "," : "",
					      json_string_value(json_object_get(message, "receipt")));
		strcpy(body + n, "]}");
		done("POST", "/queues/q/settle", body);
	}
}

static void make_filter(void)
{
	done("PUT", "/bloom/b", "{\"capacity\":1500,\"error_rate\":0.001}");
}

static void grow_filter(void)
{
	for (int i = 1; i < 4; i++)
		done("POST", "/bloom/b/add", many("{\"items\":[", "\"", 1000 * i, 1000, "\"", "]}"));
}

static void renew_filter(void)
{
	done("DELETE", "/bloom/b", NULL);
	make_filter();
}

static void make_boards(void)
{
	char target[64], body[64];

	done("PUT", "/leaderboards/x", "{\"dimensions\":[\"score\"]}");
	done("PUT", "/leaderboards/y", "{\"dimensions\":[\"score\"]}");
	for (int i = 0; i < 400; i++) {
		snprintf(target, sizeof(target), "/leaderboards/%s/members/m%d", i % 2 ? "x" : "y", i);
		snprintf(body, sizeof(body), "{\"scores\":{\"score\":%d}}", i);
		done("PUT", target, body);
	}
}

static void change_boards(void)
{
	done("PUT", "/leaderboards/x/members/m1", "{\"scores\":{\"score\":7}}");
	done("PUT", "/leaderboards/all/members/m2", "{\"scores\":{\"score\":7}}");
	done("DELETE", "/leaderboards/all/members/m397", NULL);
}

static void change_members(void)
{
	done("PUT", "/leaderboards/all/members/m1", "{\"scores\":{\"score\":7}}");
	done("DELETE", "/leaderboards/all/members/m2", NULL);
}

static void make_few(void)
{
	make_boards();
	done("PUT", "/leaderboards/all", "{\"dimensions\":[\"score\"],\"max_members\":5}");
}

static void split_set(void)
{
	done("PUT", "/geo/s", "{\"cells\":16}");
}

static void move_members(void)
{
	done("POST", "/geo/s/members",
	     many("{\"members\":[", "{\"member\":\"m", 0, 200, "\",\"longitude\":2,\"latitude\":2}", "]}"));
	done("DELETE", "/geo/s/members/m0", NULL);
}

static void renew_set(void)
{
	done("DELETE", "/geo/s", NULL);
	move_members();
}

static void visit(void)
{
	done("POST", "/uv/a", "{\"visitors\":[\"1\",\"2\"]}");
	done("POST", "/uv/b", "{\"visitors\":[\"2\",\"3\"]}");
}

static void visit_more(void)
{
	done("POST", "/uv/a", "{\"visitors\":[\"4\",\"5\"]}");
}

struct row {
	const char *name;
	void (*set_up)(void);
	const char *target, *body; /* body NULL: many() makes it from the members below */
	const char *head, *lead, *trail, *tail;
	int count;
	void (*others)(void);
};

static const struct row rows[] = {
	{ "a push that drops far more", fill_feed, "/feeds/f/items", "{\"items\":[1],\"max_items\":10}",
	  .others = push_more },
	{ "a purge", send_messages, "/queues/q/purge", "{}", .others = send_messages },
	{ "a redrive", kill_messages, "/queues/q/redrive", "{\"limit\":2500}", .others = kill_messages },
	{ "items of a filter that grows", make_filter, "/bloom/b/add", NULL, "{\"items\":[", "\"", "\"", "]}", 1000,
	  grow_filter },
	{ "items of a filter that is made again", make_filter, "/bloom/b/add", NULL, "{\"items\":[", "\"", "\"", "]}",
	  1000, renew_filter },
	{ "a merge of boards", make_boards, "/leaderboards/all/merge", "{\"sources\":[\"x\",\"y\"]}",
	  .others = change_boards },
	{ "a merge for a board that keeps few", make_few, "/leaderboards/all/merge", "{\"sources\":[\"x\",\"y\"]}",
	  .others = change_boards },
	{ "members of a board", make_few, "/leaderboards/all/members", NULL, "{\"put\":[", "{\"member\":\"m",
	  "\",\"scores\":{\"score\":1000}}", "]}", 600, change_members },
	{ "members of a split set", split_set, "/geo/s/members", NULL, "{\"members\":[", "{\"member\":\"m",
	  "\",\"longitude\":1,\"latitude\":1}", "]}", 300, move_members },
	{ "members of a split set that is gone", split_set, "/geo/s/members", NULL, "{\"members\":[", "{\"member\":\"m",
	  "\",\"longitude\":1,\"latitude\":1}", "]}", 300, renew_set },
	{ "a merge of pages", visit, "/uv/both/merge", "{\"sources\":[\"a\",\"b\"]}", .others = visit_more },
};

static struct answer ask_row(const struct row *row)
{
	const char *body = row->body ? row->body : many(row->head, row->lead, 0, row->count, row->trail, row->tail);

	return http(client, "POST", row->target, body, KEY);
}

static void of_several_calls(void **state)
{
	const struct row *row = *state;

	stage_forget(NULL);
	row->set_up();
	assert_in_range(ask_row(row).status, 200, 299);
	row->others();
	char *before = server_picture(&redis);
	struct answer again = ask_row(row);
	assert_in_range(again.status, 200, 299);
	char *after = server_picture(&redis), *line = changed(before, after);
	if (line)
		fail_msg("a replay of %s changed %s", row->name, line);
	free(before);
	free(after);
	client_forget(client);
}

int main(void)
{
	static const struct operation_test each[] = { { "replayed", replayed } };
	struct CMUnitTest tests[COUNT(rows)];

	for (size_t i = 0; i < COUNT(rows); i++)
		tests[i] =
			(struct CMUnitTest){ rows[i].name, of_several_calls, NULL, NULL, (void *)(uintptr_t)&rows[i] };
	int failed = run_per_operation("replays", each, 1, stage_open, stage_close);
	return failed + cmocka_run_group_tests_name("replays of several calls", tests, stage_open, stage_close);
}

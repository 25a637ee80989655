/*
 * --new-token: the line that it prints is one for the file of --tokens, the token that it prints is
 * valid, and it refuses what the file would refuse, with the same messages.
 */
#include <ctype.h>

#include "../support/http.h"
#include "../support/tokens.h"
#include "redis_stage.h"

enum { DIGITS = 64, LINE_BYTES = 300, HEADER_BYTES = 400, WAIT_MS = 10000 };

/* What a run printed: on stdout the line, on stderr the token. */
struct made {
	char line[LINE_BYTES], token[LINE_BYTES];
};

SUITE(.open = open_redis, .close = close_redis, .after = stop_daemon);

static void read_output(const char *path, char out[LINE_BYTES])
{
	char *text = file_text(path);

	assert_non_null(text);
	assert_true(strlen(text) < LINE_BYTES);
	snprintf(out, LINE_BYTES, "%s", text);
	free(text);
}

/* Makes a token with two scopes. Checks that the line has its digest, the scopes and the label. */
static struct made make(const char *label, const char *scope, const char *other_scope)
{
	struct daemon run = { 0 };
	struct made made;
	char wanted[LINE_BYTES] = "", rest[LINE_BYTES];

	assert_int_equal(daemon_run(&run, "--new-token", label, scope, other_scope), 0);
	read_output(run.proc.out_path, made.line);
	read_output(run.proc.err_path, made.token);
	assert_int_equal(strlen(made.token), DIGITS + 1);
	assert_int_equal(made.token[DIGITS], '\n');
	made.token[DIGITS] = '\0';
	for (size_t i = 0; i < DIGITS; i++)
		assert_true(isxdigit((unsigned char)made.token[i]));
	snprintf(rest, sizeof(rest), "%s %s # %s", scope, other_scope, label);
	FILE *out = fmemopen(wanted, sizeof(wanted), "w");
	token_print(out, made.token, rest);
	fclose(out);
	assert_string_equal(made.line, wanted);
	return made;
}

static struct answer ask_as(struct client *client, const struct made *made, const char *target)
{
	char header[HEADER_BYTES];

	snprintf(header, sizeof(header), AUTHORIZATION("%s"), made->token);
	return http(client, "GET", target, NULL, header);
}

TEST(its_line_and_token_are_valid)
{
	struct made worker = make("order worker", "queues:orders:read", "locks:*"), all = make("ops", "info:read", "*");
	const char *path = text_file("# of another tool\n");
	FILE *out = fopen(path, "ae");

	assert_string_not_equal(worker.token, all.token);
	assert_non_null(out);
	fputs(worker.line, out);
	fputs(all.line, out);
	fclose(out);
	daemon_start(&patternd, "--redis", redis.url, "--tokens", path);
	struct client *client = client_open(patternd.port);
	assert_status(ask_as(client, &worker, "/locks/a"), 200);
	assert_status(ask_as(client, &worker, "/queues/orders/messages"), 200);
	assert_problem(ask_as(client, &worker, "/queues/others/messages"), 403, "forbidden", "none");
	assert_status(ask_as(client, &all, "/queues/others/messages"), 200);
	assert_status(http(client, "GET", "/locks/a", NULL), 401);
	assert_true(proc_wrote(&patternd.proc, "\"caller\":\"order worker\""));
	assert_false(proc_wrote(&patternd.proc, worker.token));
	client_close(client);
}

#define LABEL_64 "0123456789012345678901234567890123456789012345678901234567890123"

/* A refusal is one line on stderr. Nothing is on stdout, so that a file stays as it was. */
TEST(refusals, .after = no_fixture)
{
	static const struct {
		const char *arguments[4], *said;
	} rows[] = {
		/* Messages of the file. */
		{ { "worker" }, "--new-token: the token has no scope; '*' allows everything" },
		{ { "worker", "lock:*" },
		  "--new-token: nothing needs the scope 'lock:*'; it starts with one of locks, " },
		{ { "worker", "locks:*", "queues:orders" },
		  "--new-token: nothing needs the scope 'queues:orders'; there are queues:NAME:" },
		{ { "worker", "queues:a:b:send" },
		  "--new-token: the scope 'queues:a:b:send': a scope has three parts at most" },
		{ { "worker", "queues:a*b:send" }, "--new-token: the scope 'queues:a*b:send': a * is only allowed at" },
		{ { "worker", "locks:*", "--listen" }, "--new-token: the scope '--listen': a scope is '*'" },
		{ { LABEL_64 "4", "*" }, "--new-token: the label must have at most 64 bytes of plain text" },
		{ { "a\x01", "*" }, "--new-token: the label must have at most 64 bytes of plain text" },
		{ { "a\xff", "*" }, "--new-token: the label must have at most 64 bytes of plain text" },
		/* What would be read as something else. */
		{ { "", "*" }, "--new-token: the label is empty" },
		{ { " # ", "*" }, "--new-token: the label is empty" },
		{ { "a\nb", "*" }, "--new-token: there is a line end in the label or a scope" },
		{ { "worker", "queues:a\nb:send" }, "--new-token: there is a line end in the label or a scope" },
		{ { "worker", "locks:*", "#x" }, "--new-token: a # begins the label" },
		/* Arguments. */
		{ { NULL }, "--new-token needs a label and scopes" },
		{ { "--help" }, "--new-token needs a label and scopes" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		const char *const *a = rows[i].arguments;
		char said[LINE_BYTES], printed[LINE_BYTES];
		snprintf(said, sizeof(said), "patternd: %s", rows[i].said);
		assert_int_equal(daemon_run(&patternd, "--new-token", a[0], a[1], a[2]), 2);
		read_output(patternd.proc.out_path, printed);
		assert_string_equal(printed, "");
		if (proc_wrote(&patternd.proc, said))
			continue;
		proc_print_tail(&patternd.proc);
		fail_msg("stderr lacks '%s'", said);
	}
}

TEST(other_forms, .after = no_fixture)
{
	char printed[LINE_BYTES];

	assert_int_equal(daemon_run(&patternd, "--new-token=" LABEL_64, "locks:*  queues:*"), 0);
	read_output(patternd.proc.out_path, printed);
	assert_string_equal(printed + DIGITS, " locks:*  queues:* # " LABEL_64 "\n");
	assert_int_equal(daemon_run(&patternd, "--strict", "--new-token", "worker", "*"), 2);
	assert_true(proc_wrote(&patternd.proc, "--new-token must be the first argument"));
}

/* A token whose line was lost is not shown. */
TEST(a_full_disk, .after = no_fixture)
{
	static const char command[] = "exec \"$0\" --new-token worker '*' >/dev/full";
	struct proc run = { 0 };
	char printed[LINE_BYTES];

	proc_start(&run, (const char *const[]){ "sh", "-c", command, getenv("PATTERND_BIN"), NULL });
	assert_true(proc_ended(&run, WAIT_MS));
	assert_int_equal(proc_exit_status(&run), 1);
	read_output(run.err_path, printed);
	assert_string_equal(printed, "patternd: --new-token: cannot write the line: No space left on device\n");
}

/*
 * Options. A line is an argument ("--x=y", "--x", "y") or a variable ("PATTERND_X=y"). The lines
 * after a line "[file]" are the file of --config. Accepted options are within their ranges, can be
 * shown, and show no password. The parsed addresses of --redis and --listen are complete.
 */
#include <sys/mman.h>
#include <unistd.h>

#include <jansson.h>

#include "core/arena.h"
#include "fuzz.h"
#include "net/listener.h"
#include "process/config.h"
#include "process/secret.h"
#include "redis/url.h"
#include "world.h"
#include "json/out.h"

enum { MOST = 32 };

struct given {
	char *arguments[MOST], *variables[MOST + 1];
	int argument_count, variable_count;
	char config[64]; /* --config=/proc/self/fd/N; "" without a file */
	int file;
};

static void take_line(struct given *g, struct text line)
{
	char *copy = (char *)(uintptr_t)line.at;

	if (g->file >= 0) {
		CHECK(write(g->file, line.at, line.len) == (ssize_t)line.len && write(g->file, "\n", 1) == 1);
		free(copy);
	} else if (text_is(line, "[file]")) {
		g->file = memfd_create("config", MFD_CLOEXEC);
		CHECK(g->file >= 0);
		snprintf(g->config, sizeof(g->config), "--config=/proc/self/fd/%d", g->file);
		free(copy);
	} else if (strncmp(copy, "PATTERND_", 9) == 0 && strncmp(copy, "PATTERND_CONFIG=", 16) != 0 &&
		   g->variable_count < MOST) {
		g->variables[g->variable_count++] = copy;
	} else if (strncmp(copy, "--config", 8) != 0 && g->argument_count < MOST) { /* no other files are read */
		g->arguments[g->argument_count++] = copy;
	} else {
		free(copy);
	}
}

static void check_url(const char *text)
{
	static struct redis_urls urls;
	char shown[1024];

	if (redis_urls_parse(&urls, text, NULL))
		return;
	CHECK(urls.count >= 1 && urls.count <= REDIS_MOST_HOSTS);
	for (size_t i = 0; i < urls.count; i++) {
		const struct redis_url *u = &urls.at[i];
		CHECK((u->host[0] != '\0') != (u->path[0] != '\0') && u->address[0]);
		CHECK(u->path[0] ||
		      (strtol(u->port, NULL, 10) <= 65535 && strspn(u->port, "0123456789") == strlen(u->port)));
		CHECK(strspn(u->db, "0123456789") == strlen(u->db));
	}
	/* Check only a long password without escapes, which occurs once. */
	if (strlen(urls.at[0].password) < 8 || strlen(text) >= sizeof(shown))
		return;
	struct text safe = secret_redacted(text, shown, sizeof(shown));
	const char *first = strstr(text, urls.at[0].password);
	if (first && !strstr(first + 1, urls.at[0].password))
		CHECK(!strstr(safe.at, urls.at[0].password));
}

static void check_shown(void)
{
	struct arena arena = { 0 };
	struct json_out o;

	out_init(&o, &arena, 256);
	out_object(&o, NULL);
	config_out(&o);
	out_close(&o);
	json_t *root = json_loadb(o.at, o.len, JSON_REJECT_DUPLICATES, NULL);
	CHECK(root);
	json_decref(root);
	arena_free(&arena);
}

static void check_ranges(void)
{
	const struct config *c = config();

	CHECK(c->max_connections >= 1 && c->max_connections <= 1000000);
	CHECK(c->max_body_bytes >= 1024 && c->max_body_bytes <= 64 * 1024 * 1024);
	CHECK(c->drain_ms >= 0 && c->drain_ms <= 600000 && c->pool_size >= 1 && c->redis_timeout_ms >= 1);
	CHECK(strlen(c->prefix) <= 64 && !strpbrk(c->prefix, "{}\r\n\t"));
}

static void check_listen(const char *list)
{
	struct listener_address addresses[LISTENER_ADDRESSES_MAX];
	char shown[LISTENER_HOST_BYTES + 16];
	size_t count = listener_address_parse("listen", list, addresses);

	CHECK(count <= LISTENER_ADDRESSES_MAX);
	for (size_t i = 0; i < count; i++) {
		struct listener_address again[LISTENER_ADDRESSES_MAX];
		CHECK(addresses[i].host[0] && (addresses[i].is_unix || strtol(addresses[i].port, NULL, 10) <= 65535));
		listener_address_print(&addresses[i], shown, sizeof(shown));
		CHECK(listener_address_parse("listen", shown, again) == 1);
		CHECK(strcmp(again[0].host, addresses[i].host) == 0 && again[0].is_unix == addresses[i].is_unix);
	}
}

static void load(struct given *g)
{
	char *argv[MOST + 2] = { "patternd" };
	int argc = 1;

	if (*g->config)
		argv[argc++] = g->config;
	memcpy(argv + argc, g->arguments, sizeof(g->arguments));
	if (config_load(argc + g->argument_count, argv, g->variables) == CONFIG_RUN) {
		check_ranges();
		check_shown();
		check_url(config()->redis);
		check_listen(config()->listen);
	}
	config_free();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct given g = { .file = -1 };
	struct input in = { data, size };
	struct text line;

	while (input_piece(&in, '\n', &line))
		take_line(&g, line);
	load(&g);
	for (int i = 0; i < g.argument_count; i++)
		free(g.arguments[i]);
	for (int i = 0; i < g.variable_count; i++)
		free(g.variables[i]);
	if (g.file >= 0)
		close(g.file);
	return 0;
}

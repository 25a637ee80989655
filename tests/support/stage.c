#include "stage.h"

#include <stdlib.h>

#include "leap.h"
#include "tokens.h"

int stage_open(void **state)
{
	server_start(&redis);
	daemon_start(&patternd, "--redis", redis.url);
	client = client_open(patternd.port);
	return 0;
}

int stage_open_to_leap(void **state)
{
	may_leap(&patternd);
	return stage_open(state);
}

int stage_open_with_tokens(void (*print)(FILE *tokens))
{
	char *text = NULL;
	size_t size = 0;
	FILE *tokens = open_memstream(&text, &size);

	print(tokens);
	fclose(tokens);
	server_start(&redis);
	daemon_start(&patternd, "--redis", redis.url, "--tokens", text_file(text));
	client = client_open(patternd.port);
	free(text);
	return 0;
}

int stage_close(void **state)
{
	client_close(client);
	daemon_stop(&patternd);
	server_stop(&redis);
	return 0;
}

int stage_forget(void **state)
{
	server_command(&redis, "FLUSHALL");
	return 0;
}

struct answer get(const char *target)
{
	return http(client, "GET", target, NULL);
}

struct answer get_all(const char *target)
{
	return http_all(client, target);
}

struct answer post(const char *target, const char *body)
{
	return http(client, "POST", target, body);
}

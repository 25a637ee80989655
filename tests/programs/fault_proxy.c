/*
 * fault_proxy PORT...: the fault proxy of tests/support/proxy.h for programs that are not in C,
 * with one proxy in front of each PORT of the loopback.
 *
 * First prints a line with the ports of the proxies. Each line of stdin then sets the faults of one
 * proxy, counted from 0: `1 delay_ms=50 slice=3` sets just these faults, `1` none. Prints "ok" when
 * they are in force. Ends when stdin ends.
 */
#include "proxy.h"
#include "test.h"

enum { PROXIES_MAX = 64, LINE_BYTES = 512 };

/* Puts one word of a line into the fault; false when there is no such fault. */
static bool take_word(struct proxy_fault *fault, char *word)
{
	char *value = strchr(word, '=');

	if (!value)
		return false;
	*value++ = '\0';
	size_t number = strtoul(value, NULL, 10);
	if (strcmp(word, "refuse") == 0)
		fault->refuse = number;
	else if (strcmp(word, "reset") == 0)
		fault->reset = number;
	else if (strcmp(word, "delay_ms") == 0)
		fault->delay_ms = (int)number;
	else if (strcmp(word, "drop_up") == 0)
		fault->drop_up = number;
	else if (strcmp(word, "drop_down") == 0)
		fault->drop_down = number;
	else if (strcmp(word, "cut") == 0)
		fault->cut = number;
	else if (strcmp(word, "cut_at") == 0)
		fault->cut_at = number;
	else if (strcmp(word, "before") == 0)
		fault->before = (struct proxy_bytes){ value, strlen(value) };
	else if (strcmp(word, "slice") == 0)
		fault->slice = number;
	else if (strcmp(word, "bytes_per_second") == 0)
		fault->bytes_per_second = number;
	else
		return false;
	return true;
}

/* Puts the words of a line into the fault; false when one of them is unknown. */
static bool take_words(struct proxy_fault *fault, char *words)
{
	char *rest = NULL;

	for (char *word = strtok_r(words, " \n", &rest); word; word = strtok_r(NULL, " \n", &rest))
		if (!take_word(fault, word))
			return false;
	return true;
}

int main(int argc, char **argv)
{
	static char *words[PROXIES_MAX]; /* a proxy refers to the words of the fault in force */
	struct proxy *proxies[PROXIES_MAX];
	int count = argc - 1;
	char line[LINE_BYTES];

	if (count < 1 || count > PROXIES_MAX)
		return 2;
	for (int i = 0; i < count; i++) {
		proxies[i] = proxy_open(atoi(argv[i + 1]));
		printf("%d%c", proxy_port(proxies[i]), i + 1 < count ? ' ' : '\n');
	}
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		struct proxy_fault fault = { 0 };
		char *rest;
		long which = strtol(line, &rest, 10);
		if (which < 0 || which >= count)
			return 2;
		char *given = strdup(rest);
		if (!given || !take_words(&fault, given))
			return 2;
		proxy_set(proxies[which], fault);
		free(words[which]);
		words[which] = given;
		puts("ok");
		fflush(stdout);
	}
	for (int i = 0; i < count; i++) {
		proxy_close(proxies[i]);
		free(words[i]);
	}
	return 0;
}

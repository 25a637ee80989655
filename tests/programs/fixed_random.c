/*
 * fixed_random: preloaded into the daemon, it makes each run draw the same random numbers. Numbers
 * of up to 4 bytes spread retries. How many of them are drawn depends on time, so all are 0.
 */
#include <string.h>
#include <sys/random.h>

ssize_t getrandom(void *out, size_t len, unsigned int flags)
{
	static unsigned long long drawn;
	/* An odd factor gives each draw another number (Knuth's multiplicative hash). */
	unsigned long long number = 0;

	for (size_t i = 0; i < len; i += sizeof(number)) {
		if (len > 4)
			number = ++drawn * 0x9e3779b97f4a7c15;
		memcpy((char *)out + i, &number, len - i < sizeof(number) ? len - i : sizeof(number));
	}
	return (ssize_t)len;
}

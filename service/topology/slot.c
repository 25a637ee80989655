#include "topology/slot.h"

#include <assert.h>
#include <string.h>

enum { TAG_BYTES = 5 };

/*
 * It takes four bits at a time, by a table with the CRCs of 0 to 15: polynomial 0x1021, no
 * reflection.
 */
static unsigned crc16(struct text t)
{
	static const unsigned short table[16] = { 0x0000, 0x1021, 0x2042, 0x3063, 0x4084, 0x50a5, 0x60c6, 0x70e7,
						  0x8108, 0x9129, 0xa14a, 0xb16b, 0xc18c, 0xd1ad, 0xe1ce, 0xf1ef };
	unsigned crc = 0;

	for (size_t i = 0; i < t.len; i++) {
		unsigned byte = (unsigned char)t.at[i];
		crc = ((crc << 4) ^ table[(crc >> 12) ^ (byte >> 4)]) & 0xffff;
		crc = ((crc << 4) ^ table[(crc >> 12) ^ (byte & 15)]) & 0xffff;
	}
	return crc;
}

int slot_of(struct text key)
{
	const char *open = memchr(key.at, '{', key.len);
	const char *close = open ? memchr(open + 1, '}', key.len - (size_t)(open + 1 - key.at)) : NULL;

	if (close && close > open + 1)
		key = (struct text){ open + 1, (size_t)(close - open - 1) };
	return (int)(crc16(key) % REDIS_SLOTS);
}

static void count_up(char *tag)
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
	size_t i = strlen(tag);

	while (i > 0 && tag[i - 1] == 'z')
		tag[--i] = '0';
	if (i > 0) {
		const char *digit = strchr(digits, tag[i - 1]);
		assert(digit);
		tag[i - 1] = digit[1];
	} else {
		memmove(tag + 1, tag, strlen(tag) + 1);
		*tag = '1';
	}
}

const char *slot_tag(int slot)
{
	static char tags[REDIS_SLOTS][TAG_BYTES];
	static int known;
	char tag[TAG_BYTES] = "0";

	for (; known < REDIS_SLOTS; count_up(tag)) {
		char *of = tags[crc16((struct text){ tag, strlen(tag) }) % REDIS_SLOTS];
		if (*of)
			continue;
		memcpy(of, tag, sizeof(tag));
		known++;
	}
	return tags[slot];
}

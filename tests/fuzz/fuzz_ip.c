/*
 * A network address, as a key or a header's value. The canonical text of each network that an
 * accepted address has is read as the same network, and is a valid key.
 */
#include "core/ip.h"
#include "fuzz.h"

static void check_networks(const struct ip *ip)
{
	CHECK(ip->bits == 32 || ip->bits == 128);
	CHECK(ip->prefix >= 0 && ip->prefix <= ip->bits);
	for (int prefix = 1; prefix <= ip->bits; prefix++) {
		char text[IP_TEXT], again[IP_TEXT];
		struct ip read;
		ip_write(ip, prefix, text);
		CHECK(strlen(text) < IP_TEXT - 1 && strspn(text, "0123456789abcdef:./") == strlen(text));
		CHECK(ip_read(text_of(text), &read));
		/* A wide prefix of IPv6 can cut an address down to a mapped one. */
		if (read.bits == ip->bits)
			CHECK(read.prefix == prefix && strcmp(ip_write(&read, prefix, again), text) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct text key;
	struct ip ip;

	while (input_piece(&in, '\n', &key)) {
		if (ip_read(key, &ip))
			check_networks(&ip);
		free((char *)(uintptr_t)key.at);
	}
	return 0;
}

/* ip: see core/ip.h. The C library parses and writes addresses; this file cuts off the rest. */
#include "core/ip.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>

enum { PREFIX_NONE = -1 };

static bool parse(struct text t, struct ip *out)
{
	char copy[INET6_ADDRSTRLEN];

	if (t.len >= sizeof(copy) || memchr(t.at, '\0', t.len))
		return false;
	memcpy(copy, t.at, t.len);
	copy[t.len] = '\0';
	*out = (struct ip){ .bits = memchr(t.at, ':', t.len) ? 128 : 32 };
	out->prefix = out->bits;
	return inet_pton(out->bits == 128 ? AF_INET6 : AF_INET, copy, out->bytes) == 1;
}

/* Makes the IPv4 address of an IPv6 address that represents one. */
static void make_v4(struct ip *ip)
{
	static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };
	static const unsigned char translated[12] = { 0x00, 0x64, 0xff, 0x9b };

	if (ip->bits != 128 || ip->prefix < 96 ||
	    (memcmp(ip->bytes, mapped, 12) != 0 && memcmp(ip->bytes, translated, 12) != 0))
		return;
	memmove(ip->bytes, ip->bytes + 12, 4);
	memset(ip->bytes + 4, 0, 12);
	ip->bits = 32;
	ip->prefix -= 96;
}

/* Cuts :port behind brackets or behind a dotted quad. False: what is there is not a port. */
static bool cut_port(struct text *t)
{
	bool bracketed = t->len && *t->at == '[';
	const char *end = bracketed ? memchr(t->at, ']', t->len) : memchr(t->at, ':', t->len);
	struct text port = { 0 };

	if (!bracketed && (!end || memchr(end + 1, ':', t->len - (size_t)(end + 1 - t->at))))
		return true; /* an address alone */
	if (!end)
		return false;
	size_t host = (size_t)(end - t->at) + bracketed;
	port = (struct text){ t->at + host, t->len - host };
	*t = (struct text){ t->at + bracketed, host - 2 * bracketed };
	if (port.len && (*port.at != ':' || text_u16((struct text){ port.at + 1, port.len - 1 }) < 0))
		return false;
	return bracketed == (memchr(t->at, ':', t->len) != NULL);
}

/* Cuts /prefix. False: it is not a number. */
static bool cut_prefix(struct text *t, int *prefix)
{
	const char *slash = memchr(t->at, '/', t->len);

	*prefix = PREFIX_NONE;
	if (!slash)
		return true;
	size_t host = (size_t)(slash - t->at);
	*prefix = text_u16((struct text){ slash + 1, t->len - host - 1 });
	t->len = host;
	return *prefix >= 0;
}

bool ip_read(struct text t, struct ip *out)
{
	int prefix;

	if (!t.len || !cut_prefix(&t, &prefix) || (prefix == PREFIX_NONE && !cut_port(&t)))
		return false;
	const char *zone = memchr(t.at, '%', t.len);
	if (zone) {
		size_t host = (size_t)(zone - t.at);
		if (host + 1 == t.len || !memchr(t.at, ':', host))
			return false;
		t.len = host;
	}
	if (!parse(t, out) || prefix > out->bits)
		return false;
	if (prefix != PREFIX_NONE)
		out->prefix = prefix;
	make_v4(out);
	return true;
}

const char *ip_write(const struct ip *ip, int prefix, char buffer[IP_TEXT])
{
	unsigned char network[16] = { 0 };

	for (int i = 0; i < prefix; i++)
		network[i / 8] = (unsigned char)(network[i / 8] | (ip->bytes[i / 8] & (0x80 >> i % 8)));
	inet_ntop(ip->bits == 128 ? AF_INET6 : AF_INET, network, buffer, IP_TEXT);
	if (prefix < ip->bits)
		snprintf(buffer + strlen(buffer), IP_TEXT - strlen(buffer), "/%d", prefix);
	return buffer;
}

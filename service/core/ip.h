/*
 * ip: network addresses as text: every spelling of an address has one canonical form. Pure.
 *
 * An address is spelled by RFC 4291, section 2.2, or as a dotted quad. An IPv6 address may be in
 * brackets and have a zone, and both may have a port, as proxies write them. 203.0.113.0/24 is a
 * network, also if bits behind its prefix are set.
 */
#ifndef PATTERND_IP_H
#define PATTERND_IP_H

#include "core/text.h"

struct ip {
	unsigned char bytes[16]; /* IPv4: the first four */
	int bits;                /* 32 or 128 */
	int prefix;              /* of a network; `bits` for an address */
};

/*
 * False: the text is not an address. An IPv4 address that is mapped into IPv6 (::ffff:0:0/96), or
 * translated (64:ff9b::/96, RFC 6052), is that IPv4 address.
 */
bool ip_read(struct text t, struct ip *out);

enum { IP_TEXT = 50 };
/*
 * Writes the network of `prefix` bits that has the address, as dotted quad or by RFC 5952. It ends
 * with /prefix, unless it is a single address. Returns `buffer`.
 */
const char *ip_write(const struct ip *ip, int prefix, char buffer[IP_TEXT]);

#endif

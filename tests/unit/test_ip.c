/*
 * Tests of ip: which texts are addresses, and that all spellings of an address are one text. The
 * rows name the document and section of which they are the examples.
 */
#include "core/ip.h"
#include "test.h"

struct row {
	const char *text;
	int v4, v6;        /* prefixes */
	const char *found; /* NULL: the text is not an address */
};

static const struct row whole[] = {
	/* RFC 4291, section 2.2, 1: the preferred form; leading zeros may be left out */
	{ "ABCD:EF01:2345:6789:ABCD:EF01:2345:6789", 32, 128, "abcd:ef01:2345:6789:abcd:ef01:2345:6789" },
	{ "2001:DB8:0:0:8:800:200C:417A", 32, 128, "2001:db8::8:800:200c:417a" },
	{ "FF01:0:0:0:0:0:0:101", 32, 128, "ff01::101" },
	{ "0:0:0:0:0:0:0:1", 32, 128, "::1" },
	{ "0:0:0:0:0:0:0:0", 32, 128, "::" },
	/* section 2.2, 2: compressed */
	{ "2001:DB8::8:800:200C:417A", 32, 128, "2001:db8::8:800:200c:417a" },
	{ "FF01::101", 32, 128, "ff01::101" },
	{ "::1", 32, 128, "::1" },
	{ "::", 32, 128, "::" },
	/* section 2.2, 3: with a dotted quad */
	{ "0:0:0:0:0:0:13.1.68.3", 32, 128, "::13.1.68.3" },
	{ "::13.1.68.3", 32, 128, "::13.1.68.3" },
	{ "0:0:0:0:0:FFFF:129.144.52.38", 32, 128, "129.144.52.38" },
	{ "::FFFF:129.144.52.38", 32, 128, "129.144.52.38" },
	/* RFC 5952, section 1: spellings of one address */
	{ "2001:db8:0:0:1:0:0:1", 32, 128, "2001:db8::1:0:0:1" },
	{ "2001:0db8:0:0:1:0:0:1", 32, 128, "2001:db8::1:0:0:1" },
	{ "2001:db8::1:0:0:1", 32, 128, "2001:db8::1:0:0:1" },
	{ "2001:db8::0:1:0:0:1", 32, 128, "2001:db8::1:0:0:1" },
	{ "2001:0db8::1:0:0:1", 32, 128, "2001:db8::1:0:0:1" },
	{ "2001:db8:0:0:1::1", 32, 128, "2001:db8::1:0:0:1" },
	{ "2001:db8:0000:0:1::1", 32, 128, "2001:db8::1:0:0:1" },
	{ "2001:DB8:0:0:1::1", 32, 128, "2001:db8::1:0:0:1" },
	/* section 2 */
	{ "2001:db8:aaaa:bbbb:cccc:dddd:eeee:0001", 32, 128, "2001:db8:aaaa:bbbb:cccc:dddd:eeee:1" },
	{ "2001:db8:aaaa:bbbb:cccc:dddd::1", 32, 128, "2001:db8:aaaa:bbbb:cccc:dddd:0:1" },
	{ "2001:db8:0:0:0::1", 32, 128, "2001:db8::1" },
	{ "2001:db8::aaaa:0:0:1", 32, 128, "2001:db8::aaaa:0:0:1" },
	{ "2001:db8:0:0:aaaa::1", 32, 128, "2001:db8::aaaa:0:0:1" },
	{ "2001:db8:aaaa:bbbb:cccc:dddd:eeee:AaAa", 32, 128, "2001:db8:aaaa:bbbb:cccc:dddd:eeee:aaaa" },
	/* section 4.2.2: one zero field is kept; 4.2.3: the longest run, or the first, is not */
	{ "2001:db8::1:1:1:1:1", 32, 128, "2001:db8:0:1:1:1:1:1" },
	{ "2001:0:0:1:0:0:0:1", 32, 128, "2001:0:0:1::1" },
	/* section 6: with a port */
	{ "[2001:db8::1]:80", 32, 128, "2001:db8::1" },
	/* RFC 6052, section 2.4 */
	{ "64:ff9b::192.0.2.33", 32, 128, "192.0.2.33" },
	{ "64:ff9b::c000:221", 32, 128, "192.0.2.33" },
	{ "64:ff9b:1::c000:221", 32, 128, "64:ff9b:1::c000:221" },
	/* RFC 4007, section 11 */
	{ "fe80::1234%1", 32, 128, "fe80::1234" },
	{ "[ff02::5678%pvc1.3]:443", 32, 128, "ff02::5678" },
	{ "[::1]", 32, 128, "::1" },
	{ "192.0.2.1", 32, 128, "192.0.2.1" },
	{ "192.0.2.1:65535", 32, 128, "192.0.2.1" },
	{ "[::ffff:192.0.2.1]:80", 32, 128, "192.0.2.1" },
	{ "::ffff:c000:0201%eth0", 32, 128, "192.0.2.1" },
	{ "::fffe:192.0.2.1", 32, 128, "::fffe:c000:201" },
};

static const struct row networks[] = {
	/* RFC 4291, section 2.3: a prefix of 60 bits */
	{ "2001:0DB8:0000:CD30:0000:0000:0000:0000", 32, 60, "2001:db8:0:cd30::/60" },
	{ "2001:0DB8::CD30:0:0:0:0/60", 32, 60, "2001:db8:0:cd30::/60" },
	{ "2001:0DB8:0:CD30:123:4567:89AB:CDEF", 32, 60, "2001:db8:0:cd30::/60" },
	{ "2001:db8::8:800:200c:417a", 32, 64, "2001:db8::/64" },
	{ "2001:db8::8:800:200c:417a", 32, 127, "2001:db8::8:800:200c:417a/127" },
	{ "2001:db8:0:1::1", 32, 63, "2001:db8::/63" },
	{ "ffff::", 32, 1, "8000::/1" },
	{ "2001:db8:aaaa:bbbb::1", 32, 64, "2001:db8:aaaa:bbbb::/64" },
	{ "203.0.113.77", 24, 64, "203.0.113.0/24" },
	{ "203.0.113.77", 31, 64, "203.0.113.76/31" },
	{ "203.0.113.77", 1, 64, "128.0.0.0/1" },
	{ "::ffff:203.0.113.77", 24, 64, "203.0.113.0/24" },
	{ "::ffff:203.0.113.0/120", 24, 64, "203.0.113.0/24" },
};

static const struct row others[] = {
	{ "", 32, 64, NULL },
	{ "ann", 32, 64, NULL },
	{ "-", 32, 64, NULL },
	{ ":", 32, 64, NULL },
	{ ":::", 32, 64, NULL },
	{ "1::2::3", 32, 64, NULL },
	{ "1:2:3:4:5:6:7", 32, 64, NULL },
	{ "1:2:3:4:5:6:7:8:9", 32, 64, NULL },
	{ "12345::", 32, 64, NULL },
	{ "g::", 32, 64, NULL },
	/* RFC 4291, section 2.3: no legal spellings of a prefix */
	{ "2001:0DB8:0:CD3/60", 32, 64, NULL },
	{ "1.2.3", 32, 64, NULL },
	{ "1.2.3.256", 32, 64, NULL },
	{ "010.1.1.1", 32, 64, NULL }, /* octal for some programs, decimal for others */
	{ "0x7f.1", 32, 64, NULL },
	{ "2130706433", 32, 64, NULL },
	{ "1.2.3.4:", 32, 64, NULL },
	{ "1.2.3.4:65536", 32, 64, NULL },
	{ "1.2.3.4:x", 32, 64, NULL },
	{ ":80", 32, 64, NULL },
	{ "localhost:80", 32, 64, NULL },
	{ "[1.2.3.4]:80", 32, 64, NULL },
	{ "[::1", 32, 64, NULL },
	{ "::1]", 32, 64, NULL },
	{ "[]", 32, 64, NULL },
	{ "[", 32, 64, NULL },
	{ "[::1]80", 32, 64, NULL },
	{ "[::1]:", 32, 64, NULL },
	{ "[::1]/128", 32, 64, NULL },
	{ "fe80::1%", 32, 64, NULL },
	{ "1.2.3.4%eth0", 32, 64, NULL },
	{ " 1.2.3.4", 32, 64, NULL },
	{ "1.2.3.4, 5.6.7.8", 32, 64, NULL },
	{ "1.2.3.4/33", 32, 64, NULL },
	{ "1.2.3.4/", 32, 64, NULL },
	{ "1.2.3.4/-1", 32, 64, NULL },
	{ "::/129", 32, 64, NULL },
	{ "/64", 32, 64, NULL },
	{ "1111:2222:3333:4444:5555:6666:123.123.123.1234", 32, 64, NULL },
	{ "11111111111111111111111111111111111111111111111111111", 32, 64, NULL },
};

static void must_be(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char text[IP_TEXT];
		struct ip ip;
		const char *found = NULL;
		if (ip_read(text_of(rows[i].text), &ip))
			found = ip_write(&ip, ip.bits == 32 ? rows[i].v4 : rows[i].v6, text);
		if (!found != !rows[i].found || (found && strcmp(found, rows[i].found) != 0))
			fail_msg("%s: %s, not %s", rows[i].text, found ? found : "no address",
				 rows[i].found ? rows[i].found : "no address");
	}
}

TEST(spellings_of_addresses)
{
	must_be(whole, COUNT(whole));
}

TEST(networks_of_addresses)
{
	must_be(networks, COUNT(networks));
}

TEST(other_texts)
{
	struct ip ip;

	must_be(others, COUNT(others));
	assert_false(ip_read(TEXT("1.2.3.4\0"), &ip));
	assert_false(ip_read(TEXT("::1\0::"), &ip));
}

/* What is written is read as the same network. */
TEST(canonical_texts_are_read_again)
{
	for (int prefix = 1; prefix <= 128; prefix++) {
		char first[IP_TEXT], second[IP_TEXT];
		struct ip ip, again;
		assert_true(ip_read(TEXT("feed:beef:1234:5678:9abc:def0:8765:4321"), &ip));
		assert_true(ip_read(text_of(ip_write(&ip, prefix, first)), &again));
		assert_int_equal(again.prefix, prefix);
		assert_string_equal(ip_write(&again, prefix, second), first);
	}
}

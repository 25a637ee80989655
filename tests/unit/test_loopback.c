/*
 * Tests of loopback: which URLs lead to this machine. Only localhost and loopback literals in their
 * usual form do. Other hosts might be looked up, and another program might read another form
 * differently.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include "outbound/loopback.h"
#include "outbound/outbound.h"
#include "test.h"

TEST(places_of_this_machine)
{
	static const char *const good[] = {
		"http://127.0.0.1",
		"http://127.0.0.1/",
		"http://127.0.0.1:1/",
		"http://127.0.0.1:65535/a/b?c=%20&d=[1-9]",
		"http://127.255.255.255:80/",
		"http://localhost",
		"http://LOCALHOST:8080/x",
		"http://[::1]",
		"http://[::1]:80/x",
		"http://[0::1]/",
		"http://[0000:0000:0000:0000:0000:0000:0000:0001]:80/",
	};

	for (size_t i = 0; i < COUNT(good); i++) {
		const char *refusal = loopback_refusal(good[i]);
		if (refusal)
			fail_msg("%s: %s", good[i], refusal);
		assert_null(outbound_refusal(good[i], NULL));
	}
}

struct row {
	const char *url;
	const char *begin; /* of the refusal */
};

static const struct row bad[] = {
	{ "", "must begin with http://" },
	{ "127.0.0.1/", "must begin with http://" },
	{ "HTTP://127.0.0.1/", "must begin with http://" },
	{ "https://127.0.0.1/", "must begin with http://" },
	{ "http:/127.0.0.1/", "must begin with http://" },
	{ "file:///x", "must begin with http://" },
	{ "http://", "must name a loopback address, " },
	{ "http:///x", "must name a loopback address, " },
	{ "http://:80/", "must name a loopback address, " },
	{ "http://?x", "must name a loopback address, " },
	{ "http://[::1/", "must name a loopback address, " },
	{ "http://[]/", "must name a loopback address, " },
	{ "http://::1/", "must name a loopback address, " },
	{ "http://[127.0.0.1]/", "must name a loopback address, " },
	{ "http://[localhost]/", "must name a loopback address, " },
	{ "http://0000000000000000000000000000000000000000000000000000000000000001/",
	  "must name a loopback address, " },
	{ "http://example.com/", "must name a loopback address or localhost" },
	{ "http://127.0.0.1.example.com/", "must name a loopback address or localhost" },
	{ "http://localhost.example.com/", "must name a loopback address or localhost" },
	{ "http://localhost./", "must name a loopback address or localhost" },
	{ "http://a.localhost/", "must name a loopback address or localhost" },
	{ "http://0/", "must name a loopback address or localhost" },
	{ "http://0.0.0.0/", "must name a loopback address or localhost" },
	{ "http://127.1/", "must name a loopback address or localhost" },
	{ "http://2130706433/", "must name a loopback address or localhost" },
	{ "http://0x7f.0.0.1/", "must name a loopback address or localhost" },
	{ "http://0177.0.0.1/", "must name a loopback address or localhost" },
	{ "http://127.0.0.01/", "must name a loopback address or localhost" },
	{ "http://128.0.0.1/", "must name a loopback address or localhost" },
	{ "http://126.255.255.255/", "must name a loopback address or localhost" },
	{ "http://169.254.169.254/", "must name a loopback address or localhost" },
	{ "http://[::]/", "must name a loopback address or localhost" },
	{ "http://[::2]/", "must name a loopback address or localhost" },
	{ "http://[::ffff:127.0.0.1]/", "must name a loopback address or localhost" },
	{ "http://[::127.0.0.1]/", "must name a loopback address or localhost" },
	{ "http://[fe80::1]/", "must name a loopback address or localhost" },
	{ "http://[::1%25lo]/", "must name a loopback address or localhost" },
	{ "http://%6cocalhost/", "must name a loopback address or localhost" },
	{ "http://127.0.0.1%2f/", "must name a loopback address or localhost" },
	{ "http://127.0.0.1:0/", "must have a port" },
	{ "http://127.0.0.1:/", "must have a port" },
	{ "http://127.0.0.1:65536/", "must have a port" },
	{ "http://127.0.0.1:080x/", "must have a port" },
	{ "http://127.0.0.1:-1/", "must have a port" },
	{ "http://[::1]:80:80/", "must have a port" },
	{ "http://127.0.0.1?x", "must have a path" },
	{ "http://127.0.0.1:80?x", "must have a path" },
	{ "http://[::1]x/", "must have a path" },
	{ "http://[::1].example.com/", "must have a path" },
	{ "http://a@127.0.0.1/", "must have no user" },
	{ "http://127.0.0.1@example.com/", "must have no user" },
	{ "http://127.0.0.1:80@example.com/", "must have no user" },
	{ "http://127.0.0.1/@", "must have no user" },
	{ "http://127.0.0.1/#x", "must have no user" },
	{ "http://127.0.0.1\\x/", "must have no user" },
	{ "http://127.0.0.1/ x", "must have no user" },
	{ "http://127.0.0.1/\r\nx", "must have no user" },
	{ "http://127.0.0.1/\x7f", "must have no user" },
	{ "http://127.0.0.1/\xc3\xa9", "must have no user" },
	{ "http://127.0.0.1/{a}", "must have no user" },
};

TEST(places_elsewhere)
{
	for (size_t i = 0; i < COUNT(bad); i++) {
		const char *refusal = loopback_refusal(bad[i].url);
		if (!refusal || strncmp(refusal, bad[i].begin, strlen(bad[i].begin)) != 0)
			fail_msg("%s: %s", bad[i].url, refusal ? refusal : "is taken");
	}
}

TEST(sockets_by_path)
{
	char longest[sizeof(((struct sockaddr_un *)0)->sun_path) + 1];

	memset(longest, 'x', sizeof(longest));
	longest[0] = '/';
	longest[sizeof(longest) - 1] = '\0';
	assert_non_null(outbound_refusal("http://localhost/", longest));
	longest[sizeof(longest) - 2] = '\0';
	assert_null(outbound_refusal("http://localhost/", longest));
	assert_non_null(outbound_refusal("http://localhost/", "run/x"));
	assert_non_null(outbound_refusal("http://localhost/", ""));
	assert_non_null(outbound_refusal("http://localhost/", "@abstract"));
	assert_non_null(outbound_refusal("http://example.com/", "/run/x"));
}

static bool holds(const char *address)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };

	if (inet_pton(AF_INET, address, &v4.sin_addr) == 1)
		return loopback_holds((struct sockaddr *)&v4);
	assert_int_equal(inet_pton(AF_INET6, address, &v6.sin6_addr), 1);
	return loopback_holds((struct sockaddr *)&v6);
}

TEST(addresses_of_sockets)
{
	const struct sockaddr_un path = { .sun_family = AF_UNIX };
	const struct sockaddr other = { .sa_family = AF_NETLINK };

	assert_true(holds("127.0.0.1"));
	assert_true(holds("127.255.255.255"));
	assert_true(holds("::1"));
	assert_false(holds("0.0.0.0"));
	assert_false(holds("126.255.255.255"));
	assert_false(holds("128.0.0.0"));
	assert_false(holds("1.0.0.127"));
	assert_false(holds("10.0.0.1"));
	assert_false(holds("::"));
	assert_false(holds("::2"));
	assert_false(holds("::ffff:127.0.0.1"));
	assert_false(holds("fe80::1"));
	assert_true(loopback_holds((const struct sockaddr *)&path));
	assert_false(loopback_holds(&other));
}

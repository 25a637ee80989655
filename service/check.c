#include "check.h"

#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "net/listener.h"
#include "process/config.h"
#include "json/read.h"

enum { CHECK_S = 2, RESPONSE_BYTES = 8192, URL_BYTES = 512 };

/* The address of the daemon, and the path. */
struct check_target {
	struct listener_address to;
	char path[URL_BYTES];
	char shown[2 * URL_BYTES];
};

/* ---- Arguments ---- */

bool check_requested(int *argc, char **argv, const char **url)
{
	for (int i = 1; i < *argc; i++) {
		if (strcmp(argv[i], "--check") != 0 && strncmp(argv[i], "--check=", 8) != 0)
			continue;
		int taken = 1;
		*url = NULL;
		if (argv[i][7] == '=') {
			*url = argv[i] + 8;
		} else if (i + 1 < *argc && strncmp(argv[i + 1], "--", 2) != 0) {
			*url = argv[i + 1];
			taken = 2;
		}
		memmove(argv + i, argv + i + taken, (size_t)(*argc - i - taken + 1) * sizeof(*argv));
		*argc -= taken;
		return true;
	}
	return false;
}

/* ---- Target ---- */

static bool refuse_https(void)
{
	fprintf(stderr, "patternd: --check: HTTPS is not supported; "
			"give the daemon a --health-listen, or a Unix socket in --listen, which do not use TLS\n");
	return false;
}

/* Finds the first address in an option's list. If TCP is HTTPS, it finds the first Unix socket. */
static bool first_address(const char *option, const char *list, bool tcp_is_https, struct listener_address *out)
{
	struct listener_address all[LISTENER_ADDRESSES_MAX];
	size_t count = listener_address_parse(option, list, all), i = 0;

	while (tcp_is_https && i < count && !all[i].is_unix)
		i++;
	if (i == count)
		return count ? refuse_https() : false;
	*out = all[i];
	if (!out->is_unix && strcmp(out->port, "0") == 0) {
		fprintf(stderr, "patternd: --check: --%s has port 0, so the port cannot be known; name it\n", option);
		return false;
	}
	return true;
}

static bool target_of_options(struct check_target *target)
{
	const char *health = config()->health_listen;

	snprintf(target->path, sizeof(target->path), "/readyz");
	if (*health)
		return first_address("health-listen", health, false, &target->to);
	return first_address("listen", config()->listen, *config()->tls_cert, &target->to);
}

/* Splits scheme://HOST:PORT/path. */
static bool target_of_url(struct check_target *target, const char *url)
{
	char address[URL_BYTES];

	snprintf(target->path, sizeof(target->path), "/readyz");
	if (strncmp(url, "unix:/", 6) == 0)
		return first_address("check", url, false, &target->to);
	if (strncmp(url, "https://", 8) == 0)
		return refuse_https();
	if (strncmp(url, "http://", 7) != 0) {
		fprintf(stderr, "patternd: --check: '%s' is neither http://HOST:PORT nor unix:/path\n", url);
		return false;
	}
	const char *at = url + 7;
	size_t len = strcspn(at, "/");
	const char *colon = memrchr(at, ':', len), *bracket = memrchr(at, ']', len);
	bool has_port = colon && (!bracket || colon > bracket);
	snprintf(address, sizeof(address), "%.*s%s", (int)len, at, has_port ? "" : ":80");
	if (strlen(at + len) > 1)
		snprintf(target->path, sizeof(target->path), "%s", at + len);
	return first_address("check", address, false, &target->to);
}

static void show(struct check_target *target)
{
	char address[URL_BYTES];

	listener_address_print(&target->to, address, sizeof(address));
	snprintf(target->shown, sizeof(target->shown), target->to.is_unix ? "%s %s" : "http://%s%s", address,
		 target->path);
}

/* ---- Request ---- */

static char timeout_text[2 * URL_BYTES + 64];

static void on_timeout(int number)
{
	(void)number;
	(void)!write(STDOUT_FILENO, timeout_text,
		     strlen(timeout_text)); /* stdout may be closed; the exit status still has the result */
	_exit(EXIT_FAILURE);
}

static int connect_unix(const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memcpy(to.sun_path, path, strlen(path) + 1);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static int connect_host(const char *host, const char *port)
{
	struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	struct addrinfo *found;
	int fd = -1;

	if (getaddrinfo(host, port, &hints, &found) != 0)
		return -1;
	for (struct addrinfo *a = found; a && fd < 0; a = a->ai_next) {
		fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) != 0) {
			close(fd);
			fd = -1;
		}
	}
	freeaddrinfo(found);
	return fd;
}

/* A daemon that listens on every address is asked by the loopback, which may lack IPv6. */
static int connect_tcp(const struct listener_address *to)
{
	bool is_any_6 = strcmp(to->host, "::") == 0, is_any = strcmp(to->host, "0.0.0.0") == 0;
	int fd = is_any ? -1 : connect_host(is_any_6 ? "::1" : to->host, to->port);

	return fd >= 0 || !(is_any || is_any_6) ? fd : connect_host("127.0.0.1", to->port);
}

/* Reads the response as far as it fits, and adds a NUL. False: there is none. */
static bool ask(const struct check_target *target, char response[RESPONSE_BYTES])
{
	int fd = target->to.is_unix ? connect_unix(target->to.host) : connect_tcp(&target->to);
	char request[2 * URL_BYTES];
	size_t len = 0;
	ssize_t n;

	if (fd < 0)
		return false;
	snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
		 target->path);
	bool sent = send(fd, request, strlen(request), MSG_NOSIGNAL) == (ssize_t)strlen(request);
	while (sent && len < RESPONSE_BYTES - 1 && (n = recv(fd, response + len, RESPONSE_BYTES - 1 - len, 0)) > 0)
		len += (size_t)n;
	response[len] = '\0';
	close(fd);
	return len > 0;
}

/* Prints the detail, if the response is a problem. */
static void print_detail(const char *response)
{
	const char *body = strstr(response, "\r\n\r\n");
	struct arena arena = { 0 };
	struct json_error error;
	const struct json *problem = body ? json_read(&arena, text_of(body + 4), NULL, NULL, &error) : NULL;
	struct text detail = json_tree_string(problem, "detail");

	if (detail.at)
		printf(": %s", detail.at);
	arena_free(&arena);
}

/* Returns the status of "HTTP/1.1 200 OK"; 0 if the response is not HTTP. */
static long status_of(const char *response)
{
	return strncmp(response, "HTTP/1.", 7) == 0 && response[8] == ' ' ? strtol(response + 9, NULL, 10) : 0;
}

int check_run(const char *url)
{
	struct check_target target = { 0 };
	char response[RESPONSE_BYTES];

	if (url ? !target_of_url(&target, url) : !target_of_options(&target))
		return EXIT_FAILURE;
	show(&target);
	snprintf(timeout_text, sizeof(timeout_text), "not ready: %s does not answer within %d s\n", target.shown,
		 CHECK_S);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGALRM, on_timeout);
	alarm(CHECK_S);
	long status = ask(&target, response) ? status_of(response) : 0;
	alarm(0);
	if (status == 0) {
		printf("not ready: %s does not answer\n", target.shown);
		return EXIT_FAILURE;
	}
	printf("%s: %s returns %ld", status == 200 ? "ready" : "not ready", target.shown, status);
	if (status != 200)
		print_detail(response);
	printf("\n");
	return status == 200 ? EXIT_SUCCESS : EXIT_FAILURE;
}

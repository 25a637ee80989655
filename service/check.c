/* check: see check.h. */
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
#include "json/json_tree.h"

enum { CHECK_S = 2, ANSWER_BYTES = 8192, URL_BYTES = 512 };

/* Whom to ask, and what. */
struct question {
	struct listen_address to;
	char path[URL_BYTES];
	char shown[2 * URL_BYTES];
};

/* ---- Arguments ---- */

bool check_asked(int *argc, char **argv, const char **url)
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

/* ---- Whom to ask ---- */

static bool refuse_https(void)
{
	fprintf(stderr, "patternd: --check: HTTPS is not supported; "
			"give the daemon a --health-listen, or a Unix socket in --listen, which are without TLS\n");
	return false;
}

/* The first address of an option's list; where TCP is HTTPS, the first Unix socket. */
static bool first_address(const char *option, const char *list, bool tcp_is_https, struct listen_address *out)
{
	struct listen_address all[LISTEN_ADDRESSES_MAX];
	size_t count = listen_addresses_parse(option, list, all), i = 0;

	while (tcp_is_https && i < count && !all[i].is_unix)
		i++;
	if (i == count)
		return count ? refuse_https() : false;
	*out = all[i];
	if (!out->is_unix && strcmp(out->port, "0") == 0) {
		fprintf(stderr, "patternd: --check: --%s takes any free port, so it cannot be known here; name it\n",
			option);
		return false;
	}
	return true;
}

static bool question_of_options(struct question *q)
{
	const char *health = config()->health_listen;

	snprintf(q->path, sizeof(q->path), "/readyz");
	if (*health)
		return first_address("health-listen", health, false, &q->to);
	return first_address("listen", config()->listen, *config()->tls_cert, &q->to);
}

/* Takes scheme://HOST:PORT/path apart. */
static bool question_of_url(struct question *q, const char *url)
{
	char address[URL_BYTES];

	snprintf(q->path, sizeof(q->path), "/readyz");
	if (strncmp(url, "unix:/", 6) == 0)
		return first_address("check", url, false, &q->to);
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
		snprintf(q->path, sizeof(q->path), "%s", at + len);
	return first_address("check", address, false, &q->to);
}

static void show(struct question *q)
{
	char address[URL_BYTES];

	listen_address_print(&q->to, address, sizeof(address));
	snprintf(q->shown, sizeof(q->shown), q->to.is_unix ? "%s %s" : "http://%s%s", address, q->path);
}

/* ---- Asking ---- */

static char late[2 * URL_BYTES + 64];

static void on_late(int number)
{
	(void)number;
	(void)!write(STDOUT_FILENO, late, strlen(late)); /* when nobody reads it, the status tells */
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

/* A daemon that serves on every address is asked on the loopback. */
static const char *host_to_ask(const char *host)
{
	if (strcmp(host, "0.0.0.0") == 0 || strcmp(host, "*") == 0)
		return "127.0.0.1";
	return strcmp(host, "::") == 0 ? "::1" : host;
}

static int connect_tcp(const struct listen_address *to)
{
	struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	struct addrinfo *found;
	int fd = -1;

	if (getaddrinfo(host_to_ask(to->host), to->port, &hints, &found) != 0)
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

/* The whole answer as far as it fits, ended by a NUL. False when there was none. */
static bool ask(const struct question *q, char answer[ANSWER_BYTES])
{
	int fd = q->to.is_unix ? connect_unix(q->to.host) : connect_tcp(&q->to);
	char request[2 * URL_BYTES];
	size_t len = 0;
	ssize_t n;

	if (fd < 0)
		return false;
	snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", q->path);
	bool sent = send(fd, request, strlen(request), MSG_NOSIGNAL) == (ssize_t)strlen(request);
	while (sent && len < ANSWER_BYTES - 1 && (n = recv(fd, answer + len, ANSWER_BYTES - 1 - len, 0)) > 0)
		len += (size_t)n;
	answer[len] = '\0';
	close(fd);
	return len > 0;
}

/* What a problem says of itself, or nothing. */
static void print_detail(const char *answer)
{
	const char *body = strstr(answer, "\r\n\r\n");
	struct arena arena = { 0 };
	struct json_error error;
	const struct json *problem = body ? json_tree_read(&arena, text_of(body + 4), &error) : NULL;
	struct text detail = json_tree_string(problem, "detail");

	if (detail.at)
		printf(": %s", detail.at);
	arena_free(&arena);
}

/* The status of "HTTP/1.1 200 OK"; 0 when it is no such thing. */
static long status_of(const char *answer)
{
	return strncmp(answer, "HTTP/1.", 7) == 0 && answer[8] == ' ' ? strtol(answer + 9, NULL, 10) : 0;
}

int check_run(const char *url)
{
	struct question q = { 0 };
	char answer[ANSWER_BYTES];

	if (url ? !question_of_url(&q, url) : !question_of_options(&q))
		return EXIT_FAILURE;
	show(&q);
	snprintf(late, sizeof(late), "not ready: %s does not answer within %d s\n", q.shown, CHECK_S);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGALRM, on_late);
	alarm(CHECK_S);
	long status = ask(&q, answer) ? status_of(answer) : 0;
	alarm(0);
	if (status == 0) {
		printf("not ready: %s does not answer\n", q.shown);
		return EXIT_FAILURE;
	}
	printf("%s: %s says %ld", status == 200 ? "ready" : "not ready", q.shown, status);
	if (status != 200)
		print_detail(answer);
	printf("\n");
	return status == 200 ? EXIT_SUCCESS : EXIT_FAILURE;
}

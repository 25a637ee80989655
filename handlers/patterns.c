#include "patterns.h"

#include "daemon/history.h"
#include "daemon/web.h"
#include "locks/lock_metrics.h"
#include "overview/overview.h"
#include "process/config.h"
#include "process/named.h"
#include "push/push.h"
#include "queues/queue_metrics.h"
#include "queues/redrive/dead_letters.h"
#include "rate_limits/policy_allowance.h"
#include "rate_limits/policy_cache.h"
#include "rate_limits/policy_file.h"
#include "rate_limits/policy_metrics.h"
#include "sqs/sqs.h"

bool patterns_open(void)
{
	web_open();
	sqs_open();
	queue_metrics_open();
	policy_metrics_open();
	policy_allowance_open();
	lock_metrics_open();
	bool ok = policy_file_load();
	ok = push_open() && ok;
	return named_open(config()->metrics_names) && ok;
}

void patterns_print(void)
{
	struct text name;
	size_t n = 0;

	while (policy_cache_fixed_at(n, &name))
		n++;
	if (n)
		printf("# --policies has %zu polic%s\n", n, n == 1 ? "y" : "ies");
	push_print();
}

void patterns_print_examples(const char *url)
{
	printf("  curl --json '{\"ttl_ms\":30000,\"owner\":\"me\"}' %s/locks/try\n"
	       "  curl --json '{\"key\":\"me:reply\",\"limit\":30,\"window_ms\":60000}' %s/ratelimit\n"
	       "  curl --json '{\"body\":\"hello\",\"delay_ms\":2000}' %s/queues/try/messages\n",
	       url, url, url);
}

bool patterns_start(void)
{
	history_open();
	return push_start();
}

void patterns_reload(void)
{
	push_reload();
}

void patterns_drain(void)
{
	push_drain();
	dead_letters_drain();
}

bool patterns_are_busy(void)
{
	return push_is_busy();
}

void patterns_close(void)
{
	push_close();
	overview_close();
}

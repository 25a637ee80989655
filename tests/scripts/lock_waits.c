#include "lock_waits.h"

#include "script_stage.h"
#include "test.h"

void is_held(int64_t ttl_ms)
{
	assert_int_equal(lock_acquire(&r, (struct lock_try){ .token = TOKEN_1, .ttl_ms = ttl_ms }), LOCK_ACQUIRE_TAKEN);
}

int64_t wait_for_it(const char *ticket, int64_t wait_ms)
{
	return lock_acquire(&r, (struct lock_try){ .token = TOKEN_2, .ticket = ticket, .wait_ms = wait_ms });
}

void later(int64_t ms)
{
	*script_clock_us += ms * 1000;
}

int64_t pass_by(void)
{
	return lock_acquire(&r, (struct lock_try){ .token = TOKEN_3 });
}

void assert_published(const char *messages)
{
	assert_string_equal(line_published(&r), messages);
}

void assert_line(const char *tickets, const char *offered_to)
{
	assert_string_equal(line_tickets(&r, LOCK), tickets);
	assert_string_equal(line_offered_to(&r, LOCK), offered_to);
}

int lock_waits_open(void **state)
{
	script_stage_open_by_clock(state);
	line_attend(&r, LOCK);
	return 0;
}

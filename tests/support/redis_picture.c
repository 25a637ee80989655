/* redis_picture: see redis_picture.h. */
#include "redis_picture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

char *redis_picture(struct redis_server *r)
{
	/* Sorted, so that the order in which Redis walks its keys, and a hash table that it is moving, does not matter. */
	static const char source[] = "local keys, out = redis.call('KEYS', '*'), {} table.sort(keys) "
				     "local function sorted(list, step) "
				     "  local rows = {} "
				     "  for i = 1, #list, step do "
				     "    rows[#rows + 1] = #list[i] .. list[i] .. (step == 2 and list[i + 1] or '') "
				     "  end "
				     "  table.sort(rows) return table.concat(rows, '\\n') "
				     "end "
				     "for _, k in ipairs(keys) do "
				     "  local t, d = redis.call('TYPE', k).ok "
				     "  if t == 'hash' then d = sorted(redis.call('HGETALL', k), 2) "
				     "  elseif t == 'set' then d = sorted(redis.call('SMEMBERS', k), 1) "
				     "  else d = redis.call('DUMP', k) end "
				     "  local at = string.format('%.0f', redis.call('PEXPIRETIME', k)) "
				     "  out[#out + 1] = k .. ' ' .. redis.sha1hex(d) .. ' ' .. at "
				     "end "
				     "return table.concat(out, '\\n')";
	redisReply *reply = server_command(r, "EVAL %s 0", source);

	assert_int_equal(reply->type, REDIS_REPLY_STRING);
	char *picture = strdup(reply->str);
	assert_non_null(picture);
	return picture;
}

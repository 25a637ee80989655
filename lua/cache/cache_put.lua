-- cache_put: stores a value under a new version, unless its writer is late, and wakes all its
-- waiters. It removes their wait queue, so that they need not leave it.
-- KEYS[1]  the value
-- KEYS[2]  its highest fence
-- KEYS[3]  the valid ticket
-- KEYS[4]  when invalidations are to be repeated
-- KEYS[5]  its waiters (lib/waiters.lua)
-- ARGV[1]  value: JSON text
-- ARGV[2]  ttl, ms
-- ARGV[3]  8 random digits: with Redis's time in microseconds they make the version
-- ARGV[4]  fence, 0 to 2^53 - 1; '' for none
-- ARGV[5]  ticket, '' for none
-- ARGV[6]  If-Match: '' for none, '*', or tags between blanks
-- ARGV[7]  If-None-Match, the same
--@reply 1 new, 2 replaced: cache_entry
--@reply -1 stale_fence: highest int
--@reply -2 stale_ticket
--@reply -3 precondition_failed: version text
-- highest is the highest fence seen. stale_ticket: the ticket is not the valid one. version is ''
-- when there is no value.
-- Errors: WRONGTYPE, nothing done. O(1), O(waiters) for the first value.
local value, ttl_ms, digits, given = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[5]
local fence, if_match, if_none_match = tonumber(ARGV[4]), ARGV[6], ARGV[7]
local version, highest, ticket = cache_version(KEYS[1]), cache_highest(KEYS[2]), redis.call('GET', KEYS[3])
local expires_at = cache_end(KEYS[4], now, now + ttl_ms)
fence = fence or highest

if fence and fence < (highest or fence) then
  return { -1, now, highest }
end
if given ~= '' and given ~= ticket then
  return { -2, now }
end
if (if_match ~= '' and not cache_is_listed(if_match, version)) or cache_is_listed(if_none_match, version) then
  return { -3, now, version or '' }
end

if not version and redis.call('EXISTS', KEYS[5]) == 1 then
  waiters_read(KEYS[1], KEYS[5], now, '') -- an error if it is not a wait queue
  waiters_wake_all(KEYS[1], KEYS[5], 0)
  redis.call('UNLINK', KEYS[5])
end
local new = format('%d', now_us) .. '-' .. digits
redis.call('HSET', KEYS[1], 'value', value, 'version', new)
redis.call('PEXPIREAT', KEYS[1], format('%d', expires_at))
if ticket then
  redis.call('DEL', KEYS[3])
end
if fence then
  cache_keep_fence(KEYS[2], fence, expires_at)
end
return { version and 2 or 1, now, new, expires_at }

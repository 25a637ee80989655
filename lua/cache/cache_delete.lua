-- cache_delete: deletes a value and its valid ticket; the first waiter may get the next ticket.
-- KEYS[1]  the value
-- KEYS[2]  its highest fence
-- KEYS[3]  the valid ticket
-- KEYS[4]  its waiters (lib/waiters.lua)
-- ARGV[1]  fence, 0 to 2^53 - 1; '' for none
-- ARGV[2]  If-Match: '' for none, '*', or tags between blanks
-- ARGV[3]  If-None-Match, the same
--@reply 1 deleted, 0 absent
--@reply -1 stale_fence: highest int
--@reply -3 precondition_failed: version text
-- highest is the highest fence seen. version is '' when there is no value.
-- Errors: WRONGTYPE, nothing done. O(1), O(log waiters) with a ticket, O(waiters) when a daemon
-- with waiters has died; Redis frees the memory in the background.
--@flags allow-oom
local fence, if_match, if_none_match = tonumber(ARGV[1]), ARGV[2], ARGV[3]
local version, highest, ticket = cache_version(KEYS[1]), cache_highest(KEYS[2]), redis.call('GET', KEYS[3])

if fence and highest and fence < highest then
  return { -1, now, highest }
end
if not version and not ticket then
  return { 0, now }
end
if (if_match ~= '' and not cache_is_listed(if_match, version)) or cache_is_listed(if_none_match, version) then
  return { -3, now, version or '' }
end
if ticket and redis.call('EXISTS', KEYS[4]) == 1 then
  local waiters = waiters_read(KEYS[1], KEYS[4], now, '')
  waiters_settle(waiters)
  cache_serve(waiters, nil)
end
redis.call('UNLINK', KEYS[1], KEYS[3])
if fence then
  cache_keep_fence(KEYS[2], fence, now)
end
return { 1, now }

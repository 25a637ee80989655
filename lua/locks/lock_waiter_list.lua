-- lock_waiter_list: one page of the wait queue of a lock, in the order in which it is served.
-- KEYS  the lock, its waiters and their offer (lib/waiters.lua)
-- ARGV  1 the arrival behind which the page begins: '0', or as returned before, 2 how many waiters
--       the page takes
-- Returns {0, now, ticket that has the offer ('': none), ticket, arrival (us), ...}: two a waiter,
--         and one waiter more than the page takes when there are more.
-- Errors: WRONGTYPE. O(log waiters + page).
--@include time
--@reads
local now = now_ms()
local ticket, until_ms = string.match(redis.call('GET', KEYS[3]) or '', '^(%S+) (%d+)$')
local reply = {0, now, ticket and tonumber(until_ms) > now and ticket or ''}
local limit = digits(ARGV[2] + 1)
local page = redis.call('ZRANGE', KEYS[2], '(' .. ARGV[1], '+inf', 'BYSCORE', 'LIMIT', '0', limit, 'WITHSCORES')
for i = 1, #page, 2 do
  reply[#reply + 1] = page[i]
  reply[#reply + 1] = tonumber(page[i + 1])
end
return reply

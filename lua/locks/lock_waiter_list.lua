-- lock_waiter_list: one page of the wait queue of a lock, in the order in which it is served.
-- KEYS  the lock, its waiters (lib/waiters.lua)
-- ARGV  1 the arrival after which the page begins: '0', or as returned before, 2 how many waiters
--       fit on the page
--@reply 0: offered_to text, waiters (lock_waiter)...
--@shape lock_waiter: ticket text, arrived_at_us int
-- offered_to is the ticket that has the offer ('': none). When there are more waiters than fit on
-- the page, the reply has one waiter more.
-- Errors: WRONGTYPE. O(log waiters + page).
--@reads
local after, most = ARGV[1], ARGV[2] + 0
local reply = { 0, now, waiters_read(KEYS[1], KEYS[2], now, '').called[1] or '' }
local from = after == '0' and WAITING or '(' .. after
local limit = format('%d', most + 1)
local page = redis.call('ZRANGE', KEYS[2], from, '+inf', 'BYSCORE', 'LIMIT', '0', limit, 'WITHSCORES')
for i = 1, #page, 2 do
  reply[#reply + 1] = page[i]
  reply[#reply + 1] = tonumber(page[i + 1])
end
return reply

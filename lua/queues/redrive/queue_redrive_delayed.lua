-- queue_redrive_delayed: one step of making delayed messages due, the soonest first.
-- KEYS  the keys of a queue (queues/lib_queue.lua)
-- ARGV  1 how many at most; then the part: how many the steps before made due
--@again 2 more, 0 settled: queue_step
--@reply 1 finished, -1 nothing: queue_step
-- queue_purge explains the outcomes. A step takes at most 500.
-- Errors: WRONGTYPE, nothing changed in this step. O(500 * log(queue)).
--@idempotent parts
local most, before = tonumber(ARGV[1]), tonumber(part)
local step = math.min(500, most - before)

read_waiters()
-- Deliveries that have ended may be delayed now: they are settled first, in a separate step.
if settle_time('250') > 0 then
  return { 0, now, before }
end

local later = redis.call('ZRANGE', keys[DELAYED], '(' .. instant, '+inf', 'BYSCORE', 'LIMIT', '0', format('%d', step))
for _, member in ipairs(later) do
  plan('ZADD', keys[DELAYED], instant, member)
end
write_planned()
settle_time('250') -- they are ready, or wait for their groups
local total = before + #later
if #later == step and total < most then
  return { 2, now, total }
end
return { total > 0 and 1 or -1, now, total }

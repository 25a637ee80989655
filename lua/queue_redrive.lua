-- queue_redrive: one step of bringing dead letters back, the longest dead first: due now, receives 0, without their
-- ttl.
-- KEYS  the queue's (lib/queue.lua)
-- ARGV  1 how many at most (-1: all), 2 how many the steps before brought back
-- Returns {0, now_ms, total} when there is more to do: call again with that total; {1, now_ms, total} when finished;
-- {-1, now_ms, 0} when there was nothing. A step moves or settles at most 1000.
-- Errors: WRONGTYPE, nothing changed in this step. O(1000 * log(queue)).
--@include time wake queue queue_ended
--@idempotent
local most, total = tonumber(ARGV[1]), tonumber(ARGV[2])
local step = 1000
if most >= 0 then
  step = math.min(step, most - total)
end
local queue = this_queue()

-- Deliveries whose visibility ended may be dead letters: settled first, a step of its own.
local ended = ended_deliveries(queue, 1000)
if #ended > 0 then
  for _, m in ipairs(ended) do
    settle(queue, m, m.state)
  end
  count_expired(queue)
  commit()
  return { 0, now, total }
end

local kept = '(' .. digits(now - setting(queue, 'retention_ms'))
local flat = read('ZRANGE', dead_key, kept, '+inf', 'BYSCORE', 'LIMIT', '0', step, 'WITHSCORES')
local letters = messages_of(dead_key, flat)
for _, m in ipairs(letters) do
  if m.lost then
    forget(m)
  else
    revive(m)
    move(m, due_key(m.priority))
    announce(queue, m.at)
    total = total + 1
  end
end
commit()
if #letters == 1000 and total ~= most then
  return { 0, now, total }
end
return { total > 0 and 1 or -1, now, total }

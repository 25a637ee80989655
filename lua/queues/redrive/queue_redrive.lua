-- queue_redrive: one step of redriving dead letters, the longest dead first: they are due now, with
-- receives 0 and without their ttl.
-- KEYS  the keys of a queue (queues/lib_queue.lua)
-- ARGV  1 how many at most (-1: all), 2 interval_ms: how much later each is due than the one before
--       (0: all are due now); then the part: how many the steps before brought back
--@again 2 more, 0 settled: queue_step
--@reply 1 finished, -1 nothing: queue_step
-- queue_purge explains the outcomes. A step settles at most 250, or moves at most 1000, and ends
-- after a millisecond.
-- Errors: WRONGTYPE, nothing changed in this step. O(1000 * log(queue)).
--@idempotent parts
local most, interval_ms, before = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(part)
local total, step = before, 1000
if most >= 0 then
  step = math.min(step, most - total)
end

check_types()

-- Deliveries whose visibility ended may be dead letters: they are settled first, in a
-- separate step.
if settle_ended('250') > 0 then
  return { 0, now, total }
end

local kept = '(' .. format('%d', now - setting('dead_retention_ms'))
local looked_at, is_last = 0, false
repeat
  local chunk = math.min(100, step - looked_at)
  local page = { format('%d', looked_at), format('%d', chunk) }
  local flat = redis.call('ZRANGE', keys[DEAD], kept, '+inf', 'BYSCORE', 'LIMIT', page[1], page[2], 'WITHSCORES')
  local letters = messages_of(keys[DEAD], flat)
  for _, m in ipairs(letters) do
    if not m.has_state then
      forget(m)
    else
      revive(m)
      m.at = now + total * interval_ms
      put_due(m)
      total = total + 1
    end
  end
  looked_at = looked_at + #letters
  is_last = #letters < chunk
until is_last or looked_at == step or out_of_time()
commit()
if not is_last and total ~= most then
  return { total > before and 2 or 0, now, total }
end
return { total > 0 and 1 or -1, now, total }

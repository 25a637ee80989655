-- queue_group_redrive: one step of redriving the dead letters of a group, the longest dead first.
-- They are due now, with receives 0 and without their ttl. They join their group in the order in
-- which they were sent.
-- KEYS  the keys of a queue (queues/lib_queue.lua)
-- ARGV  1 group, 2 how many at most (-1: all), 3 cursor of the step before, '' to begin; then the
--       part: how many the steps before brought back
--@again 2 more, 0 settled: cursor text, so_far int
--@reply 1 finished, -1 nothing: queue_step
-- queue_purge explains the outcomes; a step that only read replies as a step that settled.
-- Errors: WRONGTYPE, nothing changed in this step. O(5000 * log(queue)).
--@idempotent parts
local group, most, cursor, before = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(part)
local total, step = before, REMOVED_MOST
if most >= 0 then
  step = math.min(step, most - total)
end

check_types()

-- Deliveries whose visibility ended may be dead letters: they are settled first, in a
-- separate step.
if settle_ended('250') > 0 then
  return { 0, now, cursor, total }
end

local kept_since = now - setting('dead_retention_ms')
local function is_kept(died_at)
  return died_at > kept_since
end
local next_cursor = walk(keys[DEAD], group, cursor, is_kept, function(m)
  if not m.has_state then
    forget(m)
    return true
  end
  revive(m)
  put_due(m)
  total = total + 1
  return total - before < step
end)
commit()
if next_cursor and total ~= most then
  return { total > before and 2 or 0, now, next_cursor, total }
end
return { total > 0 and 1 or -1, now, total }

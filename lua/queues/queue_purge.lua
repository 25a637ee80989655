-- queue_purge: one step of removing the messages of one state, or all. Their ids are free at once;
-- settings stay. A purge of all messages also removes the acknowledgements and the dedupe ids that
-- are remembered.
-- KEYS  the keys of a queue (queues/lib_queue.lua)
-- ARGV  1 state: 'ready', 'blocked', 'delayed', 'in_flight', 'dead' or '' for all; then the part:
--       how many the steps before removed
--@again 2 more, 0 settled: queue_step
--@reply 1 finished, -1 nothing: queue_step
--@shape queue_step: total int
-- more: there is more to do. settled: as more, but this step only settled. nothing: there was
-- nothing to remove, and total is 0. A step settles at most 250, or removes at most 1000 and 4 MiB
-- of bodies (to free a MiB takes Redis 75 us), and ends after a millisecond.
-- A step that removes the head of a group makes its next message ready, which a later step removes.
-- Errors: WRONGTYPE, nothing changed in this step. O(1000 * log(queue)).
--@flags allow-oom
--@idempotent parts
local state, before = ARGV[1], tonumber(part)
local total = before

check_types()

-- What time has ended is settled first, in a separate step.
if settle_time('250') > 0 then
  return { 0, now, total }
end

local places = {}
local function add(key, from, to)
  places[#places + 1] = { key, from, to }
end
if state == 'blocked' or state == '' then -- first, so that none becomes ready
  add(keys[ORDER], '0', '+inf')
end
if state == 'ready' or state == '' then
  add(keys[READY], '-inf', '+inf')
  add(keys[DELAYED], '-inf', instant)
end
if state == 'delayed' or state == '' then
  add(keys[DELAYED], '(' .. instant, '+inf')
end
if state == 'in_flight' or state == '' then
  add(keys[FLIGHT], '0', '+inf')
end
if state == 'dead' or state == '' then
  add(keys[DEAD], '-inf', '+inf')
end

local looked_at, is_over, at, offset = 0, false, 1, 0

local function take(m)
  forget(m)
  total = total + (is_counted(m) and 1 or 0)
  return true
end

-- forget_some(place, offset, chunk): plans to forget the `chunk` messages of a place from `offset`
-- on. Returns how many it did, and whether the place has no more.
local function forget_some(place, offset, chunk)
  local key, from, to = unpack(place)
  local flat = redis.call('ZRANGE', key, from, to, 'BYSCORE', 'LIMIT', format('%d', offset), format('%d', chunk),
    'WITHSCORES')
  local found = messages_of(key, flat)
  local ended_at = take_each(found, take)
  return ended_at or #found, not ended_at and #found < chunk
end

while places[at] and not is_over do
  local chunk = math.min(100, REMOVED_MOST - looked_at)
  local count, is_end = forget_some(places[at], offset, chunk)
  looked_at, offset = looked_at + count, offset + count
  if is_end then
    at, offset = at + 1, 0
  end
  is_over = looked_at == REMOVED_MOST or bytes >= BYTES_MOST or out_of_time()
end
if state == '' and looked_at < REMOVED_MOST then
  local rest = format('%d', REMOVED_MOST - looked_at)
  local acknowledged = redis.call('ZRANGE', keys[FLIGHT], '-inf', '(0', 'BYSCORE', 'LIMIT', '0', rest)
  for _, member in ipairs(acknowledged) do
    plan('ZREM', keys[FLIGHT], member)
    plan('HDEL', keys[QUEUE], member:sub(1, 17))
    looked_at = looked_at + 1
  end
  if looked_at == REMOVED_MOST and not places[at] then
    at = #places -- more may be remembered
  end
end
commit()
if places[at] then
  return { total > before and 2 or 0, now, total }
end
if state == '' then
  dedupe_forget()
end
return { total > 0 and 1 or -1, now, total }

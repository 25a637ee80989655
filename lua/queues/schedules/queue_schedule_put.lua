-- queue_schedule_put: makes a schedule, or changes one.
-- KEYS  the keys of a queue (queues/lib_queue.lua), and the index of names (lib/made.lua)
-- ARGV  1 id, 2 the same as JSON, 3 '1': only changes one that exists; then for each setting '='
--       and a value, '~' for the default, or '' to keep it: 4 every_ms, 5 cron, 6 mask
--       (handlers/queues/schedules/cron.h), 7 start_at_ms, 8 end_at_ms, 9 priority, 10 overlap,
--       11 headers, 12 body, 13 time_zone, 14 its version ('': unknown), 15 its shifts
--       (zone_shifts.h, beside it), 16 limit, 17 jitter_ms, 18 group ('': none)
-- If an instant of the schedule is due, its message is made before the change, as the next receive
-- would make it.
--@reply 1: is_new int, schedule [queue_schedule_full]
--@reply -1 absent, -2 no_recurrence, -3 no_instant, -4 no_instant_before_end
--@reply -5 limit_reached: runs int
-- is_new is 1 when it was made, else 0. no_recurrence: there is neither every_ms nor cron. The next
-- instant stays as long as every_ms, cron, time_zone and start_at_ms stay, unless a law changed the
-- clocks, or Redis's clock was set back. Shifts of an older version do not replace shifts of a
-- newer one: if daemons have different data, the newest counts, whichever daemon is asked last.
-- Errors: WRONGTYPE, nothing changed. O(log(queue)).
local id, json_id, is_patch = ARGV[1], ARGV[2], ARGV[3] == '1'
check_types()
local is_paused = redis.call('HGET', keys[QUEUE], 'paused') == '1'
local s = fire_if_due(id, is_paused)
if is_patch and not s then
  return { -1, now }
end
local is_new = not s
s = s or { json_id = json_id, last = 0, last_seq = '', sent = 0, runs = 0, missed = 0, skipped = 0, zone_version = '' }
local every, cron, start, zone, version = s.every, s.cron, s.start, s.zone, s.zone_version

-- given(i, kept, default): the value of argument i.
local function given(i, kept, default)
  local mark = ARGV[i]:sub(1, 1)
  if mark == '' then
    return kept
  end
  return mark == '=' and ARGV[i]:sub(2) or default
end
s.every = tonumber(given(4, s.every, nil))
s.cron, s.mask = given(5, s.cron, ''), given(6, s.mask, '')
s.start, s.stop = tonumber(given(7, s.start, 0)), tonumber(given(8, s.stop, 0))
s.priority, s.overlap = given(9, s.priority, '4'), given(10, s.overlap, 'skip')
s.limit, s.jitter = tonumber(given(16, s.limit, 0)), tonumber(given(17, s.jitter, 0))
s.group = given(18, s.group, '')
s.zone = given(13, s.zone, 'UTC')
if s.zone ~= zone or given(14, version, '') >= version then
  s.zone_version, s.shifts = given(14, version, ''), given(15, s.shifts, '0')
end
if not s.every and s.cron == '' then
  return { -2, now }
end
if s.limit > 0 and s.runs >= s.limit then
  return { -5, now, s.runs }
end
local is_changed = is_new or s.every ~= every or s.cron ~= cron or s.start ~= start or s.zone ~= zone
if is_changed or s.start == 0 and s.anchor > now then
  s.anchor = s.start > 0 and s.start or now
end
-- An instant that came while the queue is paused stays. Any other one is computed again: it differs
-- if a law changed the clocks, or if it was computed while Redis's clock was ahead.
if is_changed or s.next > now then
  s.next = next_of(s, now)
elseif s.stop > 0 and s.next > s.stop then
  s.next = nil
end
if not s.next then
  return { s.stop > 0 and -4 or -3, now }
end

read_waiters()
local stored = redis.call('HMGET', keys[QUEUE], '=' .. id, 'layout')
local headers, body = (stored[1] or '\t'):match('^([^\t]*)\t(.*)$')
local fields = { 'layout', LAYOUT, '=' .. id, given(11, headers, '') .. '\t' .. given(12, body, '') }
if not stored[2] then -- the queue is new
  fields[5], fields[6] = 'created_at', format('%d', now)
end
redis.call('HSET', keys[QUEUE], unpack(fields))
put_schedule(id, s)
if is_new then -- and perhaps the first of a new queue
  made = { keys[QUEUE] }
end
note_next()
serve_waiters()
return { 1, now, is_new and 1 or 0, schedule_item(id, s) }

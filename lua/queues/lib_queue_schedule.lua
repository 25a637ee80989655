-- Schedules of a queue. Wants queues/lib_queue.lua and queues/lib_queue_recurrence.lua.
--   KEYS[8]  sorted set: id by next_at_ms
--   in the queue's hash:
--     `:<id>`  what the schedule is, a table by cmsgpack: json_id, every (nil: a mask), cron, mask,
--              anchor, start, stop (0: none), priority, overlap, next, last (0: none), last_seq
--              ('': none), sent, missed, skipped
--     `=<id>`  headers as JSON ('': none), a tab, the body
--     `schedule_at`  the first next_at_ms, so that a receive finds what came due among the settings
local function read_schedule(id)
  local packed = redis.call('HGET', queue_key, ':' .. id)
  return packed and cmsgpack.unpack(packed)
end

-- The first instant of a schedule after `after`, nil when there is none before its end.
local function next_of(s, after)
  local at = next_instant(s, after)
  return at and (s.stop == 0 or at <= s.stop) and at or nil
end

-- It is due at s.next. Writes; check_types() comes before.
local function put_schedule(id, s)
  redis.call('ZADD', schedules_key, digits(s.next), id)
  redis.call('HSET', queue_key, ':' .. id, cmsgpack.pack(s))
end

local function remove_schedule(id)
  redis.call('HDEL', queue_key, ':' .. id, '=' .. id)
  return redis.call('ZREM', schedules_key, id)
end

-- After changes of schedules: notes when the next one is due, and returns it, nil without any.
local function note_next()
  local at = redis.call('ZRANGE', schedules_key, '0', '0', 'WITHSCORES')[2]
  if at then
    redis.call('HSET', queue_key, 'schedule_at', digits(at))
  else
    redis.call('HDEL', queue_key, 'schedule_at')
  end
  return tonumber(at)
end

-- A schedule as queue_schedule_list returns it; others return its content, too.
--@shape queue_schedule: id text, every_ms int, cron text, start_at_ms int, end_at_ms int,
-- priority int, overlap text, next_at_ms int, last_at_ms int, sent int, missed int, skipped int
--@shape queue_schedule_full: queue_schedule, content text
-- every_ms 0: a cron. start_at_ms, end_at_ms and last_at_ms 0: none. content is the headers, a tab
-- and the body.
local function schedule_settings(id, s)
  return {
    id, s.every or 0, s.cron, s.start, s.stop, s.priority, s.overlap, s.next, s.last, s.sent, s.missed, s.skipped,
  }
end
local function schedule_item(id, s)
  local item = schedule_settings(id, s)
  item[#item + 1] = redis.call('HGET', queue_key, '=' .. id) or ''
  return item
end

-- Whether a look has to make the messages of schedules first: the instant of one has come, and the
-- queue is not paused.
local function is_schedule_due()
  local settings = redis.call('HMGET', queue_key, 'schedule_at', 'paused', 'layout')
  local layout = settings[3]
--@include queue_layout
  return (tonumber(settings[1]) or math.huge) <= now and settings[2] ~= '1'
end

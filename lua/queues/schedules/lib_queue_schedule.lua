-- What a schedule of a queue is in Redis.
--   KEYS[8]  sorted set: id by the next instant
--   in the queue's hash:
--     `:<id>`  the schedule, a table by cmsgpack: json_id, every (nil: a mask), cron, mask, zone,
--              zone_version ('': unknown), shifts, anchor, start, stop (0: none), limit (0: none),
--              jitter, priority, group ('': none), overlap, next, last (0: none), last_seq ('':
--              none), sent, runs (how many of sent an instant made), missed, skipped
--     `=<id>`  headers as JSON ('': none), a tab, the body
--     `schedule_at`  the first instant, so that a receive reads it with the settings
local function read_schedule(id)
  local packed = redis.call('HGET', keys[QUEUE], ':' .. id)
  return packed and cmsgpack.unpack(packed)
end

-- next_of(s, after): the first instant of a schedule after `after`, nil without one before its end.
local function next_of(s, after)
  local at = next_instant(s, after)
  return at and (s.stop == 0 or at <= s.stop) and at or nil
end

-- due_of(id, s, at): when the message of an instant is due. Its jitter depends only on the queue,
-- the schedule and the instant, so that each script finds the same.
local function due_of(id, s, at)
  if s.jitter == 0 then
    return at
  end
  local hash = redis.sha1hex(keys[QUEUE] .. '\n' .. id .. '\n' .. format('%d', at))
  return at + tonumber(hash:sub(1, 8), 16) % (s.jitter + 1)
end

-- put_schedule(id, s): writes a schedule whose next instant is s.next. Call check_types() first.
local function put_schedule(id, s)
  redis.call('ZADD', keys[SCHEDULES], format('%d', s.next), id)
  redis.call('HSET', keys[QUEUE], ':' .. id, cmsgpack.pack(s))
end

local function remove_schedule(id)
  redis.call('HDEL', keys[QUEUE], ':' .. id, '=' .. id)
  return redis.call('ZREM', keys[SCHEDULES], id)
end

-- note_next(): notes when the next schedule is due, and returns it, nil without one. Call it after
-- changes of schedules.
local function note_next()
  local at = redis.call('ZRANGE', keys[SCHEDULES], '0', '0', 'WITHSCORES')[2]
  if at then
    redis.call('HSET', keys[QUEUE], 'schedule_at', format('%d', at))
  else
    redis.call('HDEL', keys[QUEUE], 'schedule_at')
  end
  return tonumber(at)
end

-- A schedule as queue_schedule_list returns it; other scripts also return its content.
--@shape queue_schedule: id text, every_ms int, cron text, time_zone text, time_zone_version text,
-- start_at_ms int, end_at_ms int, limit int, jitter_ms int, priority int, group text, overlap text,
-- next_at_ms int, last_at_ms int, sent int, missed int, skipped int
--@shape queue_schedule_full: queue_schedule, content text, next text
-- every_ms is 0 for a cron. start_at_ms, end_at_ms, limit and last_at_ms are 0 for none. content is
-- the headers, a tab and the body. next is when the next five messages are due, each as
-- milliseconds, a colon and the offset of local time in seconds, with blanks between.
local function schedule_settings(id, s)
  return {
    id, s.every or 0, s.cron, s.zone, s.zone_version, s.start, s.stop, s.limit, s.jitter, s.priority, s.group,
    s.overlap, due_of(id, s, s.next), s.last, s.sent, s.missed, s.skipped,
  }
end
local function schedule_item(id, s)
  local item, list, at = schedule_settings(id, s), {}, s.next
  while at and #list < 5 and (s.limit == 0 or s.runs + #list < s.limit) do
    local due = due_of(id, s, at)
    list[#list + 1] = format('%d', due) .. ':' .. format('%d', offset_at(s, due))
    at = next_of(s, at)
  end
  item[#item + 1] = redis.call('HGET', keys[QUEUE], '=' .. id) or ''
  item[#item + 1] = table.concat(list, ' ')
  return item
end

-- is_schedule_due(): whether the messages of schedules must be made before a script reads the
-- queue: the instant of one has come, and the queue is not paused.
local function is_schedule_due()
  local settings = redis.call('HMGET', keys[QUEUE], 'schedule_at', 'paused', 'layout')
  check_layout(settings[3])
  return (tonumber(settings[1]) or math.huge) <= now and settings[2] ~= '1'
end

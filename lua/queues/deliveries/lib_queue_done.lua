-- Messages that are done. Wants queues/lib_queue_settings.lua.

-- Remembers ids that senders gave for dedupe_ms, or for result_ms if that is longer; with the
-- latter they still lead to their messages. The first writes of its keys: it must come where
-- nothing was written yet, or after check_types() and a look at dedupe_ms.
local function remember_ids(ids, result_ms)
  local dedupe_ms = math.max(setting('dedupe_ms'), result_ms)
  redis.call('ZCARD', done_key)
  if result_ms == 0 then
    redis.call('HDEL', ids_key, unpack(ids))
  end
  if dedupe_ms == 0 then
    return
  end
  local until_ms, done = digits(now + dedupe_ms), {}
  for i, id in ipairs(ids) do
    done[2 * i - 1], done[2 * i] = until_ms, id
  end
  redis.call('ZADD', done_key, unpack(done))
end

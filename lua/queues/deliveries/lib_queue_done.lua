-- The ids of messages that are done. This part must not know the messages, only their ids. Needs
-- queues/lib_queue_settings.lua.

-- remember_ids(ids, result_ms): remembers these ids, which senders gave, for dedupe_ms, or for
-- result_ms if that is longer. With result_ms the ids still lead to their messages. It makes the
-- first writes to its keys: call it where nothing was written yet, or after check_types() and a
-- look at dedupe_ms.
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

-- The ids of messages that are done. This module must not know the messages, only their ids.

-- remember_ids(ids, result_ms): remembers these ids, which senders gave, for dedupe_ms, or for
-- result_ms if that is longer. With result_ms the ids still lead to their messages. It makes the
-- first writes to its keys: call it where nothing was written yet, or after check_types() and a
-- look at dedupe_ms.
local function remember_ids(ids, result_ms)
  local dedupe_ms = math.max(setting('dedupe_ms'), result_ms)
  redis.call('ZCARD', keys[DONE])
  if result_ms == 0 then
    redis.call('HDEL', keys[IDS], unpack(ids))
  end
  if dedupe_ms == 0 then
    return
  end
  local until_ms, done = format('%d', now + dedupe_ms), {}
  for i, id in ipairs(ids) do
    done[2 * i - 1], done[2 * i] = until_ms, id
  end
  redis.call('ZADD', keys[DONE], unpack(done))
end

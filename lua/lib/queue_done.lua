-- A message that is done. Wants lib/queue.lua.

-- Plans that the message at m.place is gone; an id that its sender gave is remembered for dedupe_ms.
local function finish(queue, m)
  zrem(m.place, m.seq)
  hdel(meta_key, m.seq)
  hdel(body_key, m.seq)
  if m.id ~= '' and setting(queue, 'dedupe_ms') > 0 then
    hset(ids_key, m.id, '')
    zadd(done_key, now + setting(queue, 'dedupe_ms'), m.id)
  elseif m.id ~= '' then
    hdel(ids_key, m.id)
  end
end

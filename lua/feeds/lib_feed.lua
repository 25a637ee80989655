-- feed_limit(size, kept): how many items a feed of `size` keeps; `kept` is the field of its
-- settings. A feed without items is a new one, whatever an old one left behind.
local function feed_limit(size, kept)
  return size > 0 and tonumber(kept or '') or 1000
end

-- feed_state(keys, now): {0, now, ...} of a feed; max_items is how many it keeps, expires_at_ms -1:
-- never. WRONGTYPE is raised. O(1).
--@shape feed: size int, max_items int, expires_at_ms int
local function feed_state(keys, now)
  local size = redis.call('LLEN', keys[1])
  local limit = feed_limit(size, redis.call('HGET', keys[2], 'limit'))
  return { 0, now, size, limit, expiry_reply(expires_at({ keys[1] })) }
end

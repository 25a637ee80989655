-- A feed is a stream. Each entry has one field, `item`, with the JSON text. A feed exists from its
-- first push until it is deleted or expires, also without items.
-- KEYS[1]  the feed: the stream
-- KEYS[2]  its settings: hash of `limit`, how many items it keeps, and `excess`, how many of its
--          oldest items are still to be dropped; it expires with the feed
-- What these scripts did not make raises WRONGTYPE.

-- feed_limit(is_there, kept): how many items a feed keeps; `kept` is the field of its settings. A
-- feed without a stream is new, so settings that an old one left are ignored.
local function feed_limit(is_there, kept)
  return is_there and tonumber(kept or '') or 1000
end

-- feed_state(keys, now): {outcome, now, ...}; the outcome is -1 for a feed that does not exist.
-- max_items is how many items it keeps; expires_at_ms is -1 for never. O(1).
--@shape feed: size int, max_items int, expires_at_ms int
local function feed_state(keys, now)
  local size, at = redis.call('XLEN', keys[1]), redis.call('PEXPIRETIME', keys[1])
  local is_there = at ~= -2
  local limit = feed_limit(is_there, redis.call('HGET', keys[2], 'limit'))
  return { is_there and 0 or -1, now, size, limit, is_there and at or -1 }
end

-- feed_drop(size, excess, kept, most): drops up to `most` items of the excess; `kept` is the excess
-- in the settings (false: none). Returns the size and the excess that are left. O(most).
local function feed_drop(size, excess, kept, most)
  local dropped = math.min(excess, most, size)
  if dropped > 0 then
    redis.call('XTRIM', KEYS[1], 'MAXLEN', format('%d', size - dropped))
  end
  if excess > dropped then
    redis.call('HSET', KEYS[2], 'excess', format('%d', excess - dropped))
  elseif kept then
    redis.call('HDEL', KEYS[2], 'excess')
  end
  return size - dropped, excess - dropped
end

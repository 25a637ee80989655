-- feed_item_list: a page of a feed.
-- KEYS[1]  the feed
-- ARGV[1]  how many items to leave out in front
-- ARGV[2]  how many at most, 1 to 1000
--@reply 0: size int, items text...
-- size is how many the feed has. The items have at most 256 KiB together, or it is one alone.
-- Errors: WRONGTYPE. O(offset / 100 + limit).
--@include time
--@reads
local bytes_most = 262144
local now = now_ms()
local at, limit = tonumber(ARGV[1]), tonumber(ARGV[2])
local reply = { 0, now, redis.call('LLEN', KEYS[1]) }
local count, bytes, step = 0, 0, 4
while count < limit do
  local items = redis.call('LRANGE', KEYS[1], digits(at + count), digits(at + math.min(count + step, limit) - 1))
  for i = 1, #items do
    if count > 0 and bytes + #items[i] > bytes_most then
      return reply
    end
    count, bytes = count + 1, bytes + #items[i]
    reply[3 + count] = items[i]
  end
  if #items < step then
    return reply
  end
  -- Twice as many, unless they were large: not much more is read than fits.
  step = math.min(step * 2, math.floor((bytes_most - bytes) / bytes * count) + 1)
end
return reply

-- feed_item_list: a page of a feed, the newest item first.
-- KEYS[1]  the feed
-- ARGV[1]  the id of an item: only older ones; '' begins with the newest
-- ARGV[2]  how many at most, 1 to 1000
--@reply 0: more int, items (feed_item)...
--@shape feed_item: id text, item text
-- more is 1 when there are older items. The items have at most 256 KiB together; a larger item is
-- returned alone.
-- Errors: WRONGTYPE. O(limit).
--@reads
local before, limit = ARGV[1], tonumber(ARGV[2])
local bytes_most = 262144
local from = before == '' and '+' or '(' .. before
local reply = { 0, now, 0 }
local count, bytes, step = 0, 0, 4
while true do
  local asked = math.min(step, limit - count + 1) -- one more than fits, to see whether there is one
  local entries = redis.call('XREVRANGE', KEYS[1], from, '-', 'COUNT', format('%d', asked))
  for _, entry in ipairs(entries) do
    local id, name, item = entry[1], entry[2][1], entry[2][2]
    if name ~= 'item' then
      error(redis.error_reply('WRONGTYPE the key holds a stream that is not a feed'))
    elseif count == limit or count > 0 and bytes + #item > bytes_most then
      reply[3] = 1
      return reply
    end
    count, bytes = count + 1, bytes + #item
    reply[2 * count + 2], reply[2 * count + 3] = id, item
    from = '(' .. id
  end
  if #entries < asked then
    return reply
  end
  -- The next step is twice as large, unless the items are large: it reads not much more than fits.
  step = math.min(step * 2, math.floor((bytes_most - bytes) / bytes * count) + 1)
end

-- A page's total: one more sketch, or counter, which belongs to no day. Its key exists as long as
-- the page keeps a total, and has no TTL. It is taken from the end of KEYS, after lib/made.lua
-- took the index from there.

-- total_is_sketch(total_key): whether the page keeps a total. Raises WRONGTYPE if that is not a
-- sketch. O(1).
local function total_is_sketch(total_key)
  local head = redis.call('GETRANGE', total_key, '0', '3')
  if head ~= '' and head ~= 'HYLL' then
    error(redis.error_reply('WRONGTYPE the total of the page is not a HyperLogLog sketch'))
  end
  return head ~= ''
end

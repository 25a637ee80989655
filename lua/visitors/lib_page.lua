-- A page's first key, taken from the head of KEYS. The other keys of a page belong to its days, so
-- its name is in the index as long as this key exists. The key expires a day after the last day
-- that has data, so a call that counts for today, in a key that exists, need not write it.
local DAY_S = 86400

-- page_keep(page_key, today, day, kept_s): keeps the page after a day was written whose key expires
-- kept_s from now. A first key of another type does not make the script fail. O(1), but
-- O(log names) for a new page.
local function page_keep(page_key, today, day, kept_s)
  local seconds = format('%d', tonumber(kept_s) + DAY_S * (1 + math.max(0, day - today)))
  if redis.pcall('EXPIRE', page_key, seconds, 'GT') ~= 1 and redis.pcall('SET', page_key, '', 'EX', seconds, 'NX') then
    made = { page_key }
  end
end

-- The next page: what the groups of the round have blocked at its priority, in turn. Each group
-- gives its share of the rest of the reply. This part must not know whether a message will be
-- taken. Needs the variables of lib_receive_choose.lua.
from_order, page = true, {}
local each, rows, going = math.ceil((last_count - reply[1]) / #round), {}, { priority = round.priority }
for x, of_round in ipairs(round) do
  local wanted = math.min(each, of_round.room, 100)
  local from = '[' .. of_round.name .. '\0' .. string.char(round.priority)
  local to = '(' .. of_round.name .. '\0' .. string.char(round.priority + 1)
  rows[x] = wanted >= 1
    and redis.call('ZRANGE', order_key, from, to, 'BYLEX', 'LIMIT', digits(of_round.read), digits(wanted)) or {}
  of_round.read = of_round.read + #rows[x]
  if wanted >= 1 and #rows[x] == wanted then
    going[#going + 1] = of_round
  end
end
for y = 1, each do
  for x, of_round in ipairs(round) do
    if rows[x][y] then
      page[#page + 1] = rows[x][y]:sub(#of_round.name + 2) .. of_round.name
    end
  end
end
round = going[1] and going or nil

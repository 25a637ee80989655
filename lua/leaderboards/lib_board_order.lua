-- Positions from 0 in a board, in either order. 'desc', the highest scores first, is the order of
-- the sorted set. 'asc' has the lowest scores first, but equal scores still by arrival: groups of
-- equals come from the back, each group from its front. This module only reads, and must not know
-- any key of the board except its ranks.

-- equals_of(ranks, head): the first and the last position, in the order of the sorted set, of the
-- elements whose place begins with these bytes. No arrival begins with byte 255. O(log n).
local function equals_of(ranks, head)
  local first = redis.call('ZLEXCOUNT', ranks, '-', '(' .. head)
  return first, redis.call('ZLEXCOUNT', ranks, '-', '(' .. head .. '\255') - 1
end

-- position_of(ranks, element, dimensions, order): the position of an element; WRONGTYPE when the
-- ranks do not have it. O(log n).
local function position_of(ranks, element, dimensions, order)
  local rank = redis.call('ZRANK', ranks, element)
  if not rank then
    error(redis.error_reply('WRONGTYPE the sorted set of ranks lacks a member of the board'))
  end
  if order == 'desc' then
    return rank
  end
  local _, head_bytes = form_of(dimensions)
  local first, last = equals_of(ranks, string.sub(element, 1, head_bytes))
  return redis.call('ZCARD', ranks) - 1 - last + rank - first
end

-- ascending(ranks, from, to, dimensions): the elements at these positions in the order 'asc'. O(log
-- n + to - from).
local function ascending(ranks, from, to, dimensions)
  -- It reads from the back, and reverses each run of equals. The runs at both ends may be parts of
  -- larger groups, of which the page needs another part: these are read again.
  local back = redis.call('ZRANGE', ranks, format('%d', from), format('%d', to), 'REV')
  local elements, n, start = {}, #back, 1
  local _, head_bytes = form_of(dimensions)
  local head = n > 0 and string.sub(back[1], 1, head_bytes)
  while start <= n do
    local stop, next_head = start, nil
    while stop < n do
      next_head = string.sub(back[stop + 1], 1, head_bytes)
      if next_head ~= head then
        break
      end
      stop = stop + 1
    end
    if start == 1 or stop == n then
      local first, last = equals_of(ranks, head)
      local listed_before = from + start - 1 - (redis.call('ZCARD', ranks) - 1 - last)
      local at = first + listed_before
      local part = redis.call('ZRANGE', ranks, format('%d', at), format('%d', at + stop - start))
      for i = 1, #part do
        elements[start + i - 1] = part[i]
      end
    else
      for i = start, stop do
        elements[i] = back[start + stop - i]
      end
    end
    start, head = stop + 1, next_head
  end
  return elements
end

-- range_of(ranks, dimensions, min, max): two positions in the order of the sorted set: of the first
-- member whose first score is from `min` to `max`, and of the place after the last such member. ''
-- means no bound. O(log n).
local function range_of(ranks, dimensions, min, max)
  local most, format = form_of(dimensions), dimensions == 1 and '>I8' or '>I4'
  local first, behind = 0, redis.call('ZCARD', ranks)
  min, max = tonumber(min) or 0, tonumber(max) or most
  if max < most then
    first = redis.call('ZLEXCOUNT', ranks, '-', '(' .. struct.pack(format, most - max))
  end
  if min > most then
    behind = 0
  elseif min > 0 then
    behind = redis.call('ZLEXCOUNT', ranks, '-', '(' .. struct.pack(format, most - min + 1))
  end
  return first, math.max(first, behind)
end

-- page_at(now, ranks, board, order, first, behind, offset, count): the reply with a page of the
-- list at the positions from `first` to before `behind`: `count` members from that offset on.
-- dimensions has a line for each; position is the position of the first element; next is the offset
-- of the next page, -1 at the end.
--@shape board_page: dimensions text, next int, position int, elements [board_elements]
--@shape board_elements: element text...
local function page_at(now, ranks, board, order, first, behind, offset, count)
  local from, to, elements = first + offset, math.min(first + offset + count, behind) - 1, {}
  if from > to then
    return { 0, now, board.text, -1, from, elements }
  elseif order == 'desc' then
    elements = redis.call('ZRANGE', ranks, format('%d', from), format('%d', to))
  else
    elements = ascending(ranks, from, to, #board.names)
  end
  return { 0, now, board.text, to + 1 < behind and offset + #elements or -1, from, elements }
end

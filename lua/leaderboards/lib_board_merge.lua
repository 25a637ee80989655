-- A merge of boards that is being built aside: a hash of member to place and number of the source
-- that it was last met in, from 1, with a TTL. Wants lib/time.lua and leaderboards/lib_board.lua.
local MERGE_STEP, MERGE_KEPT_MS = 50, 60000

-- A source (from 0), or the board itself (-1), has other dimensions than the first source, whose
-- dimensions are wanted; both are a line each. A source that is not there has ''.
--@shape merge_differs: source int, dimensions text, wanted text

-- merge_add(now, key, cursor, found, names, number, weight, aggregate): adds what was found in a
-- source, member and place in turn, to what is built; the dimensions have these names. Returns the
-- reply, with how many members are built, and the next cursor ('0': that was all); or outcome -4
-- when a member's score in a dimension would be too large; what was built is gone then. A
-- member keeps the latest arrival of all sources. One that is found twice counts once: it bears the
-- source's number. O(found).
--@shape merge_step: next_cursor text, members int
--@shape merge_too_large: member text, dimension text
local function merge_add(now, key, cursor, found, names, number, weight, aggregate)
  local dimensions = #names
  local most, head = form_of(dimensions)
  local members = {}
  for i = 1, #found, 2 do
    members[#members + 1] = found[i]
  end
  local built = #members > 0 and redis.call('HMGET', key, unpack(members)) or {}

  -- The place of a member, from its place in the source and from what was built of it before, if
  -- anything; or nil and the dimension that is too large.
  local function joined(place, was)
    place = checked_place(place, dimensions)
    if not was and weight == 1 then
      return place
    end
    local scores, arrival = scores_of(place, dimensions)
    local before, before_arrival
    if was then
      before, before_arrival = scores_of(checked_place(was, dimensions), dimensions)
      arrival = math.max(arrival, before_arrival)
    end
    for d, score in ipairs(scores) do
      score = score * weight
      if before and aggregate == 'sum' then
        score = score + before[d]
      elseif before and aggregate == 'min' then
        score = math.min(score, before[d])
      elseif before then
        score = math.max(score, before[d])
      end
      if score > most then
        return nil, names[d]
      end
      scores[d] = score
    end
    return place_of(scores, arrival)
  end

  local write, met = {}, {}
  for i, member in ipairs(members) do
    local was = built[i]
    if not met[member] and not (was and string.byte(was, head + ARRIVAL + 1) == number) then
      met[member] = true
      local place, too_large = joined(found[2 * i], was)
      if not place then
        redis.call('UNLINK', key)
        return {-4, now, member, too_large}
      end
      write[#write + 1] = member
      write[#write + 1] = place .. string.char(number)
    end
  end
  if #write > 0 then
    redis.call('HSET', key, unpack(write))
  end
  redis.call('PEXPIRE', key, digits(MERGE_KEPT_MS))
  return {0, now, cursor, redis.call('HLEN', key)}
end

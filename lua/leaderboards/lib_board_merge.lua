-- The unfinished result of a merge of boards, under a separate key: a hash with a TTL. It has for
-- each member a place, the number of the last source that has the member, from 1, and the number of
-- each dimension, from 1, whose score is too large so far.
local MERGE_STEP, MERGE_KEPT_MS = 50, 60000

-- A source (from 0), or the board itself (-1), has other dimensions than the first source, whose
-- dimensions are `wanted`; both have a line for each. A source that does not exist has ''.
--@shape merge_differs: source int, dimensions text, wanted text

-- merge_add(key, found, names, number, weight, aggregate, is_intersection): adds what was found in
-- a source, member and place in turn, to what is built; `names` are its dimensions. Returns how
-- many members are built. A member keeps the latest arrival of all sources. A member that is found
-- twice counts once, since it then has the source's number. For an intersection, only members that
-- have the number before count. O(found).
local function merge_add(key, found, names, number, weight, aggregate, is_intersection)
  local dimensions = #names
  local most, head = form_of(dimensions)
  local members = {}
  for i = 1, #found, 2 do
    members[#members + 1] = found[i]
  end
  local built = #members > 0 and redis.call('HMGET', key, unpack(members)) or {}

  -- joined(place, was): returns the merged place of a member, from its place in the source and from
  -- what was merged of it before, if anything.
  local function joined(place, was)
    place = checked_place(place, dimensions)
    if not was and weight == 1 then
      return place .. string.char(number)
    end
    local scores, arrival = scores_of(place, dimensions)
    local before, before_arrival
    if was then
      before, before_arrival = scores_of(checked_place(was, dimensions), dimensions)
      arrival = math.max(arrival, before_arrival)
      for _, d in ipairs({ string.byte(was, head + ARRIVAL + 2, -1) }) do
        before[d] = math.huge
      end
    end
    local too_large = ''
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
        too_large, score = too_large .. string.char(d), most
      end
      scores[d] = score
    end
    return place_of(scores, arrival) .. string.char(number) .. too_large
  end

  local write, met, needed = {}, {}, is_intersection and number > 1 and number - 1
  for i, member in ipairs(members) do
    local was = built[i]
    local met_in = was and string.byte(was, head + ARRIVAL + 1)
    if not met[member] and met_in ~= number and (not needed or met_in == needed) then
      met[member] = true
      write[#write + 1] = member
      write[#write + 1] = joined(found[2 * i], was)
    end
  end
  if #write > 0 then
    redis.call('HSET', key, unpack(write))
  end
  redis.call('PEXPIRE', key, format('%d', MERGE_KEPT_MS))
  return redis.call('HLEN', key)
end

-- leaderboard_union_add: adds some members of a source to the union that is being built aside.
-- KEYS  1 the source, 2 its places (lib/board.lua), 3 what is built: hash of member to place and number of the source
--       that it was last met in, TTL
-- ARGV  1 cursor of the source's HSCAN, '0' to begin, 2 the source's number, from 1, 3 its weight,
--       4 'sum', 'min' or 'max', 5 the dimensions, 6 how many members what is built must have by now
-- Returns {0, now, next cursor ('0': that was all), members built}
--         {-1, now, source, from 0} it is there no more
--         {-2, now, source, its dimensions, those wanted} they differ now
--         {-3, now} what was built was lost; {-4, now, member, dimension} its score would be larger than 2^32-1
-- After a refusal what was built is gone.
-- A member keeps the latest arrival of all sources. One that HSCAN tells twice counts once: it bears the source's
-- number.
-- Errors: WRONGTYPE, nothing done. O(STEP) in HSCAN's sense.
--@include time board
local STEP, KEPT_MS = 50, 60000
local now = now_ms()
local number, weight, aggregate = tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local board = read_board(KEYS[1])
local is_fit = board and board.text == ARGV[5]
if not is_fit then
  redis.call('UNLINK', KEYS[3])
  return {board and -2 or -1, now, number - 1, board and board.text or '', ARGV[5]}
end
if redis.call('HLEN', KEYS[3]) ~= tonumber(ARGV[6]) then
  return {-3, now}
end

local dimensions = #board.names
local format, place_bytes = '>' .. string.rep('I4', dimensions + 2), WORD * dimensions + ARRIVAL
local step = redis.call('HSCAN', KEYS[2], ARGV[1], 'COUNT', digits(STEP))
local found = step[2]
local members = {}
for i = 1, #found, 2 do
  members[#members + 1] = found[i]
end
local built = #members > 0 and redis.call('HMGET', KEYS[3], unpack(members)) or {}

-- The place of a member, from its place in the source and from what was built of it before, if anything; or nil and the
-- dimension that is too large.
local function joined(place, was)
  if not was and weight == 1 then
    return string.sub(place, 1, place_bytes)
  end
  local words = {struct.unpack(format, place)} -- SCORE_MAX minus each score, and the arrival
  local before = was and {struct.unpack(format, was)}
  for d = 1, dimensions do
    local score = (SCORE_MAX - words[d]) * weight
    if before and aggregate == 'sum' then
      score = score + SCORE_MAX - before[d]
    elseif before and aggregate == 'min' then
      score = math.min(score, SCORE_MAX - before[d])
    elseif before then
      score = math.max(score, SCORE_MAX - before[d])
    end
    if score > SCORE_MAX then
      return nil, board.names[d]
    end
    words[d] = SCORE_MAX - score
  end
  if before then
    local high, low = before[dimensions + 1], before[dimensions + 2]
    if high > words[dimensions + 1] or high == words[dimensions + 1] and low > words[dimensions + 2] then
      words[dimensions + 1], words[dimensions + 2] = high, low
    end
  end
  return struct.pack(format, unpack(words, 1, dimensions + 2))
end

local write, met = {}, {}
for i, member in ipairs(members) do
  local was = built[i]
  if not met[member] and not (was and string.byte(was, place_bytes + 1) == number) then
    met[member] = true
    local place, too_large = joined(found[2 * i], was)
    if not place then
      redis.call('UNLINK', KEYS[3])
      return {-4, now, member, too_large}
    end
    write[#write + 1] = member
    write[#write + 1] = place .. string.char(number)
  end
end
if #write > 0 then
  redis.call('HSET', KEYS[3], unpack(write))
end
redis.call('PEXPIRE', KEYS[3], digits(KEPT_MS))
return {0, now, step[1], redis.call('HLEN', KEYS[3])}

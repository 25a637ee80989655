-- leaderboard_merge_rank: ranks some members of the merge that is being built aside.
-- KEYS  1 what leaderboard_merge_add built, 2 its ranks so far: sorted set as in
--       leaderboards/lib_board.lua, TTL
-- ARGV  1 cursor of HSCAN, '0' to begin, 2 how many dimensions, 3 how many members were built, 4
--       how many are ranked
--@reply 0: merge_step
--@reply -3 lost
-- members are those ranked. lost: what was built.
-- Errors: WRONGTYPE, nothing done. O(STEP log n) in HSCAN's sense.
--@include time board
local STEP, KEPT_MS = 50, 60000
local now = now_ms()
if redis.call('HLEN', KEYS[1]) ~= tonumber(ARGV[3]) or redis.call('ZCARD', KEYS[2]) ~= tonumber(ARGV[4]) then
  return {-3, now}
end
local step = redis.call('HSCAN', KEYS[1], ARGV[1], 'COUNT', digits(STEP))
local found = step[2]
local dimensions = tonumber(ARGV[2])
local add = {}
for i = 1, #found, 2 do
  add[#add + 1] = '0'
  add[#add + 1] = checked_place(found[i + 1], dimensions) .. found[i]
end
if #add > 0 then
  redis.call('ZADD', KEYS[2], unpack(add))
end
redis.call('PEXPIRE', KEYS[1], digits(KEPT_MS))
redis.call('PEXPIRE', KEYS[2], digits(KEPT_MS))
return {0, now, step[1], redis.call('ZCARD', KEYS[2])}

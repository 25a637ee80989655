-- Where queue_message_send puts messages that belong to groups and are due (`joining`: group and
-- place in turn). A group without a mark has no blocked messages, so its first message is ready at
-- once, and the next ones are blocked. promote() decides for messages that may be a better head
-- than the present one, for groups that may be held, and where other messages are dropped first.
-- Sets `blocked` and `marks`, adds to `ready`, and touches groups. This part must not know the
-- messages, only their groups and places. Needs queues/lib_queue.lua, and `settings` and `drops` of
-- queue_message_send.
--@include queue_types queue_settings queue_message queue_change queue_plan
rules, group_paused_until = settings[4] and read_rules(settings[4]), tonumber(settings[5] or 0)
local is_strict = rules and rules.order == 'strict'
local may_be_held = rules and rules.group_rate or group_paused_until > 0
local is_limited = rules and (rules.group_concurrency or rules.was_limited)
local heads, of_group = {}, {}
for k = 1, #joining, 2 do
  local group, place = joining[k], joining[k + 1]
  local g = of_group[group]
  if not g then
    local range = { '[' .. group, '(' .. group .. PAST_MARKS }
    local mark = redis.call('ZRANGE', busy_key, range[1], range[2], 'BYLEX', 'LIMIT', '0', '1')[1]
    local kind = mark and mark:sub(#group + 1, #group + 1)
    g = { is_held = kind == HELD and not drops }
    g.waits = drops or not is_strict and kind == TAKEN and is_limited or not kind and may_be_held
    if kind == HEAD or is_strict and kind == TAKEN then
      g.head = mark:sub(#group + 2)
    end
    of_group[group] = g
  end
  if not g.head and not g.is_held and not g.waits then -- it is the head
    g.head, g.is_new = place, true
    heads[#heads + 1] = group
  elseif g.is_new and place:byte() < g.head:byte() then -- a better one of this batch
    g.head, place = place, g.head
    blocked[#blocked + 1] = '0'
    blocked[#blocked + 1] = group .. '\0' .. place
  else
    blocked[#blocked + 1] = '0'
    blocked[#blocked + 1] = group .. '\0' .. place
    if g.waits or g.head and place:byte() < g.head:byte() then
      touch(group)
    end
  end
end
for _, group in ipairs(heads) do
  local place = of_group[group].head
  ready[#ready + 1] = turn_of(place)
  ready[#ready + 1] = place .. group
  marks[#marks + 1] = '0'
  marks[#marks + 1] = group .. (is_strict and TAKEN or HEAD) .. place
end

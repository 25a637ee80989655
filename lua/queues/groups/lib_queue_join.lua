-- join_groups(joining, drops, ready, blocked, marks): the places of new messages that are due, and
-- have a group: `joining` has group and place of each. It adds to `ready`, `blocked` and `marks`
-- what is to be written. With drops, messages of this call's groups go first. Returns the groups
-- whose next message may be another one once that is written.
local function join_groups(joining, drops, ready, blocked, marks)
  local waiting = {}
  local is_strict = queue.rules and queue.rules.order == 'strict'
  local may_be_held = queue.rules and queue.rules.group_rate or queue.group_paused_until > 0
  local is_limited = queue.rules and (queue.rules.group_concurrency or queue.rules.was_limited)
  local heads, of_group = {}, {}
  for k = 1, #joining, 2 do
    local group, place = joining[k], joining[k + 1]
    local g = of_group[group]
    if not g then
      local range = { '[' .. group, '(' .. group .. PAST_MARKS }
      local mark = redis.call('ZRANGE', keys[BUSY], range[1], range[2], 'BYLEX', 'LIMIT', '0', '1')[1]
      local kind = mark and mark:sub(#group + 1, #group + 1)
      g = { is_held = kind == HELD and not drops }
      g.waits = drops or not is_strict and kind == TAKEN and is_limited or not kind and may_be_held
      if kind == HEAD or is_strict and kind == TAKEN then
        g.head = mark:sub(#group + 2)
      end
      of_group[group] = g
    end
    if not g.head and not g.is_held and not g.waits then -- this message is the head
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
        waiting[#waiting + 1] = not waiting[group] and group or nil
        waiting[group] = true
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
  return waiting
end

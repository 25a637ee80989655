-- For each group that was met, its first blocked message becomes its head if there is room for it;
-- otherwise the group may be held. This part writes nothing: lib_receive_write_groups.lua does.
-- Needs the variables of lib_receive_choose.lua.
--@include queue_turn
if queue_count > 1 then
--@include queue_types
  check_groups()
end
for _, of_group in ipairs(q.groups) do
  if of_group.taken > 0 and of_group.rate_stored then
    of_group.room = math.min(of_group.room, q.spend_rate(of_group))
  end
  local name, next_place = of_group.name, nil
  if of_group.is_met and (of_group.room >= 1 or of_group.until_us) then
    for _, order_member in ipairs(redis.call('ZRANGE', order_key, '[' .. name .. '\0', '(' .. name .. '\1', 'BYLEX',
      'LIMIT', '0', digits(of_group.read + 1))) do
      if not q.leaves[order_member] then
        next_place = order_member:sub(#name + 2)
        break
      end
    end
  end
  if of_group.room >= 1 and next_place then
    q.leaves[#q.leaves + 1] = name .. '\0' .. next_place
    q.heads[#q.heads + 1], q.heads[#q.heads + 2] = turn_of(next_place), next_place .. name
    q.gains[#q.gains + 1], q.gains[#q.gains + 2] = '0', name .. (q.is_strict and '\2' or '\1') .. next_place
  elseif of_group.is_met and of_group.until_us and (next_place or q.joins[1]) then
    q.hold(of_group)
  end
end

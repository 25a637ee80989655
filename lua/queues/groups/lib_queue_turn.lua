-- The position of a group's head in `ready`.

-- turn_of(place): the score of a place: behind all messages of its priority that are ready now, and
-- before messages that come later. So groups take turns: in the order of due times, a group with an
-- old backlog would always be first.
local function turn_of(place)
  return place:sub(1, 1) .. instant .. format('.%03d', math.max(16, clock[2] % 1000))
end

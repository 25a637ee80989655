-- First in, first out. wrk does not report which connection a request is for, so what one
-- connection began (a lock that was taken, a message that was received) the next free one
-- continues.
return function()
  local first, last, items = 1, 0, {}
  return {
    push = function(item)
      last = last + 1
      items[last] = item
    end,
    pop = function()
      if first > last then return nil end
      local item = items[first]
      items[first], first = nil, first + 1
      return item
    end,
  }
end

-- star_match(match): prepares a request's `match` (service/call/match.h). It is literal, except
-- that '*', at most twice, matches any bytes; '' matches all. Returns the literal text before the
-- first star, and a function that returns whether a text matches. A Lua pattern is not used: its
-- backtracking would take a fifth of a second. This module must not know what the texts are.
local function star_match(match)
  local parts = {} -- between its stars
  for part in string.gmatch(match .. '*', '([^*]*)%*') do
    parts[#parts + 1] = part
  end
  local head, tail = parts[1], parts[#parts]
  return head, function(text)
    if match == '' or not parts[2] then
      return match == '' or text == match
    elseif #text < #head + #tail or string.sub(text, 1, #head) ~= head then
      return false
    elseif string.sub(text, #text - #tail + 1) ~= tail then
      return false
    end
    local at = not parts[3] or string.find(text, parts[2], #head + 1, true)
    return at == true or at and at + #parts[2] - 1 <= #text - #tail
  end
end

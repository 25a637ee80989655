-- The annotations of a queue: texts for clients, in the field `annotations` of its hash, packed: {
-- name, value, name, value ... }, in the order in which they were first given. The field is absent
-- if there are none. No other script reads them.
--@shape queue_annotation: name text, value text
local MOST_ANNOTATIONS, MOST_ANNOTATION_BYTES = 64, 32768

-- annotations_with(stored, given, from): the list with what is given from index `from` on, and how
-- many bytes it has. A name is followed by '=' and its value, or by '' if it is to be removed.
local function annotations_with(stored, given, from)
  local texts, names = {}, {}
  local function set(name, text)
    if texts[name] == nil then
      names[#names + 1] = name
    end
    texts[name] = text
  end
  for i = 1, #stored, 2 do
    set(stored[i], stored[i + 1])
  end
  for i = from, #given, 2 do
    set(given[i], given[i + 1] ~= '' and given[i + 1]:sub(2))
  end
  local list, bytes = {}, 0
  for _, name in ipairs(names) do
    if texts[name] then
      list[#list + 1], list[#list + 2] = name, texts[name]
      bytes = bytes + #name + #texts[name]
    end
  end
  return list, bytes
end

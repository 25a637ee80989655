-- The usual extension: the message was not cancelled, and the delivery does not end sooner than
-- before. Of the stored state only the end changes, whatever options the message has. This part
-- must not know how many deliveries are extended. Needs `state`, a current one, and `ends`, the new
-- end as text. `is_usual` is false for a state that queue_delivery.lua must look at.
local id, group, marks = '', '', ''
local options = state:find('\t', 32, true)
if options then
  id, group, marks = state:match('^\t%d+\t%d+\t([^\t]*)\t([^\t]*)\t[^\t]*\t([^\t]*)\t', options)
end
local is_usual = marks and not marks:find('c', 1, true) and ends >= state:sub(17, 29)

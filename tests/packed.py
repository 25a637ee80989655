"""MessagePack, as far as cmsgpack in Redis's scripts writes and reads it."""
import struct

INTEGERS = {0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q", 0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q"}
NUMBERS = INTEGERS | {0xCA: ">f", 0xCB: ">d"}
CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}
LENGTHS = {0xD9: ("text", ">B"), 0xDA: ("text", ">H"), 0xDB: ("text", ">I")}
LENGTHS |= {0xDC: ("list", ">H"), 0xDD: ("list", ">I"), 0xDE: ("map", ">H"), 0xDF: ("map", ">I")}


def unpack(data):
    """All values of some bytes."""
    values, at = [], 0
    while at < len(data):
        value, at = unpack_one(data, at)
        values.append(value)
    return values


def unpack_one(data, at):
    head, at = data[at], at + 1
    if head < 0x80 or head >= 0xE0:
        return head if head < 0x80 else head - 0x100, at
    if head in CONSTANTS:
        return CONSTANTS[head], at
    if head in NUMBERS:
        return struct.unpack_from(NUMBERS[head], data, at)[0], at + struct.calcsize(NUMBERS[head])
    if head in LENGTHS:
        kind, form = LENGTHS[head]
        count, at = struct.unpack_from(form, data, at)[0], at + struct.calcsize(form)
    else:
        kind = "map" if head < 0x90 else "list" if head < 0xA0 else "text"
        count = head & (0x1F if kind == "text" else 0x0F)
    if kind == "text":
        return data[at : at + count].decode("utf-8", "surrogateescape"), at + count
    items = []
    for _ in range(2 * count if kind == "map" else count):
        item, at = unpack_one(data, at)
        items.append(item)
    return (dict(zip(items[::2], items[1::2])) if kind == "map" else items), at


def pack(value):
    if isinstance(value, dict):
        return b"\xdf" + struct.pack(">I", len(value)) + b"".join(pack(one) for item in value.items() for one in item)
    if isinstance(value, list):
        return b"\xdd" + struct.pack(">I", len(value)) + b"".join(map(pack, value))
    if isinstance(value, str):
        data = value.encode("utf-8", "surrogateescape")
        return b"\xdb" + struct.pack(">I", len(data)) + data
    for head, constant in CONSTANTS.items():
        if value is constant:
            return bytes([head])
    return b"\xd3" + struct.pack(">q", value) if isinstance(value, int) else b"\xcb" + struct.pack(">d", value)

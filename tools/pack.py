"""What service/call/packed.h reads: bytes compressed by the build, as a C string, which compilers and their kin read faster than a table."""
import subprocess


def c_pack(name, data):
    """The lines that define `struct pack name`, which inflates to `data` (bytes)."""
    small = subprocess.run(["zstd", "--ultra", "-22", "--quiet", "--stdout"], input=data, stdout=subprocess.PIPE, check=True).stdout
    rows = [small[i:i + 32] for i in range(0, len(small), 32)]
    return [f"static const unsigned char {name}_bytes[] =",
            *['\t"' + "".join(f"\\{byte:03o}" for byte in row) + '"' for row in rows], "\t;",
            f"static struct pack {name} = {{ {name}_bytes, sizeof({name}_bytes) - 1, {len(data)}, NULL }};"]

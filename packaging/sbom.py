#!/usr/bin/env python3
"""packaging/sbom.py VERSION DIST: what a release consists of, as SPDX 2.3 in JSON, on standard
output.

The source and its files in DIST, the npm packages whose files are in the program
(web/package-lock.json), and the Debian packages that the images have code of, as
var/lib/dpkg/status.d in each of them names these.
"""
import datetime
import hashlib
import json
import os
import pathlib
import re
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def element(name):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def package(name, version, license_id, purl=None, file=None):
    entry = {
        "SPDXID": element(name),
        "name": name,
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": license_id,
        "licenseDeclared": license_id,
        "copyrightText": "NOASSERTION",
    }
    if purl:
        entry["externalRefs"] = [
            {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}
        ]
    if file:
        entry["packageFileName"] = file.name
        entry["checksums"] = [{"algorithm": "SHA256", "checksumValue": hashlib.sha256(file.read_bytes()).hexdigest()}]
    return entry


def npm_packages():
    wanted = json.loads((ROOT / "web" / "package.json").read_text(encoding="utf-8"))["dependencies"]
    locked = json.loads((ROOT / "web" / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    for name in sorted(wanted):
        found = locked[f"node_modules/{name}"]
        yield package(name, found["version"], found["license"], f"pkg:npm/{name}@{found['version']}")


def debian_packages(image):
    """Of all layers of the images in a folder of skopeo in a tar, of all architectures."""
    with tarfile.open(image) as archive:
        read = lambda name: archive.extractfile(f"./{name}")
        hash_of = lambda thing: thing["digest"].partition(":")[2]
        both = json.load(read("manifest.json"))["manifests"]
        images = [json.load(read(f"{hash_of(one)}.manifest.json")) for one in both]
        for layer in (layer for one in images for layer in one["layers"]):
            with tarfile.open(fileobj=read(hash_of(layer))) as files:
                for member in sorted(files.getmembers(), key=lambda m: m.name):
                    if member.isfile() and "var/lib/dpkg/status.d/" in member.name:
                        status = files.extractfile(member).read().decode()
                        fields = dict(re.findall(r"^([A-Z][A-Za-z-]*): (.*)$", status, re.M))
                        name, version, arch = fields["Package"], fields["Version"], fields["Architecture"]
                        purl = f"pkg:deb/debian/{name}@{version}?arch={arch}&distro=debian-13"
                        yield package(name, version, "NOASSERTION", purl) | {"SPDXID": element(f"{name}-{arch}")}


def main():
    version, dist = sys.argv[1], pathlib.Path(sys.argv[2])
    made = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    source = package("patternd", version, "MIT", file=dist / f"patternd-{version}.tar.gz")
    files = [
        package(file.name, version, "MIT", file=file)
        for file in sorted(dist.iterdir())
        if file.suffix != ".json" and file.name not in (source["packageFileName"], "SHA256SUMS")
    ]
    npm = list(npm_packages())
    images = {image.name: list(debian_packages(image)) for image in sorted(dist.glob("*-image.tar"))}
    debian = {entry["SPDXID"]: entry for entries in images.values() for entry in entries}
    relation = lambda one, kind, other: {
        "spdxElementId": one,
        "relationshipType": kind,
        "relatedSpdxElement": other,
    }
    relations = [relation("SPDXRef-DOCUMENT", "DESCRIBES", p["SPDXID"]) for p in [source, *files]]
    relations += [relation(p["SPDXID"], "GENERATED_FROM", source["SPDXID"]) for p in files]
    relations += [relation(source["SPDXID"], "CONTAINS", p["SPDXID"]) for p in npm]
    relations += [
        relation(element(image), "CONTAINS", entry["SPDXID"]) for image, entries in images.items() for entry in entries
    ]
    json.dump(
        {
            "spdxVersion": "SPDX-2.3",
            "dataLicense": "CC0-1.0",
            "SPDXID": "SPDXRef-DOCUMENT",
            "name": f"patternd-{version}",
            "documentNamespace": f"https://patternd.invalid/spdx/{version}/{source['checksums'][0]['checksumValue']}",
            "creationInfo": {
                "created": made.strftime("%Y-%m-%dT%H:%M:%SZ"),
                "creators": ["Tool: packaging/sbom.py"],
            },
            "packages": [source, *files, *npm, *debian.values()],
            "relationships": relations,
        },
        sys.stdout,
        indent=2,
    )
    print()


main()

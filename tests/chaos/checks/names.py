"""A list has exactly the names that exist, because the script that creates a name also adds it to
the index.
"""


def check(history, findings):
    pages = [call for call in history.of("name.list", on="sets") if call.is_ok]
    listed = [item["name"] for page in pages for item in page.got["items"]]
    for final in (call for call in history.all_of("name.final") if call.is_ok):
        exists, times = final.got["size"] > 0, listed.count(final.on)
        if times != exists:
            findings.violation("names", f"{final.on} is listed {times} times, and {exists=}", final, *pages)
    findings.count("names listed", len(listed))

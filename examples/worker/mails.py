#!/usr/bin/env python3
"""A worker for a queue of mails, until SIGTERM; its test is test_mails.py."""
from patternd import Client


def work_mails(client, deliver, **options):
    def handle(message):
        if "@" not in message.body.get("to", ""):
            raise ValueError(f"{message.body.get('to')!r} is no address")  # comes again, and is dead at last
        deliver(message.body["to"], message.body["text"])

    client.queue("mails").work(handle, **options)


if __name__ == "__main__":
    work_mails(
        Client(),
        lambda to, text: print(f"a mail to {to}", flush=True),
        concurrency=10,
    )

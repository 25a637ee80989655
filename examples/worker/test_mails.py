"""The worker, tested beside its own daemon: pytest examples/worker"""
import threading
import time

from mails import work_mails


def test_each_mail_is_delivered_and_one_without_an_address_is_dead(patternd_client):
    mails = patternd_client.queue("mails")
    mails.put(max_receives=1)
    mails.send_many([{"body": {"to": "ann@example.org", "text": "hello"}}, {"body": {"to": "bob"}, "id": "wrong"}])
    delivered, stop = [], threading.Event()
    deliver = lambda to, text: delivered.append(to)  # noqa: E731
    worker = threading.Thread(target=work_mails, args=(patternd_client, deliver), kwargs={"stop": stop})
    worker.start()
    while mails.get()["dead"] == 0:
        time.sleep(0.02)
    stop.set()
    worker.join()
    assert delivered == ["ann@example.org"]
    assert "'bob' is no address" in mails.get_message("wrong")["reason"]

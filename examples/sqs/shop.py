# pip install 'celery[sqs]'; celery -A shop worker; python3 -c 'import shop; shop.ship.delay(15)'
from celery import Celery

app = Celery("shop", broker="sqs://any:any@127.0.0.1:8379//")
app.conf.task_default_queue = "orders"
app.conf.broker_transport_options = {"region": "us-east-1", "visibility_timeout": 3600}
app.conf.worker_enable_remote_control = False  # it would make a queue for each worker

@app.task(acks_late=True)
def ship(order):
    print("ships order", order)

import json
import boto3

sqs = boto3.client("sqs")
url = sqs.create_queue(QueueName="orders")["QueueUrl"]
sqs.send_message(QueueUrl=url, MessageBody=json.dumps({"order": 15}))
for message in sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20).get("Messages", []):
    print("ships order", json.loads(message["Body"])["order"])
    sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])

import { SQS } from '@aws-sdk/client-sqs';

const sqs = new SQS({});
const { QueueUrl } = await sqs.createQueue({ QueueName: 'orders' });
await sqs.sendMessage({ QueueUrl, MessageBody: JSON.stringify({ order: 15 }) });
const { Messages = [] } = await sqs.receiveMessage({ QueueUrl, WaitTimeSeconds: 20 });
for (const { Body, ReceiptHandle } of Messages) {
  console.log('ships order', JSON.parse(Body).order);
  await sqs.deleteMessage({ QueueUrl, ReceiptHandle });
}

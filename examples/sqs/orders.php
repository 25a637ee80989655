<?php // composer require aws/aws-sdk-php
require 'vendor/autoload.php';
$sqs = new Aws\Sqs\SqsClient(['region' => 'us-east-1']);
$url = $sqs->createQueue(['QueueName' => 'orders'])['QueueUrl'];
$sqs->sendMessage(['QueueUrl' => $url, 'MessageBody' => json_encode(['order' => 15])]);
$answer = $sqs->receiveMessage(['QueueUrl' => $url, 'WaitTimeSeconds' => 20]);
foreach ($answer['Messages'] ?? [] as $message) {
    echo 'ships order ', json_decode($message['Body'])->order, "\n";
    $sqs->deleteMessage(['QueueUrl' => $url, 'ReceiptHandle' => $message['ReceiptHandle']]);
}

<?php // config/queue.php of Laravel; composer require aws/aws-sdk-php
return [
    'default' => 'sqs',
    'connections' => ['sqs' => [
        'driver' => 'sqs',
        'endpoint' => env('AWS_ENDPOINT_URL_SQS', 'http://127.0.0.1:8379'),
        'prefix' => env('AWS_ENDPOINT_URL_SQS', 'http://127.0.0.1:8379').'/000000000000',
        'key' => env('AWS_ACCESS_KEY_ID', 'any'),
        'secret' => env('AWS_SECRET_ACCESS_KEY', 'any'),
        'token' => env('AWS_SESSION_TOKEN'), // the token, with --tokens
        'queue' => 'default',
        'region' => 'us-east-1',
    ]],
];

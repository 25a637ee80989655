<?php // php -S 127.0.0.1:3000 mails.php
$mail = json_decode(file_get_contents('php://input'), true);
if (!isset($mail['to'])) {
    header('Patternd-Dead: the mail has no address'); // no other try will help
    exit;
}
file_put_contents('php://stdout', "a mail to {$mail['to']}\n");
http_response_code(204);

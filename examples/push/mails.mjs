import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';

async function send(request, response) {
  const mail = await json(request);
  console.log('a mail to', mail.to);
  response.writeHead(204).end();
}

const failed = (response) => (error) => response.writeHead(500).end(String(error)); // a failed delivery
const server = createServer((request, response) => send(request, response).catch(failed(response)));
server.listen(process.env.PORT ?? 3000, '127.0.0.1');

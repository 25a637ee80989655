// Express 5: a limit for each user, and jobs that are sent once. node express_app.mjs
import express from 'express';
import { Client, Problem } from 'patternd';

const patternd = new Client(undefined, { timeoutMs: 1500 });
const app = express();

app.use(async (request, response, next) => {
  const user = request.get('X-User') ?? request.ip; // in your program: what the login verified
  let decision;
  try {
    decision = await patternd.limit(user, { policy: 'api' });
  } catch (error) {
    console.warn('no decision, so the request is served:', error.message);
  }
  if (!decision || decision.allowed) {
    return next();
  }
  response.set('Retry-After', String(Math.ceil(decision.retryAfterMs / 1000)));
  response.status(429).json({ error: 'too many requests' });
});

app.post('/orders/:order', async (request, response) => {
  const order = Number(request.params.order);
  const sent = await patternd.queue('mails').send({ order }, { id: `order-${order}` });
  response.status(202).json({ order, repeated: sent.duplicate });
});

app.get('/', (request, response) => response.json({ hello: 'world' }));

app.use((error, request, response, next) => {
  if (!(error instanceof Problem)) {
    return next(error);
  }
  console.error(error.message);
  response.set('Retry-After', '1').status(503).json({ error: 'try again' });
});

app.listen(process.env.PORT ?? 3000, '127.0.0.1');

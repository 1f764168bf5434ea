// Runs Fastify with its own rate limiter. Arguments: the store (`none`, `memory` or `redis`) and the port of Redis.
import rateLimit from '@fastify/rate-limit'
import fastify from 'fastify'
import { Redis } from 'ioredis'
import { announceServerUrl } from '../../kernel/announce.ts'

const [, , limit = 'none', port] = process.argv
const app = fastify()
if (limit !== 'none') {
  const redis = limit === 'redis' ? { redis: new Redis({ port: Number(port) }) } : {}
  await app.register(rateLimit, { max: 1e12, timeWindow: 3_600_000, ...redis })
}
const integer = { type: 'integer' }
const string = { type: 'string' }
const data = { type: 'object', properties: { id: integer, title: string } }
const envelope = { type: 'object', properties: { code: string, message: string, data } }
app.get(
  '/api/v1/bench/articles/:id',
  { schema: { params: { type: 'object', properties: { id: integer } }, response: { 200: envelope } } },
  async ({ params: { id } }) => ({ code: '200', message: 'success', data: { id, title: 'A title' } }),
)
announceServerUrl(await app.listen({ host: '127.0.0.1', port: 0 }))

/**
 * Node.js without a framework: it responds to `/health/live` and rejects all other requests. No product can respond
 * faster.
 */
import { createServer } from 'node:http'

const body = JSON.stringify({ code: '503', message: 'Too much.', data: null })
const headers = { 'content-type': 'application/json', 'content-length': body.length, 'retry-after': '1' }
const server = createServer(({ url }, response) => {
  if (url === '/health/live') response.end()
  else response.writeHead(503, headers).end(body)
})
server.listen({ host: '127.0.0.1', port: 0, backlog: 4096 }, () => {
  const address = server.address()
  if (typeof address === 'object') process.send?.(address?.port)
})
process.once('disconnect', () => process.exit())

import { writeSync } from 'node:fs'
import fastify from 'fastify'

const app = fastify()
await app.listen({ host: '127.0.0.1', port: 0 })
writeSync(1, 'ready\n')

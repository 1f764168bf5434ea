import fastify from 'fastify'
import { announceServerUrl } from '../announce.ts'
import {
  articleOf,
  articleParamsSchema,
  articlePath,
  articleSchema,
  envelopeSchema,
  type OrderRequest,
  orderOf,
  orderPath,
  orderRequestSchema,
  orderSchema,
  successEnvelope,
} from '../exchange.ts'

const app = fastify()
// Adds the three header fields that Plinth sends with every response, and nothing else of Plinth.
if (process.argv[2] === 'same-headers') {
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-trace-id', request.id)
    reply.header('x-content-type-options', 'nosniff')
    reply.header('cache-control', 'no-store')
    done()
  })
}
app.get<{ Params: { id: number } }>(
  articlePath,
  { schema: { params: articleParamsSchema, response: { 200: envelopeSchema(articleSchema) } } },
  async (request) => successEnvelope(articleOf(request.params.id)),
)
app.post<{ Body: OrderRequest }>(
  orderPath,
  { schema: { body: orderRequestSchema, response: { 200: envelopeSchema(orderSchema) } } },
  async (request) => successEnvelope(orderOf(request.body)),
)
announceServerUrl(await app.listen({ host: '127.0.0.1', port: 0 }))

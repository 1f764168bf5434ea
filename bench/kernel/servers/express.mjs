// This file is JavaScript, because Express has no types.
import { Ajv } from 'ajv'
import express from 'express'
import { announceServerUrl } from '../announce.ts'
import {
  articleOf,
  articleParamsSchema,
  articlePath,
  orderOf,
  orderPath,
  orderRequestSchema,
  successEnvelope,
} from '../exchange.ts'

const validArticleParams = new Ajv({ coerceTypes: true }).compile(articleParamsSchema)
const validOrder = new Ajv().compile(orderRequestSchema)

const checked = (valid, part) => (request, response, next) => {
  if (valid(request[part])) next()
  else response.status(400).json({ code: '400', message: 'invalid', data: valid.errors })
}

const app = express()
app.disable('x-powered-by')
// ETags are off, because no other server computes them.
app.disable('etag')
app.get(articlePath, checked(validArticleParams, 'params'), (request, response) => {
  response.json(successEnvelope(articleOf(request.params.id)))
})
app.post(orderPath, express.json(), checked(validOrder, 'body'), (request, response) => {
  response.json(successEnvelope(orderOf(request.body)))
})
const server = app.listen(0, '127.0.0.1', () => announceServerUrl(`http://127.0.0.1:${server.address().port}`))

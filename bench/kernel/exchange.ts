/** Requests and responses that are the same for all servers, byte for byte. */

export const articlePath = '/api/v1/bench/articles/:id'
export const orderPath = '/api/v1/bench/orders'

export interface Article {
  readonly id: number
  readonly title: string
  readonly author: { readonly id: number; readonly name: string }
  readonly tags: readonly string[]
  readonly published: boolean
  readonly createdAt: string
}

export interface OrderRequest {
  readonly sku: string
  readonly quantity: number
  readonly recipient: { readonly name: string; readonly phone: string }
  readonly tags: readonly string[]
}

export interface Order {
  readonly id: number
  readonly sku: string
  readonly quantity: number
  readonly totalCents: number
  readonly recipientName: string
  readonly tags: readonly string[]
}

export function articleOf(id: number): Article {
  return {
    id,
    title: 'How a plugin kernel starts',
    author: { id: 7, name: 'Ada Lovelace' },
    tags: ['kernel', 'plugins', 'start'],
    published: true,
    createdAt: '2026-01-02T03:04:05.678Z',
  }
}

export function orderOf({ sku, quantity, recipient, tags }: OrderRequest): Order {
  return { id: 4711, sku, quantity, totalCents: quantity * 1299, recipientName: recipient.name, tags }
}

/** Returns the envelope of a success, for servers that do not create envelopes. */
export const successEnvelope = <T>(data: T) => ({ code: '200', message: 'success', data })

const integer = { type: 'integer' }
const text = { type: 'string' }
const texts = { type: 'array', items: text }
const object = <P extends Record<string, object>>(properties: P) => ({
  type: 'object',
  required: Object.keys(properties),
  properties,
})

export const articleParamsSchema = object({ id: integer })
export const articleSchema = object({
  id: integer,
  title: text,
  author: object({ id: integer, name: text }),
  tags: texts,
  published: { type: 'boolean' },
  createdAt: text,
})
export const orderRequestSchema = object({
  sku: { type: 'string', minLength: 1, maxLength: 32 },
  quantity: { type: 'integer', minimum: 1, maximum: 1000 },
  recipient: object({
    name: { type: 'string', minLength: 1, maxLength: 100 },
    phone: { type: 'string', pattern: '^\\+[0-9]{6,15}$' },
  }),
  tags: { type: 'array', maxItems: 10, items: { type: 'string', minLength: 1, maxLength: 20 } },
})
export const orderSchema = object({
  id: integer,
  sku: text,
  quantity: integer,
  totalCents: integer,
  recipientName: text,
  tags: texts,
})
export const envelopeSchema = (data: object) => object({ code: text, message: text, data })

export interface Exchange {
  readonly name: 'GET' | 'POST'
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: string
  /** Parsed body of the expected response. */
  readonly answer: object
  /** Invalid request to the route of this exchange. The server must reject it. */
  readonly refused: { readonly path: string; readonly body?: string }
}

const order: OrderRequest = {
  sku: 'KRN-0001-BLUE',
  quantity: 3,
  recipient: { name: 'Grace Hopper', phone: '+4915112345678' },
  tags: ['gift', 'express'],
}

export const exchanges: readonly Exchange[] = [
  {
    name: 'GET',
    method: 'GET',
    path: articlePath.replace(':id', '42'),
    answer: successEnvelope(articleOf(42)),
    refused: { path: articlePath.replace(':id', 'forty-two') },
  },
  {
    name: 'POST',
    method: 'POST',
    path: orderPath,
    body: JSON.stringify(order),
    answer: successEnvelope(orderOf(order)),
    refused: { path: orderPath, body: JSON.stringify({ ...order, recipient: { ...order.recipient, phone: 'none' } }) },
  },
]

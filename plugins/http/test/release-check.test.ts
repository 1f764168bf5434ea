/**
 * Tests compatible and breaking changes of an API. Each change is applied to an API description, and `plinth openapi
 * --previous` must classify it correctly. The list of changes comes from the requirements (document 1 of the
 * specification, "Versioning").
 */
import { isDeepStrictEqual } from 'node:util'
import { breakingChanges } from '@plinth/dev/openapi'
import t from 'tap'

interface Row {
  /** The change as the requirements describe it. */
  readonly change: string
  /** Applies the change to an API. */
  readonly plant: (api: Api) => void
  /** Expected messages; undefined for a compatible change. */
  readonly expected?: readonly string[]
}

type Api = ReturnType<typeof description>

const path = '/api/v1/shop/items/{id}'
const place = `PUT ${path}`
const list = 'GET /api/v1/shop/items'
const post = 'POST /api/v1/shop/items'

/** Returns a small API: a list, and an operation that changes one item. */
function description() {
  const text = (): Record<string, unknown> => ({ type: 'string' })
  const properties = (members: Record<string, unknown>): Record<string, unknown> => members
  const item = {
    type: 'object' as string,
    required: ['id', 'state'],
    properties: properties({
      id: { type: 'integer' },
      state: { enum: ['new', 'sold'] },
      soldAt: { type: 'string', format: 'date-time' },
      stock: { type: 'integer', minimum: 0, maximum: 100 },
    }),
  }
  const failure = {
    type: 'object',
    required: ['code', 'message', 'data'],
    properties: {
      code: text(),
      message: text(),
      data: {
        anyOf: [{ type: 'object', properties: properties({ reason: text(), field: text() }) }, { type: 'null' }],
      },
    },
  }
  const success = (data: object) => ({
    type: 'object',
    required: ['code', 'data'],
    properties: { code: { type: 'string', const: '200' }, data },
  })
  const json = (data: object): Record<string, object> => ({
    'application/json': { schema: { anyOf: [success(data), { $ref: '#/components/schemas/Failure' }] } },
  })
  const parameter = (name: string, schema: Record<string, unknown>): Record<string, unknown> => ({
    name,
    in: 'query',
    required: false,
    schema,
  })
  const getList = {
    operationId: 'getShopItems',
    security: [] as object[],
    'x-data-scope': 'caller',
    parameters: [
      parameter('page', { type: 'integer', minimum: 1 }),
      parameter('size', { type: 'integer', default: 20 }),
    ],
    responses: { '200': { content: json({ type: 'array', items: item }) } },
  }
  const body = {
    type: 'object',
    required: ['name'],
    properties: properties({
      name: text(),
      note: text(),
      notify: { type: 'boolean', default: true },
      colour: { enum: ['red', 'blue'] },
      weight: { type: 'integer' },
      price: { type: 'number' },
    }),
  }
  const put = {
    operationId: 'putShopItemsById',
    security: [{ bearer: [] }] as object[],
    'x-permission': 'shop:item:update',
    'x-data-scope': 'caller',
    'x-reasons': { 'shop.item-unknown': '404', 'shop.item-sold': '409' } as Record<string, string>,
    parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'integer' } }],
    requestBody: { required: true, content: { 'application/json': { schema: body } } },
    responses: { '200': { content: json({ $ref: '#/components/schemas/Item' }) } },
  }
  const signature: Record<string, unknown> = {
    type: 'apiKey',
    in: 'header',
    name: 'X-Signature',
    description: 'HMAC of these lines.',
    'x-canonical-string': ['method', 'path', 'body'],
  }
  const post = {
    operationId: 'postShopItems',
    security: [] as object[],
    parameters: [] as Record<string, unknown>[],
    requestBody: { required: false, content: { 'application/json': { schema: body } } },
    responses: { '200': { content: json({ type: 'null' }) } },
  }
  const paths: Record<string, Record<string, object>> = {
    '/api/v1/shop/items': { get: getList, post },
    [path]: { put },
  }
  const reasons: Record<string, string> = { 'shop.item-unknown': '404', 'shop.item-sold': '409' }
  return {
    info: { version: '1.0.0' },
    servers: [{ url: 'https://shop.example' }],
    paths,
    'x-reasons': reasons,
    components: { schemas: { Item: item, Failure: failure }, securitySchemes: { signature } },
    // The objects of the description by name, so that a row of the table can change one of them.
    parts: { item, failure, list: getList, post, put, body, json, parameter, signature },
  }
}

const rows: readonly Row[] = [
  // Compatible changes.
  {
    change: 'new optional request field (old behaviour when omitted)',
    plant({ parts }) {
      parts.body.properties['size'] = { type: 'string', default: 'small' }
    },
  },
  {
    change: 'new response field',
    plant({ parts }) {
      parts.item.properties['rating'] = { type: 'integer' }
      parts.item.required.push('rating')
    },
  },
  {
    change: 'new endpoint',
    plant({ paths, parts }) {
      paths['/api/v1/shop/baskets'] = { get: { ...parts.list, operationId: 'getBaskets' } }
    },
  },
  {
    change: 'new optional query condition',
    plant({ parts }) {
      parts.list.parameters.push(parts.parameter('state', { type: 'string' }))
    },
  },
  {
    change: 'new enum value',
    plant({ parts }) {
      parts.item.properties['state'] = { enum: ['new', 'sold', 'reserved'] }
    },
  },
  {
    change: 'new business code that leaves old codes unchanged',
    plant(api) {
      api['x-reasons']['shop.item-reserved'] = '409'
    },
  },
  {
    change: 'one more way to prove who calls',
    plant({ parts }) {
      parts.put.security.push({ cookie: [] })
    },
  },
  {
    change: 'wider limits of a request field',
    plant({ parts }) {
      parts.body.properties['note'] = { type: ['string', 'null'] }
    },
  },
  // Breaking changes.
  {
    change: 'removing a field of a response',
    plant({ parts }) {
      delete parts.item.properties['state']
      parts.item.required.pop()
    },
    expected: [`${list}: answer.data[].state is gone`, `${place}: answer.data.state is gone`],
  },
  {
    change: 'removing a field of a request',
    plant({ parts }) {
      delete parts.body.properties['note']
    },
    expected: [`${post}: body.note is gone`, `${place}: body.note is gone`],
  },
  {
    change: 'removing a query condition',
    plant({ parts }) {
      parts.list.parameters.pop()
    },
    expected: [`${list}: query size is gone`],
  },
  {
    change: 'renaming a field',
    plant({ parts }) {
      delete parts.body.properties['name']
      parts.body.properties['title'] = { type: 'string' }
      parts.body.required = ['title']
    },
    expected: [post, place].flatMap((name) => [`${name}: body.name is gone`, `${name}: body.title is now required`]),
  },
  {
    change: 'changing field meaning: another type',
    plant({ parts }) {
      parts.item.properties['id'] = { type: 'string' }
    },
    expected: [`${list}: answer.data[].id was integer, is string`, `${place}: answer.data.id was integer, is string`],
  },
  {
    change: 'changing field meaning: another default of a condition',
    plant({ parts }) {
      parts.list.parameters[1] = parts.parameter('size', { type: 'integer', default: 200 })
    },
    expected: [`${list}: query size has the default 200, not 20`],
  },
  {
    change: 'changing field meaning: a request field without its default',
    plant({ parts }) {
      parts.body.properties['notify'] = { type: 'boolean' }
    },
    expected: [post, place].map((name) => `${name}: body.notify has the default none, not true`),
  },
  {
    change: 'changing field meaning: a value of a request that is no longer known',
    plant({ parts }) {
      parts.body.properties['colour'] = { enum: ['red'] }
    },
    expected: [`${post}: body.colour knows blue no more`, `${place}: body.colour knows blue no more`],
  },
  {
    change: 'changing field meaning: declared members become a free-form object',
    plant({ components }) {
      Object.assign(components.schemas, { Item: { type: 'object', additionalProperties: true } })
    },
    expected: [`${place}: answer.data declares no members any more`],
  },
  {
    change: 'changing field meaning: JSON becomes a file',
    plant({ parts }) {
      parts.put.responses['200'].content = { 'text/csv': {} }
    },
    expected: [`${place}: answer is no longer application/json`],
  },
  {
    change: 'changing field meaning: a response field may be missing',
    plant({ parts }) {
      parts.item.required.pop()
    },
    expected: [`${list}: answer.data[].state may be missing now`, `${place}: answer.data.state may be missing now`],
  },
  {
    change: 'adding a required field',
    plant({ parts }) {
      parts.body.properties['code'] = { type: 'integer' }
      parts.body.required.push('code')
    },
    expected: [`${post}: body.code is now required`, `${place}: body.code is now required`],
  },
  {
    change: 'adding a required query condition',
    plant({ parts }) {
      parts.list.parameters.push({ ...parts.parameter('shop', {}), required: true })
    },
    expected: [`${list}: query shop is now required`],
  },
  {
    change: 'changing a route',
    plant({ paths, parts }) {
      delete paths[path]
      paths['/api/v1/shop/goods/{id}'] = { put: parts.put }
    },
    expected: [`${place} is gone`],
  },
  {
    change: 'changing the HTTP method',
    plant({ paths, parts }) {
      paths[path] = { patch: parts.put }
    },
    expected: [`${place} is gone`],
  },
  {
    change: 'changing paging semantics (1-based to 0-based)',
    plant({ parts }) {
      parts.list.parameters[0] = parts.parameter('page', { type: 'integer', minimum: 0 })
    },
    expected: [`${list}: query page starts at 0, not at 1`],
  },
  {
    change: 'changing authentication (public to login-required)',
    plant({ parts }) {
      parts.list.security.push({ bearer: [] })
    },
    expected: [`${list}: access changed to {"bearer":[]}`],
  },
  {
    change: 'changing authentication (another permission)',
    plant({ parts }) {
      parts.put['x-permission'] = 'shop:item:admin'
    },
    expected: [`${place}: access changed to shop:item:admin`],
  },
  {
    change: 'changing scope (only callers with the data scope all)',
    plant({ parts }) {
      parts.put['x-data-scope'] = 'all'
    },
    expected: [`${place}: only callers with the data scope "all" are allowed now`],
  },
  {
    change: 'changing the signature rules (canonical string)',
    plant({ parts }) {
      parts.signature['x-canonical-string'] = ['path', 'method', 'body']
    },
    expected: ['security scheme signature changed'],
  },
  {
    change: 'changing the signature rules (header)',
    plant({ parts }) {
      parts.signature['name'] = 'X-Sign'
    },
    expected: ['security scheme signature changed'],
  },
  {
    change: 'changing the meaning of an error code',
    plant(api) {
      api['x-reasons']['shop.item-sold'] = '400'
    },
    expected: ['reason shop.item-sold has the code 400, not 409'],
  },
  {
    change: 'changing the meaning of an error code: a reason that is gone',
    plant(api) {
      delete api['x-reasons']['shop.item-unknown']
    },
    expected: ['reason shop.item-unknown is gone'],
  },
  {
    change: 'removing a field of failures',
    plant({ parts }) {
      delete (parts.failure.properties.data.anyOf[0] as Api['parts']['body']).properties['reason']
    },
    expected: [list, post, place].map((name) => `${name}: answer.data.reason is gone`),
  },
  // Each pair: a change, and the change in the opposite direction.
  {
    change: 'an optional body becomes required',
    plant({ parts }) {
      parts.post.requestBody.required = true
    },
    expected: [`${post}: body is now required`],
  },
  {
    change: 'a required body becomes optional',
    plant({ parts }) {
      parts.put.requestBody.required = false
    },
  },
  {
    change: 'an operation has another code for a reason',
    plant({ parts }) {
      parts.put['x-reasons']['shop.item-sold'] = '400'
    },
    expected: [`${place}: reason shop.item-sold has the code 400, not 409`],
  },
  {
    change: 'an operation has another reason for a failure',
    plant(api) {
      api['x-reasons']['shop.item-gone'] = '409'
      delete api.parts.put['x-reasons']['shop.item-sold']
      api.parts.put['x-reasons']['shop.item-gone'] = '409'
    },
    expected: [`${place}: reason shop.item-sold is gone`],
  },
  {
    change: 'an operation has a further reason',
    plant(api) {
      api['x-reasons']['shop.item-reserved'] = '409'
      api.parts.put['x-reasons']['shop.item-reserved'] = '409'
    },
  },
  {
    change: 'a response field has no format any more',
    plant({ parts }) {
      parts.item.properties['soldAt'] = { type: 'string' }
    },
    expected: [
      `${list}: answer.data[].soldAt is wider: format none`,
      `${place}: answer.data.soldAt is wider: format none`,
    ],
  },
  {
    change: 'a response field has a format',
    plant({ parts }) {
      parts.item.properties['id'] = { type: 'integer', format: 'int64' }
    },
  },
  {
    change: 'a request field has a format',
    plant({ parts }) {
      parts.body.properties['note'] = { type: 'string', format: 'email' }
    },
    expected: [post, place].map((name) => `${name}: body.note is stricter: format email`),
  },
  {
    change: 'the maximum of a response field rises',
    plant({ parts }) {
      parts.item.properties['stock'] = { type: 'integer', minimum: 0, maximum: 1000 }
    },
    expected: [
      `${list}: answer.data[].stock is wider: maximum 1000`,
      `${place}: answer.data.stock is wider: maximum 1000`,
    ],
  },
  {
    change: 'the minimum of a response field falls',
    plant({ parts }) {
      parts.item.properties['stock'] = { type: 'integer', minimum: -1, maximum: 100 }
    },
    expected: [`${list}: answer.data[].stock is wider: minimum -1`, `${place}: answer.data.stock is wider: minimum -1`],
  },
  {
    change: 'a response field has no maximum any more',
    plant({ parts }) {
      parts.item.properties['stock'] = { type: 'integer', minimum: 0 }
    },
    expected: [
      `${list}: answer.data[].stock is wider: maximum none`,
      `${place}: answer.data.stock is wider: maximum none`,
    ],
  },
  {
    change: 'the limits of a response field are closer',
    plant({ parts }) {
      parts.item.properties['stock'] = { type: 'integer', minimum: 1, maximum: 10 }
    },
  },
  {
    change: 'a query condition is written in another style',
    plant({ parts }) {
      parts.list.parameters[1] = { ...parts.list.parameters[1], style: 'pipeDelimited' }
    },
    expected: [`${list}: query size has style pipeDelimited, explode false, not style form, explode true`],
  },
  {
    change: 'a query condition is not repeated any more',
    plant({ parts }) {
      parts.list.parameters[1] = { ...parts.list.parameters[1], explode: false }
    },
    expected: [`${list}: query size has style form, explode false, not style form, explode true`],
  },
  {
    change: 'a query condition states its default style',
    plant({ parts }) {
      parts.list.parameters[1] = { ...parts.list.parameters[1], style: 'form', explode: true }
    },
  },
  {
    change: 'a server is gone',
    plant(api) {
      api.servers = [{ url: 'https://other.example' }]
    },
    expected: ['server https://shop.example is gone'],
  },
  {
    change: 'a further server',
    plant(api) {
      api.servers.push({ url: 'https://other.example' })
    },
  },
  {
    change: 'a request field also accepts fractions',
    plant({ parts }) {
      parts.body.properties['weight'] = { type: 'number' }
    },
  },
  {
    change: 'a request field accepts only integers',
    plant({ parts }) {
      parts.body.properties['price'] = { type: 'integer' }
    },
    expected: [post, place].map((name) => `${name}: body.price was number, is integer`),
  },
  {
    change: 'a response field may be a fraction',
    plant({ parts }) {
      parts.item.properties['id'] = { type: 'number' }
    },
    expected: [`${list}: answer.data[].id was integer, is number`, `${place}: answer.data.id was integer, is number`],
  },
  {
    change: 'a response has a value no more',
    plant({ parts }) {
      parts.item.properties['state'] = { enum: ['new'] }
    },
  },
  {
    change: 'a request accepts a further value',
    plant({ parts }) {
      parts.body.properties['colour'] = { enum: ['red', 'blue', 'green'] }
    },
  },
  {
    change: 'a path parameter has another name',
    plant({ paths, parts }) {
      delete paths[path]
      paths['/api/v1/shop/items/{itemId}'] = { put: parts.put }
      parts.put.parameters[0] = { name: 'itemId', in: 'path', required: true, schema: { type: 'integer' } }
    },
  },
  {
    change: 'a path parameter has another name and type',
    plant({ paths, parts }) {
      delete paths[path]
      paths['/api/v1/shop/items/{itemId}'] = { put: parts.put }
      parts.put.parameters[0] = { name: 'itemId', in: 'path', required: true, schema: { type: 'boolean' } }
    },
    expected: [`${place}: path id was integer, is boolean`],
  },
]

const published = ({ parts: _, ...api }: Api) => structuredClone(api)

t.test('C-031 C-047 the release check classifies each change of the document correctly', (t) => {
  for (const { change, plant, expected = [] } of rows) {
    const api = description()
    plant(api)
    t.notOk(isDeepStrictEqual(published(api), published(description())), `${change}: planted`)
    t.same(breakingChanges(published(description()), published(api)), expected, change)
  }
  t.comment(
    `${rows.length} changes, ${rows.filter(({ expected }) => expected === undefined).length} of them compatible`,
  )
  t.end()
})

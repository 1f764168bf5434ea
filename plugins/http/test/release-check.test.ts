/**
 * Tests compatible and breaking changes of an API. Each change is applied to an API description, and `plinth openapi
 * --previous` must classify it correctly. The list of changes comes from the requirements (document 1 of the
 * specification, "Versioning").
 */
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { breakingChanges } from '../src/openapi/openapi-changes.ts'

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

/** Returns a small API: a list, and an operation that changes one item. */
function description() {
  const text = (): Record<string, unknown> => ({ type: 'string' })
  const properties = (members: Record<string, unknown>): Record<string, unknown> => members
  const item = {
    type: 'object' as string,
    required: ['id', 'state'],
    properties: properties({ id: { type: 'integer' }, state: { enum: ['new', 'sold'] } }),
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
    properties: properties({ name: text(), note: text(), notify: { type: 'boolean', default: true } }),
  }
  const put = {
    operationId: 'putShopItemsById',
    security: [{ bearer: [] }] as object[],
    'x-permission': 'shop:item:update',
    'x-data-scope': 'caller',
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
  const paths: Record<string, Record<string, object>> = { '/api/v1/shop/items': { get: getList }, [path]: { put } }
  const reasons: Record<string, string> = { 'shop.item-unknown': '404', 'shop.item-sold': '409' }
  return {
    info: { version: '1.0.0' },
    paths,
    'x-reasons': reasons,
    components: { schemas: { Item: item, Failure: failure }, securitySchemes: { signature } },
    // The objects of the description by name, so that a row of the table can change one of them.
    parts: { item, failure, list: getList, put, body, json, parameter, signature },
  }
}

const rows: readonly Row[] = [
  // Compatible changes.
  {
    change: 'new optional request field (old behaviour when omitted)',
    plant({ parts }) {
      parts.body.properties['colour'] = { type: 'string', default: 'red' }
    },
  },
  {
    change: 'new response field',
    plant({ parts }) {
      parts.item.properties['price'] = { type: 'integer' }
      parts.item.required.push('price')
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
    expected: [`${place}: body.note is gone`],
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
    expected: [`${place}: body.name is gone`, `${place}: body.title is now required`],
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
    expected: [`${place}: body.notify has the default none, not true`],
  },
  {
    change: 'changing field meaning: a value that is no longer known',
    plant({ parts }) {
      parts.item.properties['state'] = { enum: ['new'] }
    },
    expected: [`${list}: answer.data[].state knows sold no more`, `${place}: answer.data.state knows sold no more`],
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
      parts.body.properties['price'] = { type: 'integer' }
      parts.body.required.push('price')
    },
    expected: [`${place}: body.price is now required`],
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
    expected: [`${list}: answer.data.reason is gone`, `${place}: answer.data.reason is gone`],
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

/**
 * Tests rules that every route of the product must follow, because pages, generated clients and readers of the API
 * description rely on them.
 */

import { startForTest } from '@plinth/dev/testing'
import { http } from '@plinth/http'
import t from 'tap'
import product from '../examples/quickstart/plinth.config.ts'

type Json = { readonly [name: string]: unknown }
const isJson = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

interface Member {
  readonly place: string
  readonly name: string
  readonly schema: Json
}

/** Returns the members of a schema and of all its subschemas. */
function membersOf(schema: unknown, place: string): Member[] {
  if (Array.isArray(schema)) return schema.flatMap((one) => membersOf(one, place))
  if (!isJson(schema)) return []
  const own = Object.entries(isJson(schema['properties']) ? schema['properties'] : {}).flatMap(([name, member]) => {
    const inner = `${place}.${name}`
    return [{ place: inner, name, schema: member as Json }, ...membersOf(member, inner)]
  })
  const parts = ['items', 'anyOf', 'oneOf', 'allOf', 'prefixItems', 'additionalProperties'] as const
  return [...own, ...parts.flatMap((part) => membersOf(schema[part], place))]
}

const running = await startForTest(product, { roles: ['cli'] })
t.teardown(() => running.stop('test ended'))
const document = await running.service(http).openapi()
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ ...operation, place: `${method.toUpperCase()} ${path}` })),
)
const schemasIn = (part: unknown): unknown[] =>
  isJson(part) ? Object.entries(part).flatMap(([name, value]) => (name === 'schema' ? [value] : schemasIn(value))) : []
const parameters: Member[] = operations.flatMap(({ place, parameters = [] }) =>
  parameters.map(({ name, schema }) => ({ place: `${place}?${name}`, name, schema })),
)
const headers = new Set(
  operations.flatMap(({ place, parameters = [] }) =>
    parameters.filter((one) => one.in === 'header').map(({ name }) => `${place}?${name}`),
  ),
)
const members: Member[] = [
  ...parameters,
  ...operations.flatMap(({ place, requestBody, responses }) => [
    ...schemasIn(requestBody).flatMap((schema) => membersOf(schema, place)),
    ...schemasIn(responses).flatMap((schema) => membersOf(schema, place)),
  ]),
  ...Object.entries(document.components.schemas).flatMap(([name, schema]) => membersOf(schema, name)),
]

t.test('C-046 every member and parameter of every route has a title in both languages', async (t) => {
  t.ok(members.length > 1000)
  const untitled = members.filter(({ schema }) => {
    const title = schema['x-title']
    return !isJson(title) || !title['en'] || !title['zh-CN'] || schema['title'] !== title['en']
  })
  t.same([...new Set(untitled.map(({ place }) => place))], [])
})

t.test(
  'time ranges have the same titles in every list, also if the plugin uses their names for addresses',
  async (t) => {
    const ranges = members.filter(({ schema }) => schema['x-range'] !== undefined)
    t.ok(ranges.length > 20)
    t.same([...new Set(ranges.map(({ schema }) => schema['title']))], ['From'])
    const ends = ranges.map(({ place }) => place.replace(/\?from$/, '?to'))
    const titles = members.filter(({ place }) => ends.includes(place)).map(({ schema }) => schema['title'])
    t.equal(titles.length, ranges.length)
    t.same([...new Set(titles)], ['Until'])
  },
)

t.test('C-013 every field of a request and a response, and every parameter, has a camelCase name', async (t) => {
  // The members of a translated text are language tags, which need no title, so they are left out.
  const fields = members.filter(({ place, name }) => !headers.has(place) && name !== 'zh-CN')
  t.ok(fields.length > 1000)
  const others = fields.filter(({ name }) => !/^[a-z][A-Za-z0-9]*$/.test(name))
  t.same([...new Set(others.map(({ place }) => place))], [])
})

/** Members that are an empty text if they have no value, as document 3 of the specification defines. */
const emptyWithout = new Set(['lockedAt', 'endedAt', 'expiresAt'])

t.test('times can be recognised: each member that is named as a time has its format', async (t) => {
  const moments = members.filter(({ name, place }) => {
    const isMoment = /(?:At|ValidUntil)$/.test(name)
    return isMoment && !(place.includes('/install') && emptyWithout.has(name))
  })
  t.ok(moments.length > 40)
  const hasFormat = (schema: Json): boolean =>
    schema['format'] === 'date-time' || ((schema['anyOf'] ?? []) as Json[]).some(hasFormat)
  t.same([...new Set(moments.filter(({ schema }) => !hasFormat(schema)).map(({ place }) => place))], [])
})

t.test('closed sets of values are declared in one way: enum', async (t) => {
  const isChoice = ({ schema }: Member) =>
    ((schema['anyOf'] ?? []) as Json[]).filter((one) => 'const' in one).length > 1
  t.same([...new Set(members.filter(isChoice).map(({ place }) => place))], [])
})

t.test('every member by which a list can be sorted is in its rows', async (t) => {
  const sorts = parameters.filter(({ name }) => name === 'sort')
  t.ok(sorts.length > 3)
  for (const { place, schema } of sorts) {
    const names = schema['x-sort'] as readonly string[]
    t.ok(names.length > 0, place)
    const spelling = new RegExp(String((schema['items'] as Json)['pattern']))
    for (const name of names) t.ok(spelling.test(`-${name}`), `${place}: ${name}`)
  }
})

/**
 * Operations that can also return error codes of other plugins, because they call guards, lot repositories, payment
 * handlers or channels.
 */
const openOperations = [
  'POST /api/v1/admin/console/pages/{id}/import',
  'PUT /api/v1/admin/iam/users/{id}',
  'POST /api/v1/admin/mall/refunds/{refundNo}/decision',
  'GET /api/v1/admin/money/accounts/{id}/explain',
  'POST /api/v1/admin/money/payment-orders/{outTradeNo}/refund',
  'POST /api/v1/admin/web3/unmatched-payments/{id}/credit',
  'POST /api/v1/auth/login',
  'POST /api/v1/auth/oidc/{provider}/callback',
  'POST /api/v1/auth/oidc/{provider}/proof/callback',
  'POST /api/v1/auth/passkey/login',
  'POST /api/v1/auth/proof',
  'POST /api/v1/auth/proof/passkey',
  'POST /api/v1/auth/proof/totp',
  'POST /api/v1/auth/second-factor/passkey',
  'POST /api/v1/auth/second-factor/recovery-code',
  'POST /api/v1/auth/second-factor/set-up/passkey',
  'POST /api/v1/auth/second-factor/set-up/totp',
  'POST /api/v1/auth/second-factor/totp',
  'POST /api/v1/auth/wallet/login',
  'POST /api/v1/auth/wallet/proof',
  'PUT /api/v1/iam/users/me',
  'POST /api/v1/iam/users/me/email-change',
  'PUT /api/v1/iam/users/me/password',
  'POST /api/v1/mall/orders',
  'POST /api/v1/mall/orders/{orderNo}/cancel',
  'POST /api/v1/mall/orders/{orderNo}/payments',
  'POST /api/v1/notification-send-logs/{id}/retry',
  'POST /api/v1/notifications/send',
]

t.test('K9 D4 an operation lists all its reasons, unless contributions add some', async (t) => {
  const isOpen = ({ responses }: (typeof operations)[number]) => {
    const envelope = responses['200']?.content['application/json']?.schema
    const failure = envelope?.anyOf?.find((one) => one.properties?.['code']?.['enum'] !== undefined)
    const reason = failure?.properties?.['data']?.anyOf?.[0]?.properties?.['reason']
    return reason !== undefined && reason['enum'] === undefined
  }
  t.same(
    operations.filter(isOpen).map(({ place }) => place),
    openOperations,
  )
})

/** Operations that cannot have an example: an event stream and a file, which have no schema. */
const withoutExample = ['GET /api/v1/admin/console/events', 'GET /api/v1/admin/install/diagnostics/export']

t.test('C-045 every operation has an example and a description, every parameter and tag a description', async (t) => {
  const published = JSON.parse(
    (await running.service(http).inject({ url: '/docs/openapi.json' })).body,
  ) as typeof document
  const listed = Object.entries(published.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, place: `${method.toUpperCase()} ${path}` })),
  )
  t.equal(listed.length, operations.length)
  const isWithoutExample = ({ parameters = [], requestBody, responses }: (typeof listed)[number]) => {
    const contents = [requestBody?.content, responses['200']?.content].flatMap((one) => Object.values(one ?? {}))
    return ![...parameters, ...contents].some((one) => 'example' in one)
  }
  t.same(
    listed.filter(isWithoutExample).map(({ place }) => place),
    withoutExample,
  )
  t.same(
    listed.filter(({ description }) => !description).map(({ place }) => place),
    [],
  )
  const undescribed = listed.flatMap(({ place, parameters = [] }) =>
    parameters
      .filter(({ description, example }) => !description || example === undefined)
      .map(({ name }) => `${place}?${name}`),
  )
  t.same(undescribed, [])
  t.ok(published.tags.length > 5)
  const untranslated = published.tags.filter(
    (tag) => !tag.description || !/\p{Script=Han}/u.test(tag['x-description']['zh-CN'] ?? ''),
  )
  t.same(untranslated, [])
  t.ok(Object.keys(published.components.securitySchemes).includes('bearer'))
})

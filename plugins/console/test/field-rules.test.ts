import { key, validateValue } from '@plinth/kernel'
import t from 'tap'
import { withoutSecrets } from '../web/admin/pages/forms/field-values.ts'
import {
  brokenSchemaRule,
  brokenSchemaRules,
  bytesInWords,
  durationInWords,
  millisecondsOf,
  parseByteSize,
  rulesWithin,
  writtenOf,
} from '../web/field/schema-rules.ts'

t.test('K-008 the early check in the browser never rejects a value that the server accepts', async (t) => {
  const title = 'T'
  const cases = [
    [
      key.duration({ title, minimum: '1s', maximum: '1d' }),
      ['30s', '1h30m', 'PT5M', 'P1DT2H', '1d', '1s', '500ms', '2d', '5', 'x', ''],
    ],
    [key.bytes({ title, minimum: '1kB' }), ['1024', '64kB', '10MiB', '1 MB', '12', '-1', '']],
    [key.integer({ title, minimum: 1, maximum: 9 }), [1, 9, 0, 10, 1.5, 'x', '']],
    [key.enum({ title, values: ['a', 'b'] }), ['a', 'c', '']],
    [key.string({ title, minLength: 2, maxLength: 4, pattern: '^[a-z]+$' }), ['ab', 'a', 'abcde', 'AB', '日本']],
    [key.stringList({ title, maxItems: 2, uniqueItems: true }), [[], ['a', 'b'], ['a', 'a'], ['a', 'b', 'c'], ['']]],
    [key.url({ title }), ['https://example.com/a', 'ftp://x', 'x']],
  ] as const
  for (const [declaration, values] of cases) {
    for (const value of values) {
      const found = validateValue(declaration as never, value as never)
      const hint = brokenSchemaRule(value, declaration.schema)
      t.equal(hint !== undefined, found.length > 0, `${JSON.stringify(declaration.schema)} ${JSON.stringify(value)}`)
    }
  }
})

t.test('K-008 typed input is sent in the type of its schema and shown in words', async (t) => {
  const structure = {
    type: 'object',
    properties: { port: { type: 'integer' }, hosts: { type: 'array', items: { type: 'string' } } },
    required: ['port'],
  }
  const typed = { port: '8080', hosts: ['a', ''], note: '' }
  t.strictSame(writtenOf(typed, structure), { port: 8080, hosts: ['a'] })
  t.match(brokenSchemaRule(writtenOf({ port: '', hosts: [] }, structure), structure), {
    keyword: 'required',
    path: 'port',
  })
  t.match(brokenSchemaRule({ port: 'x' }, structure), { keyword: 'type', path: 'port' })
  t.strictSame(writtenOf('{"a":1}', { type: 'object' }), { a: 1 })
  t.equal(writtenOf('{', { type: 'object' }), '{')
  t.equal(durationInWords(Number(millisecondsOf('1h30m')), 'en'), '1 hour, 30 minutes')
  t.equal(durationInWords(0, 'en'), '0 seconds')
  t.equal(bytesInWords(Number(parseByteSize('10MiB')), 'en'), '10,485,760 bytes')
})

const providers = {
  type: 'array',
  maxItems: 3,
  items: {
    type: 'object',
    properties: {
      id: { type: 'string', pattern: '^[a-z]+$' },
      url: { anyOf: [{ type: 'string', maxLength: 5 }, { type: 'null' }] },
      key: { type: 'string', writeOnly: true },
    },
    required: ['id'],
  },
} as const

t.test('all broken rules within a value are found, each at its place', async (t) => {
  const rules = brokenSchemaRules([{ id: 'a', url: 'x' }, { url: 'longer' }, { id: 'B' }], providers)
  t.strictSame(
    rules.map(({ keyword, path }) => `${path} ${keyword}`),
    ['[2].id required', '[2].url maxLength', '[3].id pattern'],
  )
  t.strictSame(rulesWithin(rulesWithin(rules, '[2]'), 'url'), [{ keyword: 'maxLength', limit: 5, path: '' }])
  t.strictSame(rulesWithin(rules, '[1]'), [])
  t.strictSame(rulesWithin(brokenSchemaRules({ ab: [1], a: 'x' }, { properties: { ab: { maxItems: 0 } } }), 'a'), [])
  t.strictSame(brokenSchemaRules([{ id: 'a', url: null }], providers), [], 'a part that may be null may be empty')
})

t.test('a typed text becomes the type of the member that it looks like', async (t) => {
  const schema = {
    type: 'object',
    patternProperties: { '^.*$': { anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }] } },
    additionalProperties: false,
  }
  const typed = { count: '3', code: '007', price: '1.50', isPaid: 'true', name: 'Ada', none: '' }
  const written = { count: 3, code: '007', price: '1.50', isPaid: true, name: 'Ada' }
  t.strictSame(writtenOf(typed, schema), written)
})

t.test('a draft contains no part that the server never shows again', async (t) => {
  t.strictSame(withoutSecrets([{ id: 'a', key: 'secret' }], providers), [{ id: 'a', key: undefined }])
})

import { key, validateValue } from '@plinth/kernel'
import t from 'tap'
import {
  brokenSchemaRule,
  bytesInWords,
  bytesOf,
  durationInWords,
  millisecondsOf,
  writtenOf,
} from '../web/field/schema-rules.ts'

t.test('K-008 the early hint of the browser never refuses what the server takes', async (t) => {
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

t.test('K-008 what is typed is sent as its schema wants it, and said in words', async (t) => {
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
  t.equal(bytesInWords(Number(bytesOf('10MiB')), 'en'), '10,485,760 bytes')
})

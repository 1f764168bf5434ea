import { key } from '@plinth/kernel'
import { validateValue } from '@plinth/kernel/host'
import t from 'tap'
import type { Field } from '../web/admin/api/page-types.ts'
import {
  choicesOf,
  initialFieldContent,
  isEmpty,
  sentOf,
  withoutSecrets,
} from '../web/admin/pages/forms/field-values.ts'
import adminEn from '../web/admin/text/en.json' with { type: 'json' }
import adminZhCN from '../web/admin/text/zh-CN.json' with { type: 'json' }
import { formText, ruleText } from '../web/field/rule-text.ts'
import {
  brokenSchemaRule,
  brokenSchemaRules,
  bytesInWords,
  durationInWords,
  isLong,
  memberSchema,
  millisecondsOf,
  parseByteSize,
  rulesWithin,
  timePattern,
  writtenOf,
} from '../web/field/schema-rules.ts'
import { addTexts, createTranslate } from '../web/text/texts.ts'

addTexts({ en: adminEn, 'zh-CN': adminZhCN })
const translate = createTranslate('en')

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
  t.equal(durationInWords(Number(millisecondsOf('1w1d1h1m1s1ms')), 'en').split(', ')[0], '8 days')
  t.equal(durationInWords(61_001, 'en'), '1 minute, 1 second, 1 millisecond')
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
  t.equal(withoutSecrets(null, providers), null)
})

t.test('durations and sizes are read in every unit, and numbers that are too large are not read', async (t) => {
  const durations = { '2w': 1_209_600, P2W: 1_209_600, '2d': 172_800, P2D: 172_800, PT2H: 7200, PT2M: 120, PT2S: 2 }
  for (const [text, seconds] of Object.entries(durations)) t.equal(millisecondsOf(text), seconds * 1000, text)
  t.equal(millisecondsOf('7ms'), 7)
  t.equal(millisecondsOf('PT1.5S'), 1500)
  t.equal(millisecondsOf('PT0.05S'), 50)
  for (const text of ['', 'P', 'PT', '1m1h', '9007199254740993ms']) t.equal(millisecondsOf(text), undefined, text)
  const sizes = { '3': 3, '3B': 3, '3kB': 3e3, '3MB': 3e6, '3GB': 3e9, '3TB': 3e12 }
  const binary = { '3KiB': 3 * 2 ** 10, '3MiB': 3 * 2 ** 20, '3GiB': 3 * 2 ** 30, '3TiB': 3 * 2 ** 40 }
  for (const [text, bytes] of Object.entries({ ...sizes, ...binary })) t.equal(parseByteSize(text), bytes, text)
  for (const text of ['3kb', '3toString', '9007199254740993', '9999TiB']) t.equal(parseByteSize(text), undefined, text)
})

t.test('each rule of the API is checked at its limit', async (t) => {
  for (const [schema, fine, wrong] of [
    [{ exclusiveMinimum: 0 }, 0.1, 0],
    [{ exclusiveMaximum: 9 }, 8.9, 9],
    [{ multipleOf: 0.5 }, 1.5, 1.2],
    [{ minItems: 1 }, ['a'], []],
    [{ uniqueItems: true }, [{ a: 1 }, { a: 2 }], [{ a: 1 }, { a: 1 }]],
    [{ format: 'email' }, 'a@b', 'a@b@c'],
    [{ format: 'email' }, 'a@b', 'a b@c'],
    [{ type: 'boolean' }, false, 'false'],
    [{ type: 'number' }, 1.5, '1.5x'],
    [{ type: 'object' }, {}, '{'],
    [{ type: 'array' }, [], 'a'],
    [{ type: 'string' }, '', 1],
  ] as const) {
    const [[keyword] = []] = Object.entries(schema)
    t.equal(brokenSchemaRule(fine, schema), undefined, `${keyword} ${JSON.stringify(fine)}`)
    t.equal(brokenSchemaRule(wrong, schema)?.keyword, keyword, `${keyword} ${JSON.stringify(wrong)}`)
  }
  t.equal(brokenSchemaRule(['a', 'a'], { uniqueItems: false }), undefined)
  t.equal(brokenSchemaRule('x'.repeat(1000), { pattern: '^a' })?.keyword, 'pattern')
  t.equal(brokenSchemaRule('x'.repeat(1001), { pattern: '^a' }), undefined, 'only the server checks a long text')
  t.equal(brokenSchemaRule('x', { pattern: '(' }), undefined, 'a pattern that the browser does not know')
  t.strictSame(brokenSchemaRules({ a: { b: 'x' } }, { properties: { a: { properties: { b: { maxLength: 0 } } } } }), [
    { keyword: 'maxLength', limit: 0, path: 'a.b' },
  ])
  t.strictSame(rulesWithin([{ keyword: 'required', limit: 'b', path: 'a[1].b' }], 'a'), [
    { keyword: 'required', limit: 'b', path: '[1].b' },
  ])
  t.strictSame(memberSchema({ properties: { a: { maxLength: 1 } }, additionalProperties: { maxLength: 2 } }, 'b'), {
    maxLength: 2,
  })
  t.strictSame(memberSchema({ additionalProperties: false }, 'b'), {})
  const orNull = { anyOf: [{ type: 'string' }, { type: 'integer' }, { type: 'null' }] }
  t.strictSame(memberSchema({ properties: { a: orNull } }, 'a'), { anyOf: orNull.anyOf.slice(0, 2) })
})

t.test('a broken rule is explained with its limit, and without the pattern', async (t) => {
  const text = (keyword: string, limit: unknown, path = '') => ruleText(translate, { keyword, limit, path })
  t.equal(text('enum', ['a', 'b']), 'One of: a, b.')
  t.equal(text('type', 'integer', '[2]'), '[2]: Enter a whole number.')
  t.equal(text('type', 'number'), 'Enter a number.')
  t.equal(text('type', 'object'), 'Enter a valid JSON object.')
  t.equal(text('formatMinimum', '1s'), 'At least 1s.')
  t.equal(text('formatMaximum', '1d'), 'At most 1d.')
  t.equal(text('exclusiveMinimum', 1), 'More than 1.')
  t.equal(text('exclusiveMaximum', 1), 'Less than 1.')
  t.equal(text('multipleOf', 5), 'A multiple of 5.')
  t.equal(text('minItems', 1), 'Number of items: at least 1.')
  t.equal(text('uniqueItems', true), 'Remove duplicate items.')
  for (const format of ['duration', 'bytes', 'url', 'email', 'time-zone', 'host', 'cidr'] as const)
    t.equal(text('format', format), adminEn.schema.format[format], format)
  t.equal(text('format', 'toString'), undefined)
  t.equal(text('not', {}, 'a'), undefined)
  const pattern = { keyword: 'pattern', limit: '^a$', path: 'code' }
  t.equal(ruleText(translate, pattern, 'begin with a'), 'code: It must begin with a.')
  t.equal(ruleText(translate, pattern), 'code: It must match ^a$.')
  const { code, dotted, line, time } = adminEn.schema.pattern
  const { form } = adminEn.schema.rule
  for (const [limit, shown] of [
    ['^[a-z0-9]+(?:-[a-z0-9]+)*$', code],
    ['^[a-z0-9]+(-[a-z0-9]+)*$', code],
    ['^[a-z][a-z0-9-]*$', code],
    ['^[a-z0-9]+(?:-[a-z0-9]+)*(?:\\.[a-z0-9]+(?:-[a-z0-9]+)*)+$', dotted],
    ['^[^\\p{Cc}\\p{Cs}]*$', line],
    [timePattern, time],
    ['^a$', form],
  ] as const)
    t.equal(formText(translate, { keyword: 'pattern', limit, path: '' }), shown, limit)
  t.equal(formText(translate, { keyword: 'minLength', limit: 2, path: 'a' }), 'At least 2 characters.')
  t.equal(formText(translate, { keyword: 'not', limit: {}, path: '' }), form)
})

const field = (schema: Field['schema'], more: Partial<Field> = {}): Field => ({
  name: 'a',
  title: 'A',
  required: false,
  nullable: false,
  schema,
  ...more,
})
const flag = { type: 'boolean' }

t.test('a control begins with the value of the object, or else with the default', async (t) => {
  const first = (value: unknown, schema: Field['schema'], more?: Partial<Field>) =>
    initialFieldContent(value, field(schema, more))
  t.equal(first(undefined, { type: 'string', default: 'x' }), 'x')
  t.equal(first('y', { type: 'string', default: 'x' }), 'y')
  t.equal(first(0, { type: 'integer' }), '0')
  t.equal(first(null, { type: 'string' }), '')
  t.equal(first(true, flag), 'true', 'a choice of three values')
  t.equal(first(undefined, flag), '')
  t.equal(first(true, flag, { required: true }), true, 'a switch')
  t.equal(first(undefined, flag, { required: true }), false)
  t.equal(first(undefined, { ...flag, default: true }), true)
  const list = { type: 'array' }
  t.strictSame(first(['x', 1], list), ['x', 1])
  t.strictSame(first(undefined, list), [])
  t.strictSame(first([{ id: 7, name: 'Ann' }, 8], list, { options: { labels: 'iam.user' } }), ['7', '8'])
  t.strictSame(first(undefined, { type: 'object' }), {})
  t.strictSame(first({ a: 1 }, { type: 'object' }), { a: 1 })
  t.equal(first({ id: 'f1', name: 'a.png', url: '/f1' }, { type: 'string' }), 'f1', 'an uploaded file')
})

t.test(
  'an empty control sends null if it may, nothing if it must not, and an empty list or required text',
  async (t) => {
    const sent = (typed: unknown, schema: Field['schema'], more?: Partial<Field>) => sentOf(typed, field(schema, more))
    t.equal(sent('', { type: 'string' }), undefined)
    t.equal(sent('', { type: 'string' }, { nullable: true }), null)
    t.equal(sent('', { type: 'string' }, { required: true }), '')
    t.equal(sent('', { type: 'integer' }, { required: true }), undefined)
    t.equal(sent({}, { type: 'object' }), undefined)
    t.strictSame(sent([], { type: 'array' }, { nullable: true }), [])
    t.equal(sent(' 7 ', { type: 'integer' }), 7)
    t.equal(sent('x', { type: 'integer' }), 'x', 'breaks the rule of the type')
    t.equal(sent('true', flag), true)
    t.equal(sent('false', flag), false)
    t.equal(sent(false, flag), false)
    for (const empty of [undefined, '', [], {}, null]) t.ok(isEmpty(empty), JSON.stringify(empty))
    for (const full of ['x', false, ['']]) t.notOk(isEmpty(full), JSON.stringify(full))
  },
)

t.test('the choices of a field are the values of its enum, its constants or its flag', async (t) => {
  t.strictSame(choicesOf(flag), ['true', 'false'])
  t.strictSame(choicesOf({ enum: [1, 2] }), ['1', '2'])
  t.strictSame(choicesOf({ anyOf: [{ const: 'a' }, { const: 'b' }] }), ['a', 'b'])
  t.equal(choicesOf({ anyOf: [{ type: 'string' }, { type: 'null' }] }), undefined)
  t.equal(choicesOf({ type: 'string' }), undefined)
})

t.test('each form shows a text area for a long text, and for no other value', async (t) => {
  t.equal(isLong({ type: 'string', maxLength: 2000 }), true)
  for (const schema of [
    { type: 'string', maxLength: 200 },
    { type: 'string' },
    { type: 'string', maxLength: 2000, format: 'email' },
    { type: 'string', maxLength: 2000, pattern: '^a' },
    { type: 'string', maxLength: 2000, writeOnly: true },
    { type: 'integer' },
  ])
    t.equal(isLong(schema), false, JSON.stringify(schema))
})

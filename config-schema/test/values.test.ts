import { assertMembers } from '@plinth/dev/testing'
import fc from 'fast-check'
import t from 'tap'
import {
  countValueCharacters,
  type JsonSchema,
  type JsonValue,
  type KeyDeclaration,
  key,
  maxValueLength,
  parseValueText,
  readValue,
  validateDeclaration,
  validateValue,
} from '../src/index.ts'
import { parseSourceValue } from '../src/reading.ts'

const declare = (schema: JsonSchema): KeyDeclaration => ({ ...key.string({ title: 'x' }), schema })
const read = (declaration: KeyDeclaration, text: string) => {
  const reading = parseValueText(declaration, text)
  return reading.ok ? reading.value : `${reading.rule}!`
}

t.test('the type of the schema decides strictly how text is parsed', async (t) => {
  const integer = key.integer({ title: 'x' })
  for (const [text, value] of [
    ['0', 0],
    ['60', 60],
    ['-5', -5],
    ['9007199254740991', 2 ** 53 - 1],
  ] as const) {
    t.equal(read(integer, text), value)
  }
  for (const text of [
    ' 1',
    '1 ',
    '+1',
    '-0',
    '01',
    '1.0',
    '1e3',
    '0x10',
    '1_000',
    '9007199254740992',
    'NaN',
    'one',
    '１',
  ]) {
    t.equal(read(integer, text), 'type!', text)
  }
  const number = key.number({ title: 'x' })
  for (const [text, value] of [
    ['1.5', 1.5],
    ['-2e-3', -0.002],
    ['0', 0],
    ['1E2', 100],
  ] as const)
    t.equal(read(number, text), value)
  for (const text of ['1e999', '-1e999', '.5', '5.', 'Infinity', 'NaN', '0x1', '1,5', ' 1'])
    t.equal(read(number, text), 'type!', text)
  const flag = key.boolean({ title: 'x' })
  t.same(
    ['true', 'false'].map((text) => read(flag, text)),
    [true, false],
  )
  for (const text of ['yes', 'True', '1', 'on', 'toString', ' true']) t.equal(read(flag, text), 'type!', text)
  t.equal(read(key.string({ title: 'x' }), ' kept "as" is '), ' kept "as" is ')
})

t.test('lists are JSON or comma-separated, objects are JSON', async (t) => {
  const list = key.stringList({ title: 'x' })
  t.same(read(list, 'a'), ['a'])
  t.same(read(list, ' a , b,c '), ['a', 'b', 'c'])
  t.same(read(list, '["a, b", "c"]'), ['a, b', 'c'])
  t.same(read(list, '[]'), [])
  for (const text of ['a,,b', ',', 'a,', '[a]', '["a"', '{}'])
    assertMembers(t, read(list, text), text === '{}' ? ['{}'] : 'type!', text)
  const numbers = declare({ type: 'array', items: { type: 'integer' } })
  t.same(read(numbers, '1, 2,3'), [1, 2, 3])
  t.equal(read(numbers, '1, x'), 'type!')
  t.equal(
    read(declare({ type: 'array', items: { type: 'object' } }), '{"a":1}'),
    'type!',
    'objects with commas need a JSON list',
  )
  const object = key.object({ title: 'x', schema: {} })
  t.same(read(object, '{"a":{"b":[1]}}'), { a: { b: [1] } })
  for (const text of ['[]', 'null', '5', '"a"', '{', '{"a":1e999}', 'a=b']) t.equal(read(object, text), 'type!', text)
})

t.test('empty text is only valid for plain text', async (t) => {
  t.equal(read(key.string({ title: 'x' }), ''), '')
  const others = [
    key.integer({ title: 'x' }),
    key.boolean({ title: 'x' }),
    key.duration({ title: 'x' }),
    key.host({ title: 'x' }),
    key.stringList({ title: 'x' }),
    key.object({ title: 'x', schema: {} }),
    key.enum({ title: 'x', values: ['a'] }),
  ]
  for (const declaration of others) t.equal(read(declaration, ''), 'empty!', JSON.stringify(declaration.schema))
  t.match(parseValueText(key.stringList({ title: 'x' }), ''), { message: /write \[\] for an empty list/ })
})

t.test('the text of a value is read back as the value', async () => {
  const schemas: readonly (readonly [JsonSchema, fc.Arbitrary<JsonValue>])[] = [
    [{ type: 'integer' }, fc.maxSafeInteger()],
    [{ type: 'number' }, fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (value === 0 ? 0 : value))],
    [{ type: 'boolean' }, fc.boolean()],
    [{ type: 'array', items: {} }, fc.array(fc.jsonValue({ noUnicodeString: false }) as fc.Arbitrary<JsonValue>)],
    [{ type: 'object' }, fc.dictionary(fc.string(), fc.jsonValue() as fc.Arbitrary<JsonValue>)],
  ]
  for (const [schema, values] of schemas) {
    const declaration = declare(schema)
    fc.assert(
      fc.property(values, (value) => {
        const text = JSON.stringify(value)
        return JSON.stringify(read(declaration, text)) === text
      }),
    )
  }
  fc.assert(fc.property(fc.string(), (text) => read(key.string({ title: 'x' }), text) === text))
})

t.test('K-010 durations read as milliseconds, sizes as bytes, everything else as written', async (t) => {
  t.equal(readValue(key.duration({ title: 'x' }), '5m'), 300_000)
  t.equal(readValue(key.duration({ title: 'x' }), 'PT5M'), 300_000)
  t.equal(readValue(key.bytes({ title: 'x' }), '10MiB'), 10_485_760)
  t.equal(readValue(key.bytes({ title: 'x' }), undefined), undefined)
  t.equal(readValue(key.string({ title: 'x' }), '5m'), '5m')
  t.same(readValue(key.cidrList({ title: 'x' }), ['::1']), ['::1'])
})

t.test('K-010 limits of durations and sizes compare amounts, not texts', async (t) => {
  const window = key.duration({ title: 'x', minimum: '1s', maximum: '1d' })
  for (const text of ['1s', '1000ms', 'PT1S', '24h', '1d', '90m']) t.same(validateValue(window, text), [], text)
  assertMembers(t, validateValue(window, '999ms'), [
    { rule: 'formatMinimum', message: 'must be at least 1s; it is "999ms"' },
  ])
  assertMembers(t, validateValue(window, '25h'), [{ rule: 'formatMaximum' }])
  assertMembers(t, validateValue(window, '2 days'), [{ rule: 'format' }], 'a wrong text is reported once')
  assertMembers(t, validateValue(key.bytes({ title: 'x', maximum: '1MiB' }), '1025KiB'), [{ rule: 'formatMaximum' }])
})

t.test('messages state the rule, an example and the value', async (t) => {
  const message = (declaration: KeyDeclaration, value: JsonValue) => validateValue(declaration, value)[0]?.message
  t.equal(
    message(key.integer({ title: 'x', examples: [60] }), 'x'),
    'must be a whole number within plus or minus 2^53 - 1, for example 60; it is "x"',
  )
  t.equal(
    message(key.host({ title: 'x', default: 'db.local' }), 'a b'),
    'must be a host name or an IP address, for example "db.local"; it is "a b"',
  )
  t.equal(message(key.enum({ title: 'x', values: ['a', 'b'] }), 'c'), 'must be one of "a", "b"; it is "c"')
  t.equal(message(key.string({ title: 'x', minLength: 1 }), ''), 'must have at least 1 character; it is ""')
  t.equal(
    message(key.cidrList({ title: 'x' }), ['::1', 'x']),
    'at /1 must be an IP address or a CIDR range, for example "10.0.0.0/8"; it is "x"',
  )
  const shape = key.object({
    title: 'x',
    schema: { properties: { a: { type: 'integer' } }, additionalProperties: false },
  })
  t.equal(message(shape, { b: 1 }), 'at /b must not be there: the schema knows no such property; it is 1')
  t.match(message(shape, { a: '1' }), /^at \/a must be a whole number .*; it is "1"$/)
  t.ok((message(key.integer({ title: 'x' }), 'x'.repeat(500)) ?? '').length < 200, 'a long value is cut')
  const notJson = [10n, Symbol('x'), undefined, Number.NaN, () => 1] as unknown as readonly JsonValue[]
  for (const value of notJson) t.equal(validateValue(key.string({ title: 'x' }), value).length, 1, String(value))
  assertMembers(
    t,
    validateValue(declare({ type: 'string', minLength: -1 }), 'x'),
    [{ rule: 'schema' }],
    'a broken schema lets nothing pass',
  )
})

t.test('C-019 messages are also available in Chinese, whatever rule is broken', async (t) => {
  const message = (declaration: KeyDeclaration, value: JsonValue) =>
    validateValue(declaration, value, 'zh-CN')[0]?.message
  const title = 'x'
  const member = { properties: { a: { type: 'integer' } }, required: ['a'], additionalProperties: false }
  const cases: readonly (readonly [KeyDeclaration, JsonValue, string])[] = [
    [key.integer({ title, examples: [60] }), 'x', '必须是 ±(2^53 - 1) 以内的整数，例如 60；给出的是 "x"'],
    [key.host({ title, default: 'db.local' }), 'a b', '必须是主机名或 IP 地址，例如 "db.local"；给出的是 "a b"'],
    [key.cidrList({ title }), ['::1', 'x'], '在 /1 处必须是 IP 地址或 CIDR 网段，例如 "10.0.0.0/8"；给出的是 "x"'],
    [key.enum({ title, values: ['a', 'b'] }), 'c', '必须是 "a"、"b" 之一；给出的是 "c"'],
    [key.string({ title, minLength: 2 }), '', '必须至少有 2 个字符；给出的是 ""'],
    [key.duration({ title, minimum: '1s' }), '999ms', '必须不小于 1s；给出的是 "999ms"'],
    [key.object({ title, schema: member }), {}, '必须有属性 "a"；给出的是 {}'],
    [key.object({ title, schema: member }), { a: 1, b: 1 }, '在 /b 处必须不出现：模式中没有这个属性；给出的是 1'],
    [key.string({ title, sensitive: true, minLength: 9 }), 'short', '必须至少有 9 个字符'],
  ]
  for (const [declaration, value, text] of cases) t.equal(message(declaration, value), text)
  const schemas: readonly JsonSchema[] = [
    { type: 'number', minimum: 1 },
    { type: 'number', exclusiveMinimum: 1 },
    { type: 'number', multipleOf: 2, maximum: -1 },
    { type: 'number', exclusiveMaximum: 0 },
    { type: 'string', maxLength: 0 },
    { type: 'string', pattern: '^b$' },
    { type: 'array', minItems: 3 },
    { type: 'array', maxItems: 1 },
    { type: 'array', uniqueItems: true },
    { type: 'boolean' },
    { type: 'string', not: { const: 'a' } },
    { type: 'string', minLength: -1 },
  ]
  const values = { number: 0, string: 'a', array: [1, 1], boolean: 'a' }
  for (const schema of schemas) {
    const text = message(declare(schema), values[schema['type'] as keyof typeof values]) ?? ''
    t.match(text, /^必须/, JSON.stringify(schema))
    t.notMatch(text, /\bmust\b|undefined/)
  }
})

t.test('no message about a sensitive key repeats its value, its default or a name from it', async (t) => {
  const secret = 'hunter2-secret'
  const options = { title: 'x', sensitive: true } as const
  const shape = { properties: { a: { type: 'integer' } }, additionalProperties: { type: 'integer' } }
  const declarations = [
    key.integer(options),
    key.boolean(options),
    key.duration(options),
    key.host({ ...options, default: secret }),
    key.string({ ...options, minLength: 99, default: secret }),
    key.url(options),
    key.cidrList(options),
    key.enum({ ...options, values: ['a'] }),
    key.stringList({ ...options, items: { maxLength: 3 } }),
    key.object({ ...options, schema: shape }),
    key.object({ ...options, schema: { additionalProperties: false } }),
    ...[{}, { $comment: 'by ajv' }].map((by) =>
      key.object({ ...options, schema: { propertyNames: { maxLength: 3 }, ...by } }),
    ),
  ]
  const values: readonly JsonValue[] = [secret, [secret], { [secret]: secret }, { a: secret }, [[secret]]]
  let problems = 0
  for (const declaration of declarations) {
    const reading = parseValueText(declaration, `${secret},,`)
    t.notMatch(JSON.stringify(reading.ok ? '' : reading), 'hunter2')
    for (const value of values) {
      const found = validateValue(declaration, value)
      problems += found.length
      t.notMatch(JSON.stringify(found), 'hunter2')
    }
  }
  t.ok(problems > 40, 'the values were refused')
})

t.test('the keyword table and ajv agree on every plain schema, in result and message', async () => {
  const count = fc.nat(4)
  const small = fc.integer({ min: -4, max: 4 })
  const words = fc.constantFrom('', 'a', 'ab', 'abc', '😀', '1s', '5m', 'PT1H', '10.0.0.0/8', 'a@b.c', 'http://a')
  const some = { requiredKeys: ['type'] } as const
  const text = fc.record(
    {
      type: fc.constant('string'),
      minLength: count,
      maxLength: count,
      pattern: fc.constantFrom('^a', 'b$', '^\\p{L}*$'),
      enum: fc.uniqueArray(words, { minLength: 1 }),
    },
    some as { requiredKeys: ['type'] },
  )
  const format = fc.record(
    { type: fc.constant('string'), format: fc.constantFrom('cidr', 'url', 'host', 'email', 'bytes'), maxLength: count },
    { requiredKeys: ['type', 'format'] },
  )
  const duration = fc.record(
    {
      type: fc.constant('string'),
      format: fc.constant('duration'),
      formatMinimum: fc.constantFrom('1s', '2m'),
      formatMaximum: fc.constantFrom('5m', '59m'),
    },
    { requiredKeys: ['type', 'format'] },
  )
  const number = fc.record(
    {
      type: fc.constantFrom('integer', 'number'),
      minimum: small,
      maximum: small,
      exclusiveMinimum: small,
      exclusiveMaximum: small,
      multipleOf: fc.constantFrom(1, 2, 0.5),
    },
    { requiredKeys: ['type'] },
  )
  const scalar: fc.Arbitrary<JsonSchema> = fc.oneof(text, format, duration, number, fc.constant({ type: 'boolean' }))
  const list = fc.record(
    { type: fc.constant('array'), items: scalar, minItems: count, maxItems: count, uniqueItems: fc.boolean() },
    { requiredKeys: ['type'] },
  )
  const names = fc.constantFrom('', 'a', 'ab', 'a/b', '~', 'toString')
  const described = fc.record({ title: words, description: words }, { requiredKeys: [] })
  const objectOf = (member: fc.Arbitrary<JsonSchema>): fc.Arbitrary<JsonSchema> =>
    fc.record(
      {
        type: fc.constant('object'),
        properties: fc.dictionary(names, member, { maxKeys: 4 }),
        required: fc.uniqueArray(names, { maxLength: 2 }),
        propertyNames: fc.record({ minLength: count, pattern: fc.constantFrom('^a', 'b$') }, { requiredKeys: [] }),
        minProperties: count,
        maxProperties: count,
        additionalProperties: fc.oneof(fc.boolean(), member),
      },
      { requiredKeys: ['type'] },
    )
  const object = objectOf(fc.oneof(scalar, list, objectOf(scalar)))
  const leaf: fc.Arbitrary<JsonValue> = fc.oneof(
    words,
    small,
    fc.constantFrom(0.5, 1.25),
    fc.boolean(),
    fc.constant(null),
  )
  const value: fc.Arbitrary<JsonValue> = fc.oneof(
    leaf,
    fc.array(leaf, { maxLength: 5 }),
    fc.dictionary(names, fc.oneof(leaf, fc.array(leaf), fc.dictionary(names, leaf)), { maxKeys: 4 }),
  )
  const schemas = fc.tuple(fc.oneof(scalar, list, object), described).map(([one, texts]) => ({ ...one, ...texts }))
  fc.assert(
    fc.property(schemas, fc.array(value, { minLength: 5, maxLength: 20 }), (schema, values) => {
      // A schema with an unknown keyword is checked by ajv instead of the faster built-in checks.
      const [plain, viaAjv] = [declare(schema), declare({ ...schema, $comment: 'by ajv' })]
      const result = (declaration: KeyDeclaration, one: JsonValue) => {
        const problems = validateValue(declaration, one)
        // ajv checks `uniqueItems` even if items have the wrong type, so such a result is ignored.
        const mistyped = problems.some(({ rule }) => rule === 'type')
        return problems.flatMap(({ rule, message }) => (mistyped && rule === 'uniqueItems' ? [] : message)).sort()
      }
      return values.every((one) => JSON.stringify(result(plain, one)) === JSON.stringify(result(viaAjv, one)))
    }),
    { numRuns: 300 },
  )
})

t.test('a value, as text or as written, must obey all rules of the key', async (t) => {
  const window = key.duration({ title: 'x', default: '1m', minimum: '1s' })
  t.strictSame(parseSourceValue(window, { text: '5m' }), { ok: true, value: '5m' })
  t.strictSame(parseSourceValue(window, { written: '5m' }), { ok: true, value: '5m' })
  t.match(parseSourceValue(window, { text: '5ms' }), {
    ok: false,
    rule: 'formatMinimum',
    message: /^must be at least 1s/,
  })
  t.match(parseSourceValue(window, { written: 5 }), { ok: false, rule: 'type' })
  t.match(parseSourceValue(window, {}), { ok: false, rule: 'empty' })
  const count = key.integer({ title: 'x' })
  t.match(parseSourceValue(count, { text: 'five' }), { ok: false, rule: 'type' })
  t.strictSame(parseSourceValue(count, { text: '5' }), { ok: true, value: 5 })
})

t.test(
  'K-009 the length of a value is checked before all other rules, and the error does not show a sensitive value',
  async (t) => {
    const text = key.string({ title: 'x', sensitive: true, pattern: '^(a+)+$' })
    const free = key.string({ title: 'x', sensitive: true })
    t.same(validateValue(free, 'a'.repeat(maxValueLength)), [])
    for (const value of [`${'a'.repeat(maxValueLength)}b`, 'b'.repeat(900_000)]) {
      t.same(validateValue(text, value), [{ rule: 'maxLength', message: 'must have at most 65536 characters' }])
    }
    assertMembers(t, validateValue(text, 'a'.repeat(maxValueLength + 1), 'zh-CN'), [
      { message: '必须最多有 65536 个字符' },
    ])
    t.match(parseSourceValue(text, { text: 'a'.repeat(maxValueLength + 1) }), { ok: false, rule: 'maxLength' })
    assertMembers(t, validateValue(key.string({ title: 'x', sensitive: true, maxLength: 8 }), 'a'.repeat(9)), [
      { rule: 'maxLength', message: /at most 8 characters/ },
    ])
    const [shown] = validateValue(key.string({ title: 'x' }), 'a'.repeat(900_000))
    t.match(shown, { rule: 'maxLength', message: /at most 65536 characters; it is "a{56}\.\.\.$/ })
    for (const schema of [{}, { $comment: 'by ajv' }]) {
      const nested = (levels: number): JsonValue => {
        let value: JsonValue = {}
        for (let level = 1; level < levels; level++) value = { a: value }
        return value
      }
      const deep = key.object({ title: 'x', schema })
      t.same(validateValue(deep, nested(64)), [], 'by the tables of the house and by ajv')
      assertMembers(t, validateValue(deep, nested(65)), [
        { rule: 'maxLength', message: /at most 64 lists and objects/ },
      ])
      assertMembers(t, validateValue(deep, nested(30_000)), [{ rule: 'maxLength', message: /too long to be shown/ }])
    }
    assertMembers(
      t,
      validateDeclaration('platform.a.b', key.string({ title: 'x', sensitive: true, default: 'a'.repeat(70_000) })),
      [{ rule: 'default' }],
    )
    const peers = key.object({ title: 'x', sensitive: true, schema: {} })
    const items = Array.from({ length: maxValueLength }, () => 1)
    for (const value of [
      { items },
      { [`${'n'.repeat(maxValueLength)}`]: 1 },
      { a: { b: 'a'.repeat(maxValueLength) } },
    ]) {
      assertMembers(t, validateValue(peers, value), [{ rule: 'maxLength' }])
    }
    t.equal(
      countValueCharacters({ ab: ['cde', 4, null] }),
      'ab'.length + 1 + 3 + 'cde'.length + '4'.length + 'null'.length,
    )
  },
)

t.test('K-009 a pattern is applied only to texts of limited length', async (t) => {
  const pattern = '^(?:a|b)+$'
  const cases: [string, (text: string) => ReturnType<typeof validateValue>][] = [
    ['the tables of the house', (text) => validateValue(key.string({ title: 'x', pattern }), text)],
    [
      'ajv',
      (text) => {
        const schema = { properties: { a: { type: 'string', pattern } }, $comment: 'by ajv' }
        return validateValue(key.object({ title: 'x', schema }), { a: text })
      },
    ],
  ]
  for (const [by, check] of cases) {
    t.same(check('ab'.repeat(2048)), [], by)
    assertMembers(t, check('c'), [{ rule: 'pattern', message: /match the pattern/ }], by)
    assertMembers(t, check('ab'.repeat(2049)), [{ message: /have at most 4096 characters/ }], by)
  }
})

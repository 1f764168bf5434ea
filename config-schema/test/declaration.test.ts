import { execFileSync } from 'node:child_process'
import t from 'tap'
import { type KeyDeclaration, key, type ValueOf, validateDeclaration } from '../src/index.ts'

t.test('builders return frozen declarations with the documented defaults', async (t) => {
  const examples = ['5m']
  const window = key.duration({ title: 'Window', default: '1m', minimum: 1000, maximum: '1d', examples })
  t.same(window, {
    schema: { type: 'string', format: 'duration', formatMinimum: '1s', formatMaximum: '1d' },
    title: 'Window',
    default: '1m',
    required: false,
    sensitive: false,
    reload: 'restart',
    editable: true,
    examples: ['5m'],
  })
  t.throws(() => Object.assign(window, { sensitive: true }), TypeError)
  t.throws(() => Object.assign(window.schema, { format: 'host' }), TypeError)
  const schemas: readonly (readonly [KeyDeclaration, object])[] = [
    [key.string({ title: 'x', minLength: 1, pattern: '^a' }), { type: 'string', minLength: 1, pattern: '^a' }],
    [key.integer({ title: 'x', minimum: 4, maximum: 10 }), { type: 'integer', minimum: 4, maximum: 10 }],
    [key.number({ title: 'x', exclusiveMinimum: 0 }), { type: 'number', exclusiveMinimum: 0 }],
    [key.boolean({ title: 'x' }), { type: 'boolean' }],
    [key.bytes({ title: 'x', maximum: 1024 }), { type: 'string', format: 'bytes', formatMaximum: '1024' }],
    [key.url({ title: 'x' }), { type: 'string', format: 'url' }],
    [key.url({ title: 'x', credentials: true }), { type: 'string', format: 'url-with-credentials' }],
    [key.cidr({ title: 'x' }), { type: 'string', format: 'cidr' }],
    [
      key.cidrList({ title: 'x', minItems: 1 }),
      { type: 'array', items: { type: 'string', format: 'cidr' }, minItems: 1 },
    ],
    [key.host({ title: 'x' }), { type: 'string', format: 'host' }],
    [key.port({ title: 'x', minimum: 0 }), { type: 'integer', minimum: 0, maximum: 65_535 }],
    [key.email({ title: 'x' }), { type: 'string', format: 'email' }],
    [key.timeZone({ title: 'x' }), { type: 'string', format: 'time-zone' }],
    [key.locale({ title: 'x' }), { type: 'string', format: 'locale' }],
    [key.enum({ title: 'x', values: ['a', 'b'] }), { type: 'string', enum: ['a', 'b'] }],
    [
      key.stringList({ title: 'x', items: { maxLength: 9 } }),
      { type: 'array', items: { type: 'string', minLength: 1, maxLength: 9 } },
    ],
    [key.object({ title: 'x', schema: { required: ['a'] } }), { type: 'object', required: ['a'] }],
  ]
  for (const [declaration, schema] of schemas) {
    t.same(declaration.schema, schema)
    t.same(validateDeclaration('platform.x', declaration), [])
  }
  t.equal(schemas.length + 1, Object.keys(key).length + 1, 'every builder, url twice, duration above')
})

/** Compiles only if both types are the same. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const same = <A, B>(_proof: Same<A, B>) => undefined

t.test('the read type has no undefined when there is a default or the key is required', async (t) => {
  const keys = {
    given: key.duration({ title: 'x', default: '1m' }),
    required: key.string({ title: 'x', required: true }),
    open: key.integer({ title: 'x' }),
    choice: key.enum({ title: 'x', values: ['auto', 'forced'], default: 'auto' }),
    openChoice: key.enum({ title: 'x', values: ['auto', 'forced'] }),
    list: key.cidrList({ title: 'x', default: ['::1/128'] }),
    shape: key.object<{ readonly a: number }>({ title: 'x', schema: {}, required: true }),
  }
  same<ValueOf<typeof keys.given>, number>(true)
  same<ValueOf<typeof keys.required>, string>(true)
  same<ValueOf<typeof keys.open>, number | undefined>(true)
  same<ValueOf<typeof keys.choice>, 'auto' | 'forced'>(true)
  same<ValueOf<typeof keys.openChoice>, 'auto' | 'forced' | undefined>(true)
  same<ValueOf<typeof keys.list>, readonly string[]>(true)
  same<ValueOf<typeof keys.shape>, { readonly a: number }>(true)
  const refusedByTheCompiler = () => [
    // @ts-expect-error a title is needed
    key.string({}),
    // @ts-expect-error misspelt option
    key.string({ title: 'x', sensetive: true }),
    // @ts-expect-error a default and required exclude each other
    key.string({ title: 'x', default: 'a', required: true }),
    // @ts-expect-error a duration is written as text
    key.duration({ title: 'x', default: 60_000 }),
    // @ts-expect-error not one of the values
    key.enum({ title: 'x', values: ['a', 'b'], default: 'c' }),
    // @ts-expect-error text has no maximum
    key.string({ title: 'x', maximum: 3 }),
    // @ts-expect-error no such way to reload
    key.boolean({ title: 'x', reload: 'sometimes' }),
    // @ts-expect-error one Chinese text is missing
    key.boolean({ title: { en: 'x' } }),
  ]
  t.type(refusedByTheCompiler, 'function')
})

t.test('C-003 every mistake in a declaration is reported with its place', async (t) => {
  const sound = key.string({ title: 'x' })
  const found = (name: string, declaration: unknown) =>
    validateDeclaration(name, declaration as KeyDeclaration).map(({ rule, place }) => `${rule} ${place}`)
  const wrongNames = [
    '',
    'platform',
    'platform.',
    'rate-limit.enabled',
    'app.x',
    'platformx.a',
    'Platform.a',
    'platform.a_b',
  ]
  for (const name of [
    ...wrongNames,
    'platform.aB',
    'platform..a',
    'platform.a-',
    'platform.-a',
    'platform.a ',
    'platform.a\n',
  ]) {
    t.same(found(name, sound), ['name key'], JSON.stringify(name))
  }
  t.same(found('platform.rate-limit.annotation.client-ip.trusted-proxies', sound), [])
  t.same(found('platform.web3.x', sound), [])
  for (const nothing of [undefined, null, 'text', 5, []]) t.same(found('platform.x', nothing), ['declaration key'])

  const members = (changes: object) => found('platform.x', { ...sound, ...changes })
  t.same(members({ title: ' ' }), ['title title'])
  t.same(members({ title: { en: 'x' } }), ['title title'])
  t.same(members({ description: 5 }), ['description description'])
  t.same(members({ required: true, default: 'x' }), ['required default'])
  t.same(members({ sensitive: 'yes', editable: 1 }), ['sensitive sensitive', 'editable editable'])
  t.same(members({ state: 1 }), ['state state'])
  t.same(members({ state: true }), ['state editable'])
  t.same(members({ state: true, editable: false }), [])
  t.same(members({ permission: 'acme:save' }), [])
  t.same(members({ permission: '' }), ['permission permission'])
  t.same(members({ permission: 'acme:save', editable: false }), ['permission permission'])
  t.same(members({ reload: 'never' }), ['reload reload'])
  t.same(members({ env: 'lower' }), ['env env'])
  t.same(members({ group: '' }), ['group group'])
  t.same(members({ deprecated: {} }), ['deprecated deprecated'])
  t.same(members({ deprecated: { since: '1.2.0', replacement: 'other' } }), ['deprecated deprecated'])
  t.same(members({ deprecated: { since: '1.2.0', replacement: 'platform.x' } }), ['deprecated deprecated.replacement'])
  t.same(members({ deprecated: { since: '1.2.0', replacement: 'platform.y' } }), [])
  t.same(members({ insecure: { is: true } }), ['insecure insecure'], 'a reason is needed')
  t.same(validateDeclaration('platform.x', key.boolean({ title: 'x', insecure: { is: true, reason: 'Open.' } })), [])
  t.same(members({ insecure: { isNot: true, reason: 'Open.' } }), [])
  t.same(members({ insecure: { is: 1, isNot: 2, reason: 'Open.' } }), ['insecure insecure'], 'one of both')
  t.same(members({ neededWhile: { key: 'platform.y' } }), ['neededWhile neededWhile', 'needed neededWhile'])
  const neededWhile = { key: 'platform.y', is: 'x' }
  t.same(members({ neededWhile }), ['needed neededWhile'], 'only what can be switched off')
  t.same(validateDeclaration('platform.x', key.boolean({ title: 'x', default: true, neededWhile })), [])
  t.same(members({ secret: true }), ['unknown secret'])
  t.same(members({ '~type': 1 }), ['~type ~type'])

  const schemas = (schema: unknown) => found('platform.x', { ...sound, schema })
  t.same(schemas(undefined), ['schema schema'])
  t.same(schemas([]), ['schema schema'])
  t.same(schemas({}), ['schema schema.type'])
  t.same(schemas({ type: ['string', 'null'] }), ['schema schema.type'])
  t.same(schemas({ type: 'constructor' }), ['schema schema', 'schema schema.type'])
  t.same(schemas({ type: 'string', minLength: -1, pattern: '(' }), ['schema schema.minLength', 'schema schema.pattern'])
  t.same(schemas({ type: 'string', minimum: 1 }), ['schema schema.minimum'])
  t.same(schemas({ type: 'string', format: 'duration', formatMinimum: '1x' }), ['schema schema.formatMinimum'])
  t.same(schemas({ type: 'array', items: { type: 'string', maxLength: 'x' } }), ['schema schema.items.maxLength'])
  t.same(schemas({ type: 'string', enum: [] }), ['schema schema.enum'])
  t.same(schemas({ type: 'string', minlength: 1 }), ['schema schema'], 'misspelt keyword')
  t.same(schemas({ type: 'string', format: 'no-such-format' }), ['schema schema'])
  t.same(schemas({ type: 'object', properties: { a: { type: 'strin' } } }), ['schema schema'])
  t.same(schemas({ type: 'object', properties: { a: { type: 'string', minLength: -1 } } }), [
    'schema schema.properties.a.minLength',
  ])
  t.same(schemas({ type: 'object', additionalProperties: { type: 'string', minimum: 1 } }), [
    'schema schema.additionalProperties.minimum',
  ])
  t.same(schemas({ type: 'object', required: ['a', 'a'] }), ['schema schema'])
  t.same(schemas({ type: 'array', properties: {} }), ['schema schema'], 'properties of a list')
  t.same(schemas({ type: 'string', title: 5 }), ['schema schema.title'])
  t.same(schemas({ type: 'string', minLength: 1n }), ['schema schema'])
  const circular: Record<string, unknown> = { type: 'array' }
  circular['items'] = circular
  t.same(schemas(circular), ['schema schema'])
})

t.test(
  'a default or example that breaks its own schema is reported, without the value if the key is secret',
  async (t) => {
    const [problem, ...more] = validateDeclaration('platform.x', key.integer({ title: 'x', default: 0, minimum: 1 }))
    t.same(more, [])
    t.same(problem, { rule: 'default', place: 'default', message: 'default must be at least 1; it is 0' })
    const examples = validateDeclaration('platform.x', key.host({ title: 'x', examples: ['a.example', 'a b'] }))
    t.same(
      examples.map(({ rule, place }) => [rule, place]),
      [['examples', 'examples.1']],
    )
    const secret = validateDeclaration(
      'platform.x',
      key.string({ title: 'x', default: 'hunter2', minLength: 20, sensitive: true }),
    )
    t.equal(secret.length, 1)
    t.notMatch(JSON.stringify(secret), 'hunter2')
  },
)

t.test('ordinary keys, objects too, are checked without loading ajv', async (t) => {
  const isLoaded = (schema: object) => {
    const script = `
      import { createRequire } from 'node:module'
      import { key, validateDeclaration } from '${import.meta.resolve('../src/index.ts')}'
      const declaration = key.object({ title: 'x', default: {}, schema: ${JSON.stringify(schema)} })
      const problems = validateDeclaration('platform.x', declaration)
      const { cache } = createRequire('${import.meta.url}')
      console.log(JSON.stringify([problems, Object.keys(cache).some((file) => file.includes('/ajv/'))]))`
    return JSON.parse(
      execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8', timeout: 300_000 }),
    )
  }
  const limits = { type: 'array', items: { type: 'integer', minimum: 1, description: 'per minute' } }
  const properties = { a: { type: 'string', title: 'A' }, limits, inner: { type: 'object', required: ['b'] } }
  t.same(isLoaded({ properties, additionalProperties: false }), [[], false])
  const named = { propertyNames: { pattern: '^[a-z]+$' }, minProperties: 0, maxProperties: 9 }
  t.same(isLoaded({ ...named, additionalProperties: { type: 'integer' } }), [[], false])
  t.same(isLoaded({ patternProperties: { '^a': { type: 'string' } } }), [[], true])
})

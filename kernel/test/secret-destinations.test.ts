import { assertMembers, startForTest } from '@plinth/dev/testing'
import { type JsonValue, type KeyDeclaration, key } from '@plinth/kernel'
import { type ConfigEntry, prepareProduct } from '@plinth/kernel/host'
import t from 'tap'
import { createSamplePlugin, productOf } from './sample-plugin.ts'

const text = (options: object = {}) => key.string({ title: 'x', default: '', reload: 'live', ...options })
const keys = {
  'platform.mailer.host': text({ default: 'mail.example' }),
  'platform.mailer.user': text(),
  'platform.mailer.password': text({
    sensitive: true,
    destination: ['platform.mailer.host', 'platform.mailer.user'],
  }),
  'platform.mailer.key': text({ sensitive: true, destination: [] }),
} as const
const mailer = createSamplePlugin('mailer', { config: keys })
const [host, user, password] = Object.keys(keys) as [keyof typeof keys, keyof typeof keys, keyof typeof keys]

type Rows = Readonly<Partial<Record<keyof typeof keys, JsonValue>>>

/** Returns a product with process values, and functions that read and store values. */
function prepare(given: Parameters<typeof prepareProduct>[1] = {}, config: Rows = {}) {
  const { config: values, problems } = prepareProduct(
    { ...productOf([mailer]), config: config as Record<string, JsonValue> },
    { envFile: false, ...given },
  )
  t.strictSame(problems, [])
  let stored: readonly ConfigEntry[] = []
  const entries = (rows: Rows): ConfigEntry[] =>
    Object.entries(rows).map(([name, written]) => ({ name, by: 'key', written, place: `row of ${name}` }))
  return {
    values,
    read: (name: keyof typeof keys) => values.get('mailer', name),
    /** Stores rows. Secrets are bound to the destination that the stored rows define. */
    async store(rows: Rows, keepBinding = false) {
      const next = entries(rows).map((entry) => {
        const kept = stored.find(({ name, written }) => name === entry.name && written === entry.written)
        if (keepBinding && kept !== undefined) return kept
        const destination = values.destinations(entries(rows)).get(entry.name)
        return destination === undefined ? entry : { ...entry, destination }
      })
      stored = next
      return values.apply(next)
    },
  }
}

t.test('a stored secret applies only with the destination that it was entered for', async (t) => {
  const { values, read, store } = prepare()
  await store({ [host]: 'a.example', [password]: 'secret-a' })
  t.equal(read(password), 'secret-a')
  assertMembers(t, values.explain(password), {
    effective: { source: 'database' },
    sources: [{}, { withheld: undefined }],
  })

  const report = await store({ [host]: 'b.example', [password]: 'secret-a' }, true)
  t.equal(read(password), '', 'another host does not get it')
  t.same(report.withheld, [{ key: password, source: 'database', place: `row of ${password}`, destination: [host] }])
  t.same(report.changed, [host, password])
  assertMembers(t, values.explain(password), { effective: { source: 'default' }, sources: [{}, { withheld: [host] }] })

  await store({ [host]: 'a.example', [user]: 'else', [password]: 'secret-a' }, true)
  t.equal(read(password), '', 'another account neither')
  t.same((await store({ [host]: 'a.example', [password]: 'secret-a' }, true)).withheld, [])
  t.equal(read(password), 'secret-a', 'the old destination gets it again')
  await store({ [password]: 'secret-a' }, true)
  t.equal(read(password), '', 'a default is another destination too')
  await store({ [host]: 'b.example', [password]: 'secret-b' })
  t.equal(read(password), 'secret-b')
})

for (const [source, given, config] of [
  ['file', {}, { [host]: 'a.example', [password]: 'of the process' }],
  ['environment', { environment: { PLATFORM_MAILER_PASSWORD: 'of the process' } }, {}],
  ['command-line', { set: { [password]: 'of the process' } }, {}],
] as const) {
  t.test(`a secret of the source ${source} applies only while no key of its destination is stored`, async (t) => {
    const { values, read, store } = prepare(given, config)
    t.equal(read(password), 'of the process')
    const report = await store({ [host]: 'b.example' })
    t.equal(read(password), '')
    assertMembers(t, report.withheld, [{ key: password, source, destination: [host] }])
    await store({ [user]: 'else' })
    t.equal(read(password), '')
    await store({ [host]: 'b.example', [password]: 'secret-b' })
    t.equal(read(password), 'secret-b', 'a stored secret of that destination')
    await store({})
    t.equal(read(password), 'of the process')
    t.match(values.explain(password), { effective: { source } })
  })
}

t.test('a destination from the command line withholds a stored secret, but no secret of the process', async (t) => {
  const plain = prepare()
  await plain.store({ [host]: 'a.example', [password]: 'secret-a' })
  const binding = plain.values
    .destinations([{ name: host, by: 'key', written: 'a.example', place: 'row' }])
    .get(password)
  const { values, read } = prepare({
    set: { [host]: 'b.example' },
    environment: { PLATFORM_MAILER_PASSWORD: 'of the process' },
  })
  t.equal(read(password), 'of the process')
  const row = { name: password, by: 'key', written: 'secret-a', place: 'row' } as const
  const report = await values.apply([
    { name: host, by: 'key', written: 'a.example', place: 'row' },
    { ...row, ...(binding && { destination: binding }) },
  ])
  assertMembers(t, report.withheld, [{ key: password, source: 'database', destination: [host] }])
  t.equal(read(password), 'of the process', 'the weaker secret applies')
})

t.test('a stored secret without a known destination does not apply', async (t) => {
  const { values, read } = prepare()
  await values.apply([{ name: password, by: 'key', written: 'secret-a', place: 'row' }])
  t.equal(read(password), '')
})

t.test('no listener sees the old secret with the new destination or the new secret with the old one', async (t) => {
  const seen: string[] = []
  const reject = new Set<string>()
  const listening = createSamplePlugin('mailer', {
    config: keys as never,
    setup({ config }) {
      const look = () => seen.push(`${config.get(host as never)} ${config.get(password as never)}`)
      for (const name of [password, host]) {
        config.onChange(name as never, async (value: unknown) => {
          look()
          await undefined
          look()
          if (reject.has(value as string)) throw new Error('no')
        })
      }
    },
  })
  const running = await startForTest(productOf([listening]))
  t.teardown(() => running.stop('test ended'))
  const { config } = running
  const rows = (written: Readonly<Record<string, string>>): ConfigEntry[] => {
    const plain = Object.entries(written).map(([name, value]) => ({
      name,
      by: 'key' as const,
      written: value,
      place: name,
    }))
    return plain.map((entry) => ({ ...entry, ...boundTo(config.destinations(plain).get(entry.name)) }))
  }
  const boundTo = (destination: ConfigEntry['destination']) => (destination === undefined ? {} : { destination })
  await config.apply(rows({ [host]: 'a.example', [password]: 'secret-a' }))
  await config.apply(rows({ [host]: 'b.example', [password]: 'secret-b' }))
  reject.add('c.example')
  await config.apply(rows({ [host]: 'c.example', [password]: 'secret-c' }))
  t.equal(config.explain(host)?.refused, 'no')
  const last = rows({ [host]: 'a.example', [password]: 'secret-b' })
  await config.apply(last)
  t.ok(seen.includes('b.example secret-b'))
  t.ok(seen.includes('a.example secret-b'), 'the same secret was entered again, and its listener is called')
  const allowed = [
    'mail.example ',
    'a.example ',
    'b.example ',
    'c.example ',
    'a.example secret-a',
    'b.example secret-b',
    'a.example secret-b',
  ]
  t.same(
    seen.filter((pair) => !allowed.includes(pair)),
    [],
  )
})

const declared = (more: Record<string, KeyDeclaration>) =>
  prepareProduct(productOf([createSamplePlugin('shop', { config: more })]), { envFile: false })
const secret = (destination?: readonly string[], options: object = {}) =>
  key.string({
    title: 'x',
    default: '',
    sensitive: true,
    reload: 'live',
    ...(destination && { destination }),
    ...options,
  })
const address = key.url({ title: 'x', reload: 'live' })

for (const [name, config, code, reason] of [
  [
    'a key that nobody declares',
    { a: secret(['platform.shop.b']) },
    'PLINTH_PLAN_SECRET_DESTINATION',
    'which no plugin declares',
  ],
  [
    'a key with a destination of its own',
    { a: secret(['platform.shop.b']), b: secret(['platform.shop.c']), c: address },
    'PLINTH_PLAN_SECRET_DESTINATION',
    'which has a destination itself',
  ],
  [
    'two keys that name each other',
    { a: secret(['platform.shop.b']), b: secret(['platform.shop.a']) },
    'PLINTH_PLAN_SECRET_DESTINATION',
    'which has a destination itself',
  ],
  [
    'state',
    { a: secret(['platform.shop.b']), b: key.string({ title: 'x', default: '', state: true, reload: 'live' }) },
    'PLINTH_PLAN_SECRET_DESTINATION',
    'which is state of a plugin',
  ],
  [
    'a live key, for a secret that needs a restart',
    { a: secret(['platform.shop.b'], { reload: 'restart' }), b: address },
    'PLINTH_PLAN_SECRET_DESTINATION',
    'is live, while the secret needs a restart',
  ],
  [
    'nothing, beside a key that contains an address',
    { a: secret(), b: address },
    'PLINTH_PLAN_SECRET_DESTINATION',
    'without `destination`',
  ],
  [
    'nothing, beside a key that has the name of an address',
    { a: secret(), endpoint: text() },
    'PLINTH_PLAN_SECRET_DESTINATION',
    'without `destination`',
  ],
  ['itself', { a: secret(['platform.shop.a']) }, 'PLINTH_PLAN_INVALID_KEY', 'must not contain the key itself'],
  [
    'a key, although it is no secret',
    { a: text({ destination: ['platform.shop.b'] }), b: address },
    'PLINTH_PLAN_INVALID_KEY',
    'only a sensitive key has a destination',
  ],
  [
    'a key, although it is required',
    {
      a: key.string({ title: 'x', required: true, sensitive: true, reload: 'live', destination: ['platform.shop.b'] }),
      b: address,
    },
    'PLINTH_PLAN_INVALID_KEY',
    'a required secret cannot be unset',
  ],
] as const) {
  t.test(`the planner rejects a secret whose destination is ${name}`, async (t) => {
    const full = Object.fromEntries(Object.entries(config).map(([last, one]) => [`platform.shop.${last}`, one]))
    const found = declared(full as Record<string, KeyDeclaration>).problems.filter((one) => one.code === code)
    t.ok(
      found.some(({ message }) => message.includes(reason)),
      found.map(({ message }) => message).join('\n'),
    )
  })
}

t.test('the planner accepts a secret that is sent nowhere, and an address that is itself secret', async (t) => {
  const sound = {
    'platform.shop.a': secret([]),
    'platform.shop.b': secret(['platform.shop.c']),
    'platform.shop.c': key.url({ title: 'x', sensitive: true, reload: 'live', destination: [] }),
  }
  t.strictSame(declared(sound).problems, [])
  t.strictSame(declared({ 'platform.shop.a': secret() }).problems, [], 'and one in a plugin without addresses')
})

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assertMembers, manualClock, startForTest } from '@plinth/dev/testing'
import { createDatabase, onDatabase } from '@plinth/dev/testing/database'
import { definePlugin, defineProduct, type JsonValue, key } from '@plinth/kernel'
import { type ConfigValues, prepareProduct } from '@plinth/kernel/host'
import { type ConfigChange, type ConfigDocument, configCentre } from '@plinth/system-config'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { operator, productOn, startOn } from './fixtures/products.ts'

const by = { actor: operator }
const limit = 'platform.sample.limit'

onDatabase(t, 'K-008 N-065 each source overrides all weaker ones, and the response names it', async (t, db) => {
  const directory = mkdtempSync(join(tmpdir(), 'plinth-sources-'))
  t.teardown(() => rmSync(directory, { recursive: true }))
  const envFile = join(directory, '.env')
  writeFileSync(envFile, 'PLATFORM_SAMPLE_LIMIT=30\n')
  const stages: [source: string, value: number, options: Parameters<typeof startOn>[2]][] = [
    ['default', 10, {}],
    ['file', 20, { config: { [limit]: 20 } }],
    ['dotenv', 30, { config: { [limit]: 20 }, envFile }],
    ['environment', 40, { config: { [limit]: 20 }, envFile, environment: { PLATFORM_SAMPLE_LIMIT: '40' } }],
  ]
  const all = stages.at(-1)?.[2] ?? {}
  for (const [source, value, options] of stages) {
    const { centre, running } = await startOn(t, db, options)
    t.match((await centre.get(limit)).explanation, { effective: { source, value } })
    await running.stop('next')
  }
  const stored = await startOn(t, db, all)
  await stored.centre.save([{ key: limit, action: 'set', value: 50 }], by)
  assertMembers(t, (await stored.centre.get(limit)).explanation, {
    effective: { source: 'database', value: 50, place: /stored value/ },
    sources: [
      { source: 'default', value: 10, place: 'default of test.sample' },
      { source: 'file', value: 20, place: 'product' },
      { source: 'dotenv', value: 30, place: '.env:1' },
      { source: 'environment', value: 40, place: 'environment variable PLATFORM_SAMPLE_LIMIT' },
      { source: 'database', value: 50 },
    ],
  })
  const forced = await startOn(t, db, { ...all, set: { [limit]: '60' } })
  t.match((await forced.centre.get(limit)).explanation, { effective: { source: 'command-line', value: 60 } })
  t.equal(forced.running.runtimeOf('test.sample')?.config.get(limit), 60)
  await stored.centre.save([{ key: limit, action: 'reset' }], by)
  t.match((await stored.centre.get(limit)).explanation, { effective: { source: 'environment', value: 40 } })
})

const names = ['alpha', 'beta', 'gamma'] as const

const modelled = definePlugin({
  id: 'test.modelled',
  version: '1.0.0',
  kernel: '^1.0.0',
  config: Object.fromEntries(
    names.map((name) => [`platform.m.${name}`, key.integer({ title: name, default: 0, maximum: 100, reload: 'live' })]),
  ),
})

t.test('K-008 resolution equals a naive model over random sources, whatever was applied before', async (t) => {
  const value = fc.option(fc.integer({ min: -5, max: 105 }), { nil: undefined })
  const layers = fc.record({ file: value, environment: value, commandLine: value })
  const rows = fc.record({ alpha: value, beta: value, gamma: value })
  const model = fc.record({ alpha: layers, beta: layers, gamma: layers })
  const isValid = (candidate: number | undefined): candidate is number => candidate !== undefined && candidate <= 100
  const property = fc.asyncProperty(model, fc.array(rows, { maxLength: 4 }), async (start, changes) => {
    const config: Record<string, JsonValue> = {}
    const environment: Record<string, string> = {}
    const set: Record<string, string> = {}
    for (const name of names) {
      const { file, environment: variable, commandLine } = start[name]
      if (file !== undefined) config[`platform.m.${name}`] = file
      if (variable !== undefined) environment[`PLATFORM_M_${name.toUpperCase()}`] = String(variable)
      if (commandLine !== undefined) set[`platform.m.${name}`] = String(commandLine)
    }
    const prepared = prepareProduct(defineProduct({ name: 'm', plugins: [modelled], config }), {
      environment,
      set,
      envFile: false,
    })
    const values: ConfigValues = prepared.config
    const check = (stored: Partial<Record<(typeof names)[number], number | undefined>>) => {
      for (const name of names) {
        const { file, environment: variable, commandLine } = start[name]
        const strongest = [commandLine, stored[name], variable, file].find(isValid) ?? 0
        if (values.get('test.modelled', `platform.m.${name}`) !== strongest) return false
      }
      return true
    }
    if (!check({})) return false
    for (const stored of changes) {
      const entries = names.flatMap((name) => {
        const written = stored[name]
        return written === undefined
          ? []
          : [{ name: `platform.m.${name}`, by: 'key' as const, written, place: `row ${name}` }]
      })
      const before = names.map((name) => values.get('test.modelled', `platform.m.${name}`))
      const preview = values.preview(entries)
      const isUntouched = names.every((name, at) => values.get('test.modelled', `platform.m.${name}`) === before[at])
      const report = await values.apply(entries)
      const foretold = JSON.stringify([preview.changed, preview.shadowed, preview.problems])
      if (!isUntouched || foretold !== JSON.stringify([report.changed, report.shadowed, report.problems])) return false
      if (!check(stored)) return false
    }
    return true
  })
  await fc.assert(property, { numRuns: 200 })
  t.pass('200 products')
})

t.test(
  'export and import: another installation gets the same values except secrets, and a second import changes nothing',
  async (t) => {
    const [source, target] = [await sqlite(t), await sqlite(t)]
    const change = fc.oneof(
      fc.record({ key: fc.constant(limit), value: fc.integer({ min: 1, max: 1000 }) }),
      fc.record({ key: fc.constant('platform.sample.mode'), value: fc.constantFrom('slow', 'fast') }),
      fc.record({ key: fc.constant('platform.sample.window'), value: fc.constantFrom('1s', '90s', 'PT5M') }),
      fc.record({
        key: fc.constant('platform.sample.tags'),
        value: fc.array(fc.string({ minLength: 1, unit: 'grapheme' }), { maxLength: 3 }),
      }),
      fc.record({ key: fc.constant('platform.sample.secret'), value: fc.string({ minLength: 1, maxLength: 8 }) }),
      fc.record({ key: fc.constantFrom(limit, 'platform.sample.tags'), value: fc.constant(undefined) }),
    )
    const asChange = ({ key: name, value }: { key: string; value?: JsonValue | undefined }): ConfigChange =>
      value === undefined ? { key: name, action: 'reset' } : { key: name, action: 'set', value }
    const save = async (centre: typeof source, changes: { key: string; value?: JsonValue | undefined }[]) => {
      const last = new Map(changes.map((one) => [one.key, asChange(one)]))
      await centre.save([...last.values()], { ...by, verify: false })
    }
    const property = fc.asyncProperty(
      fc.array(change, { maxLength: 5 }),
      fc.array(change, { maxLength: 5 }),
      async (there, here) => {
        await save(source, there)
        await save(target, here)
        const secretsBefore = (await target.export()).omittedSecrets
        const document: ConfigDocument = JSON.parse(JSON.stringify(await source.export()))
        const foretold = await target.preview(await target.importChanges(document, 'replace'))
        const { effects } = await target.import(document, { ...by, mode: 'replace' })
        const result = await target.export()
        return (
          JSON.stringify(result.values) === JSON.stringify(document.values) &&
          JSON.stringify(result.omittedSecrets) === JSON.stringify(secretsBefore) &&
          JSON.stringify(foretold.effects.map(({ key: name }) => name)) ===
            JSON.stringify(effects.map(({ key: name }) => name)) &&
          (await target.importChanges(document, 'replace')).length === 0
        )
      },
    )
    await fc.assert(property, { numRuns: 40 })
    const merged = await target.importChanges({ format: 'plinth-config/1', values: {} }, 'merge')
    t.same(merged, [], 'a merge removes nothing')
  },
)

t.test('a rollback restores exactly the values of any version, whatever happened since', async (t) => {
  const step = fc.record({
    limit: fc.option(fc.integer({ min: 1, max: 9 }), { nil: undefined }),
    window: fc.option(fc.constantFrom('1s', '2s'), { nil: undefined }),
    secret: fc.option(fc.constantFrom('one', 'two', ''), { nil: undefined }),
  })
  const property = fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), fc.nat(), async (steps, pick) => {
    const db = await createDatabase('sqlite')
    const running = await startForTest(productOn(db), { clock: manualClock() })
    try {
      const centre = running.service(configCentre)
      const state = () =>
        ['limit', 'window', 'secret'].map((name) =>
          running.runtimeOf('test.sample')?.config.get(`platform.sample.${name}`),
        )
      const known = new Map([[0, JSON.stringify(state())]])
      for (const values of steps) {
        const changes = Object.entries(values).map(
          ([name, value]): ConfigChange =>
            value === undefined
              ? { key: `platform.sample.${name}`, action: 'reset' }
              : { key: `platform.sample.${name}`, action: 'set', value },
        )
        const { version } = await centre.save(changes, by)
        known.set(version, JSON.stringify(state()))
      }
      const versions = [...known.keys()]
      const target = versions[pick % versions.length] ?? 0
      await centre.rollback(target, by)
      const left = await centre.rollbackChanges(target)
      // The result must not reveal whether a secret is already equal, so secrets are always listed.
      return JSON.stringify(state()) === known.get(target) && left.every(({ key }) => key === 'platform.sample.secret')
    } finally {
      await running.stop('next')
      await db.drop()
    }
  })
  await fc.assert(property, { numRuns: 25 })
  t.pass('25 histories')
})

async function sqlite(t: Test) {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  return (await startOn(t, db)).centre
}

/** Tests a product with more stored values than one request may change. */
import { database } from '@plinth/database'
import { assertMembers, isProof } from '@plinth/dev/testing'
import { onDatabase, onSqlite, watchStatements } from '@plinth/dev/testing/database'
import { definePlugin, type JsonValue, key } from '@plinth/kernel'
import fc from 'fast-check'
import t from 'tap'
import type { ConfigDocument } from '../src/contract.ts'
import { operator, samplePlugin, startOn } from './fixtures/products.ts'

const by = { actor: operator }
const names = Array.from({ length: isProof ? 5_000 : 1_500 }, (_, index) => `platform.many.k${index}`)
const manyPlugin = definePlugin({
  id: 'test.many',
  version: '1.0.0',
  kernel: '^1.0.0',
  config: Object.fromEntries(names.map((name) => [name, key.string({ title: 'x', default: '', reload: 'live' })])),
  setup: () => {},
})
const plugins = [samplePlugin, manyPlugin]

type Values = Readonly<Record<string, JsonValue>>
/** Random values for each key. An exported document omits undefined values. */
const anyValues = fc.array(fc.option(fc.string({ unit: 'grapheme', maxLength: 6 }), { nil: undefined, freq: 9 }), {
  minLength: names.length,
  maxLength: names.length,
  size: 'max',
})
const documentOf = (values: Values) => ({ format: 'plinth-config/1', values }) as const
const isOneLine = (text: string) => !/[\p{Cc}\u2028\u2029]/u.test(text)
const valuesOf = (texts: readonly (string | undefined)[]): Values =>
  Object.fromEntries(
    names.flatMap((name, index) => {
      const text = texts[index]
      return text === undefined || !isOneLine(text) ? [] : [[name, text]]
    }),
  )
const sorted = (values: Values) => Object.entries(values).sort(([a], [b]) => (a < b ? -1 : 1))

onSqlite(t, 'an export of 5,000 values is imported as a whole, whatever is stored, and rolled back', async (t, db) => {
  const { centre } = await startOn(t, db, { plugins })
  const samples = fc.sample(anyValues, 2).map(valuesOf) as [Values, Values]
  const documents: ConfigDocument[] = []
  for (const values of samples) {
    await centre.import(documentOf(values), { ...by, mode: 'replace' })
    const exported: ConfigDocument = JSON.parse(JSON.stringify(await centre.export()))
    t.strictSame(sorted(exported.values), sorted(values))
    t.strictSame(await centre.importChanges(exported, 'replace'), [], 'it is stored already')
    documents.push(exported)
  }
  const [first] = documents as [ConfigDocument]
  const foretold = await centre.preview(await centre.importChanges(first, 'replace'))
  t.strictSame(foretold.faults, [])
  const { effects, version } = await centre.import(first, { ...by, mode: 'replace' })
  t.equal(effects.length, foretold.effects.length)
  t.ok(effects.length > 1000, `${effects.length} values change`)
  t.strictSame(sorted((await centre.export()).values), sorted(samples[0]))
  await centre.rollback(version - 1, by)
  t.strictSame(sorted((await centre.export()).values), sorted(samples[1]))
})

onDatabase(t, 'a change reads only the affected rows, however many are stored', async (t, db) => {
  const { running, centre } = await startOn(t, db, { plugins })
  const other = await startOn(t, db, { plugins })
  const values = Object.fromEntries(names.map((name) => [name, 'x']))
  await centre.import(documentOf(values), { ...by, mode: 'merge' })
  await other.centre.refresh()
  const watched = [running, other.running].map((one) => watchStatements(one.service(database), 'sys_config'))
  await centre.save([{ key: 'platform.many.k1', action: 'set', value: 'y' }], by)
  await centre.save([{ key: 'platform.many.k2', action: 'reset' }], by)
  await other.centre.refresh()
  for (const { statements } of watched) {
    const reads = [...statements.keys()].filter((sql) => /^select/i.test(sql))
    t.ok(reads.length > 0)
    for (const sql of reads) t.match(sql, /where.*config_key/i, 'no statement reads all rows')
  }
  const [key1, key2] = await Promise.all(['platform.many.k1', 'platform.many.k2'].map((name) => other.centre.get(name)))
  assertMembers(t, [key1?.stored?.value, key2?.stored?.value], ['y', undefined])
  t.equal(Object.keys((await other.centre.export()).values).length, names.length - 1)
})

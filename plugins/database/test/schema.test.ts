import { defineEntity, UniqueConstraintViolationException } from '@mikro-orm/core'
import { column, exactInteger, insertRow, insertRows, updateRows } from '@plinth/database'
import { assertMembers, rejectsWith, startForTest } from '@plinth/dev/testing'
import { definePlugin } from '@plinth/kernel'
import t from 'tap'
import { onEachDatabase, productOn, startOn } from './fixtures/databases.ts'
import samplePlugin, { Sample } from './fixtures/sample-plugin.ts'

const largest = Number.MAX_SAFE_INTEGER

onEachDatabase(t, 'C-014 C-039 change sets create the tables that the entities declare', async (t, db) => {
  const { service } = await startOn(t, db, samplePlugin)
  const em = service.fork()
  const generator = em.config.getExtension('@mikro-orm/schema-generator') as {
    getUpdateSchemaSQL(options: object): Promise<string>
    getUpdateSchemaMigrationSQL(options: object): Promise<{ up: string }>
  }
  const difference = await generator.getUpdateSchemaSQL({ dropTables: false, safe: false, wrap: false })
  t.equal(difference.trim(), '', 'the comparator of MikroORM finds no difference')

  const columns = await columnsOf(service)
  t.ok(columns.length >= 30, 'tables of the plugins and of the runner are there')
  t.same(
    columns.filter((name) => !/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/.test(name)),
    [],
    'every column is snake_case',
  )
})

type Columns = { name: string }
async function columnsOf(service: Awaited<ReturnType<typeof startOn>>['service']): Promise<string[]> {
  const query = {
    sqlite: `select c.name from sqlite_master m, pragma_table_info(m.name) c where m.type = 'table'`,
    postgresql: `select column_name as name from information_schema.columns where table_schema = 'public'`,
    mysql: '',
    mariadb: 'select column_name as name from information_schema.columns where table_schema = database()',
  }[service.dialect]
  return (await service.query<Columns>(query)).map(({ name }) => name)
}

onEachDatabase(t, 'K-015 K-016 values are read as they were written', async (t, db) => {
  const { service } = await startOn(t, db, samplePlugin)
  const createdAt = new Date('2026-03-29T01:30:00.123Z')
  const written = {
    id: service.newId(),
    ownerId: largest,
    code: 'first',
    body: 'long '.repeat(20_000),
    count: -(2 ** 31),
    balance: -largest,
    enabled: true,
    createdAt,
    endedAt: new Date('1969-12-31T23:59:59.999Z'),
    attributes: { tags: ['a', '漢字', '😀'] },
    amountRaw: String(2n ** 256n - 1n),
    picture: Buffer.from([0, 255, 10, 39, 92]),
    note: 'äöü😀'.repeat(5),
  }
  const em = service.fork()
  em.create(Sample, written)
  await em.flush()
  const read = await service.fork().findOneOrFail(Sample, { balance: -largest, createdAt })
  t.same({ ...read }, written)

  t.test('bound statements read and write the same values', async (t) => {
    const changed = await service.execute(
      'update sample set created_at = ?, enabled = ?, balance = ?, owner_id = ?, picture = ?, note = ? where id = ? and created_at = ?',
      [written.endedAt, false, 2 ** 40, 2 ** 31, Buffer.from([1]), null, written.id, createdAt],
    )
    t.equal(changed, 1)
    const row = await service.fork().findOneOrFail(Sample, written.id)
    const { endedAt, balance, ownerId, enabled, note } = row
    t.same(
      { createdAt: row.createdAt, endedAt, balance, ownerId, enabled, note, picture: [...(row.picture ?? [])] },
      { createdAt: endedAt, endedAt, balance: 2 ** 40, ownerId: 2 ** 31, enabled: false, note: null, picture: [1] },
    )
    const [raw] = await service.query<{ balance: unknown; total: unknown }>(
      'select balance, (select sum(balance) from sample) as total from sample where id = ?',
      [written.id],
    )
    t.equal(raw?.balance, 2 ** 40, 'a 64-bit column is a number')
    t.equal(exactInteger(raw?.total), 2 ** 40)
  })

  t.test('text is compared exactly: case and trailing blanks count', async (t) => {
    const codes = ['A', 'a', 'a ', 'á']
    for (const code of codes) await insert(code)
    for (const code of codes) {
      t.equal(await service.fork().count(Sample, { code }), 1)
      t.equal((await service.query('select id from sample where code = ?', [code])).length, 1)
    }
    await t.rejects(insert('A'), UniqueConstraintViolationException)
    await t.rejects(
      service.execute('update sample set code = ? where code = ?', ['A', 'a']),
      UniqueConstraintViolationException,
    )
  })

  t.test('values that do not fit are rejected, never cut', async (t) => {
    const rejected = (work: Promise<unknown>, message: string) =>
      rejectsWith(t, work, { code: 'PLINTH_DATABASE_VALUE', message })
    const tooLong = 'The value of sample.note has 21 characters, and the column stores at most 20.'
    const note = '😀'.repeat(21)
    const { id, ...values } = written
    const update = async (changes: { note?: string; count?: number; balance?: number }) =>
      updateRows(service, Sample, { id }, changes)
    const row = () => ({ ...values, id: service.newId(), code: 'y' })
    await rejected(insert('x', { note }), tooLong)
    await rejected(service.fork().insert(Sample, { ...row(), note }), tooLong)
    await rejected(service.fork().nativeUpdate(Sample, { id }, { note }), tooLong)
    await rejected(insertRows(service, Sample, [{ ...row(), note }]), tooLong)
    await rejected(insertRow(service, Sample, { ...row(), note }), tooLong)
    await rejected(update({ note }), tooLong)
    t.same(await service.fork().find(Sample, { note }), [], 'a filter may be longer')
    t.equal(await updateRows(service, Sample, { note }, { count: 1 }), 0)
    const loaded = await service.fork().findOneOrFail(Sample, { id })
    t.equal(loaded.code, written.code, 'nothing was changed')
    for (const count of [1.5, 2 ** 31]) {
      const message = `The value of sample.count is ${count}, which is not an integer from -2147483648 to 2147483647.`
      await rejected(insert('x', { count }), message)
      await rejected(update({ count }), message)
    }
    const fraction = 'The value of sample.balance is 0.5, which is not an integer within 2^53 - 1.'
    await rejected(insert('x', { balance: 0.5 }), fraction)
    await rejected(update({ balance: 0.5 }), fraction)
    await rejected(
      insert('x', { balance: largest + 1 }),
      'The value of sample.balance is 9007199254740992, which is not an integer within 2^53 - 1.',
    )
    await t.rejects(service.execute('update sample set balance = ?', [2 ** 53]), RangeError)
    await t.rejects(service.execute('update sample set balance = ?', [Number.NaN]), RangeError)
    await t.rejects(service.execute('update sample set note = ?', [undefined as never]), TypeError)
  })

  t.test('an integer beyond 2^53 in the database is not rounded silently', async (t) => {
    await service.execute('update sample set balance = ? where id = ?', [2n ** 53n + 1n, written.id])
    const [row] = await service.query<{ balance: unknown }>('select balance from sample where id = ?', [written.id])
    t.equal(row?.balance, '9007199254740993')
    t.throws(() => exactInteger(row?.balance), RangeError)
    await t.rejects(service.fork().findOneOrFail(Sample, written.id), RangeError)
  })

  async function insert(code: string, more: { balance?: number; count?: number; note?: string } = {}) {
    const em = service.fork()
    em.create(Sample, { id: service.newId(), ownerId: 1, code, createdAt, amountRaw: '0', ...more })
    await em.flush()
  }
})

t.test('exactInteger accepts the values that the drivers return', async (t) => {
  for (const [given, expected] of [
    ['42', 42],
    [42n, 42],
    [7, 7],
    [null, 0],
    ['-9007199254740991', -largest],
  ] as const) {
    t.equal(exactInteger(given), expected)
  }
  for (const wrong of ['9007199254740993', 1.5, '', 'x', true, undefined, 2n ** 60n]) {
    t.throws(() => exactInteger(wrong), RangeError, String(wrong))
  }
})

t.test('two entities for one table are rejected, with their plugins', async (t) => {
  const properties = { id: column.primaryKey() }
  const [one, other] = ['ShopItem', 'AcmeItem'].map((name) =>
    defineEntity({ name, tableName: 'shop_item', properties }),
  )
  const plugins = [one, other].map((entity, index) =>
    definePlugin({
      id: index === 0 ? 'shop' : 'acme',
      version: '1.0.0',
      kernel: '^1.0.0',
      entities: entity ? [entity] : [],
    }),
  )
  const config = { 'platform.database.sqlite.file': ':memory:' }
  const start = startForTest(productOn({ config }, ...plugins))
  const message = 'Two entities use the table shop_item: ShopItem of plugin "shop" and AcmeItem of plugin "acme".'
  const { cause } = (await start.catch((error: unknown) => error)) as Error
  assertMembers(t, cause, { code: 'PLINTH_DATABASE_TABLE_TAKEN', message })
})

/** Tests inserts and updates of entity rows by object, and the reader of driver results. */
import {
  incrementBy,
  insertMissingRows,
  insertOrAddToRows,
  insertOrReplaceRows,
  insertRow,
  insertRows,
  insertRowsIfAbsent,
  type NewRow,
  selectionOf,
  sqlValue,
  updateRows,
} from '@plinth/database'
import { assertMembers } from '@plinth/dev/testing'
import t from 'tap'
import { onEachDatabase, startOn } from './fixtures/databases.ts'
import samplePlugin, { Sample } from './fixtures/sample-plugin.ts'

const createdAt = new Date('2026-03-29T01:30:00.123Z')
const samples = selectionOf(Sample)
const largest = Number.MAX_SAFE_INTEGER

onEachDatabase(t, 'C-014 rows of an entity', async (t, db) => {
  const { service } = await startOn(t, db, samplePlugin)
  const fresh = (code: string) => ({ id: service.newId(), ownerId: 1, code, createdAt, amountRaw: '0' })
  const read = async (code: string) => (await samples.select(service, 'where code = ?', [code]))[0]

  await t.test('every column is read as it was inserted', async (t) => {
    const full = {
      id: service.newId(),
      ownerId: largest,
      code: 'full',
      body: 'long',
      count: -(2 ** 31),
      balance: -largest,
      enabled: true,
      createdAt,
      endedAt: new Date('1969-12-31T23:59:59.999Z'),
      attributes: { tags: ['a', '漢字', '😀'] },
      amountRaw: String(2n ** 256n - 1n),
      picture: Buffer.from([0, 255, 10]),
      note: null,
    }
    await insertRows(service, Sample, [full])
    t.same(await read('full'), full)
    const entity = await service.fork().findOneOrFail(Sample, full.id)
    t.same(samples.of(entity), full, 'the entity manager reads the same')
  })

  await t.test('missing columns are null or have their default', async (t) => {
    const row = fresh('short')
    await insertRows(service, Sample, [row])
    t.same(await read('short'), {
      ...row,
      body: null,
      count: 0,
      balance: 0,
      enabled: false,
      endedAt: null,
      attributes: null,
      picture: null,
      note: null,
    })
    const { code: _, ...nameless } = fresh('nameless')
    await t.rejects(insertRows(service, Sample, [nameless as NewRow<typeof Sample>]), TypeError)
    t.equal(await read('nameless'), undefined)
  })

  await t.test('the compiler checks the columns', async (t) => {
    const rejected = async () => {
      const { code: _, ...nameless } = fresh('nameless')
      // @ts-expect-error a column is missing
      await insertRows(service, Sample, [nameless])
      const misspelt = { ...fresh('misspelt'), notes: 'x' }
      // @ts-expect-error the entity has no such column
      await insertRows(service, Sample, [misspelt])
      // @ts-expect-error a text is no number
      await insertRows(service, Sample, [{ ...fresh('text'), ownerId: '1' }])
      // @ts-expect-error the entity has no such column
      await insertMissingRows(service, Sample, 'key', [fresh('key')])
      // @ts-expect-error the entity has no such column
      await updateRows(service, Sample, { code: 'short' }, { notes: 'x' })
      // @ts-expect-error the entity has no such column
      await updateRows(service, Sample, { coed: 'short' }, { note: 'x' })
      // @ts-expect-error a text has no sum
      await updateRows(service, Sample, { code: 'short' }, { note: incrementBy(1) })
      // @ts-expect-error the selection has no such column
      samples.pick('code').omit('note')
    }
    t.type(rejected, 'function')
  })

  await t.test('existing rows are kept, counted, replaced or increased', async (t) => {
    const row = fresh('one')
    await insertMissingRows(service, Sample, 'code', [row, { ...fresh('one'), note: 'second' }])
    t.equal((await read('one'))?.note, null)
    await insertMissingRows(service, Sample, 'any', [row])
    t.equal(await insertRowsIfAbsent(service, Sample, 'code', [fresh('one'), fresh('two')]), 1)
    await insertOrReplaceRows(service, Sample, { key: 'code', sets: ['note', 'attributes'] }, [
      { ...fresh('one'), note: 'put', attributes: { tags: ['b'] }, balance: 5 },
    ])
    const put = await read('one')
    t.same([put?.note, put?.attributes, put?.balance], ['put', { tags: ['b'] }, 0])
    await insertOrAddToRows(service, Sample, { key: 'code', sums: ['balance'], sets: ['note'] }, [
      { ...fresh('one'), balance: 5, note: 'added' },
      { ...fresh('three'), balance: 7 },
    ])
    await insertOrAddToRows(service, Sample, { key: 'code', sums: ['balance'] }, [{ ...fresh('one'), balance: 5 }])
    t.same([(await read('one'))?.balance, (await read('one'))?.note], [10, 'added'])
    t.equal((await read('three'))?.balance, 7)
  })

  await t.test('updates need a condition and columns', async (t) => {
    const { id } = (await read('two')) ?? { id: 0 }
    t.equal(await updateRows(service, Sample, { id, note: null }, { balance: incrementBy(3), note: 'first' }), 1)
    t.equal(
      await updateRows(service, Sample, { id, note: null }, { balance: incrementBy(3) }),
      0,
      'the note is not null now',
    )
    await updateRows(service, Sample, { id }, { attributes: { tags: [] }, endedAt: createdAt, enabled: true })
    const row = await read('two')
    assertMembers(t, row, { balance: 3, note: 'first', attributes: { tags: [] }, endedAt: createdAt, enabled: true })
    t.throws(() => updateRows(service, Sample, { id }, { note: undefined as never }), TypeError)
    t.throws(() => updateRows(service, Sample, { id: undefined as never }, { note: 'all' }), TypeError)
    const doubled = sqlValue<number>({ sql: 'balance * ?', parameters: [2] })
    await updateRows(service, Sample, { id }, { balance: doubled })
    t.equal((await read('two'))?.balance, 6)
    const seven = sqlValue<number>({ sql: '? + 2', parameters: [5] })
    await insertRow(service, Sample, { ...fresh('four'), balance: seven, note: 'four' })
    t.hasStrict(await read('four'), { balance: 7, note: 'four', count: 0 })
  })

  await t.test('a selection reads only what was selected', async (t) => {
    const some = samples.pick('code', 'balance')
    t.same(await some.select(service, `where code = 'two'`), [{ code: 'two', balance: 6 }])
    const [joined] = await service.query<object>(
      `select ${some.listOf('one')} from sample one join sample two on two.code = one.code where one.code = 'two'`,
    )
    t.same(some.read(joined ?? {}), { code: 'two', balance: 6 })
    t.throws(() => samples.read(joined ?? {}), TypeError, 'other columns are missing')
    t.throws(() => some.read({ code: null, balance: 1 }), TypeError)
    t.throws(() => some.read({ code: 'x', balance: '9007199254740993' }), RangeError)
    const rest = samples.omit('body', 'picture', 'attributes')
    t.notOk(rest.list.includes('picture'))
    t.equal(samples.pick('amountRaw', 'id').list, 'amount_raw, id')
  })

  await t.test('many rows are inserted in a few statements', async (t) => {
    const texts = new Map<string, number>()
    const counting = {
      dialect: service.dialect,
      execute: (sql: string, parameters: Parameters<typeof service.execute>[1] = []) => {
        texts.set(sql, parameters.length)
        return service.execute(sql, parameters)
      },
    }
    const many = Array.from({ length: 37 }, (_, index) => fresh(`many ${index}`))
    await insertRows(counting, Sample, many)
    t.same(
      [...texts.values()].map((parameters) => parameters / samples.columns.length),
      [32, 4, 1],
    )
    const before = [...texts.keys()]
    await insertRows(
      counting,
      Sample,
      Array.from({ length: 37 }, (_, index) => fresh(`more ${index}`)),
    )
    t.same([...texts.keys()], before, 'the same texts, which stay prepared')
    t.equal((await samples.select(service, `where code like 'm%'`)).length, 74)
  })
})

import assert from 'node:assert/strict'
import { throwsWith } from '@plinth/dev/testing'
import {
  type ChangeSetDefinition,
  compileChangeSets,
  type Dialect,
  defineChangeSet,
  dialects,
} from '@plinth/migrations'
import fc from 'fast-check'
import t from 'tap'

const one = (definition: Partial<ChangeSetDefinition>, dialect: Dialect = 'sqlite') =>
  compileChangeSets([{ plugin: 'p', changeSets: [defineChangeSet({ id: '0001-first', ...definition })] }], dialect)[0]

const createAll: NonNullable<ChangeSetDefinition['up']> = ({ schema, type }) => [
  schema
    .createTable('thing')
    .addColumn('id', type.id, (c) => c.primaryKey())
    .addColumn('small', type.integer)
    .addColumn('amount', type.bigint, (c) => c.notNull().defaultTo(0))
    .addColumn('enabled', type.boolean)
    .addColumn('name', type.text(64))
    .addColumn('body', type.longText)
    .addColumn('created_at', type.timestamp)
    .addColumn('attributes', type.json)
    .addColumn('amount_raw', type.uint256)
    .addColumn('picture', type.binary),
  schema.dropIndex('old_index').on('thing'),
]

t.test('C-039 one change set gives the right types and wording on every database', async (t) => {
  const sql = Object.fromEntries(dialects.map((dialect) => [dialect, one({ up: createAll }, dialect)?.statements]))
  const mysqlColumns =
    '(`id` bigint not null primary key, `small` int, `amount` bigint default 0 not null, `enabled` tinyint(1), ' +
    '`name` varchar(64), `body` longtext, `created_at` datetime(3), `attributes` json, `amount_raw` varchar(78), `picture` longblob)'
  const options = 'engine = InnoDB default character set utf8mb4 collate'
  t.same(sql, {
    sqlite: [
      'create table "thing" ("id" integer not null primary key, "small" integer, "amount" bigint default 0 not null, ' +
        '"enabled" integer, "name" text, "body" text, "created_at" datetime, "attributes" json, "amount_raw" text, "picture" blob)',
      'drop index "old_index"',
    ],
    postgresql: [
      'create table "thing" ("id" bigint not null primary key, "small" integer, "amount" bigint default 0 not null, ' +
        '"enabled" boolean, "name" varchar(64), "body" text, "created_at" timestamptz(3), "attributes" jsonb, ' +
        '"amount_raw" varchar(78), "picture" bytea)',
      'drop index "old_index"',
    ],
    mysql: [`create table \`thing\` ${mysqlColumns} ${options} utf8mb4_0900_bin`, 'drop index `old_index` on `thing`'],
    mariadb: [
      `create table \`thing\` ${mysqlColumns} ${options} utf8mb4_nopad_bin`,
      'drop index `old_index` on `thing`',
    ],
  })
})

t.test('a change set is compiled once for each database and plugin, however often a product starts', async (t) => {
  let calls = 0
  const changeSet = defineChangeSet({
    id: '0001-first',
    up(builders) {
      calls += 1
      return createAll(builders)
    },
  })
  const compile = (plugin: string, dialect: Dialect) =>
    compileChangeSets([{ plugin, changeSets: [changeSet] }], dialect)[0]
  const first = compile('p', 'sqlite')
  const before = calls
  t.equal(compile('p', 'sqlite'), first)
  t.equal(calls, before)
  t.match(compile('q', 'sqlite'), { plugin: 'q', checksum: first?.checksum })
  t.notSame(compile('p', 'mariadb')?.statements, first?.statements)
})

t.test('C-039 a step for one database is planned only for that database', async (t) => {
  const only: Dialect[] = ['postgresql']
  const up: NonNullable<ChangeSetDefinition['up']> = ({ sql }) => [sql`create extension if not exists pg_trgm`]
  for (const dialect of dialects) {
    t.equal(one({ only, up }, dialect)?.statements.length, dialect === 'postgresql' ? 1 : undefined, dialect)
  }
})

t.test('the order: plugins as listed, change sets of a plugin by id', async (t) => {
  const ids = fc.uniqueArray(fc.integer({ min: 0, max: 9999 }), { minLength: 1, maxLength: 12 })
  fc.assert(
    fc.property(ids, ids, (first, second) => {
      const changeSets = (numbers: readonly number[]) =>
        numbers.map((number) =>
          defineChangeSet({ id: `${String(number).padStart(4, '0')}-x`, data: async () => undefined }),
        )
      const compiled = compileChangeSets(
        [
          { plugin: 'second.by-name', changeSets: changeSets(first) },
          { plugin: 'first.by-name', changeSets: changeSets(second) },
        ],
        'sqlite',
      )
      const numbersOf = (plugin: string) =>
        compiled.filter((c) => c.plugin === plugin).map((c) => Number(c.id.slice(0, 4)))
      const ascending = (numbers: readonly number[]) => [...numbers].sort((a, b) => a - b)
      assert.equal(
        compiled.findIndex((c) => c.plugin === 'first.by-name'),
        first.length,
      )
      assert.deepEqual(numbersOf('second.by-name'), ascending(first))
      assert.deepEqual(numbersOf('first.by-name'), ascending(second))
    }),
    { numRuns: 30 },
  )
  t.pass('property held')
})

t.test('C-014 an invalid change set is rejected with its plugin and id', async (t) => {
  const wrong: readonly (readonly [string, Partial<ChangeSetDefinition>, RegExp])[] = [
    ['id', { id: 'first', up: createAll }, /its id is not like/],
    ['nothing to do', {}, /neither `up` nor `data`/],
    [
      'camel case',
      { up: ({ schema, type }) => [schema.createTable('a').addColumn('createdAt', type.id)] },
      /"createdAt"/,
    ],
    ['camel case table', { up: ({ schema }) => [schema.createTable('userRole')] }, /"userRole"/],
    ['camel case index', { up: ({ schema }) => [schema.createIndex('byName').on('a').column('name')] }, /"byName"/],
    ['no .on', { up: ({ schema }) => [schema.dropIndex('a')] }, /says of which table/],
    ['rows', { up: ({ sql }) => [sql`update a set b = 1`] }, /does not change the schema/],
    ['parameters', { up: ({ sql }) => [sql`create view a as select ${1}`] }, /has parameters/],
    ['text length', { up: ({ schema, type }) => [schema.createTable('a').addColumn('b', type.text(769))] }, /1 to 768/],
  ]
  for (const [name, definition, message] of wrong) {
    throwsWith(t, () => one(definition), { code: 'PLINTH_MIGRATION_INVALID', message }, name)
  }
  throwsWith(
    t,
    () => compileChangeSets([{ plugin: 'p', changeSets: [{ id: '0001-raw' }] }], 'sqlite'),
    { code: 'PLINTH_MIGRATION_INVALID', message: /p\/0001-raw .*defineChangeSet/ },
    'not made by defineChangeSet',
  )
  const twice = defineChangeSet({ id: '0001-a', up: createAll })
  throwsWith(t, () => compileChangeSets([{ plugin: 'p', changeSets: [twice, twice] }], 'sqlite'), {
    message: /used twice/,
  })
})

t.test('C-038 dropping, renaming or changing the type of a column needs a reason', async (t) => {
  const breaking: readonly (readonly [string, NonNullable<ChangeSetDefinition['up']>])[] = [
    ['drop table', ({ schema }) => [schema.dropTable('a')]],
    ['drop column', ({ schema }) => [schema.alterTable('a').dropColumn('b')]],
    ['rename table', ({ schema }) => [schema.alterTable('a').renameTo('b')]],
    ['rename column', ({ schema }) => [schema.alterTable('a').renameColumn('b', 'c')]],
    ['retype', ({ schema, type }) => [schema.alterTable('a').modifyColumn('b', type.bigint)]],
    ['retype', ({ schema }) => [schema.alterTable('a').alterColumn('b', (c) => c.setDataType('text'))]],
    ['required column', ({ schema, type }) => [schema.alterTable('a').addColumn('b', type.id, (c) => c.notNull())]],
    ['raw', ({ sql }) => [sql`ALTER TABLE a\n DROP COLUMN b`]],
    ['raw', ({ sql }) => [sql`drop view a`]],
  ]
  for (const [name, up] of breaking) {
    throwsWith(t, () => one({ up }), { code: 'PLINTH_MIGRATION_BREAKING' }, name)
    t.equal(
      one({ up, breaking: 'the table was never used' })?.breaking,
      'the table was never used',
      `${name} with reason`,
    )
  }
  const additive: NonNullable<ChangeSetDefinition['up']> = ({ schema, type, sql }) => [
    schema.createTable('a').addColumn('b', type.id, (c) => c.notNull()),
    schema.alterTable('a').addColumn('c', type.text(10)),
    schema.alterTable('a').addColumn('d', type.integer, (c) => c.notNull().defaultTo(0)),
    schema.createIndex('a_c').on('a').column('c'),
    schema.dropIndex('a_c').on('a'),
    sql`create view a_view as select c from a`,
  ]
  t.equal(one({ up: additive })?.statements.length, 6, 'adding needs none')
})

t.test('the checksum depends on the statements, not on the layout of the code', async (t) => {
  const checksum = (up: NonNullable<ChangeSetDefinition['up']>) => one({ up })?.checksum
  const base = checksum(({ sql }) => [sql`create index a_b on a (b)`])
  t.equal(
    checksum(({ sql }) => [sql`create index  a_b\n    on a (b)`]),
    base,
  )
  t.not(
    checksum(({ sql }) => [sql`create index a_b on a (b, c)`]),
    base,
  )
  t.not(
    checksum(({ sql }) => [sql`create index a_B on a (b)`]),
    base,
  )
  t.not(one({ up: ({ sql }) => [sql`create index a_b on a (b)`], data: async () => undefined })?.checksum, base)
})

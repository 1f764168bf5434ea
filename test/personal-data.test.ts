/** Tests the export and the erasure of a user over the tables of all plugins. */
import { type Database, database } from '@plinth/database'
import { startForTest } from '@plinth/dev/testing'
import { createDatabase, dialectsUnderTest } from '@plinth/dev/testing/database'
import { accounts, identity, personalRecords } from '@plinth/iam'
import {
  type JsonValue,
  kernel,
  type PersonalDataSubject,
  type PersonalTable,
  type Product,
  personalData,
} from '@plinth/kernel'
import t, { type Test } from 'tap'
import checkout from '../examples/checkout/plugin.ts'
import forum from '../examples/forum/plugin.ts'
import notes from '../examples/notes/plugin.ts'
import quickstart from '../examples/quickstart/plinth.config.ts'
import { fillMarked } from './data-scope/marked-rows.ts'
import { dataDirectory } from './fixtures/product-process.ts'

const actor = { name: 'test', clientIp: '', traceId: '', userAgent: '' }
/** User names. They occur in every text column of the rows of their user. */
const erased = 'zqerase1'
const other = 'zqother2'

/** A product with all plugins that have entities, including the examples. */
const product: Product = { ...quickstart, plugins: [...quickstart.plugins, checkout, forum, notes] }

/** Starts the product above without scheduled tasks. */
async function startProduct(t: Test, config: Readonly<Record<string, JsonValue>>) {
  const root = await dataDirectory(t.teardown)
  const settings = {
    'platform.http.port': 0,
    'platform.install.installed': true,
    'platform.iam.password.hash.memory': '1MiB',
    'platform.iam.password.hash.passes': 1,
    'platform.rate-limit.enabled': false,
    'platform.mail.driver': 'none',
    ...config,
  }
  const filled = { ...product, root, config: { ...product.config, ...settings } }
  const running = await startForTest(filled, { roles: ['web'] })
  t.teardown(() => running.stop('test ended'))
  return { running, db: running.service(database) }
}

/** Starts the product with two users who have rows in every table. */
async function startFilled(t: Test, config: Readonly<Record<string, JsonValue>>) {
  const { running, db } = await startProduct(t, config)
  const people = running.service(accounts)
  await people.createSuperAdministrator({ username: 'root', password: 'Correct-horse-7' }, actor)
  const filledUser = async (username: string, mobile: string) => {
    const email = `${username}@example.org`
    const { id } = await people.create({ username, email, mobile, password: 'Correct-horse-7' }, actor)
    const rows = await fillMarked(db, { userId: id, mark: username })
    await fillMore(db, id, username)
    return { id, rows }
  }
  const a = await filledUser(erased, '+8613800138001')
  const b = await filledUser(other, '+8613800138002')
  await fillShared(db, [a.id, b.id])
  return { running, db, a, b }
}

/** Inserts rows that `fillMarked` does not insert: rows without an owner, and rows that two users share. */
async function fillMore(db: Database, userId: number, username: string): Promise<void> {
  const now = new Date()
  const insert = (table: string, row: Readonly<Record<string, string | number | boolean | null | Date>>) => {
    // `sensitive` is a reserved word of MariaDB.
    const quote = db.dialect === 'mariadb' ? '`' : '"'
    const names = Object.keys(row).map((name) => `${quote}${name}${quote}`)
    const places = names.map(() => '?')
    return db.execute(`insert into ${table} (${names.join(', ')}) values (${places.join(', ')})`, Object.values(row))
  }
  const edited = { version: 1, created_at: now, updated_at: now, updated_by: username }
  const id = () => db.newId()
  await insert('iam_authority_change', { id: id(), user_id: userId, changed_at: now })
  await insert('iam_user_role', { id: id(), user_id: userId, role_id: 1 })
  await insert('iam_recovery_token', {
    id: id(),
    token_hash: `invitation of ${username}`,
    purpose: 'invitation',
    user_id: id(),
    address: '',
    state: '',
    inviter_id: userId,
    created_at: now,
    expires_at: now,
  })
  await insert('sys_config', {
    config_key: `platform.${username}`,
    config_value: '1',
    sensitive: false,
    version: 1,
    updated_at: now,
    updated_by: username,
  })
  await insert('message_template', {
    id: id(),
    code: username,
    channel: 'all',
    locale: 'en',
    subject: 's',
    content: 'c',
    compiled: '{}',
    variables: '[]',
    enabled: true,
    ...edited,
  })
  await insert('message_template_draft', {
    id: id(),
    template_id: id(),
    subject: 's',
    content: 'c',
    base_version: 1,
    ...edited,
  })
  await insert('message_template_version', {
    id: id(),
    template_id: id(),
    number: 1,
    code: username,
    channel: 'all',
    locale: 'en',
    subject: 's',
    content: 'c',
    compiled: '{}',
    variables: '[]',
    created_at: now,
    created_by: username,
  })
  await insert('digest_definition', {
    id: id(),
    code: username,
    enabled: true,
    kind: 'fixed',
    window_seconds: 1,
    max_seconds: 1,
    slots: '[]',
    items_shown: 1,
    channels: '[]',
    ...edited,
  })
  await insert('web3_chain', {
    id: id(),
    name: username,
    chain_id: id(),
    enabled: false,
    finality: 'depth',
    max_head_lag_blocks: 1,
    providers: '[]',
    ...edited,
  })
  await insert('points_rule', {
    id: id(),
    code: username,
    version: 1,
    type: 'task',
    asset: 'points:mall',
    enabled: true,
    config: '{}',
    active_from: 0,
    active_to: Number.MAX_SAFE_INTEGER,
    updated_by: userId,
    created_at: now,
  })
  await insert('install_state', {
    id: id(),
    installed: true,
    session_id: '',
    changed_by: username,
    holder: '',
    holder_space: '',
    holder_pid: 0,
    held_until: 0,
  })
  await insert('money_journal', {
    id: id(),
    idem_hash: `actor of ${username}`,
    idem_key: 'k',
    fingerprint: 'f',
    action: 'credit',
    kind: 'k',
    actor: `user:${userId}`,
    occurred_at: 0,
    created_at: 0,
  })
  await insert('money_debt', {
    id: id(),
    account_id: id(),
    idem_hash: `actor of ${username}`,
    fingerprint: 'f',
    kind: 'k',
    counter: 'c',
    deducted: 0,
    shortfall: 1,
    owed: 1,
    recovery: 'none',
    actor: `user:${userId}`,
    created_at: 0,
  })
}

/** Inserts a notification to both users. */
async function fillShared(db: Database, userIds: readonly number[]): Promise<void> {
  const contentId = db.newId()
  await db.execute(
    `insert into notification_inbox_content
       (id, message_id, subject, content, variables, jump, attachments, created_at) values (?, ?, ?, ?, ?, ?, ?, ?)`,
    [contentId, 'shared', 's', 'c', '{}', '{}', 1, new Date()],
  )
  await db.execute(
    `insert into notification_inbox_attachment (id, content_id, message_id, name, content_type, size)
     values (?, ?, 'shared', 'n', 't', 1)`,
    [db.newId(), contentId],
  )
  for (const userId of userIds) {
    await db.execute(
      `insert into notification_inbox_item (id, content_id, user_id, owner_id, module, unread)
       values (?, ?, ?, ?, 'm', ?)`,
      [db.newId(), contentId, userId, userId, true],
    )
  }
}

type Running = Awaited<ReturnType<typeof startFilled>>['running']
const tablesOf = (running: Running): readonly PersonalTable[] =>
  [...running.service(kernel).contributions(personalData).values()].flat()

type Cells = Readonly<Record<string, unknown>>

/** Returns the key of a row: the values of its primary key, by property or by column. */
function keyReader(db: Database, table: string): (row: Cells) => string {
  const all = [...db.fork().getMetadata().getAll().values()] as unknown as {
    tableName: string
    primaryKeys: string[]
    properties: Record<string, { fieldNames: string[] }>
  }[]
  const entity = all.find(({ tableName }) => tableName === table)
  const names = entity?.primaryKeys.map((name) => [name, entity.properties[name]?.fieldNames[0] ?? ''] as const) ?? []
  return (row) => names.map(([property, column]) => String(row[column] ?? row[property])).join(' ')
}

/** Returns all rows of the tables by their keys, in the form of the driver. */
async function contentsOf(db: Database, tables: readonly PersonalTable[]) {
  const contents = new Map<string, ReadonlyMap<string, Cells>>()
  const plain = (_: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value)
  for (const table of new Set(tables.map(({ table }) => table))) {
    const keyOf = keyReader(db, table)
    const rows: Cells[] = JSON.parse(JSON.stringify(await db.query(`select * from ${table}`), plain))
    contents.set(table, new Map(rows.map((row) => [keyOf(row), row])))
  }
  return contents
}

/** Returns the keys of the rows of a user, by the declaration of the table. */
async function rowsOf(db: Database, tables: readonly PersonalTable[], person: PersonalDataSubject) {
  const rows = new Map<PersonalTable, ReadonlySet<string>>()
  for (const declared of tables) {
    const keyOf = keyReader(db, declared.table)
    const keys = new Set<string>()
    for await (const row of declared.read(person)) keys.add(keyOf(row as Cells))
    rows.set(declared, keys)
  }
  return rows
}

async function textOf(parts: AsyncIterable<string>): Promise<string> {
  let text = ''
  for await (const part of parts) text += part
  return text
}

const differingColumns = (one: Cells, other: Cells) =>
  Object.keys(one).filter((column) => JSON.stringify(one[column]) !== JSON.stringify(other[column]))

/** Tables that contain records of the erasure itself. */
const recording = ['iam_audit', 'outbox_event', 'outbox_stream', 'iam_authority_change']

/** Names of properties that refer to a user, or that contain the name or an address of a user. */
const personal =
  /^(?:user|owner|owner_user|actor|actor_user|sender|reporter|author|recipient|subscriber|operator|username|email|mobile)(?:_id|_key|_name)?$|_by$|_user_ids?$|^client_ip$/

/** Columns whose names match `personal` but that need no declaration, each with the reason. */
const exceptions: Readonly<Record<string, string>> = {
  'approval_instance.actor_name': 'a program; null for a user',
  'iam_audit.actor': 'the id of actor_user_id, or a program',
  'install_session.client_ip': 'the address from which the product was installed, before there were users',
  'web3_payment_callback_log.started_by': 'a kind of action',
}

t.test('every table with a column about users is declared', async (t) => {
  const { running, db } = await startProduct(t, {})
  const declared = tablesOf(running)
  const undeclared: string[] = []
  const all = [...db.fork().getMetadata().getAll().values()]
  for (const { tableName, props } of all as unknown as { tableName: string; props: { fieldNames: string[] }[] }[]) {
    const of = declared.filter(({ table }) => table === tableName)
    if (of.some(({ erasure }) => erasure === 'removed')) continue
    const known = of.flatMap((one) => [...one.columns, ...(one.erasure === 'anonymised' ? one.overwritten : [])])
    const columns = props.flatMap(({ fieldNames }) => fieldNames).filter((column) => personal.test(column))
    undeclared.push(...columns.filter((column) => !known.includes(column)).map((column) => `${tableName}.${column}`))
  }
  t.strictSame(undeclared.toSorted(), Object.keys(exceptions))
  const tables = new Set(all.map(({ tableName }) => tableName))
  const unknown = declared.map(({ table }) => table).filter((table) => !tables.has(table))
  t.strictSame(unknown, [], 'every declared table exists')
})

for (const { dialect, skip } of dialectsUnderTest) {
  t.test(`a user is exported and erased completely (${dialect})`, { skip, timeout: 900_000 }, async (t) => {
    const place = await createDatabase(dialect)
    t.teardown(() => place.drop())
    const { running, db, a, b } = await startFilled(t, place.config)
    const records = running.service(personalRecords)
    // The rows of all tables include second factors.
    const attempt = { ...actor, method: 'test', identifier: erased, secondFactor: 'test', setHeader() {} }
    const { accessToken } = await running.service(identity).openSession(a.id, attempt)
    const tables = tablesOf(running)
    const mine = await rowsOf(db, tables, { userId: a.id, username: erased })
    const theirs = await rowsOf(db, tables, { userId: b.id, username: other })
    const empty = [...mine, ...theirs]
      .filter(([, keys]) => keys.size === 0)
      .map(([{ table, columns }]) => [table, columns])
    t.strictSame(empty, [], 'both users have rows for each declaration')
    const unread = [...a.rows.values()].filter(({ table, key }) => {
      const declared = tables.filter((one) => one.table === table)
      const isRead = declared.some((one) => [...(mine.get(one) ?? [])].some((text) => text.includes(String(key.value))))
      return declared.length > 0 && !isRead
    })
    t.strictSame(
      unread.map(({ table }) => table),
      [],
      'every row of the user is found',
    )

    const text = await textOf(await records.export(a.id, actor))
    const document = JSON.parse(text)
    t.equal(document.userId, a.id)
    const exported: { table: string; title: object; rows: Cells[] }[] = document.tables
    for (const [{ table, title }, keys] of mine) {
      const keyOf = keyReader(db, table)
      const found = exported.find((one) => one.table === table && JSON.stringify(one.title) === JSON.stringify(title))
      const exportedKeys = new Set(found?.rows.map(keyOf))
      const missing = [...keys].filter((key) => !exportedKeys.has(key))
      t.strictSame(missing, [], `the export contains the rows of ${table}`)
    }
    const foreign = [other, String(b.id), ...[...b.rows.values()].map(({ key }) => String(key.value))]
    t.strictSame(
      foreign.filter((one) => text.includes(one)),
      [],
      'and no data of the other user',
    )
    t.notMatch(text, /argon2|passwordHash|tokenHash/, 'and no secret')

    const before = await contentsOf(db, tables)
    const announced = await records.summary(a.id, actor)
    t.strictSame(await contentsOf(db, tables), before, 'the summary changes nothing')
    const erase = () => records.erase(a.id, { actor, signal: AbortSignal.timeout(600_000) })
    const kinds = (rows: typeof announced) => rows.map(({ table, columns, erasure }) => [table, columns, erasure])
    t.strictSame(kinds(await erase()), kinds(announced))
    const after = await contentsOf(db, tables)

    const unexpected: string[] = []
    // Skips `outbox_stream`, because the erasure publishes an event, which changes the row of the event's key in this
    // table.
    for (const [table, rows] of [...before].filter(([table]) => table !== 'outbox_stream')) {
      for (const [key, row] of rows) {
        const declared = tables.filter((one) => one.table === table && mine.get(one)?.has(key))
        const isRemoved = declared.some(({ erasure }) => erasure === 'removed')
        const overwritten = declared.flatMap((one) => (one.erasure === 'anonymised' ? one.overwritten : []))
        const left = after.get(table)?.get(key)
        if ((left === undefined) !== isRemoved)
          unexpected.push(`${table} ${key} ${left === undefined ? 'is gone' : 'stays'}`)
        if (left === undefined) continue
        const changed = differingColumns(row, left).filter((column) => !overwritten.includes(column))
        const identifying = overwritten.filter((column) => JSON.stringify(left[column])?.includes(erased))
        if (changed.length > 0) unexpected.push(`${table} ${key} changed: ${changed}`)
        if (identifying.length > 0) unexpected.push(`${table} ${key} identifies: ${identifying}`)
      }
    }
    t.strictSame(unexpected, [], 'exactly the announced rows and columns changed')
    const rejected = await Promise.resolve()
      .then(() => running.service(identity).authenticate(accessToken))
      .catch((error: unknown) => error)
    t.hasStrict(rejected, { reason: 'iam.token-invalid' }, 'the sessions ended')
    t.equal(await running.service(accounts).find(a.id), undefined)
    t.hasStrict(await running.service(accounts).find(b.id), { username: other, enabled: true })

    const remaining = (await erase()).filter(({ erasure, rows }) => erasure !== 'kept' && rows > 0)
    t.strictSame(remaining, [], 'a second call has nothing to do')
    const repeated = await contentsOf(db, tables)
    for (const [table, rows] of after) if (!recording.includes(table)) t.strictSame(repeated.get(table), rows, table)
  })
}

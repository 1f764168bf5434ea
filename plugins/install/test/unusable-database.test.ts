/**
 * Tests connections that can be opened but with which the product could not work. They are rejected before any write.
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import databasePlugin, { database } from '@plinth/database'
import { startForTest, until } from '@plinth/dev/testing'
import { createDatabase, everyDialect, runOnServer, type TestServer } from '@plinth/dev/testing/database'
import { defineProduct } from '@plinth/kernel'
import t, { type Test } from 'tap'
import { databaseFormFor, databaseWithPassword, secrets, startInstall } from './fixtures/product.ts'

type DatabaseForm = Awaited<ReturnType<typeof databaseWithPassword>>

/** Starts a product on SQLite that will be installed on another database. */
async function start(t: Test) {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const { execute, form, root, clock } = await startInstall(t, db)
  /** Checks that the configuration was not written, and returns the failed step. */
  async function rejected(t: Test, database: object, field: string) {
    const { data } = await execute({ body: { ...form, database } })
    t.match(data, { passed: false, configWritten: false, restartRequired: false }, data.message)
    t.equal(data.failedField, field, data.message)
    t.equal(data.records.at(-1).stepCode, 'config-write')
    t.notOk(existsSync(join(root, '.env')))
    t.notOk(existsSync(join(root, '.env.trial')))
    return data.message as string
  }
  return { rejected, clock }
}

/** Creates an empty database and a user with only these grants. */
async function databaseForUser(t: Test, server: TestServer, grants: readonly string[]) {
  const db = await createDatabase(server)
  const form = databaseFormFor(db)
  const username = `u${randomBytes(6).toString('hex')}`
  const user = server === 'mariadb' ? `${username}@'%'` : username
  const creation = server === 'mariadb' ? `create user ${user} identified by` : `create role ${user} login password`
  await runOnServer(server, `${creation} '${secrets.database}'`, ...grants.map((grant) => grant.replace('USER', user)))
  t.teardown(async () => {
    await db.drop()
    await runOnServer(server, `drop ${server === 'mariadb' ? 'user' : 'role'} ${user}`)
  })
  return { ...form, username, password: secrets.database }
}

/** Starts another product on the database. */
async function productOn(t: Test, server: TestServer, { database: name, username, password }: DatabaseForm) {
  const config = {
    'platform.database.type': server,
    'platform.database.name': name,
    'platform.database.username': username,
    'platform.database.password': password,
    'platform.database.migrate-at-start': false,
  }
  const product = defineProduct({ name: 'other', plugins: [databasePlugin], config })
  const running = await startForTest(product, { roles: ['cli'] })
  t.teardown(() => running.stop('test ended'))
  return running.service(database)
}

/** Starts a server that accepts connections and sends nothing. */
async function silentServer(t: Test) {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => sockets.add(socket.on('error', () => {})))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, sockets }
}

const skipped = (server: TestServer) => everyDialect.find(({ dialect }) => dialect === server)?.skip ?? false

t.test('PostgreSQL: a role without CREATE on the schema', { skip: skipped('postgresql') }, async (t) => {
  const { rejected } = await start(t)
  const target = await databaseForUser(t, 'postgresql', [])
  t.match(
    await rejected(t, target, 'database.username'),
    /not allowed to create tables .* permission denied for schema public/,
  )
})

t.test('PostgreSQL: a read-only server', { skip: skipped('postgresql') }, async (t) => {
  const { rejected } = await start(t)
  const target = await databaseForUser(t, 'postgresql', ['alter role USER set default_transaction_read_only = on'])
  t.match(await rejected(t, target, 'database.host'), /is read-only.*primary server/)
})

t.test('MariaDB: a user without the right to create tables', { skip: skipped('mariadb') }, async (t) => {
  const { rejected } = await start(t)
  const target = await databaseForUser(t, 'mariadb', ['grant select, insert, update, delete on `plinth%`.* to USER'])
  t.match(await rejected(t, target, 'database.username'), /not allowed to create tables/)
})

for (const server of ['postgresql', 'mariadb'] as const) {
  t.test(`${server}: a database of another product`, { skip: skipped(server) }, async (t) => {
    const { rejected } = await start(t)
    const target = await databaseWithPassword(t, server, secrets.database)
    const other = await productOn(t, server, target)
    await other.execute('create table iam_user (id integer)')
    t.match(await rejected(t, target, 'database.database'), /iam_user.*empty database/)
    const named = server === 'mariadb' ? 'database()' : 'current_schema()'
    const query = `select table_name as name from information_schema.tables where table_schema = ${named}`
    t.same(await other.query(query), [{ name: 'iam_user' }], 'nothing was created beside it')
  })
}

for (const [type, server] of [
  ['postgresql', 'postgresql'],
  ['mysql', 'mariadb'],
] as const) {
  t.test(`${type}: a server that sends nothing, and another kind of server`, { skip: skipped(server) }, async (t) => {
    const { rejected } = await start(t)
    const target = await databaseWithPassword(t, server, secrets.database)
    const ports = [(await silentServer(t)).port, server === 'postgresql' ? 3306 : 5432]
    for (const port of ports) {
      const message = await rejected(t, { ...target, host: '127.0.0.1', port }, 'database.host')
      t.match(message, /No database server of that type responds at 127\.0\.0\.1:\d+\/.*correct its host, its port/)
    }
  })
}

t.test('if a server sends nothing, the host is reported, whichever timeout ends first', async (t) => {
  const { rejected, clock } = await start(t)
  const { port, sockets } = await silentServer(t)
  const target = { type: 'postgresql', host: '127.0.0.1', port, database: 'shop', username: 'u', password: 'x' }
  // The time limit of a connection attempt is five seconds, that of the whole probe ten seconds.
  for (const [index, passedMs] of [5_000, 10_000].entries()) {
    const result = rejected(t, target, 'database.host')
    await until(() => sockets.size > index, 'the server is asked')
    await clock.advance(passedMs)
    t.match(await result, /No database server of that type responds at/)
  }
})

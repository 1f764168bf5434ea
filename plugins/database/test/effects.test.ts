/** What each key of the database does, seen in the database itself. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import databasePlugin, { database } from '@plinth/database'
import { defineProduct, type JsonValue, type Plugin } from '@plinth/kernel'
import { startForTest } from '@plinth/kernel/testing'
import t, { type Test } from 'tap'
import { createDatabase, onEachDatabase, servers, type TestDatabase } from './fixtures/databases.ts'
import samplePlugin from './fixtures/sample-plugin.ts'

const productOf = (config: Readonly<Record<string, JsonValue>>, plugins: readonly Plugin[] = [databasePlugin]) =>
  defineProduct({ name: 'test', plugins, config })

async function start(t: Test, config: Readonly<Record<string, JsonValue>>) {
  const running = await startForTest(productOf(config))
  t.teardown(() => running.stop('test ended'))
  return running.service(database)
}

t.test('SQLite', async (t) => {
  const file = join(t.testdir(), 'shop.sqlite')
  for (const [written, level] of Object.entries({ normal: 1, full: 2 })) {
    const db = await start(t, {
      'platform.database.sqlite.file': file,
      'platform.database.sqlite.synchronous': written,
    })
    t.match(
      await db.query('pragma synchronous'),
      [{ synchronous: level }],
      'effect of platform.database.sqlite.synchronous',
    )
    t.match(await db.query('pragma database_list'), [{ name: 'main', file }], 'effect of platform.database.sqlite.file')
  }
})

const connections = async (t: Test, at: TestDatabase) => {
  const db = await start(t, { ...at.config, 'platform.database.pool-size': 3 })
  const [own] = at.dialect === 'postgresql' ? ['pg_backend_pid()'] : ['connection_id()']
  const begun = Array.from({ length: 3 }, () => Promise.withResolvers<number>())
  const end = Promise.withResolvers<void>()
  const session = async () => Number((await db.query<{ id: number }>(`select ${own} as id`))[0]?.id)
  const held = begun.map(({ resolve }) =>
    db.transactional(async () => {
      resolve(await session())
      await end.promise
    }),
  )
  const sessions = await Promise.all(begun.map(({ promise }) => promise))
  t.equal(new Set(sessions).size, 3, 'three transactions have three connections')
  const fourth = session()
  const order: string[] = []
  const waits = fourth.then(() => order.push('fourth'))
  order.push('first three end')
  end.resolve()
  await Promise.all([...held, waits])
  t.same(order, ['first three end', 'fourth'])
  t.ok(sessions.includes(await fourth), 'effect of platform.database.pool-size: the fourth takes one that became free')
}
onEachDatabase(t, 'a process has no more connections than allowed', connections, servers)

const prepared = async (t: Test, at: TestDatabase) => {
  for (const isOn of [true, false]) {
    const db = await start(t, {
      ...at.config,
      'platform.database.prepared-statements': isOn,
      'platform.database.pool-size': 2,
    })
    const count = async () => {
      const sql =
        at.dialect === 'postgresql'
          ? 'select count(*) as n from pg_prepared_statements'
          : `select variable_value as n from information_schema.session_status where variable_name = 'COM_STMT_PREPARE'`
      return Number((await db.query<{ n: number }>(sql))[0]?.n)
    }
    const most = await db.transactional(async () => {
      for (let run = 0; run < 20; run++) await db.query('select ? as one', [run])
      return count()
    })
    t.equal(most > 0, isOn, `effect of platform.database.prepared-statements: ${isOn}, ${most} on the server`)
  }
}
onEachDatabase(t, 'statements are prepared on the server, or not', prepared, servers)

t.test('where and as whom a product connects', async (t) => {
  for (const type of ['postgresql', 'mariadb']) {
    const heard = Promise.withResolvers<string>()
    const greeting = Buffer.from([10, ...Buffer.from('5.5.5-10.11\0'), 1, 0, 0, 0, ...Buffer.alloc(60)])
    const server = createServer((socket) => {
      if (type === 'mariadb') socket.write(Buffer.concat([Buffer.from([greeting.length, 0, 0, 0]), greeting]))
      socket.once('data', (data) => {
        heard.resolve(data.toString('latin1'))
        socket.destroy()
      })
      socket.on('error', () => {})
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.2', resolve))
    t.teardown(() => server.close())
    const { port } = server.address() as { port: number }
    const config = {
      'platform.database.type': type,
      'platform.database.host': '127.0.0.2',
      'platform.database.port': port,
      'platform.database.name': 'shop-name',
      'platform.database.username': 'shop-user',
      'platform.database.connect-timeout': '5s',
    }
    await t.rejects(startForTest(productOf(config)), { message: /PLINTH_DATABASE_/ })
    t.ok(await heard.promise, `effects of platform.database.{type,host,port}: ${type}`)
    if (type === 'postgresql') {
      t.match(await heard.promise, /shop-user/, 'effect of platform.database.username')
      t.match(await heard.promise, /shop-name/, 'effect of platform.database.name')
      for (const tls of ['encrypt', 'verify']) {
        const first = Promise.withResolvers<Buffer>()
        server.once('connection', (socket) => socket.once('data', first.resolve))
        await t.rejects(startForTest(productOf({ ...config, 'platform.database.tls': tls })))
        // The request for TLS: length 8, code 80877103.
        t.same(await first.promise, Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]), 'effect of platform.database.tls')
      }
    }
  }
})

t.test('how long a migration waits for another process', async (t) => {
  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  const first = await startForTest(productOf(at.config))
  await first
    .service(database)
    .execute(
      `update schema_changelog_lock set holder = 'x', host = 'elsewhere', pid = 1, expires_at = 9000000000000000`,
    )
  await first.stop('another host migrates')
  const second = productOf({ ...at.config, 'platform.database.migration-lock-wait': '1s' }, [
    databasePlugin,
    samplePlugin,
  ])
  const locked = { message: /PLINTH_MIGRATION_LOCKED.*elsewhere.*longer than 1 s/ }
  await t.rejects(startForTest(second), locked, 'effect of platform.database.migration-lock-wait')
})

t.test('how long SQLite waits for another process that writes', async (t) => {
  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  const db = await start(t, { ...at.config, 'platform.database.sqlite.busy-timeout': '20ms' })
  const patient = await start(t, { ...at.config, 'platform.database.sqlite.busy-timeout': '1m' })
  await db.execute('create table note (id integer)')
  const script = `
    import { DatabaseSync } from 'node:sqlite'
    const db = new DatabaseSync(process.argv[1])
    db.exec('begin immediate')
    console.log('holds')
    process.stdin.on('data', () => { db.exec('rollback'); process.exit() })`
  const file = String(at.config['platform.database.sqlite.file'])
  const other = spawn(process.execPath, ['--input-type=module', '-e', script, file], {
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  t.teardown(() => other.kill())
  await once(other.stdout, 'data')
  let isOver = false
  const written = patient.execute('insert into note values (1)').finally(() => {
    isOver = true
  })
  await t.rejects(db.execute('insert into note values (1)'))
  t.equal(
    isOver,
    false,
    'effect of platform.database.sqlite.busy-timeout: who began earlier with a longer one waits on',
  )
  other.stdin.write('end')
  await once(other, 'exit')
  t.equal(await written, 1)
  t.equal(await db.execute('insert into note values (1)'), 1)
})

t.test('how long a connection may take', async (t) => {
  const sockets: Socket[] = []
  const silent = createServer((socket) => sockets.push(socket.on('error', () => {}))).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  t.teardown(() => silent.close())
  const { port } = silent.address() as { port: number }
  const config = { 'platform.database.type': 'postgresql', 'platform.database.port': port }
  const within = (time: string) => startForTest(productOf({ ...config, 'platform.database.connect-timeout': time }))
  let isOver = false
  const patient = within('10m').catch(() => {
    isOver = true
  })
  await t.rejects(within('150ms'), { message: /PLINTH_DATABASE_UNREACHABLE/ })
  t.equal(isOver, false, 'effect of platform.database.connect-timeout: who began earlier with a longer one waits on')
  for (const socket of sockets) socket.destroy()
  await patient
})

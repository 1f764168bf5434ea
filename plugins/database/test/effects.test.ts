/** Tests the effect of each database key, as seen by the database. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import databasePlugin, { database } from '@plinth/database'
import { assertKeyEffect, freePort, type KeyValues, startForTest, until, watchProcess } from '@plinth/dev/testing'
import { defineProduct, type JsonValue, type Plugin } from '@plinth/kernel'
import t, { type Test } from 'tap'
import { createDatabase, onEachDatabase, serverDialects } from './fixtures/databases.ts'
import samplePlugin from './fixtures/sample-plugin.ts'

const productOf = (config: Readonly<Record<string, JsonValue>>, plugins: readonly Plugin[] = [databasePlugin]) =>
  defineProduct({ name: 'test', plugins, config })

async function start(t: Test, config: Readonly<Record<string, JsonValue>>) {
  const running = await startForTest(productOf(config))
  t.teardown(() => running.stop('test ended'))
  return running.service(database)
}

/** Joins the messages of an error and of its causes. */
const messageOf = (error: unknown): string =>
  error instanceof Error ? `${error.message} ${messageOf(error.cause)}` : ''

t.test('SQLite uses the path and the durability of the keys', async (t) => {
  const [one, other] = ['one', 'other'].map((name) => join(t.testdir(), `${name}.sqlite`))
  const [files] = await assertKeyEffect(t, 'platform.database.sqlite.file', {
    compared: one ?? '',
    changed: other ?? '',
    observe: async (values) => {
      const db = await start(t, values)
      return (await db.query<{ file: string }>('pragma database_list'))[0]?.file
    },
  })
  t.same([files?.before, files?.after], [one, other])
  const [levels] = await assertKeyEffect(t, 'platform.database.sqlite.synchronous', {
    changed: 'normal',
    observe: async (values) => {
      const db = await start(t, { 'platform.database.sqlite.file': one ?? '', ...values })
      return (await db.query<{ synchronous: number }>('pragma synchronous'))[0]?.synchronous
    },
  })
  t.match(levels, { before: 2, after: 1 })
})

onEachDatabase(
  t,
  'a process has no more connections than allowed',
  async (t, at) => {
    const session = at.dialect === 'postgresql' ? 'pg_backend_pid()' : 'connection_id()'
    const [sizes] = await assertKeyEffect(t, 'platform.database.pool-size', {
      compared: 4,
      changed: 3,
      observe: async (values, key) => {
        const db = await start(t, { ...at.config, ...values })
        const sessions: number[] = []
        const full = Promise.withResolvers<void>()
        const end = Promise.withResolvers<void>()
        const held = Array.from({ length: 5 }, () =>
          db.transactional(async () => {
            const [row] = await db.query<{ id: number }>(`select ${session} as id`)
            sessions.push(Number(row?.id))
            if (sessions.length === values[key]) full.resolve()
            await end.promise
          }),
        )
        await full.promise
        for (let count = 0; count < 5; count++) await db.reserved.query('select 1 as one')
        const distinct = new Set(sessions).size
        end.resolve()
        await Promise.all(held)
        return { distinct, inAll: new Set(sessions).size }
      },
    })
    t.match(sizes, { before: { distinct: 4, inAll: 4 }, after: { distinct: 3, inAll: 3 } })
  },
  serverDialects,
)

onEachDatabase(
  t,
  'statements are prepared on the server as configured',
  async (t, at) => {
    const counted =
      at.dialect === 'postgresql'
        ? 'select count(*) as n from pg_prepared_statements'
        : `select variable_value as n from information_schema.session_status where variable_name = 'COM_STMT_PREPARE'`
    const [prepared] = await assertKeyEffect(t, 'platform.database.prepared-statements', {
      changed: false,
      observe: async (values) => {
        const db = await start(t, { ...at.config, 'platform.database.pool-size': 2, ...values })
        return db.transactional(async () => {
          for (let run = 0; run < 20; run++) await db.query('select ? as one', [run])
          return Number((await db.query<{ n: number }>(counted))[0]?.n) > 0
        })
      },
    })
    t.match(prepared, { before: true, after: false })
  },
  serverDialects,
)

/**
 * Starts a server that speaks the protocol of PostgreSQL, requests a clear text password and then closes the
 * connection.
 * @returns for each connection its target address, then the received texts
 */
async function startListener(t: Test) {
  const receivedEvents: string[][] = []
  const server = createServer((socket) => {
    const received = [String(socket.localAddress)]
    receivedEvents.push(received)
    socket.on('error', () => {})
    socket.on('data', (data) => {
      received.push(data.toString('latin1'))
      // Type "R" (authentication), length 8, method 3 (clear text password).
      if (received.length === 2) socket.write(Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3]))
      else socket.destroy()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve))
  t.teardown(() => server.close())
  return { received: receivedEvents, port: (server.address() as { port: number }).port }
}

t.test('a product connects to the configured server as the configured user', async (t) => {
  const observe = async (values: KeyValues) => {
    const { received: receivedEvents, port } = await startListener(t)
    const server = { 'platform.database.type': 'postgresql', 'platform.database.port': port }
    await t.rejects(startForTest(productOf({ ...server, 'platform.database.connect-timeout': '1m', ...values })))
    return receivedEvents[0] ?? []
  }
  const [hosts] = await assertKeyEffect(t, 'platform.database.host', { changed: '127.0.0.3', observe })
  t.same([hosts?.before[0], hosts?.after[0]], ['127.0.0.1', '127.0.0.3'])
  const proofs = [
    await assertKeyEffect(t, 'platform.database.name', { changed: 'other-name', observe }),
    await assertKeyEffect(t, 'platform.database.username', { changed: 'other-user', observe }),
    await assertKeyEffect(t, 'platform.database.password', {
      compared: 'one-secret',
      changed: 'other-secret',
      observe,
    }),
  ].flat()
  t.same(
    proofs.map(({ before, after }) => [before, after].map((texts) => /other-\w+/.exec(texts.join())?.[0])),
    ['other-name', 'other-user', 'other-secret'].map((text) => [undefined, text]),
  )
  const [first] = await assertKeyEffect(t, 'platform.database.tls', { changed: 'encrypt', observe })
  t.match(first?.before[1], /plinth/)
  t.equal(first?.after[1], Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]).toString('latin1'), 'request for TLS')

  const [one, other] = [await freePort(), await freePort()]
  const [ports] = await assertKeyEffect(t, 'platform.database.port', {
    compared: one,
    changed: other,
    observe: async (values) => {
      const config = { 'platform.database.type': 'postgresql', ...values }
      return messageOf(await startForTest(productOf(config)).catch((error: unknown) => error))
    },
  })
  t.match(ports?.before, `127.0.0.1:${one}`)
  t.match(ports?.after, `127.0.0.1:${other}`)
  const [types] = await assertKeyEffect(t, 'platform.database.type', {
    compared: 'postgresql',
    changed: 'mariadb',
    observe: async (values) => {
      const config = { 'platform.database.sqlite.file': ':memory:', 'platform.database.port': one, ...values }
      return startForTest(productOf(config)).then(
        async (running) => {
          await running.stop('test ended')
          return 'sqlite'
        },
        (error: unknown) => /(PostgreSQL|MariaDB|MySQL)/i.exec(messageOf(error))?.[0],
      )
    },
  })
  t.match(types?.before, /postgresql/i)
  t.match(types?.after, /mariadb|mysql/i)
})

t.test('a migration waits for another process as long as configured', async (t) => {
  const [locked] = await assertKeyEffect(t, 'platform.database.migration-lock-wait', {
    compared: '1s',
    changed: '2s',
    observe: async (values) => {
      const at = await createDatabase('sqlite')
      t.teardown(() => at.drop())
      const first = await startForTest(productOf(at.config))
      await first
        .service(database)
        .execute(
          `update schema_changelog_lock set holder = 'x', host = 'elsewhere', pid = 1, expires_at = 9000000000000000`,
        )
      await first.stop('another host migrates')
      const second = productOf({ ...at.config, ...values }, [databasePlugin, samplePlugin])
      return messageOf(await startForTest(second).catch((error: unknown) => error))
    },
  })
  t.match(locked?.before, /PLINTH_MIGRATION_LOCKED.*elsewhere.*longer than 1 s/)
  t.match(locked?.after, /PLINTH_MIGRATION_LOCKED.*elsewhere.*longer than 2 s/)
})

t.test('a start migrates unless the key is false', async (t) => {
  const [pending] = await assertKeyEffect(t, 'platform.database.migrate-at-start', {
    changed: false,
    observe: async (values) => {
      const at = await createDatabase('sqlite')
      t.teardown(() => at.drop())
      const running = await startForTest(productOf({ ...at.config, ...values }, [databasePlugin, samplePlugin]))
      t.teardown(() => running.stop('test ended'))
      return (await running.service(database).migrationStatus()).pending.length
    },
  })
  t.match(pending, { before: 0, after: 5 })
})

t.test('SQLite waits as long as configured for another process that writes', async (t) => {
  const script = `
    import { DatabaseSync } from 'node:sqlite'
    const db = new DatabaseSync(process.argv[1])
    db.exec('begin immediate')
    console.log('holds')
    process.stdin.on('data', () => { setTimeout(() => { db.exec('rollback'); process.exit() }, 2000) })`
  const [outcomes] = await assertKeyEffect(t, 'platform.database.sqlite.busy-timeout', {
    compared: '2m',
    changed: '20ms',
    observe: async (values) => {
      const at = await createDatabase('sqlite')
      t.teardown(() => at.drop())
      const db = await start(t, { ...at.config, ...values })
      await db.execute('create table note (id integer)')
      const file = String(at.config['platform.database.sqlite.file'])
      const other = watchProcess(t, spawn(process.execPath, ['--input-type=module', '-e', script, file]))
      await other.until(() => other.output().includes('holds'), 'the other process holds the file')
      const written = db.execute('insert into note values (1)').then(
        () => 'written',
        () => 'rejected',
      )
      // A short wait ends while the other process still holds the file. It is repeated several times.
      if (values['platform.database.sqlite.busy-timeout'] === '20ms') await written
      other.child.stdin?.write('end')
      const [outcome] = await Promise.all([written, other.ended()])
      return outcome
    },
  })
  t.match(outcomes, { before: 'written', after: 'rejected' })
})

t.test('a connection attempt is cancelled at its timeout', async (t) => {
  const sockets: Socket[] = []
  const silent = createServer((socket) => {
    sockets.push(socket.on('error', () => {}).resume())
  }).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const disconnect = () => {
    for (const socket of sockets.splice(0)) socket.destroy()
  }
  t.teardown(() => {
    disconnect()
    silent.close()
  })
  const { port } = silent.address() as { port: number }
  const [results] = await assertKeyEffect(t, 'platform.database.connect-timeout', {
    compared: '150ms',
    changed: '5m',
    observe: async (values) => {
      const config = { 'platform.database.type': 'postgresql', 'platform.database.port': port, ...values }
      const result = startForTest(productOf(config)).then(
        () => 'started',
        ({ message }: Error) => /PLINTH_DATABASE_\w+/.exec(message)?.[0],
      )
      await until(() => sockets.length > 0, 'the connection begins')
      // Both times are measured by timers of this process, so a busy host delays both.
      await Promise.race([result, setTimeout(2_000, undefined, { ref: false })])
      disconnect()
      return result
    },
  })
  t.match(results, { before: 'PLINTH_DATABASE_UNREACHABLE', after: 'PLINTH_DATABASE_FAILED' })
})

onEachDatabase(
  t,
  'the server ends statements and transactions of a product that disappeared',
  async (t, at) => {
    const limits = {
      postgresql: `select current_setting('statement_timeout') as statement, current_setting('idle_in_transaction_session_timeout') as idle`,
      mariadb: 'select @@session.max_statement_time as statement, @@session.idle_transaction_timeout as idle',
      sqlite: '',
    }[at.dialect]
    const observe = async (values: KeyValues) => {
      const [row] = await (await start(t, { ...at.config, ...values })).query<Record<string, string>>(limits)
      return { statement: Number.parseFloat(`${row?.['statement']}`), idle: Number.parseFloat(`${row?.['idle']}`) }
    }
    const [statement] = await assertKeyEffect(t, 'platform.database.query-timeout', { changed: '10s', observe })
    t.match(statement, { before: { statement: 35 }, after: { statement: 15 } })
    const [idle] = await assertKeyEffect(t, 'platform.database.transaction-timeout', { changed: '20s', observe })
    t.match(idle, { before: { idle: 65 }, after: { idle: 25 } })
  },
  serverDialects,
)

onEachDatabase(t, 'a transaction is rolled back at its timeout', async (t, at) => {
  const [reasons] = await assertKeyEffect(t, 'platform.database.transaction-timeout', {
    compared: '200ms',
    changed: '400ms',
    observe: async (values) => {
      const db = await start(t, { ...at.config, ...values })
      return messageOf(await db.transactional(() => new Promise(() => {})).catch((error: unknown) => error))
    },
  })
  t.match(reasons, { before: /200 ms/, after: /400 ms/ })
})

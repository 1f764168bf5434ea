import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import databasePlugin, { type Database, database } from '@plinth/database'
import { assertMembers, startForTest, until } from '@plinth/dev/testing'
import { onSqlite, type TestDatabase } from '@plinth/dev/testing/database'
import { defineProduct, healthCheck } from '@plinth/kernel'
import Sqlite from 'better-sqlite3'
import t, { type Test } from 'tap'
import { checkpointPages, WalCheckpoints } from '../src/connections/wal-checkpoints.ts'

const megabyte = 1_048_576

async function start(t: Test, { config }: TestDatabase) {
  const running = await startForTest(defineProduct({ name: 'test', plugins: [databasePlugin], config }))
  t.teardown(() => running.stop('test ended'))
  const db = running.service(database)
  await db.execute('create table block (id integer primary key, content blob)')
  return { running, db, file: String(config['platform.database.sqlite.file']) }
}

const write = (db: Database, megabytes: number) =>
  db.execute('insert into block (content) values (zeroblob(?))', [megabytes * megabyte])

async function pagesOf(db: Database) {
  const [row] = await db.query<{ log: number; checkpointed: number }>('pragma wal_checkpoint(NOOP)')
  return { log: Number(row?.log), pending: Number(row?.log) - Number(row?.checkpointed) }
}

onSqlite(t, 'a thread, not a commit, copies the write-ahead log back', async (t, at) => {
  const { running, db, file } = await start(t, at)
  await db.checkpointed()
  const [limit] = await db.query<{ wal_autocheckpoint: number }>('pragma wal_autocheckpoint')
  const pages = Number(limit?.wal_autocheckpoint)
  t.ok(
    pages > 10 * checkpointPages && pages < 300 * (megabyte / 4_096),
    'only a commit that finds a very long log does it',
  )
  await write(db, 1)
  await db.checkpointed()
  t.ok((await pagesOf(db)).pending > 0, 'a short log stays')
  await write(db, 8)
  t.ok((await pagesOf(db)).log > checkpointPages)
  await db.checkpointed()
  t.equal((await pagesOf(db)).pending, 0, 'a long one is in the file when the wait is over')
  await db.transactional(() => write(db, 8))
  await db.checkpointed()
  t.equal((await pagesOf(db)).pending, 0, 'after a transaction too')
  await running.stop('test ended')
  t.notOk(existsSync(`${file}-wal`), 'the thread has closed its connection')
})

t.test('if the thread cannot run, commits copy the log back, and the operator is told once', async (t) => {
  const limits: number[] = []
  const received: string[] = []
  const log = { pendingPages: () => checkpointPages, checkpointFrom: (pages: number) => void limits.push(pages) }
  const task = { file: join(t.testdir(), 'nothing.sqlite'), synchronous: 'full' } as const
  const checkpoints = new WalCheckpoints(task, log, (message) => received.push(message))
  checkpoints.wrote()
  await checkpoints.done()
  assertMembers(t, received, [/nothing\.sqlite .* unable to open database file/])
  assertMembers(t, limits, [16_000, checkpointPages])
  checkpoints.wrote()
  await checkpoints.done()
  await checkpoints.close()
  t.equal(received.length, 1)
})

onSqlite(
  t,
  'a reader makes the write-ahead log grow; operators are warned, and the log is cut when the reader ends',
  async (t, at) => {
    const { running, db, file } = await start(t, at)
    const check = running.contributions(healthCheck).get('database')
    const warnings = async () => Object(await check?.(new AbortController().signal)).warnings
    const size = () => statSync(`${file}-wal`).size
    const reader = new Sqlite(file)
    t.teardown(() => reader.close())
    await write(db, 1)
    reader.prepare('begin').run([])
    reader.prepare('select count(*) from block').all([])
    for (let round = 0; round < 10; round++) await write(db, 8)
    t.ok(size() > 64 * megabyte)
    await until(async () => (await warnings()).length > 0, 'a warning of the health check')
    assertMembers(t, await warnings(), [
      /^The write-ahead log of .*test\.sqlite is longer than 64 MB and cannot be cut\. /,
    ])
    reader.prepare('rollback').run([])
    await until(() => size() <= 64 * megabyte, 'the log is cut although nothing is written')
    await until(async () => (await warnings()).length === 0, 'no warning of the health check')
    await write(db, 1)
  },
)

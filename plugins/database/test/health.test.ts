/** Tests that the health check detects a database that is not writable. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { database } from '@plinth/database'
import { rejectsWith, startForTest, throwsWith, until } from '@plinth/dev/testing'
import { healthCheck } from '@plinth/kernel'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import {
  createDatabase,
  onEachDatabase,
  productOn,
  runOnServer,
  startOn,
  type TestDatabase,
} from './fixtures/databases.ts'
import samplePlugin, { Sample } from './fixtures/sample-plugin.ts'

async function startHealthy(t: Test, db: TestDatabase) {
  const { running, service } = await startOn(t, db)
  const check = running.contributions(healthCheck).get('database')
  if (check === undefined) throw new Error('no health check')
  return { service, check: async () => check(new AbortController().signal) }
}

/** For each database: how to make every write of the health check fail. */
const rejection = {
  sqlite: [
    `create trigger full before update on database_id_node begin select raise(abort, 'no space left'); end`,
    'drop trigger full',
  ],
  postgresql: [
    `create or replace function refuse() returns trigger language plpgsql as $$ begin raise 'no space left'; end $$;
     create trigger full_disk before update on database_id_node for each row execute function refuse()`,
    'drop trigger full_disk on database_id_node',
  ],
  mariadb: [
    `create trigger full_disk before update on database_id_node for each row
       signal sqlstate '45000' set message_text = 'no space left'`,
    'drop trigger full_disk',
  ],
} as const

onEachDatabase(t, 'a database that responds but accepts no writes is not healthy', async (t, db) => {
  const { service, check } = await startHealthy(t, db)
  await service.execute(rejection[db.dialect][0])
  await rejectsWith(t, check(), { message: /no space left/ })
  await rejectsWith(t, check(), { message: /no space left/ }, 'a failure is no proof of anything')
  await service.execute(rejection[db.dialect][1])
  await check()
  await service.execute(rejection[db.dialect][0])
  await check()
  t.pass('a write proves it for a few seconds')
})

const usedUpPool = async (t: Test, { config, ...db }: TestDatabase) => {
  const limits = { 'platform.database.pool-size': 2, 'platform.database.connect-timeout': '5s' }
  const { service, check } = await startHealthy(t, { ...db, config: { ...config, ...limits } })
  const end = Promise.withResolvers<void>()
  const hold = async () => {
    const begun = Promise.withResolvers<void>()
    const held = service.transactional(() => {
      begun.resolve()
      return end.promise
    })
    await begun.promise
    return () => held
  }
  const holders = [await hold(), await hold()]
  await check()
  end.resolve()
  await Promise.all(holders.map((held) => held()))
  t.pass('the check has its own connections')
}
onEachDatabase(t, 'a database whose pool is used up is healthy', usedUpPool, ['postgresql', 'mariadb'])

/** For each database: how to make every write to the table of samples fail as on a full disk. */
const fullDisk = {
  // The file cannot grow.
  sqlite: ['pragma max_page_count = 1', 'pragma max_page_count = 1073741823'],
  postgresql: [
    `create or replace function full_disk() returns trigger language plpgsql as $$ begin
       raise exception using errcode = '53100', message = 'could not extend file: no space left on device'; end $$;
     create trigger full_disk before insert on sample for each row execute function full_disk()`,
    'drop trigger full_disk on sample',
  ],
  mariadb: [
    `create trigger full_disk before insert on sample for each row
       signal sqlstate 'HY000' set mysql_errno = 1114, message_text = 'The table is full'`,
    'drop trigger full_disk',
  ],
} as const

onEachDatabase(t, 'writes to a full disk fail as unavailable, and the log reports it once', async (t, db) => {
  const lines: string[] = []
  const logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) })
  const running = await startForTest(productOn(db, samplePlugin), { logger })
  t.teardown(() => running.stop('test ended'))
  const service = running.service(database)
  const reported = () => lines.filter((line) => /takes (?:no )?writes/.test(line)).map((line) => JSON.parse(line).msg)
  const write = async () => {
    const id = service.newId()
    // The row is larger than the free space in the last page of the file.
    const body = 'x'.repeat(1024 * 1024)
    const em = service.fork()
    em.create(Sample, { id, ownerId: 1, code: `code-${id}`, createdAt: new Date(0), amountRaw: '0', body })
    await em.flush()
  }
  await service.execute(fullDisk[db.dialect][0])
  const full = { code: 'PLINTH_DATABASE_NO_WRITES', unavailable: true, fix: /Free space/ }
  for (let count = 0; count < 20; count++) await rejectsWith(t, write(), full)
  await rejectsWith(t, service.transactional(write), full)
  t.equal((await service.query('select id from sample')).length, 0, 'nothing was changed, and it can be read')
  t.same(reported(), ['the database takes no writes'])
  await service.execute(fullDisk[db.dialect][1])
  await write()
})

const readOnly = async (t: Test, db: TestDatabase) => {
  const first = await startForTest(productOn(db))
  await first.stop('only its tables are wanted')
  const name = String(db.config['platform.database.name'])
  const { service, check } = await startHealthy(t, db)
  await runOnServer('postgresql', `alter database ${name} set default_transaction_read_only = on`)
  await runOnServer('postgresql', `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`)
  // At first the pool still contains connections that the server has closed, so the check may fail with another error.
  const readOnlyNow = (error: Error) => /read-only transaction/.test(error.message)
  await until(() => check().then(() => false, readOnlyNow), 'the database is read-only', 0)
  t.same(await service.query('select 1 as one'), [{ one: 1 }], 'though it can be read')
}
onEachDatabase(t, 'a server that became read-only is not healthy', readOnly, ['postgresql'])

t.test('a read-only SQLite file is not healthy', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const { service, check } = await startHealthy(t, db)
  await service.query('pragma query_only = on')
  await rejectsWith(t, check(), { message: /readonly/ })
  await service.query('pragma query_only = off')
  await check()
})

t.test('a SQLite file on a full disk is not healthy', async (t) => {
  const db = await createDatabase('sqlite')
  const directory = join(db.directory, 'small')
  mkdirSync(directory)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', directory], { stdio: 'ignore' })
  } catch {
    await db.drop()
    t.pass('a small file system', { skip: 'this user cannot mount a small file system' })
    return
  }
  try {
    const config = { ...db.config, 'platform.database.sqlite.file': join(directory, 'shop.sqlite') }
    const running = await startForTest({ ...productOn(db), config })
    const check = async () => running.contributions(healthCheck).get('database')?.(new AbortController().signal)
    const filler = join(directory, 'filler')
    throwsWith(t, () => writeFileSync(filler, Buffer.alloc(16 * 1024 * 1024)), { code: 'ENOSPC' })
    await rejectsWith(t, check(), { code: 'PLINTH_DATABASE_NO_SPACE', message: /shop\.sqlite/ })
    t.equal((await running.service(database).query('select 1 as one')).length, 1, 'though it can be read')
    writeFileSync(filler, '')
    await check()
    await running.stop('test ended')
  } finally {
    execFileSync('umount', ['-l', directory])
    await db.drop()
  }
})

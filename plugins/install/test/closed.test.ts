/**
 * Tests that the installer stays locked in case of doubt: an unreadable state means installed, a dead process blocks
 * nothing, and production requires a strong token.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readDatabaseTime } from '@plinth/coordination'
import type { Database } from '@plinth/database'
import { assertMembers, rejectsWith, until } from '@plinth/dev/testing'
import { createDatabase, everyDialect, onDatabase, onSqlite, runOnServer } from '@plinth/dev/testing/database'
import type { JsonValue } from '@plinth/kernel'
import { processIdentity } from '@plinth/kernel/host'
import t, { type Test } from 'tap'
import { SingleInstallationLock } from '../src/execution/single-run.ts'
import { StepRecordLog } from '../src/records/journal.ts'
import { createTranslate } from '../src/texts.ts'
import { startInstall } from './fixtures/product.ts'

const markerOf = (root: string) => join(root, 'data/storage/install/installed.json')

type Started = Awaited<ReturnType<typeof startInstall>>

/** Checks that a caller cannot read, take over or write anything. */
async function assertClosed(t: Test, { look, install, execute, server, root, form }: Started) {
  const file = join(root, '.env')
  const before = existsSync(file) ? readFileSync(file, 'utf8') : undefined
  t.match((await look('status')).data, { installed: true, locked: true, installAllowed: false })
  t.hasStrict((await install('token/verify', { body: {} })).data, { valid: false, reason: 'install.token.not-allowed' })
  t.match((await execute()).data, { authorized: false, passed: false })
  t.match((await install('config/write', { body: form })).data, { authorized: false })
  t.match((await install('administrator', { body: form.administrator })).data, { authorized: false, created: false })
  t.match((await install('lock')).data, { authorized: false })
  t.match((await install('migrate')).data, { authorized: false, migrated: false })
  assertMembers(
    t,
    [(await server.inject('/')).statusCode, (await server.inject('/')).body],
    [200, /is running/],
    'the root path is not taken',
  )
  t.match((await server.inject('/install/')).headers, { location: '/' })
  t.equal(existsSync(file) ? readFileSync(file, 'utf8') : undefined, before)
}

onDatabase(t, 'P25 a database that lost its tables after the installation', async (t, db) => {
  const started = await startInstall(t, db)
  await started.execute()
  writeFileSync(join(started.root, '.env'), 'OTHER=1\n')
  for (const table of ['sys_config', 'sys_config_history', 'sys_config_version', 'install_state', 'install_record']) {
    await started.db.execute(`drop table ${table}`)
  }
  await assertClosed(t, started)
  rmSync(markerOf(started.root))
  t.match((await started.look('status')).data, { installed: false }, 'without the marker it was never installed here')
})

onDatabase(t, 'P25 E7 a database that was emptied and migrated again', async (t, db) => {
  const started = await startInstall(t, db)
  await started.execute()
  await started.running.stop('to lose its data')
  const stored = await startInstall(t, db)
  for (const table of ['sys_config', 'sys_config_history', 'iam_user']) await stored.db.execute(`delete from ${table}`)
  await stored.db.execute('update install_state set installed = ?, session_id = ? where id = 1', [false, ''])
  await stored.db.execute('update sys_config_version set version = version + 1')
  await assertClosed(t, stored)
  await stored.running.stop('to start on what looks fresh')
  const again = await startInstall(t, db)
  await assertClosed(t, again)
  t.ok(existsSync(markerOf(again.root)), 'nothing deletes the marker')
  assertMembers(
    t,
    [(await again.server.inject('/health/ready')).statusCode, await again.accounts.hasUsers()],
    [503, false],
    'it is not ready to serve',
  )
  rmSync(markerOf(again.root))
  t.match(
    (await again.execute()).data,
    { passed: true, locked: true },
    'removing the marker allows another installation',
  )
})

for (const { dialect, skip } of everyDialect) {
  if (dialect !== 'postgresql') continue
  t.test('P25 a missing database', { skip }, async (t) => {
    const db = await createDatabase(dialect)
    const started = await startInstall(t, db)
    await started.execute()
    await runOnServer(dialect, `drop database ${db.config['platform.database.name']} with (force)`)
    await assertClosed(t, started)
    const before = (await started.look('status')).data
    rmSync(markerOf(started.root))
    t.same(
      { ...(await started.look('status')).data, snapshotAt: '' },
      { ...before, snapshotAt: '' },
      'also without the marker',
    )
    rmSync(db.directory, { recursive: true, force: true })
  })
}

onDatabase(t, 'I-007 I-008 the key decides, on all instances at once', async (t, db) => {
  const [a, b] = [await startInstall(t, db), await startInstall(t, db)]
  const both = async () => [(await a.look('status')).data.installed, (await b.look('status')).data.installed]
  await a.db.execute('update install_state set installed = ? where id = 1', [true])
  t.same(await both(), [false, false], 'I-008')
  await a.execute()
  t.same(await both(), [true, true], 'I-007')
  await a.db.execute('update install_state set installed = ? where id = 1', [false])
  rmSync(markerOf(a.root))
  t.same(await both(), [true, true], 'I-008')
  t.match((await b.execute()).data, { authorized: false })

  await a.running.stop('restart')
  const again = await startInstall(t, db)
  t.ok(existsSync(markerOf(again.root)), 'the copies are put right at the start')
  const [row] = await again.db.query<{ installed: unknown }>('select installed from install_state where id = 1')
  t.equal(Number(row?.installed), 1)
})

onSqlite(t, 'I-160 records are read from the file while the database has none', async (t, db) => {
  const { install, look, root, db: database } = await startInstall(t, db)
  await install('preflight')
  const stored = (await look('execution-logs')).data
  await database.execute('delete from install_record')
  t.same((await look('execution-logs')).data, stored, 'somebody removed the rows')
  await database.execute('drop table install_record')
  t.same((await look('execution-logs')).data, stored, 'I-160')
  const file = join(root, 'data/storage/install/execution.log')
  appendFileSync(file, '{"id":1,"stepCo')
  await install('preflight')
  appendFileSync(file, '\nnot json\n')
  const { records } = (await look('execution-logs')).data
  t.ok(records.length >= 1, 'a line that a crash has cut is left out')
  assertMembers(t, (await look('sessions/none')).data, { records: [] })
})

onDatabase(t, 'I-159 a record whose commit got no response does not delay other records', async (t, db) => {
  const { db: database, clock, root } = await startInstall(t, db)
  let isLost = true
  const unsure: Pick<Database, 'transactional' | 'newId' | 'fork'> = {
    fork: () => database.fork(),
    newId: () => database.newId(),
    async transactional(work) {
      const response = await database.transactional(work)
      if (isLost) throw new Error('the connection broke')
      return response
    },
  }
  const log = { warn: () => {} } as never
  const journal = new StepRecordLog({
    database: unsure as Database,
    clock,
    log,
    files: { executionLog: join(root, 'probe.log') },
    translate: createTranslate(undefined),
  })
  const record = (message: string) => ({ sessionId: 'probe', stepCode: 'probe', status: 'passed', message }) as const
  await journal.append(record('one'))
  isLost = false
  await journal.append(record('two'))
  await journal.append(record('three'))
  const stored = (await journal.newest(9, 'en', 'probe')).map(({ message }) => message)
  t.same(stored, ['one', 'two', 'three'])
})

onDatabase(t, 'I-138 a dead run delays nothing; a run on another machine does until its lease ends', async (t, db) => {
  const { db: database, clock, execute, look } = await startInstall(t, db)
  const holdAs = (space: string, pid: number, until: number) =>
    database.execute(
      'update install_state set holder = ?, holder_space = ?, holder_pid = ?, held_until = ? where id = 1',
      ['somebody', space, pid, until],
    )
  const now = () => readDatabaseTime(database, clock)
  await holdAs('another machine', 1, (await now()) + 30_000)
  t.hasStrict(await execute(), { code: '409', data: { reason: 'install.running' } })
  t.match((await look('status')).data, { installed: false })
  const lock = new SingleInstallationLock({ database, clock, log: { warn: () => {} } as never })
  const isFree = () => lock.run((take) => take())
  await holdAs('another machine', 1, await now())
  t.equal(await isFree(), true, 'its lease has ended')

  const child = spawn(process.execPath, ['-e', ''])
  await once(child, 'exit')
  await holdAs(processIdentity().space, child.pid ?? 0, (await now()) + 1_000_000)
  t.equal(await isFree(), true, 'its process is not there any more')
  await holdAs(processIdentity().space, process.pid, (await now()) + 1_000_000)
  t.match((await execute()).data, { passed: true, locked: true }, 'its number went to this process')
})

onDatabase(t, 'the lock of a running run is renewed', async (t, db) => {
  const { db: database, clock } = await startInstall(t, db)
  // The product also sleeps on this clock, so only the sleeps of the lock are counted.
  let sleepsOfLock = 0
  const clockOfLock = {
    ...clock,
    sleep: (ms: number, signal?: AbortSignal) => {
      sleepsOfLock++
      return clock.sleep(ms, signal)
    },
  }
  const lock = new SingleInstallationLock({ database, clock: clockOfLock, log: { warn: () => {} } as never })
  const other = new SingleInstallationLock({ database, clock, log: { warn: () => {} } as never })
  const heldUntil = async () => {
    const [row] = await database.query<{ held_until: unknown }>('select held_until from install_state where id = 1')
    return Number(row?.held_until)
  }
  await lock.run(async (take) => {
    await take()
    const first = await heldUntil()
    for (let step = 0; step < 6; step++) {
      const seen = sleepsOfLock
      await clock.advance(10_000)
      // Waits until the lock was renewed and its keeper sleeps again.
      await until(() => sleepsOfLock !== seen, 'the lock sleeps again', 0)
    }
    const renewed = await heldUntil()
    t.ok(db.dialect === 'sqlite' ? renewed === first + 60_000 : renewed > first, 'by the clock of the database')
    await rejectsWith(
      t,
      other.run((takeToo) => takeToo()),
      { code: '409' },
    )
    await rejectsWith(
      t,
      lock.run(async () => {}),
      { code: '409' },
      'nor twice in one process',
    )
  })
  await other.run((take) => take())
  t.equal(await heldUntil(), 0, 'released')
})

const strong = 'k9Jm2Qx7Lw4Zr8Tn5Vb1Yc6Hd3Fg0PsA'

t.test(
  'I-021 I-022 D62 in production the installer stays closed without a strong token from the environment',
  async (t) => {
    const former = process.env['NODE_ENV']
    t.teardown(() => {
      if (former === undefined) delete process.env['NODE_ENV']
      else process.env['NODE_ENV'] = former
    })
    const variable = (token: string) => ({ environment: { PLATFORM_INSTALL_TOKEN: token } })
    const config = (token: JsonValue) => ({ config: { 'platform.install.token': token } })
    const cases = [
      ['none', {}, false],
      ['short', variable('k9Jm2Qx7Lw4Zr8Tn5Vb1Yc6Hd3Fg0Ps'), false],
      ['few different characters', variable('abcdefghijk'.repeat(4)), false],
      ['in a file', config(strong), false],
      ['strong', variable(strong), true],
      ['stronger than the file', { ...config('other'), ...variable(strong) }, true],
      ['none, written short', {}, false, 'prod'],
      ['none, written as a name', {}, false, 'Production'],
      ['none, with blanks', {}, false, ' PRODUCTION '],
      ['none, and nobody knows what it means', {}, false, 'staging'],
      ['strong, written as a name', variable(strong), true, 'Production'],
      ['none, in development', {}, true, 'Development'],
    ] as const
    for (const [name, settings, isOpen, surroundings = 'production'] of cases) {
      process.env['NODE_ENV'] = surroundings
      const db = await createDatabase('sqlite')
      t.teardown(() => db.drop())
      const { look, install, execute } = await startInstall(t, db, settings)
      if (former === undefined) delete process.env['NODE_ENV']
      t.match((await look('status')).data, { installed: false, installAllowed: isOpen }, name)
      const result = (await install('token/verify', { body: { token: strong } })).data
      const good = settings === undefined || Object.keys(settings).length > 0 ? 'valid' : 'not-required'
      t.match(result, { valid: isOpen, reason: `install.token.${isOpen ? good : 'not-allowed'}` }, name)
      t.match((await execute({ token: strong })).data, { authorized: isOpen, passed: isOpen }, name)
    }
  },
)

import { execFileSync } from 'node:child_process'
import { chmod, copyFile, mkdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { listBackups, verifyBackup } from '@plinth/backup/parts'
import { type ConnectionSettings, withDatabase } from '@plinth/database/stored-data'
import { rejectsWith, until } from '@plinth/dev/testing'
import { createDatabase, everyDialect, type TestDialect } from '@plinth/dev/testing/database'
import { systemClock } from '@plinth/kernel'
import { environmentName } from '@plinth/kernel/host'
import { defineChangeSet } from '@plinth/migrations'
import { DirectoryDisk } from '@plinth/storage'
import { generateX25519Identity } from 'age-encryption'
import { CompiledQuery } from 'kysely'
import t, { type Test } from 'tap'
import { administrator, authorize, runProgram, startProcess } from '../fixtures/product-process.ts'
import {
  addEntries,
  changeSets,
  emptyDatabase,
  execute,
  filledDatabase,
  largeTableRows,
  query,
} from '../move/databases.ts'
import {
  backUp,
  backUpInProcess,
  backupFilesIn,
  contextOf,
  digestsOf,
  directoryPlace,
  filesIn,
  identity,
  type KillPoint,
  one,
  recipient,
  restoreTo,
  type Site,
  writeFiles,
} from './backups.ts'

const options = { timeout: 3_600_000 }
const signal = new AbortController().signal

/** Creates a filled product with files, settings and a key. */
async function filledSite(t: Test, dialect: TestDialect, rows = 25): Promise<Site> {
  const root = t.testdir({})
  const site = { root, database: await filledDatabase(t, dialect, rows), backups: join(root, 'backups') }
  await writeFiles(site, 20)
  return site
}

/** Creates an empty machine that can read the backups of a site. */
async function emptySite(t: Test, { backups, database }: Site): Promise<Site> {
  const root = join(backups, '..', `restored-${Math.random().toString(36).slice(2)}`)
  return { root, database: await emptyDatabase(t, database.type as TestDialect), backups }
}

/** Names of the databases of the server whose names begin with that of the database. */
async function scratchDatabases(settings: ConnectionSettings): Promise<readonly string[]> {
  if (settings.type === 'sqlite') return []
  const sql =
    settings.type === 'postgresql'
      ? 'select datname as name from pg_database'
      : 'select schema_name as name from information_schema.schemata'
  const rows = await query<{ name: string }>(settings, sql)
  return rows
    .map(({ name }) => name)
    .filter((name) => name.startsWith(`${settings.name.slice(0, 30)}`) && name.includes('_restore_'))
}

async function assertClean(t: Test, site: Site): Promise<void> {
  t.same(await filesIn(join(site.root, 'work')), [], 'no unencrypted copy is left')
  t.same(await scratchDatabases(site.database), [], 'no scratch database is left')
  const kept = (await filesIn(join(site.root, 'storage'))).filter((file) => file.includes('.kept'))
  t.same(kept, [], 'no deleted file is kept')
}

/** Steps at which the process is killed, in the order of the procedure. */
const killPoints: readonly (readonly [string, KillPoint])[] = [
  ['nothing is written', { step: 'write .*run.json', nth: 1, when: 'before' }],
  ['the run is recorded', { step: 'write .*run.json', nth: 1, when: 'after' }],
  ['the migration lock is taken', { step: 'sql update .schema_changelog_lock', nth: 1, when: 'after' }],
  ['the dump is made', { step: 'sql update .schema_changelog_lock. set .holder. =', nth: 2, when: 'before' }],
  ['the dump is encrypted', { step: 'write .*00000001.age', nth: 1, when: 'after' }],
  ['files are copied', { step: 'write .*00000020.age', nth: 1, when: 'before' }],
  ['the contents are not written', { step: 'write .*contents.age', nth: 1, when: 'before' }],
  ['the contents are written', { step: 'write .*contents.age', nth: 1, when: 'after' }],
  ['the scratch database is created', { step: 'progress Creating a scratch', nth: 1, when: 'after' }],
  ['the product is checked', { step: 'progress Checking the product', nth: 1, when: 'after' }],
  ['the bytes are read back', { step: 'open .*contents.age', nth: 1, when: 'after' }],
  ['the manifest is not written', { step: 'write .*manifest.json', nth: 1, when: 'before' }],
  ['the manifest is written', { step: 'write .*manifest.json', nth: 1, when: 'after' }],
  ['the run is not removed', { step: 'delete .*run.json', nth: 1, when: 'before' }],
]

for (const { dialect, skip } of everyDialect) {
  t.test(
    `${dialect}: every row, file and setting is restored with the secret key only`,
    { ...options, skip },
    async (t) => {
      const site = await filledSite(t, dialect)
      const before = await digestsOf(site.database)
      const manifest = await backUp(site)
      t.same(
        manifest.rows,
        before.reduce((sum, text) => sum + Number(text.split(' ')[1]), 0),
      )
      t.equal(manifest.files, 40)
      const target = await emptySite(t, site)
      const { written, besides } = await restoreTo(target, manifest.id)
      t.same(await digestsOf(target.database), before, 'every row is equal')
      t.same([...written].sort(), ['.env', 'data/master.key', 'environment.env'])
      t.same(besides, [])
      for (const file of await filesIn(join(site.root, 'storage'))) {
        if (file.includes('/.')) continue
        const other = join(target.root, file.slice(site.root.length))
        t.ok((await readFile(file)).equals(await readFile(other)), 'the file is equal')
      }
      t.equal(
        await readFile(join(target.root, '.env'), 'utf8'),
        'PLATFORM_DATABASE_NAME=shop\n',
        'without the secret key',
      )
      const everything = await Promise.all((await filesIn(site.backups)).map((file) => readFile(file)))
      t.notOk(Buffer.concat(everything).includes('0123456789abcdef0123'), 'the master key is encrypted')
      await assertClean(t, site)
      await assertClean(t, target)
      await rejectsWith(t, restoreTo(target, manifest.id), { code: 'PLINTH_BACKUP_TARGET' })
    },
  )

  t.test(`${dialect}: a backup that is killed is complete or cleaned up`, { ...options, skip }, async (t) => {
    const site = await filledSite(t, dialect, 5)
    await addEntries(site.database, largeTableRows)
    const before = await digestsOf(site.database)
    let kills = 0
    for (const [place, kill] of killPoints) {
      const { killed, stderr } = await backUpInProcess(site, kill)
      if (killed) kills++
      else t.comment(`not killed: ${place}: ${stderr.slice(-1_000)}`)
      const { complete } = await listBackups(directoryPlace(site.backups))
      for (const { id } of complete)
        t.equal((await verifyBackup({ place: directoryPlace(site.backups), id, signal, identity })).id, id)
    }
    t.ok(kills >= 12, `the process died at ${kills} places`)
    const { id = '', stderr } = await backUpInProcess(site)
    t.not(id, '', stderr.slice(-1_000))
    const { complete, unfinished } = await listBackups(directoryPlace(site.backups))
    t.same(unfinished, [])
    t.equal(complete.length, 3, 'the two that were killed after their manifest, and the last one')
    await assertClean(t, site)
    const target = await emptySite(t, site)
    await restoreTo(target, id)
    t.same(await digestsOf(target.database), before, 'every row is equal')
  })

  t.test(`${dialect}: a backup during writes is one snapshot`, { ...options, skip }, async (t) => {
    const site = await filledSite(t, dialect)
    let isEnding = false
    const writer = withDatabase(site.database, async ({ db }) => {
      let writes = 0
      for (; !isEnding; writes++) {
        // Statements of SQLite end without a tick, so without this line nothing else would run.
        await setImmediate()
        // Both tables change in one transaction, so a snapshot contains equal numbers.
        await db.transaction().execute(async (transaction) => {
          await transaction.executeQuery(
            CompiledQuery.raw('update money_account set version = version + 1 where id = 4'),
          )
          await transaction.executeQuery(CompiledQuery.raw('update iam_user set version = version + 1 where id = 4'))
        })
      }
      return writes
    })
    const manifest = await backUp(site)
    isEnding = true
    t.ok((await writer) > 0, `${await writer} transactions during the backup`)
    const target = await emptySite(t, site)
    await restoreTo(target, manifest.id)
    const versionOf = async (settings: ConnectionSettings, table: string) =>
      Number((await query<{ v: unknown }>(settings, `select version as v from ${table} where id = 4`))[0]?.v)
    const [first, second] = ['money_account', 'iam_user'] as const
    const offset = (await versionOf(site.database, first)) - (await versionOf(site.database, second))
    t.equal((await versionOf(target.database, first)) - (await versionOf(target.database, second)), offset)
  })

  t.test(`${dialect}: a loss in the scratch database is found`, { ...options, skip }, async (t) => {
    const site = await filledSite(t, dialect, 5)
    for (const sql of ['delete from iam_user where id = 3', "update iam_user set username = 'changed' where id = 2"]) {
      const steps: string[] = []
      const scratchOf = async (): Promise<ConnectionSettings> => {
        const { database } = site
        if (database.type !== 'sqlite') return { ...database, name: (await scratchDatabases(database))[0] ?? '' }
        const file = (await filesIn(join(site.root, 'work'))).find((name) => name.endsWith('scratch.sqlite')) ?? ''
        return { ...database, file }
      }
      await rejectsWith(
        t,
        backUp(site, {
          afterLoad: async () => {
            steps.push('loaded')
            await execute(
              await scratchOf(),
              ...(dialect === 'sqlite' ? ['pragma foreign_keys = off'] : []),
              ...referencesOff(dialect),
              sql,
            )
          },
        }),
        { code: 'PLINTH_BACKUP_PROOF' },
      )
      t.same(steps, ['loaded'])
      t.same(await backupFilesIn(site.backups), [], 'nothing of the backup is left')
      await assertClean(t, site)
    }
  })
}

const referencesOff = (dialect: TestDialect): readonly string[] =>
  ({
    sqlite: [],
    postgresql: ["set session_replication_role = 'replica'"],
    mariadb: ['set session foreign_key_checks = 0'],
  })[dialect]

t.test('a check that also fails on the database itself does not fail the backup', { ...options }, async (t) => {
  const site = await filledSite(t, 'sqlite', 5)
  const failed = { check: 'data of money.ledger', outcome: 'failed', detail: 'unbalanced' } as const
  const { earlierFailures } = await backUp(site, { examine: async () => [failed] })
  t.same(earlierFailures, ['data of money.ledger: unbalanced'])
})

t.test('a damaged backup is rejected, and nothing is restored', { ...options }, async (t) => {
  const site = await filledSite(t, 'sqlite', 5)
  const { id } = await backUp(site)
  const intact = await filesIn(site.backups)
  const backup = async (name: string) => {
    const copy = { ...site, backups: join(site.root, `backups-${name}`) }
    for (const file of intact) {
      const target = join(copy.backups, file.slice(site.backups.length))
      await mkdir(join(target, '..'), { recursive: true })
      await copyFile(file, target)
    }
    return copy
  }
  const flip = async (file: string) => {
    const bytes = await readFile(file)
    const middle = Math.floor(bytes.length / 2)
    bytes[middle] = (bytes[middle] ?? 0) ^ 1
    await writeFile(file, bytes)
  }
  const faults: readonly (readonly [name: string, plant: (directory: string) => Promise<unknown>])[] = [
    ['cut', async (directory) => truncate(join(directory, '00000001.age'), 64 * 1024)],
    ['empty', async (directory) => truncate(join(directory, '00000002.age'), 0)],
    ['changed byte', (directory) => flip(join(directory, '00000001.age'))],
    ['changed contents', (directory) => flip(join(directory, 'contents.age'))],
    ['missing file', (directory) => rm(join(directory, '00000005.age'))],
    ['missing contents', (directory) => rm(join(directory, 'contents.age'))],
    ['exchanged files', (directory) => copyFile(join(directory, '00000003.age'), join(directory, '00000004.age'))],
    ['malformed manifest', (directory) => writeFile(join(directory, 'manifest.json'), '{"format":1}')],
  ]
  for (const [name, plant] of faults) {
    const copy = await backup(name.replace(' ', '-'))
    await plant(join(copy.backups, id))
    const target = await emptySite(t, copy)
    await rejectsWith(t, restoreTo(target, id), { code: 'PLINTH_BACKUP_DAMAGED' }, name)
    await rejectsWith(
      t,
      verifyBackup({ place: directoryPlace(copy.backups), id, signal }),
      { code: 'PLINTH_BACKUP_DAMAGED' },
      name,
    )
    t.same(
      (await filesIn(target.root)).filter((file) => !file.includes('/.drafts')),
      [],
      'nothing was written',
    )
    const { database } = target
    if (database.type === 'sqlite') await rejectsWith(t, stat(database.file), { code: 'ENOENT' })
  }
  const target = await emptySite(t, site)
  await rejectsWith(t, restoreTo(target, id, { key: await generateX25519Identity() }), { code: 'PLINTH_BACKUP_KEY' })
  await rejectsWith(t, restoreTo(target, '2020-01-01T00-00-00-000Z'), { code: 'PLINTH_BACKUP_UNKNOWN' })
  await rejectsWith(t, restoreTo(target, '../../etc'), { code: 'PLINTH_BACKUP_UNKNOWN' })
  t.same(await filesIn(target.root), [])
})

t.test('a backup of another schema is rejected or restored on request', { ...options }, async (t) => {
  const site = await filledSite(t, 'sqlite', 5)
  const { id } = await backUp(site)
  const [first = { plugin: '', changeSets: [] }, ...rest] = changeSets
  const added = defineChangeSet({
    id: '9999-add-table',
    up: ({ schema, type }) => [schema.createTable('new_table').addColumn('id', type.id, (c) => c.primaryKey())],
  })
  const newer = [{ ...first, changeSets: [...first.changeSets, added] }, ...rest]
  const target = await emptySite(t, site)
  await rejectsWith(t, restoreTo(target, id, { changeSets: newer }), { code: 'PLINTH_BACKUP_SCHEMA_OLDER' })
  const older = [{ ...first, changeSets: first.changeSets.slice(0, -1) }, ...rest]
  await rejectsWith(t, restoreTo(target, id, { changeSets: older }), { code: 'PLINTH_BACKUP_SCHEMA_NEWER' })
  t.same(await filesIn(target.root), [])
  await restoreTo(target, id, { changeSets: newer, allowsOlderSchema: true })
  t.same(await digestsOf(target.database), await digestsOf(site.database))
})

for (const dialect of ['postgresql', 'mariadb'] as const) {
  const skip = everyDialect.find((one) => one.dialect === dialect)?.skip ?? false
  t.test(`${dialect}: the programs of the server are checked`, { ...options, skip }, async (t) => {
    const site = await filledSite(t, dialect, 2)
    const tools = join(site.root, 'tools')
    await mkdir(tools)
    const [dump, load] = dialect === 'postgresql' ? ['pg_dump', 'pg_restore'] : ['mariadb-dump', 'mariadb']
    const real = (name: string) => execFileSync('which', [name], { encoding: 'utf8' }).trim()
    const program = async (name: string, script: string) => {
      await writeFile(join(tools, name), `#!/bin/sh\n${script}\n`)
      await chmod(join(tools, name), 0o755)
    }
    const older =
      dialect === 'postgresql' ? 'pg_dump (PostgreSQL) 9.6.1' : 'mariadb-dump  Ver 10.19 Distrib 10.3.1-MariaDB'
    await rejectsWith(t, backUp(site, { toolsDirectory: tools }), { code: 'PLINTH_BACKUP_TOOL' }, 'missing')
    await program(dump, `echo "${older}"`)
    await rejectsWith(
      t,
      backUp(site, { toolsDirectory: tools }),
      { code: 'PLINTH_BACKUP_TOOL' },
      'older than the server',
    )
    await program(dump, 'echo "something else"')
    await rejectsWith(t, backUp(site, { toolsDirectory: tools }), { code: 'PLINTH_BACKUP_TOOL' }, 'another program')
    const [ranDump, ranLoad] = [real(dump), real(load)]
    await program(load, `exec ${ranLoad} "$@"`)
    const cut =
      dialect === 'postgresql'
        ? `${ranDump} "$@"; for f in "$@"; do case $f in --file=*) d="\${f#--file=}"; ls "$d"/*.dat.gz | head -3 | tail -1 | xargs truncate --size=5;; esac; done`
        : `${ranDump} "$@" | head --bytes=100000`
    await program(dump, `case "$1" in --version) exec ${ranDump} --version;; esac\n${cut}`)
    await rejectsWith(t, backUp(site, { toolsDirectory: tools }), { code: 'PLINTH_BACKUP_DUMP' }, 'a cut dump')
    await program(dump, `case "$1" in --version) exec ${ranDump} --version;; esac\necho "disk full" >&2; exit 1`)
    await rejectsWith(t, backUp(site, { toolsDirectory: tools }), { code: 'PLINTH_BACKUP_DUMP' }, 'an exit code')
    t.same(await backupFilesIn(site.backups), [], 'nothing is left')
    await assertClean(t, site)
  })
}

t.test('a full disk fails the backup, and the old backup stays', { ...options }, async (t) => {
  const site = await filledSite(t, 'sqlite', 5)
  const { id } = await backUp(site)
  const { place } = contextOf(site)
  const full = {
    ...place,
    disk: new Proxy(place.disk, {
      get(disk, name) {
        if (name !== 'write') return Reflect.get(disk, name).bind(disk)
        return async (path: string, content: AsyncIterable<Uint8Array>) => {
          if (path.endsWith('contents.age'))
            throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
          return disk.write(path, content)
        }
      },
    }),
  }
  await rejectsWith(t, backUp(site, { place: full }), { code: 'PLINTH_BACKUP_FAILED' })
  const { complete, unfinished, failed } = await listBackups(place)
  t.same([complete.map((one) => one.id), unfinished], [[id], []])
  t.strictSame(
    failed.map(([, { code }]) => code),
    ['PLINTH_BACKUP_FAILED'],
  )
  await assertClean(t, site)
})

t.test('files that are deleted during the backup are in it', { ...options }, async (t) => {
  const site = await filledSite(t, 'sqlite', 2)
  const disk = new DirectoryDisk(join(site.root, 'storage/local'), 'private', systemClock)
  const onProgress = (text: string) => {
    if (text === 'Copying the database') deleted.push(disk.delete('orders/1/漢字 1.txt'))
  }
  const deleted: Promise<boolean>[] = []
  const { id } = await backUp(site, { onProgress })
  t.same(await Promise.all(deleted), [true])
  t.equal(await disk.stat('orders/1/漢字 1.txt'), undefined, 'for users, the file is deleted')
  const target = await emptySite(t, site)
  await restoreTo(target, id)
  t.match(await readFile(join(target.root, 'storage/local/orders/1/漢字 1.txt'), 'utf8'), /^local 1/)
  await assertClean(t, site)
})

t.test('backups on a storage disk do not contain each other', { ...options }, async (t) => {
  const site = await filledSite(t, 'sqlite', 2)
  const disk = new DirectoryDisk(join(site.root, 'storage/local'), 'private', systemClock)
  const isOwn = (name: string, path: string) => name === 'local' && path.startsWith('backups/')
  const place = { name: 'local', prefix: 'backups/', disk, isOwn }
  const [first, second] = [await backUp(site, { place }), await backUp(site, { place })]
  t.equal(second.files, first.files)
  t.same(
    (await listBackups(place)).complete.map(({ id }) => id),
    [second.id, first.id],
  )
  const target = await emptySite(t, site)
  await restoreTo(target, second.id, { place })
  t.same(await digestsOf(target.database), await digestsOf(site.database))
})

t.test('settings that exist are kept, and other files and keys are never replaced', { ...options }, async (t) => {
  const site = await filledSite(t, 'sqlite', 2)
  const { id } = await backUp(site)
  const target = await emptySite(t, site)
  const root = new DirectoryDisk(target.root, 'private', systemClock)
  await root.write('.env', one('PLATFORM_HTTP_PORT=1\n'))
  await root.write('data/master.key', one('another key'))
  await rejectsWith(t, restoreTo(target, id), { code: 'PLINTH_BACKUP_TARGET' }, 'another master key')
  await root.delete('data/master.key')
  await root.write('storage/local/orders/1/漢字 1.txt', one('another file'))
  await rejectsWith(t, restoreTo(target, id), { code: 'PLINTH_BACKUP_TARGET' }, 'another file')
  await root.delete('storage/local/orders/1/漢字 1.txt')
  const { besides } = await restoreTo(target, id)
  t.same(besides, ['.env.restored'])
  t.equal(await readFile(join(target.root, '.env'), 'utf8'), 'PLATFORM_HTTP_PORT=1\n')
})

const productFile = `
import { defineProduct } from '@plinth/kernel'
import { operations } from '@plinth/presets/operations'
import { platform } from '@plinth/presets/platform'
export default defineProduct({ name: 'shop', plugins: [...platform, ...operations] })
`

for (const { dialect, skip } of everyDialect) {
  t.test(`${dialect}: the commands back up and restore a product that runs`, { ...options, skip }, async (t) => {
    const folder = t.testdir({
      first: { 'plinth.config.ts': productFile },
      second: { 'plinth.config.ts': productFile },
    })
    const [first, second] = [join(folder, 'first'), join(folder, 'second')]
    const backups = join(folder, 'backups')
    const [db, empty] = [await createDatabase(dialect), await createDatabase(dialect)]
    t.teardown(() => db.drop())
    t.teardown(() => empty.drop())
    const settings = (config: object) =>
      [
        ...(dialect === 'sqlite'
          ? []
          : Object.entries(config).map(([key, value]) => `${environmentName(key)}=${value}`)),
        `PLATFORM_BACKUP_RECIPIENT=${recipient}`,
        `PLATFORM_BACKUP_DIRECTORY=${backups}`,
        '',
      ].join('\n')
    await writeFile(join(first, '.env'), settings(db.config))
    await writeFile(join(folder, 'key.txt'), `${identity}\n`)
    await mkdir(join(first, 'data/storage'), { recursive: true })
    await writeFile(join(first, 'data/storage/signing.key'), `${'k'.repeat(43)}\n`, { mode: 0o600 })
    const run = async (directory: string, ...words: readonly string[]) => {
      const outcome = await runProgram(
        [...words, '--json', '--product', join(directory, 'plinth.config.ts')],
        administrator.password,
      )
      t.equal(outcome.code, 0, `${words.join(' ')}: ${outcome.stderr.slice(-2_000)}`)
      return JSON.parse(outcome.stdout === '' ? '{}' : outcome.stdout)
    }
    await run(first, 'migrate')
    await run(first, 'admin', 'create', '--username', administrator.username, '--password-stdin')
    const original = await startProcess(t, join(first, 'plinth.config.ts'), {})
    const call = await callerOf(original.url)
    // The schedule makes the first backup, because there is none.
    await until(async () => (await provenIn(call)).length === 1, 'the schedule has made a backup', 500, patienceMs)
    const { taskId } = await call('POST', 'admin/backups')
    const stateOf = async () => String((await call('GET', `async-tasks/${taskId}`))['status'])
    await until(async () => endedStates.includes(await stateOf()), 'the task has ended', 500, patienceMs)
    t.equal(await stateOf(), 'succeeded')
    await until(
      async () =>
        Object.values(await call('GET', 'admin/backups/warnings')).every((value) => value === 0 || value === null),
      'no warning is left',
      1_000,
      patienceMs,
    )
    const { id, earlierFailures } = await run(first, 'backup', 'create')
    t.same(earlierFailures, [])
    await original.end('SIGTERM')
    // The retention keeps one backup of a day.
    t.same(
      (await run(first, 'backup', 'list')).backups.map((one: { id: string }) => one.id),
      [id],
    )
    await run(first, 'backup', 'verify', id)
    t.same(await run(first, 'backup', 'prune'), { expired: [], failed: [] })
    const key = join(folder, 'key.txt')
    const target = dialect === 'sqlite' ? `PLATFORM_BACKUP_DIRECTORY=${backups}\n` : settings(empty.config)
    await writeFile(join(second, '.env'), target)
    // The empty machine has no audit yet. A verification must not create a database there.
    await run(second, 'backup', 'verify', id, '--identity', key)
    const { besides, written } = await run(second, 'backup', 'restore', id, '--identity', key)
    t.same(besides, ['.env.restored'])
    t.ok(written.includes('data/storage/signing.key'), written.join(', '))
    const restored = await startProcess(t, join(second, 'plinth.config.ts'), {})
    const callRestored = await callerOf(restored.url)
    const audited = async (action: string): Promise<readonly string[]> => {
      const { items } = await callRestored('GET', `admin/iam/audits?action=${action}`)
      return (items as readonly { actor: string }[]).map(({ actor }) => actor)
    }
    t.strictSame(await audited('backup.restore'), [`cli:${userInfo().username}`])
    t.match((await audited('backup.create')).join(), /^cli:\w+,user:\d+,scheduler$/, 'the newest first')
    await restored.end('SIGTERM')
  })
}

/** Maximum milliseconds of a wait for a backup on a busy machine. */
const patienceMs = 300_000
const endedStates: readonly string[] = ['succeeded', 'failed', 'cancelled']

type Call = (method: 'GET' | 'POST', path: string) => Promise<Record<string, unknown>>

/** Signs in the administrator, and returns a function that calls the API. */
async function callerOf(url: string): Promise<Call> {
  const headers = await authorize(url)
  return async (method, path) => {
    const response = await fetch(`${url}/api/v1/${path}`, { method, headers })
    const { code, message, data } = (await response.json()) as { code: string; message: string; data: never }
    if (code !== '200') throw new Error(`${path}: ${code} ${message}`)
    return data
  }
}

const provenIn = async (call: Call) => (await call('GET', 'admin/backups?state=proven')) as unknown as readonly object[]

t.test(
  'if the product is killed during a backup, the backup cleans up, and the next start makes one',
  { ...options },
  async (t) => {
    const folder = t.testdir({ 'plinth.config.ts': productFile })
    const product = join(folder, 'plinth.config.ts')
    const backups = join(folder, 'backups')
    const place = directoryPlace(backups)
    const lines = [`PLATFORM_BACKUP_RECIPIENT=${recipient}`, `PLATFORM_BACKUP_DIRECTORY=${backups}`, '']
    await writeFile(join(folder, '.env'), lines.join('\n'))
    t.match(await runProgram(['migrate', '--product', product]), { code: 0 })
    for (let kills = 0; kills < 3; kills++) {
      const { end } = await startProcess(t, product, { 'platform.scheduler.lease': '5s' })
      await until(
        async () => (await filesIn(backups)).some((file) => file.endsWith('run.json')),
        'a backup has begun',
        10,
        patienceMs,
      )
      await end('SIGKILL')
      await until(async () => (await listBackups(place)).unfinished.length === 0, 'the backup has cleaned up', 100)
      t.same((await listBackups(place)).complete, [], 'nothing half counts as complete')
      t.same(await filesIn(join(folder, 'data/backup-work')), [], 'no unencrypted copy is left')
    }
    const { end } = await startProcess(t, product, { 'platform.scheduler.lease': '5s' })
    await until(
      async () => (await listBackups(place)).complete.length === 1,
      'the schedule has made a backup',
      500,
      patienceMs,
    )
    const [manifest] = (await listBackups(place)).complete
    t.equal((await verifyBackup({ place, id: manifest?.id ?? '', signal, identity })).id, manifest?.id)
    await end('SIGTERM')
  },
)

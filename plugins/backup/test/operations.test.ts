/** Tests the operations of the back office, the tasks and the schedule. The commands themselves run in the proof. */
import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import asyncTaskPlugin, { asyncTasks } from '@plinth/async-task'
import databasePlugin, { database } from '@plinth/database'
import { manualClock, rejectsWith, until } from '@plinth/dev/testing'
import { onSqlite, startMigrated } from '@plinth/dev/testing/database'
import eventsPlugin from '@plinth/events'
import httpPlugin, { http } from '@plinth/http'
import i18nPlugin from '@plinth/i18n'
import iamPlugin, { accounts } from '@plinth/iam'
import { defineProduct, systemClock } from '@plinth/kernel'
import storagePlugin, { DirectoryDisk } from '@plinth/storage'
import t from 'tap'
import { BackupReports } from '../src/backup-reports.ts'
import backupPlugin from '../src/plugin.ts'
import { runCommand } from '../src/run-command.ts'
import { listBackupsWithin, type Place, Vault } from '../src/vault.ts'

const recipient = 'age1vacjxf302ke754t9tast28d0mfmjlmf4kahud6qqkhvx2uc5eeaqlg5ku3'
const program = join(import.meta.dirname, 'fixtures', 'backup-program.ts')
const commandLine = (directory: string) => [
  process.execPath,
  '--disable-warning=ExperimentalWarning',
  program,
  directory,
]
const password = 'correct horse battery staple'
const system = { clientIp: '127.0.0.1', traceId: 'test', userAgent: 'tap', name: 'test' }

interface Run {
  readonly words?: readonly string[]
  readonly requester?: string
  readonly waits?: number
  readonly ended?: string
  readonly cleaned?: boolean
}

/** Sets what the program does, and reads what it did. */
function programIn(directory: string) {
  const file = join(directory, 'runs.jsonl')
  writeFileSync(file, '')
  return {
    setMode: (mode: 'ok' | 'fail' | 'wait') => writeFileSync(join(directory, 'mode'), mode),
    runs: (): readonly Run[] =>
      readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line)),
  }
}

onSqlite(t, 'operators make, verify and prune backups in the background', async (t, at) => {
  const directory = t.testdir({ backups: {} })
  const backups = join(directory, 'backups')
  const { setMode, runs } = programIn(directory)
  const product = defineProduct({
    name: 'shop',
    plugins: [
      databasePlugin,
      eventsPlugin,
      storagePlugin,
      httpPlugin,
      i18nPlugin,
      iamPlugin,
      asyncTaskPlugin,
      backupPlugin,
    ],
    config: {
      ...at.config,
      'platform.storage.root': join(directory, 'storage'),
      'platform.http.port': 0,
      'platform.http.response-check': true,
      'platform.iam.password.hash.memory': '1MiB',
      'platform.iam.password.hash.passes': 1,
      'platform.async-task.poll-interval': '100ms',
      'platform.backup.recipient': recipient,
      'platform.backup.directory': backups,
    },
  })
  const running = await startMigrated(product, { commandLine: commandLine(directory) })
  t.teardown(() => running.stop('test ended'))
  const users = running.service(accounts)
  await users.create({ username: 'ann', password }, system)
  const { id: rootId } = await users.createSuperAdministrator({ username: 'root', password }, system)
  const server = running.service(http)
  const signIn = async (username: string): Promise<string> => {
    const response = await server.inject({ method: 'POST', url: '/api/v1/auth/login', payload: { username, password } })
    return response.json().data.accessToken
  }
  const [root, ann] = [await signIn('root'), await signIn('ann')]
  const call = async (method: 'GET' | 'POST', path = '', token = root, language = 'en') => {
    const headers = { authorization: `Bearer ${token}`, 'accept-language': language }
    return (await server.inject({ method, url: `/api/v1/${path}`, headers })).json()
  }
  const tasks = running.service(asyncTasks)
  /** Submits a task and waits for its end. */
  const ended = async (path: string) => {
    const { code, message, data } = await call('POST', path)
    t.equal(code, '200', message)
    const isEnded = async () => !['queued', 'running'].includes((await tasks.get(data.taskId)).status)
    await until(isEnded, `${path} has ended`)
    return tasks.get(data.taskId)
  }
  const id = '2020-11-30T02-30-00-000Z'
  const place: Place = {
    name: backups,
    prefix: '',
    disk: new DirectoryDisk(backups, 'private', systemClock),
    isOwn: () => false,
  }
  const manifest = {
    format: 1,
    id,
    product: 'shop',
    productVersion: '1.0.0',
    createdAt: '2020-11-30T02:30:00.000Z',
    provenAt: '2020-11-30T02:31:00.000Z',
    recipient,
    dialect: 'sqlite',
    databaseVersion: '3.53.4',
    plugins: {},
    tables: 2,
    rows: 30,
    files: 1,
    bytes: 4_000,
    objects: [],
    earlierFailures: [],
    seconds: 60,
  } as const

  await t.test('a list shows what is in the place, without paths', async (t) => {
    t.strictSame((await call('GET', 'admin/backups')).data, [])
    t.strictSame((await call('GET', 'admin/backups/warnings')).data, {
      none: 1,
      tooOld: 0,
      failed: 0,
      unavailable: 0,
      newestAt: null,
    })
    await new Vault(place, id).writeText('manifest.json', manifest)
    const failed = '2020-11-30T03-30-00-000Z'
    const failure = {
      product: 'shop',
      failedAt: 0,
      code: 'PLINTH_BACKUP_TOOL',
      reason: 'pg_dump in /usr/bin is too old',
    }
    await new Vault(place, failed).writeText('failure.json', failure)
    const stopped = '2020-11-30T04-30-00-000Z'
    const run = { startedAt: 1, host: 'other', space: 'x', pid: 1, scratch: '' }
    await new Vault(place, stopped).writeText('run.json', run)
    const { data } = await call('GET', 'admin/backups')
    t.strictSame(
      data.map((row: { id: string; state: string; rows: number; failure: string }) => [
        row.id,
        row.state,
        row.rows,
        row.failure,
      ]),
      [
        [stopped, 'stopped', null, null],
        [failed, 'failed', null, 'PLINTH_BACKUP_TOOL'],
        [id, 'proven', 30, null],
      ],
    )
    t.notOk(JSON.stringify(data).includes('/usr/bin'))
    t.equal((await call('GET', 'admin/backups?state=proven')).data.length, 1)
    const { data: one } = await call('GET', `admin/backups/${id}`)
    t.equal(one.restoreCommand, `npx plinth backup restore ${id} --identity backup.key`)
    t.equal((await call('GET', 'admin/backups/2020-11-30T02-30-00-001Z')).data.reason, 'backup.unknown')
    t.equal((await call('GET', 'admin/backups', ann)).code, '403')
  })

  await t.test('a task runs the command, and the audit names the user', async (t) => {
    setMode('ok')
    const task = await ended('admin/backups')
    t.equal(task.status, 'succeeded')
    t.equal((await ended(`admin/backups/${id}/verify`)).status, 'succeeded')
    t.equal((await ended('admin/backups/prune')).status, 'succeeded')
    t.strictSame(runs(), [
      { words: ['backup', 'create', '--json'], requester: 'user' },
      { words: ['backup', 'verify', id, '--json'], requester: 'user' },
      { words: ['backup', 'prune', '--json'], requester: 'user' },
    ])
    const audits = await running
      .service(database)
      .query<{ action: string; actor: string }>(
        "select action, actor from iam_audit where action like 'backup.%' order by id",
      )
    t.strictSame(
      audits.map(({ action, actor }) => [action, actor]),
      [
        ['backup.create', `user:${rootId}`],
        ['backup.verify', `user:${rootId}`],
        ['backup.prune', `user:${rootId}`],
      ],
    )
    t.equal((await call('POST', 'admin/backups', ann)).code, '403')
  })

  await t.test('the user sees why a command failed, without paths', async (t) => {
    setMode('fail')
    const { status, failure } = await ended('admin/backups')
    t.equal(status, 'failed')
    t.strictSame([failure?.reason, failure?.params], ['backup.failed', { code: 'PLINTH_BACKUP_TOOL' }])
    t.notOk(JSON.stringify(failure).includes('/usr/bin'))
  })

  await t.test('a second task is rejected, and a cancelled task ends its command', async (t) => {
    setMode('wait')
    const { data } = await call('POST', 'admin/backups')
    await until(() => runs().some(({ waits }) => waits !== undefined), 'the command runs')
    const second = await call('POST', 'admin/backups/prune', root, 'zh-CN')
    t.strictSame([second.code, second.data.reason], ['409', 'backup.running'])
    t.match(second.message, /已有备份/)
    await tasks.cancel(data.taskId)
    await until(() => runs().some((run) => run.ended === 'SIGTERM'), 'the command has ended')
    await until(async () => (await tasks.get(data.taskId)).status === 'cancelled', 'the task is cancelled')
  })

  await t.test('the schedule makes a backup if one is due', async (t) => {
    const task = running.scheduledTasks.find(({ name }) => name === 'backup.create')
    const signal = new AbortController().signal
    const before = runs().length
    setMode('ok')
    const recent = new Date().toISOString()
    await new Vault(place, recent.replaceAll(/[:.]/g, '-')).writeText('manifest.json', {
      ...manifest,
      id: recent.replaceAll(/[:.]/g, '-'),
      createdAt: recent,
    })
    await task?.run(signal)
    t.equal(runs().length, before, 'the newest backup is recent')
    await new Vault(place, recent.replaceAll(/[:.]/g, '-')).remove()
    await task?.run(signal)
    t.strictSame(runs().at(-1), { words: ['backup', 'create', '--json'], requester: 'scheduler' })
    setMode('fail')
    await rejectsWith(t, Promise.resolve(task?.run(signal)), { code: 'PLINTH_BACKUP_TOOL' })
  })
})

t.test('a command ends if the process of the product dies', async (t) => {
  const directory = t.testdir({})
  const { setMode, runs } = programIn(directory)
  setMode('wait')
  const words = ['--disable-warning=ExperimentalWarning', join(import.meta.dirname, 'fixtures', 'parent.ts')]
  const parent = spawn(process.execPath, [...words, ...commandLine(directory)])
  t.teardown(() => parent.kill('SIGKILL'))
  await until(() => runs().some(({ waits }) => waits !== undefined), 'the command runs')
  parent.kill('SIGKILL')
  await until(() => runs().some(({ cleaned }) => cleaned === true), 'the command has cleaned up')
})

t.test('a product that was not started by the program makes no backups', async (t) => {
  const run = { words: ['create'], requester: 'user', clock: systemClock, signal: AbortSignal.timeout(10_000) }
  const onProgress = () => {}
  await rejectsWith(t, runCommand({ commandLine: undefined }, { ...run, onProgress }), {
    code: 'PLINTH_BACKUP_PROGRAM',
  })
  const missing = { commandLine: [join(t.testdir({}), 'missing')] }
  await rejectsWith(t, runCommand(missing, { ...run, onProgress }), { code: 'PLINTH_BACKUP_PROGRAM' })
})

t.test('a place that does not respond is an error after 20 seconds, and is read once', async (t) => {
  const clock = manualClock()
  let reads = 0
  const silent = {
    async *list() {
      reads++
      await new Promise(() => {})
      yield
    },
  } as unknown as Place['disk']
  const place: Place = { name: '/mnt/backups', prefix: '', disk: silent, isOwn: () => false }
  const reports = new BackupReports({ place, clock, log: { warn: () => {} } })
  const [first, second] = [reports.list(), reports.list()].map((work) => work.catch((error: unknown) => error))
  await clock.advance(20_000)
  for (const error of [await first, await second]) {
    t.hasStrict(error, { reason: 'backup.place-late', params: { seconds: 20 } })
  }
  t.equal(reads, 1)
  const listed = rejectsWith(t, listBackupsWithin(place, clock, 5_000), { code: 'PLINTH_BACKUP_PLACE' })
  await clock.advance(5_000)
  await listed
  const broken = {
    // biome-ignore lint/correctness/useYield: it fails before the first file
    async *list() {
      throw Object.assign(new Error('EACCES: /mnt/backups'), { code: 'EACCES' })
    },
  } as unknown as Place['disk']
  const unreadable = new BackupReports({ place: { ...place, disk: broken }, clock, log: { warn: () => {} } })
  await rejectsWith(t, unreadable.list(), { reason: 'backup.place-unavailable', params: { code: 'EACCES' } })
})

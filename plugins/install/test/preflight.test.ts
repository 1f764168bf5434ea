import type { Database } from '@plinth/database'
import { manualClock, rejectsWith } from '@plinth/dev/testing'
import { fillText, PlinthError } from '@plinth/kernel'
import type { MigrationStatus } from '@plinth/migrations'
import t from 'tap'
import { EnvFileError } from '../src/env-file/env-file.ts'
import { hasPassed } from '../src/form/form-checks.ts'
import { preflightCatalogue, type TextRef } from '../src/preflight/catalogue.ts'
import { type PreflightContext, type Probes, type RuntimeInfo, utcText } from '../src/preflight/context.ts'
import en from '../src/preflight/messages/en.json' with { type: 'json' }
import zhCN from '../src/preflight/messages/zh-CN.json' with { type: 'json' }
import { runPreflight } from '../src/preflight/preflight-run.ts'
import { charsetOf, isTimeZone } from '../src/preflight/probes.ts'

const mebibyte = 2 ** 20
const now = Date.UTC(2026, 0, 1)
const applied = { plugin: 'iam', id: '0001-create' } as MigrationStatus['applied'][number]
const status: MigrationStatus = {
  dialect: 'postgresql',
  table: 'schema_changelog',
  tableExists: true,
  applied: [applied],
  pending: [],
  changed: [],
  dataChanged: [],
  foreignTables: [],
  unknown: [],
  orphaned: [],
}

interface World {
  runtime?: Partial<RuntimeInfo>
  probes?: Partial<Probes>
  database?: Partial<Database>
  context?: Partial<PreflightContext>
  policy?: Partial<PreflightContext['policy']>
}

const failing = (code: string) => () => Promise.reject(Object.assign(new Error(`${code} /secret/place`), { code }))
const storage = {
  publicDisk: 'public',
  localDisk: 'local',
  disks: () => ['public', 'local'].map((name) => ({ name, enabled: true })),
  probe: async () => {},
}

/** Returns a context without problems, except for the given changes. */
function contextOf({ runtime, probes, database, context, policy }: World): PreflightContext {
  return {
    clock: manualClock(now),
    mayWrite: true,
    nodeRange: '>=24',
    directories: { run: '/p', storage: '/p/data/storage', public: '/p/data/storage/public', log: '/p/data/log' },
    envFile: { path: '/p/.env', examplePath: '/p/.env.example', needed: ['DB_PASSWORD', 'CACHE_PASSWORD'] },
    database: {
      dialect: 'postgresql',
      ping: async () => {},
      server: async () => ({ product: 'PostgreSQL', version: '17.2' }),
      migrationStatus: async () => status,
      ...database,
    } as Database,
    cache: { isEnabled: true, serverTime: async () => now },
    storage,
    policy: { isProduction: false, requireHttps: false, isHttps: true, allowLite: true, ...policy },
    listener: { host: '0.0.0.0', port: 8080 },
    ...context,
    probes: {
      runtime: () => ({
        nodeVersion: '24.21.0',
        charset: 'UTF-8',
        icu: 'full',
        heapLimit: 2048 * mebibyte,
        timeZone: 'Asia/Shanghai',
        unknownTimeZone: undefined,
        ...runtime,
      }),
      directory: async () => 'writable',
      freeSpace: async () => 50_000 * mebibyte,
      envFile: async () => ({ exists: true, isReadableByOthers: false }),
      exampleKeys: async () => ['DB_PASSWORD', 'CACHE_PASSWORD'],
      databaseTime: async () => now,
      privileges: async () => undefined,
      ...probes,
    },
  }
}

const unknownDisk = { ...storage, publicDisk: 'missing', localDisk: 'absent' }
const disabledDisks = { ...storage, disks: () => ['public', 'local'].map((name) => ({ name, enabled: false })) }
const rejecting = (code: string) => ({ ping: () => Promise.reject(new PlinthError(code, 'at /secret/place', 'mend')) })
const lite: World['context'] = { database: undefined, cache: { isEnabled: false } }

/** Changes of the environment, and the code of the problem that each must cause. */
const worlds: readonly (World & { readonly name: string; readonly found: Readonly<Record<string, string>> })[] = [
  {
    name: 'I-101 all as it should be',
    found: Object.fromEntries(Object.keys(preflightCatalogue).map((code) => [code, 'passed'])),
  },
  { name: 'I-101 an old Node', runtime: { nodeVersion: '22.9.0' }, found: { 'node-version': 'unsupported' } },
  { name: 'I-101 another charset', runtime: { charset: 'GBK' }, found: { charset: 'other' } },
  { name: 'I-101 no locale', runtime: { charset: '' }, found: { charset: 'unset' } },
  { name: 'I-101 a small ICU', runtime: { icu: 'partial' }, found: { icu: 'partial' } },
  { name: 'I-101 no ICU', runtime: { icu: 'none' }, found: { icu: 'none' } },
  { name: 'I-101 a small heap', runtime: { heapLimit: 256 * mebibyte - 1 }, found: { 'heap-limit': 'low' } },
  { name: 'I-101 a tiny heap', runtime: { heapLimit: 128 * mebibyte - 1 }, found: { 'heap-limit': 'too-low' } },
  { name: 'a clock at its beginning', context: { clock: manualClock(0) }, found: { clock: 'wrong' } },
  { name: 'an unknown time zone', runtime: { unknownTimeZone: 'Mars/Base' }, found: { 'time-zone': 'unknown' } },
  {
    name: 'I-102 directories to be made',
    probes: { directory: async () => 'creatable' },
    found: Object.fromEntries(['storage', 'public', 'log'].map((role) => [`directory-${role}`, 'creatable'])),
  },
  {
    name: 'I-102 directories that cannot be written',
    probes: { directory: failing('EACCES') },
    found: {
      'directory-run': 'read-only',
      ...Object.fromEntries(['storage', 'public', 'log'].map((role) => [`directory-${role}`, 'unwritable'])),
    },
  },
  {
    name: 'a directory of the product that fails',
    probes: { directory: (path) => (path === '/p' ? failing('EIO')() : Promise.resolve('writable')) },
    found: { 'directory-run': 'unusable' },
  },
  { name: 'little space', probes: { freeSpace: async () => 1024 * mebibyte - 1 }, found: { 'disk-space': 'low' } },
  { name: 'no space', probes: { freeSpace: async () => 100 * mebibyte - 1 }, found: { 'disk-space': 'too-low' } },
  { name: 'a file system without sizes', probes: { freeSpace: failing('ENOSYS') }, found: { 'disk-space': 'unknown' } },
  {
    name: 'no .env yet',
    probes: { envFile: async () => ({ exists: false, isReadableByOthers: false }) },
    found: { 'env-file': 'creatable' },
  },
  {
    name: 'an open .env',
    probes: { envFile: async () => ({ exists: true, isReadableByOthers: true }) },
    found: { 'env-file': 'readable' },
  },
  {
    name: 'a closed .env',
    probes: { envFile: () => Promise.reject(new EnvFileError('env-not-writable', { file: '.env', reason: 'EROFS' })) },
    found: { 'env-file': 'unwritable' },
  },
  {
    name: 'a .env with a line that the product cannot read',
    probes: { envFile: () => Promise.reject(new EnvFileError('env-file-malformed', { file: '.env', line: '2' })) },
    found: { 'env-file': 'malformed' },
  },
  { name: 'a .env that fails', probes: { envFile: failing('EIO') }, found: { 'env-file': 'unwritable' } },
  { name: 'no example file', probes: { exampleKeys: async () => undefined }, found: { 'env-example': 'missing' } },
  {
    name: 'an example file without passwords',
    probes: { exampleKeys: async () => ['DB_PASSWORD'] },
    found: { 'env-example': 'incomplete' },
  },
  { name: 'I-103 no database', context: { database: undefined }, found: { 'database-connection': 'none' } },
  {
    name: 'I-103 a database that is down',
    database: { ping: failing('ECONNREFUSED') },
    found: { 'database-connection': 'unreachable' },
  },
  {
    name: 'I-103 a wrong password',
    database: rejecting('PLINTH_DATABASE_ACCESS_DENIED'),
    found: { 'database-connection': 'denied' },
  },
  {
    name: 'I-103 a missing database',
    database: rejecting('PLINTH_DATABASE_UNKNOWN'),
    found: { 'database-connection': 'unknown' },
  },
  {
    name: 'I-103 a broken file',
    database: rejecting('PLINTH_DATABASE_FILE'),
    found: { 'database-connection': 'file' },
  },
  ...(['create', 'alter', 'write', 'drop', 'read-only'] as const).map((step) => ({
    name: `I-103 no right to ${step}`,
    probes: { privileges: async () => step },
    found: { 'database-privileges': step },
  })),
  {
    name: 'clocks 6 s apart',
    probes: { databaseTime: async () => now - 6_000 },
    found: { 'database-clock': 'apart' },
  },
  {
    name: 'clocks 5 s apart',
    probes: { databaseTime: async () => now + 5_000 },
    found: { 'database-clock': 'passed' },
  },
  {
    name: 'I-106 before the first migration',
    database: { migrationStatus: async () => ({ ...status, tableExists: false, applied: [] }) },
    found: { 'migration-state': 'empty' },
  },
  {
    name: 'I-106 while somebody migrates',
    database: {
      migrationStatus: async () => ({ ...status, lock: { host: 'node-1', pid: 7, acquiredAt: now, expiresAt: now } }),
    },
    found: { 'migration-state': 'locked' },
  },
  {
    name: 'I-106 tables of another product',
    database: { migrationStatus: async () => ({ ...status, tableExists: false, foreignTables: ['iam_user'] }) },
    found: { 'migration-state': 'foreign' },
  },
  {
    name: 'I-106 change sets of a removed plugin',
    database: { migrationStatus: async () => ({ ...status, orphaned: [applied] }) },
    found: { 'migration-state': 'orphaned' },
  },
  {
    name: 'I-106 change sets that were altered',
    database: { migrationStatus: async () => ({ ...status, changed: [applied], orphaned: [applied] }) },
    found: { 'migration-state': 'changed' },
  },
  {
    name: 'I-106 a changelog that cannot be read',
    database: { migrationStatus: failing('42501') },
    found: { 'migration-state': 'unknown' },
  },
  { name: 'I-104 no Redis', context: { cache: { isEnabled: false } }, found: { 'cache-connection': 'none' } },
  {
    name: 'I-104 Redis is down',
    context: { cache: { isEnabled: true, serverTime: failing('ECONNREFUSED') } },
    found: { 'cache-connection': 'unreachable' },
  },
  {
    name: 'I-104 Redis in use, without a connection',
    context: { cache: { isEnabled: true } },
    found: { 'cache-connection': 'unreachable' },
  },
  {
    name: 'I-104 Redis answers',
    context: { cache: { isEnabled: true, serverTime: async () => now } },
    found: { 'cache-connection': 'passed' },
  },
  { name: 'I-105 no storage', context: { storage: undefined }, found: { 'storage-service': 'none' } },
  {
    name: 'I-105 disks that do not exist',
    context: { storage: unknownDisk },
    found: { 'storage-public-disk': 'unknown', 'storage-local-disk': 'unknown' },
  },
  {
    name: 'I-105 disks that are off',
    context: { storage: disabledDisks },
    found: { 'storage-public-disk': 'disabled', 'storage-local-disk': 'disabled' },
  },
  {
    name: 'I-105 disks that fail',
    context: { storage: { ...storage, probe: failing('EACCES') } },
    found: { 'storage-public-disk': 'unusable', 'storage-local-disk': 'unusable' },
  },
  { name: 'I-107 HTTP', policy: { isHttps: false }, found: { 'https-policy': 'plain' } },
  {
    name: 'I-107 HTTP in production',
    policy: { isHttps: false, isProduction: true },
    found: { 'https-policy': 'unsafe' },
  },
  { name: 'I-107 HTTP refused', policy: { isHttps: false, requireHttps: true }, found: { 'https-policy': 'refused' } },
  { name: 'I-107 lite', context: lite, found: { 'lite-mode': 'lite' } },
  {
    name: 'I-028 I-107 lite not allowed',
    context: lite,
    policy: { allowLite: false },
    found: { 'lite-mode': 'refused' },
  },
  { name: 'this machine only', context: { listener: { host: '127.0.0.1', port: 1 } }, found: { listener: 'loopback' } },
  {
    name: 'this machine only, by name',
    context: { listener: { host: '::1', port: 1 } },
    found: { listener: 'loopback' },
  },
]

type Texts = { readonly [name: string]: string | Texts }
const textOf = (texts: Texts, key: string) => {
  const path = key.replace('messages.install.preflight.', '').split('.')
  const text = path.reduce<string | Texts | undefined>((at, name) => (typeof at === 'object' ? at[name] : at), texts)
  return typeof text === 'string' ? text : undefined
}
const fill = (texts: Texts, { key, params }: TextRef) => fillText(textOf(texts, key) ?? `NO TEXT ${key}`, params)

const reached = new Set<string>()
for (const { name, found, ...world } of worlds) {
  t.test(name, async (t) => {
    const items = await runPreflight(contextOf(world))
    for (const [code, finding] of Object.entries(found)) {
      const item = items.find((candidate) => candidate.code === code)
      t.equal(item?.message.key, `messages.install.preflight.${code}.${finding}`)
      reached.add(`${code}.${finding}`)
    }
    for (const item of items) {
      t.equal(item.fix !== undefined, item.status !== 'passed', `${item.code} has a fix when it has not passed`)
      for (const texts of [en, zhCN]) {
        const shown = [item.message, item.fix].flatMap((ref) => (ref === undefined ? [] : [fill(texts, ref)]))
        t.notMatch(shown.join(' '), /NO TEXT|\{\{|undefined|secret|NaN/)
      }
    }
    t.equal(hasPassed(items), !items.some((item) => item.status === 'failed'))
  })
}

t.test('tests produce every result of the check, and no text is unused', async (t) => {
  const findings = Object.entries(preflightCatalogue).flatMap(([code, { findings }]) =>
    Object.keys(findings).map((finding) => `${code}.${finding}`),
  )
  t.same([...reached].sort(), findings.sort())
  const expected = Object.entries(preflightCatalogue).flatMap(([code, { findings }]) =>
    Object.entries(findings).flatMap(([finding, outcome]) =>
      outcome === 'passed' ? [`${code}.${finding}`] : [`${code}.${finding}`, `${code}.fix.${finding}`],
    ),
  )
  const keysOf = (texts: Texts, path = ''): string[] =>
    Object.entries(texts).flatMap(([name, value]) =>
      typeof value === 'string' ? [`${path}${name}`] : keysOf(value, `${path}${name}.`),
    )
  t.same(keysOf(en).sort(), expected.sort())
  t.same(keysOf(zhCN).sort(), expected.sort())
})

t.test('I-039 I-040 I-041 warnings pass, one failure does not', async (t) => {
  t.ok(hasPassed([{ status: 'passed' }, { status: 'warning' }]))
  t.notOk(hasPassed([{ status: 'passed' }, { status: 'warning' }, { status: 'failed' }]))
  const warned = await runPreflight(contextOf({ context: lite, policy: { allowLite: false } }))
  t.ok(warned.some((item) => item.status === 'warning'))
  t.ok(hasPassed(warned))
})

t.test('I-103 a hanging check is reported after 10 s; nothing waits longer', async (t) => {
  const clock = manualClock(now)
  const never = () => new Promise<never>(() => {})
  const context = contextOf({
    database: { ping: never },
    context: { clock, cache: { isEnabled: true, serverTime: never }, storage: { ...storage, probe: never } },
    probes: { directory: never },
  })
  const response = runPreflight(context)
  await clock.advance(10_000)
  const failed = (await response).filter((item) => item.status === 'failed').map((item) => item.message.key.slice(27))
  t.match(failed.join(' '), /directory-run.unusable .* database-connection.unreachable cache-connection.unreachable/)
  t.equal(clock.sleepers, 0)
})

t.test('a caller that cancels gets its reason', async (t) => {
  const controller = new AbortController()
  const context = contextOf({
    database: {
      ping: () => {
        controller.abort(new Error('gone'))
        return new Promise<never>(() => {})
      },
    },
  })
  await rejectsWith(t, runPreflight({ ...context, signal: controller.signal }), { message: 'gone' })
})

t.test('I-108 I-170 diagnostics only read', async (t) => {
  const wrote: string[] = []
  const items = await runPreflight(
    contextOf({
      context: {
        mayWrite: false,
        storage: {
          ...storage,
          probe: async () => {
            wrote.push('storage')
          },
        },
      },
      probes: {
        directory: async (_, mayWrite) => {
          if (mayWrite) wrote.push('directory')
          return 'writable'
        },
        privileges: async () => {
          wrote.push('table')
          return undefined
        },
      },
    }),
  )
  t.same(wrote, [])
  t.notOk(items.some(({ code }) => code === 'database-privileges'))
})

t.test('I-101 the process locale', async (t) => {
  const cases: [Record<string, string>, string, string][] = [
    [{ LANG: 'en_US.UTF-8' }, 'linux', 'UTF-8'],
    [{ LANG: 'C.utf8' }, 'linux', 'UTF-8'],
    [{ LANG: 'de_DE.UTF-8@euro' }, 'linux', 'UTF-8'],
    [{ LANG: 'zh_CN.GBK' }, 'linux', 'GBK'],
    [{ LC_ALL: 'C', LANG: 'en_US.UTF-8' }, 'linux', 'C'],
    [{ LC_ALL: '', LC_CTYPE: 'en_US.ISO-8859-1', LANG: 'C.UTF-8' }, 'linux', 'ISO-8859-1'],
    [{}, 'linux', ''],
    [{ LANG: 'zh_CN.GBK' }, 'win32', 'UTF-8'],
  ]
  for (const [environment, platform, charset] of cases) t.equal(charsetOf(environment, platform), charset)
  t.ok([undefined, '', 'UTC', 'Asia/Shanghai', ':Europe/Berlin'].every(isTimeZone))
  t.notOk(['Mars/Base', 'nowhere'].some(isTimeZone))
})

t.test('I-104 the response time of Redis and the time of its clock', async (t) => {
  const clock = manualClock(now)
  const serverTime = async () => {
    await clock.advance(7)
    return now - 90_000
  }
  const items = await runPreflight(contextOf({ context: { clock, cache: { isEnabled: true, serverTime } } }))
  const { message } = items.find(({ code }) => code === 'cache-connection') ?? {}
  t.same(message?.params, { time: utcText(now - 90_000), elapsed: 7 })
})

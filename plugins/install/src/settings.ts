import { basename, dirname, extname, join } from 'node:path'
import { type CatalogueEntry, type ConfigAdmin, type JsonValue, maskedValue } from '@plinth/kernel'
import type { InstallForm } from './contract.ts'
import { databaseTypeOf, fieldOf, type Running, textOf, usualCachePort, usualPorts } from './form.ts'

/** What a field of the form means for a key. */
export interface Setting {
  readonly field: string
  readonly key: string
  /** In its written form. */
  readonly value: JsonValue
  /** `file`: read at the start of the process alone. `database`: kept in the database configuration. */
  readonly home: 'file' | 'database'
  /** Which connection it belongs to. */
  readonly connection?: 'database' | 'cache'
}

/** Settings of both kinds of databases, of Redis, of the site and of the storage, as the form wants them. */
export function settingsOf(form: InstallForm, running: Running): readonly Setting[] {
  return [
    ...siteSettings(form),
    ...databaseSettings(form, running),
    ...cacheSettings(form, running),
    ...storageSettings(form),
  ]
}

const siteKeys = {
  'site.name': 'platform.site.name',
  'site.title': 'platform.site.title',
  'site.url': 'platform.site.url',
  'site.timeZone': 'platform.site.time-zone',
} as const

function siteSettings(form: InstallForm): Setting[] {
  const filled = Object.entries(siteKeys).filter(([field]) => textOf(form, field) !== '')
  const stored = filled.map(([field, key]): Setting => ({ field, key, value: textOf(form, field), home: 'database' }))
  const locale = textOf(form, 'site.defaultLocale')
  return locale === ''
    ? stored
    : [
        ...stored,
        { field: 'site.defaultLocale', key: 'platform.i18n.default-locale', value: localeOf(locale), home: 'file' },
      ]
}

/** The default language has a catalogue for every tag of its language. */
const localeOf = (tag: string) => (/^zh\b/i.test(tag) ? 'zh-CN' : 'en')

function databaseSettings(form: InstallForm, running: Running): Setting[] {
  const type = databaseTypeOf(form)
  if (type === undefined) return []
  const setting = (field: string, name: string, value: JsonValue): Setting => {
    return { field: `database.${field}`, key: `platform.database.${name}`, value, home: 'file', connection: 'database' }
  }
  if (type === 'sqlite') {
    const file = sqliteFile(textOf(form, 'database.database'), String(running('platform.database.sqlite.file')))
    return [setting('type', 'type', type), setting('database', 'sqlite.file', file)]
  }
  const target = {
    host: textOf(form, 'database.host'),
    port: Number(fieldOf(form, 'database.port') ?? usualPorts[type]),
    username: textOf(form, 'database.username'),
  }
  const isHere = databaseRuns(running, target)
  // The form knows MySQL alone; what runs on MariaDB stays there.
  const isMariaDb = type === 'mysql' && isHere && running('platform.database.type') === 'mariadb'
  const given = textOf(form, 'database.password')
  return [
    setting('type', 'type', isMariaDb ? 'mariadb' : type),
    setting('host', 'host', target.host),
    setting('port', 'port', target.port),
    setting('database', 'name', textOf(form, 'database.database')),
    setting('username', 'username', target.username),
    setting('password', 'password', passwordFor(given, isHere, running('platform.database.password'))),
  ]
}

/** A file of the embedded database lies beside the one in use; the form names it without directory and extension. */
export function sqliteFile(name: string, current: string): string {
  if (name === '' || name === sqliteName(current)) return current
  const directory = current === ':memory:' ? 'data' : dirname(current)
  return join(directory, `${name}.sqlite`)
}

export const sqliteName = (file: string) => basename(file, extname(file))

interface ServerTarget {
  readonly host: string
  readonly port: number
  readonly username: string
}

/** Whether the product runs on this server as this user, so that its password is at home there. */
function databaseRuns(running: Running, { host, port, username }: ServerTarget): boolean {
  const type = String(running('platform.database.type'))
  if (!Object.hasOwn(usualPorts, type)) return false
  return (
    running('platform.database.host') === host &&
    (running('platform.database.port') ?? usualPorts[type as keyof typeof usualPorts]) === port &&
    running('platform.database.username') === username
  )
}

const cacheRuns = (running: Running, host: string, port: number) =>
  running('platform.cache.enabled') === true &&
  running('platform.cache.host') === host &&
  running('platform.cache.port') === port

/**
 * The form shows a secret to few callers: from all others it comes back empty or as the mask and means "as it is". Only
 * towards the server that it belongs to, or another server could ask for it.
 */
function passwordFor(given: string, isSameServer: boolean, current: unknown): string {
  if (given !== '' && given !== maskedValue) return given
  return isSameServer ? String(current ?? '') : ''
}

/** True when the form refers to a secret that this server is not to be told. */
export function isMaskMisplaced(form: InstallForm, group: 'database' | 'cache', running: Running): boolean {
  if (textOf(form, `${group}.password`) !== maskedValue) return false
  const host = textOf(form, `${group}.host`)
  if (group === 'cache') return !cacheRuns(running, host, Number(fieldOf(form, 'cache.port') ?? usualCachePort))
  const type = databaseTypeOf(form)
  if (type === undefined || type === 'sqlite') return false
  const port = Number(fieldOf(form, 'database.port') ?? usualPorts[type])
  return !databaseRuns(running, { host, port, username: textOf(form, 'database.username') })
}

function cacheSettings(form: InstallForm, running: Running): Setting[] {
  const enabled = fieldOf(form, 'cache.enabled') === true
  const setting = (field: string, value: JsonValue): Setting => {
    return { field: `cache.${field}`, key: `platform.cache.${field}`, value, home: 'file', connection: 'cache' }
  }
  if (!enabled) return [setting('enabled', false)]
  const host = textOf(form, 'cache.host')
  const port = Number(fieldOf(form, 'cache.port') ?? usualCachePort)
  const given = textOf(form, 'cache.password')
  return [
    setting('enabled', true),
    setting('host', host),
    setting('port', port),
    setting('database', Number(fieldOf(form, 'cache.database') ?? 0)),
    setting('password', passwordFor(given, cacheRuns(running, host, port), running('platform.cache.password'))),
  ]
}

function storageSettings(form: InstallForm): Setting[] {
  const disks = [
    ['storage.publicDisk', 'platform.storage.public-disk'],
    ['storage.localDisk', 'platform.storage.local-disk'],
  ] as const
  return disks.flatMap(([field, key]): Setting[] => {
    const disk = textOf(form, field)
    if (disk === '') return []
    return [
      { field, key, value: disk, home: 'database' },
      { field, key: `platform.storage.disks.${disk}.enabled`, value: true, home: 'database' },
    ]
  })
}

/** A setting with what it would change. */
export interface PlannedSetting extends Setting {
  readonly entry: CatalogueEntry | undefined
  readonly isChanged: boolean
  /** `.env`: written to the file. `config`: to the database. `runtime`: nowhere. */
  readonly target: '.env' | 'config' | 'runtime'
  /** Where a stronger source sets another value, so that what is written would not count. */
  readonly overriddenBy: string | undefined
}

/**
 * Where each setting goes. Only what a loaded plugin declares is written, because an unknown name in the file would keep
 * the product from starting, and only what the example file lists (document 3, "Write rules").
 */
export function planSettings(
  settings: readonly Setting[],
  { catalogue, explain }: Pick<ConfigAdmin, 'catalogue' | 'explain'>,
  running: Running,
  allowed: ReadonlySet<string>,
): readonly PlannedSetting[] {
  const declared = new Map(catalogue.map((entry) => [entry.key, entry]))
  return settings.map((setting) => {
    const entry = declared.get(setting.key)
    const isChanged = entry !== undefined && inForce(setting.key, running) !== setting.value
    const isWritten = entry !== undefined && (setting.home === 'database' || allowed.has(entry.env))
    const target = isWritten ? (setting.home === 'database' ? 'config' : '.env') : 'runtime'
    const source = explain(setting.key)?.effective
    const isStronger = source?.source === 'command-line' || (target === '.env' && isStrongerThanFile(source?.source))
    return {
      ...setting,
      entry,
      isChanged,
      target,
      overriddenBy: isChanged && isStronger ? source?.place : undefined,
    }
  })
}

/** The port of the server may be left to its type. */
function inForce(key: string, running: Running): unknown {
  const value = running(key)
  const type = String(running('platform.database.type'))
  const isUsual = key === 'platform.database.port' && value === undefined && Object.hasOwn(usualPorts, type)
  return isUsual ? usualPorts[type as keyof typeof usualPorts] : value
}

const isStrongerThanFile = (source: string | undefined) => source === 'environment' || source === 'database'

/** Whether the form asks for another database or another Redis than the product runs on. */
export const changedConnections = (planned: readonly PlannedSetting[]): ReadonlySet<'database' | 'cache'> =>
  new Set(planned.flatMap(({ connection, isChanged }) => (isChanged && connection !== undefined ? [connection] : [])))

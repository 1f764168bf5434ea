import { readFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import type { database } from '@plinth/database'
import { backupCompleted, backupFailed, type EventRef, type events } from '@plinth/events'
import {
  type AuditEntry,
  type CommandDeclaration,
  type CommandInvocation,
  errorReason,
  fitTextToColumn,
  type kernel,
  type Optional,
  service,
  stateFile,
  writeAuditEntry,
} from '@plinth/kernel'
import { causeCodeOf } from '@plinth/kernel/host'
import { type BackupContext, createBackup, isRunning, removeDeadRuns } from './create.ts'
import { backupError } from './errors.ts'
import type { Manifest } from './format.ts'
import { isEmptyDatabase, restoreBackup, verifyBackup } from './restore.ts'
import { noteRestore } from './restore-note.ts'
import { expiredBackups, type Retention } from './retention.ts'
import { endWithParent, requestedBy } from './run-command.ts'
import { listBackups, listBackupsWithin, ofProduct, type Place, Vault } from './vault.ts'

/** Settings of the backups of this product, for its commands. */
export interface BackupSettings extends BackupContext {
  readonly recipient: string
  readonly retention: Retention
  /** Masks secrets in a text. */
  readonly redact: (text: string) => string
}

export const backupSettings = service<BackupSettings>('backup.settings', { from: '@plinth/backup' })

type Uses = {
  requires: { kernel: typeof kernel; database: typeof database; events: Optional<typeof events> }
  provides: readonly [typeof backupSettings]
}
type Command = CommandDeclaration<Uses>
type Runtime = Parameters<Command['run']>[0]

/** Time limit for listing the backups, in milliseconds. */
const listMs = 5 * 60_000
/** Maximum characters of an error in an event. */
const maxEventText = 500

const identityOption = { flags: '--identity <file>', description: 'file with the secret key of age' }
const idArgument = { name: '<id>', description: 'id of the backup; see `plinth backup list`' }

const create: Command = {
  name: 'backup create',
  summary: 'back up database, files and settings, encrypted, and prove the backup by a restore',
  async run({ own, services }, { output, signal, examine }) {
    const settings = own(backupSettings)
    const { plugins, product, settingsFile } = services.kernel
    endWithParent()
    const making = createBackup({
      ...settings,
      stateFiles: [
        settingsFile,
        ...[...services.kernel.contributions(stateFile).values()].map((path) => path()),
      ].filter((path) => path !== undefined),
      environment: Object.fromEntries(Object.entries(process.env).filter(([name]) => name.startsWith('PLATFORM_'))),
      product,
      plugins: Object.fromEntries(plugins.map(({ id, version }) => [id, version])),
      record: (id) => audit(services, settings, 'create', { subject: id, summary: { id } }),
      signal,
      onProgress: output.progress,
      examine,
    })
    const manifest = await making.catch(async (error: unknown) => {
      if (!signal.aborted && !isRunning(error))
        await announceFailure(services, error, settings.redact).catch(() => undefined)
      throw error
    })
    const { id: backupId, rows, files, bytes, seconds } = manifest
    await announce(services, backupCompleted, { backupId, rows, files, bytes, seconds }).catch((error: unknown) =>
      output.progress(`The event of the backup could not be published: ${errorReason(error)}`),
    )
    const removed = await prune(settings, product.name, manifest.id)
    const { objects, ...summary } = manifest
    output.result({ ...summary, objects: objects.length, removed }, createdText(manifest, removed, settings.place))
  },
}

/** Publishes an event, if the product has the plugin for events. */
const announce = <T extends object>({ events, database }: Runtime['services'], ref: EventRef<T>, payload: T) =>
  database.transactional(async () => events?.publish(ref, payload))

const announceFailure = (services: Runtime['services'], error: unknown, redact: (text: string) => string) =>
  announce(services, backupFailed, {
    code: causeCodeOf(error),
    error: fitTextToColumn(redact(errorReason(error)), maxEventText),
  })

function createdText(
  { id, rows, tables, files, bytes, earlierFailures }: Manifest,
  removed: readonly string[],
  place: Place,
) {
  return [
    `Backup ${id} is complete and proven: ${rows} rows of ${tables} tables, ${files} files, ${megabytes(bytes)} in ${place.name}.`,
    ...(earlierFailures.length === 0
      ? []
      : ['These checks fail on the database, and on its copy too:', ...earlierFailures.map((text) => `  ${text}`)]),
    ...(removed.length === 0 ? [] : [`Deleted expired backups: ${removed.join(', ')}.`]),
  ].join('\n')
}

/** Deletes the backups of this product that the retention does not keep. Returns their ids. */
async function prune(
  { place, retention }: BackupSettings,
  product: string,
  justMade?: string,
  isRehearsal = false,
): Promise<readonly string[]> {
  const { complete, failed } = ofProduct(await listBackups(place), product)
  const dated = complete.map(({ id, createdAt }) => ({ id, createdAt: Date.parse(createdAt) }))
  const expired = expiredBackups(dated, retention, justMade).map(({ id }) => id)
  if (isRehearsal) return expired
  for (const id of expired) await new Vault(place, id).remove()
  // A record of a failure is only of interest until a later backup succeeds.
  for (const [vault] of failed) if (vault.id < (complete[0]?.id ?? '')) await vault.remove()
  return expired
}

const list: Command = {
  name: 'backup list',
  summary: 'list all backups',
  setsUp: 'needed',
  async run({ own }, { output }) {
    const { place, clock } = own(backupSettings)
    const { complete, unfinished, failed, damaged } = await listBackupsWithin(place, clock, listMs)
    const rows = complete.map((one) => [
      one.id,
      one.provenAt,
      megabytes(one.bytes),
      String(one.rows),
      String(one.files),
    ])
    const value = {
      backups: complete.map(({ objects, ...summary }) => ({ ...summary, objects: objects.length })),
      unfinished: unfinished.map(([{ id }]) => id),
      failed: failed.map(([{ id }, failure]) => ({ id, ...failure })),
      damaged,
    }
    const more = [
      ...(complete.length === 0 ? [`There is no complete backup in ${place.name}.`] : []),
      ...(unfinished.length === 0 ? [] : [`Not complete: ${value.unfinished.join(', ')}.`]),
      ...(damaged.length === 0 ? [] : [`The manifest is malformed: ${damaged.join(', ')}.`]),
      ...value.failed.map(({ id, code, reason }) => `Failed: ${id}: ${code}: ${reason}`),
    ]
    output.table(value, [['Backup', 'Proven at', 'Size', 'Rows', 'Files'], ...rows], more.join('\n'))
  },
}

const verify: Command = {
  name: 'backup verify',
  summary: 'read a stored backup and compare all hashes; with --identity, also decrypt it',
  setsUp: 'possible',
  arguments: [idArgument],
  options: [identityOption],
  async run({ own, services }, invocation) {
    const { output, signal, args, options } = invocation
    endWithParent()
    const identity = options['identity'] === undefined ? {} : { identity: await readIdentity(invocation) }
    const settings = own(backupSettings)
    const { place } = settings
    const { id, objects, bytes } = await verifyBackup({ place, id: args[0] ?? '', signal, ...identity })
    const how = 'identity' in identity ? 'can be decrypted' : 'has the stored hashes'
    await audit(services, settings, 'verify', { subject: id, summary: { id } })
    output.result(
      { id, objects: objects.length, bytes },
      `Backup ${id} is intact: each of its ${objects.length} objects ${how}.`,
    )
  },
}

const restore: Command = {
  name: 'backup restore',
  summary: 'restore a backup into an empty database and an empty directory',
  setsUp: 'needed',
  arguments: [idArgument],
  options: [
    identityOption,
    { flags: '--older-schema', description: 'restore a backup that was made by an older version of the product' },
  ],
  async run({ own }, invocation) {
    const { output, signal, args, options } = invocation
    const { manifest, written, besides } = await restoreBackup({
      ...own(backupSettings),
      id: args[0] ?? '',
      identity: await readIdentity(invocation),
      allowsOlderSchema: options['olderSchema'] === true,
      signal,
      onProgress: output.progress,
    })
    const { id, rows, files } = manifest
    const lines = [
      `Restored ${rows} rows and ${files} files of backup ${id}. All of them are equal to the backup.`,
      ...(written.length === 0 ? [] : [`Settings and keys: ${written.join(', ')}.`]),
      ...(besides.length === 0 ? [] : [`Compare these settings with the existing ones: ${besides.join(', ')}.`]),
      'Run `plinth doctor --data`, then start one instance.',
    ]
    // The audit of the product is in the restored database, so the first start records the action.
    await noteRestore(own(backupSettings), id, actorName())
    output.result({ id, rows, files, written, besides }, lines.join('\n'))
  },
}

const pruneCommand: Command = {
  name: 'backup prune',
  summary: 'delete the backups that the retention does not keep, and what is left of failed runs',
  setsUp: 'possible',
  options: [{ flags: '--dry-run', description: 'only list them' }],
  async run({ own, services }, { output, options }) {
    const settings = own(backupSettings)
    const isRehearsal = options['dryRun'] === true
    const { name } = services.kernel.product
    endWithParent()
    if (!isRehearsal) await audit(services, settings, 'prune')
    const failed = isRehearsal
      ? ofProduct(await listBackups(settings.place), name).unfinished.flatMap(([{ id }, run]) => (run ? [id] : []))
      : await removeDeadRuns(settings, name)
    const expired = await prune(settings, name, undefined, isRehearsal)
    const ids = [...expired, ...failed]
    const action = isRehearsal ? 'Would delete' : 'Deleted'
    output.result({ expired, failed }, ids.length === 0 ? 'Nothing to delete.' : `${action}: ${ids.join(', ')}.`)
  },
}

/** Records the action in the audit. A machine for a restore has an empty database, and thus no audit. */
const audit = async (
  { kernel, database }: Runtime['services'],
  settings: BackupSettings,
  action: 'create' | 'verify' | 'prune',
  about: Pick<AuditEntry, 'subject' | 'summary'> = {},
) => {
  const requested = requestedBy()
  // The user who requested a task is in the audit already.
  if (requested === 'user' || (await isEmptyDatabase(settings.database))) return
  const actor = { name: requested ?? actorName() }
  // A command can only create ids in a transaction.
  return database.transactional(() => writeAuditEntry(kernel, { actor, action: `backup.${action}`, ...about }))
}

const actorName = () => `cli:${userInfo().username}`

async function readIdentity({ options }: CommandInvocation): Promise<string> {
  const { identity } = options
  if (typeof identity !== 'string')
    throw backupError('PLINTH_BACKUP_OPTIONS', { reason: 'the option --identity is missing' })
  return readFile(identity, 'utf8').catch((error: unknown) => {
    throw backupError(
      'PLINTH_BACKUP_OPTIONS',
      { reason: `the identity file cannot be read (${errorReason(error)})` },
      error,
    )
  })
}

const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`

export const commands: readonly Command[] = [create, list, verify, restore, pruneCommand]

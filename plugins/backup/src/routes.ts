import type { AsyncTasks, TaskType } from '@plinth/async-task'
import type { Database } from '@plinth/database'
import { count, id, instant, nullable, routesWith, Type } from '@plinth/http'
import { requirePrincipal } from '@plinth/iam'
import { idempotent } from '@plinth/idempotency'
import { type AuditedRequest, auditFieldsOfCaller, type Kernel, writeAuditEntry } from '@plinth/kernel'
import type { AgeCheck, BackupWarning } from './age-check.ts'
import { type BackupReport, type BackupReports, backupStates } from './backup-reports.ts'
import { businessError, permissionCodes } from './declarations.ts'
import { createTask, pruneTask, taskTypes, verifyTask } from './tasks.ts'

interface RouteDependencies {
  readonly kernel: Kernel
  readonly db: Database
  readonly tasks: AsyncTasks
  readonly reports: BackupReports
  readonly age: AgeCheck
  /** Empty if no backups are made. */
  readonly recipient: string
}

const path = '/api/v1/admin/backups'
/** Time in milliseconds for which a result of the age check is shown in the back office. */
const shownMs = 60_000

const view = { permission: permissionCodes.view, scope: 'all' } as const
const backupId = Type.String({
  pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d-\\d\\d-\\d\\d-\\d{3}Z$',
  description: 'Time at which the backup began, in UTC.',
  examples: ['2026-11-30T02-30-00-000Z'],
})
const params = Type.Object({ id: backupId })
const maybe = (description: string) => nullable(Type.String(), { description })
const maybeCount = (description: string) => nullable(count, { description })

const rowView = {
  id: backupId,
  state: Type.Enum(backupStates, {
    description: 'A backup is proven if a database that was restored from it was equal.',
  }),
  startedAt: instant,
  provenAt: nullable(instant, { description: 'Time of the proof.' }),
  bytes: maybeCount('Size of the encrypted files in bytes.'),
  rows: maybeCount('Number of rows in the database.'),
  files: maybeCount('Number of files of the storage disks.'),
  seconds: nullable(Type.Number({ minimum: 0 }), { description: 'Seconds from the beginning to the proof.' }),
  failure: maybe('Code of the error. `plinth backup list` prints its message.'),
}
const details = {
  product: maybe('Name of the product.'),
  productVersion: maybe('Version of the product.'),
  databaseType: maybe('Type of the database.'),
  databaseVersion: maybe('Version of the database.'),
  tables: maybeCount('Number of tables.'),
  objects: maybeCount('Number of encrypted files.'),
  earlierFailures: maybeCount('Number of checks that failed on the database and on its copy.'),
  recipient: maybe('Public key of the owner who can restore the backup.'),
  restoreCommand: maybe('Command that restores the backup. It needs the file with the secret key.'),
}
const submitted = Type.Object({ taskId: id })
/** Reasons of the routes that read the place. */
const placeReasons = ['backup.place-late', 'backup.place-unavailable'] as const
const taskReasons = ['async-task.owner-limit', 'async-task.queue-full', 'backup.running'] as const

const { route } = routesWith<RouteDependencies>()

export const routes = [
  route({
    method: 'GET',
    path,
    summary: 'List backups, newest first',
    access: view,
    request: { query: Type.Object({ state: Type.Optional(rowView.state) }) },
    response: Type.Array(Type.Object(rowView)),
    reasons: [...placeReasons],
    handler: async ({ query }, { reports }) =>
      (await reports.list()).filter(({ state }) => query.state === undefined || state === query.state).map(rowOf),
  }),
  route({
    method: 'GET',
    path: `${path}/warnings`,
    summary: 'Count warnings about backups',
    description: 'All numbers are 0 if no recipient is set. A result may be a minute old.',
    access: view,
    response: Type.Object({
      none: { ...count, description: '1 if no backup is proven.' },
      tooOld: { ...count, description: '1 if the newest proven backup is older than `platform.backup.max-age`.' },
      failed: { ...count, description: '1 if a later backup failed.' },
      unavailable: { ...count, description: '1 if the place cannot be read.' },
      newestAt: nullable(instant, { description: 'Time of the newest proven backup, if there is a warning.' }),
    }),
    reasons: [],
    async handler(_, { age }) {
      await age.refresh(shownMs)
      const numberOf = (code: BackupWarning['code']) => age.warnings.filter((one) => one.code === code).length
      return {
        none: numberOf('none'),
        tooOld: numberOf('too-old'),
        failed: numberOf('failed'),
        unavailable: numberOf('unavailable'),
        newestAt: age.warnings[0]?.newestAt ?? null,
      }
    },
  }),
  route({
    method: 'GET',
    path: `${path}/:id`,
    summary: 'Get a backup',
    access: view,
    request: { params },
    response: Type.Object({ ...rowView, ...details }),
    reasons: ['backup.unknown', ...placeReasons],
    handler: async ({ params }, { reports }) => detailOf(await reports.find(params.id)),
  }),
  route({
    method: 'POST',
    path,
    summary: 'Make a backup in the background',
    access: { permission: permissionCodes.create, scope: 'all' },
    annotations: [idempotent],
    response: submitted,
    reasons: ['backup.no-recipient', ...taskReasons],
    handler: async (request, parts) => submit(parts, request, createTask, {}),
  }),
  route({
    method: 'POST',
    path: `${path}/:id/verify`,
    summary: 'Read a stored backup and compare all hashes in the background',
    access: { permission: permissionCodes.create, scope: 'all' },
    annotations: [idempotent],
    request: { params },
    response: submitted,
    reasons: ['backup.unknown', ...placeReasons, ...taskReasons],
    async handler(request, parts) {
      const report = await parts.reports.find(request.params.id)
      return submit(parts, request, verifyTask, { id: report.id }, report.id)
    },
  }),
  route({
    method: 'POST',
    path: `${path}/prune`,
    summary: 'Delete the backups that the retention does not keep in the background',
    access: { permission: permissionCodes.prune, scope: 'all' },
    annotations: [idempotent],
    fresh: '5m',
    response: submitted,
    reasons: [...taskReasons],
    handler: async (request, parts) => submit(parts, request, pruneTask, {}),
  }),
]

/** Submits a task and records it in the audit. Only one task for backups may be unfinished. */
async function submit<P>(
  { kernel, db, tasks, recipient }: RouteDependencies,
  request: AuditedRequest & Parameters<typeof requirePrincipal>[0] & { readonly locale: string },
  type: TaskType<P>,
  params: P,
  subject?: string,
) {
  if (type.id === createTask.id && recipient === '') throw businessError('no-recipient')
  for (const status of ['queued', 'running'] as const) {
    for (const { id } of taskTypes) {
      if ((await tasks.list({ type: id, status }, { size: 1 })).items.length > 0) throw businessError('running')
    }
  }
  const ownerId = requirePrincipal(request).userId
  return db.transactional(async () => {
    const about = subject === undefined ? {} : { subject, summary: { id: subject } }
    await writeAuditEntry(kernel, { ...auditFieldsOfCaller(request), action: type.id, ...about })
    const task = await tasks.submit(type, params, { ownerId, locale: request.locale })
    return { taskId: task.id }
  })
}

const rowOf = ({ id, state, startedAt, manifest, failure }: BackupReport) => ({
  id,
  state,
  startedAt: new Date(startedAt).toISOString(),
  provenAt: manifest?.provenAt ?? null,
  bytes: manifest?.bytes ?? null,
  rows: manifest?.rows ?? null,
  files: manifest?.files ?? null,
  seconds: manifest?.seconds ?? null,
  failure: failure ?? null,
})

const detailOf = (report: BackupReport) => ({
  ...rowOf(report),
  product: report.manifest?.product ?? null,
  productVersion: report.manifest?.productVersion ?? null,
  databaseType: report.manifest?.dialect ?? null,
  databaseVersion: report.manifest?.databaseVersion ?? null,
  tables: report.manifest?.tables ?? null,
  objects: report.manifest?.objects.length ?? null,
  earlierFailures: report.manifest?.earlierFailures.length ?? null,
  recipient: report.manifest?.recipient ?? null,
  restoreCommand: report.state === 'proven' ? `npx plinth backup restore ${report.id} --identity backup.key` : null,
})

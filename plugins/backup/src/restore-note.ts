import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCodeOf, type Kernel, shape, writeAuditEntry } from '@plinth/kernel'
import { findShapeProblems, makePrivateDirectory } from '@plinth/kernel/host'
import type { BackupContext } from './create.ts'

/** A restore that is not in the audit yet, because its database was empty. */
interface RestoreNote {
  readonly id: string
  readonly restoredAt: string
  readonly actor: string
}

const text = { type: 'string' } as const
const note = shape.object<RestoreNote>({ id: text, restoredAt: text, actor: text })

type Place = Pick<BackupContext, 'workDirectory' | 'clock'>
const fileOf = ({ workDirectory }: Pick<Place, 'workDirectory'>) => join(workDirectory, 'restored.json')

export async function noteRestore(place: Place, id: string, actor: string): Promise<void> {
  await makePrivateDirectory(place.workDirectory)
  const restoredAt = new Date(place.clock.now()).toISOString()
  await writeFile(fileOf(place), JSON.stringify({ id, restoredAt, actor } satisfies RestoreNote), { mode: 0o600 })
}

/** Records a restore in the audit, if one was made since the last start. */
export async function auditRestore(
  place: Place,
  kernel: Pick<Kernel, 'contributions'>,
  transactional: (work: () => Promise<void>) => Promise<void>,
): Promise<void> {
  const file = fileOf(place)
  const content = await readFile(file, 'utf8').catch((error: unknown) => {
    if (errorCodeOf(error) === 'ENOENT') return undefined
    throw error
  })
  if (content === undefined) return
  const value: unknown = JSON.parse(content)
  if (findShapeProblems(note, value).length > 0) throw new Error(`${file} is malformed`)
  const { id, restoredAt, actor } = value as RestoreNote
  const entry = { actor: { name: actor }, action: 'backup.restore', subject: id, summary: { id, restoredAt } }
  await transactional(() => writeAuditEntry(kernel, entry))
  await rm(file)
}

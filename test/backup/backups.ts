/** Backups of databases that are filled with rows in every table of the quickstart. */

import { spawn } from 'node:child_process'
import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type BackupContext, type CreateOptions, createBackup, type Place, restoreBackup } from '@plinth/backup/parts'
import { type ConnectionSettings, digestOf, findStoredTables, withDatabase } from '@plinth/database/stored-data'
import { waitForProcessEnd } from '@plinth/dev/testing'
import { systemClock } from '@plinth/kernel'
import { DirectoryDisk } from '@plinth/storage'
import { generateX25519Identity, identityToRecipient } from 'age-encryption'
import { changeSets } from '../move/databases.ts'

export const identity = await generateX25519Identity()
export const recipient = await identityToRecipient(identity)

export interface Site {
  readonly root: string
  readonly database: ConnectionSettings
  /** Directory of the backups. */
  readonly backups: string
}

export const directoryPlace = (directory: string): Place => ({
  name: directory,
  prefix: '',
  disk: new DirectoryDisk(directory, 'private', systemClock),
  isOwn: () => false,
})

export const contextOf = ({ root, database, backups }: Site): BackupContext => ({
  place: directoryPlace(backups),
  database,
  changeSets,
  disks: new Map([
    ['local', new DirectoryDisk(join(root, 'storage/local'), 'private', systemClock)],
    ['public', new DirectoryDisk(join(root, 'storage/public'), 'public', systemClock)],
  ]),
  root,
  workDirectory: join(root, 'work'),
  toolsDirectory: '',
  clock: systemClock,
})

export const optionsOf = (site: Site, more: Partial<CreateOptions> = {}): CreateOptions => ({
  ...contextOf(site),
  recipient,
  stateFiles: [join(site.root, '.env'), join(site.root, 'data/master.key')],
  environment: { PLATFORM_HTTP_PORT: '8080' },
  product: { name: 'quickstart', version: '1.0.0' },
  plugins: { database: '1.0.0' },
  record: async () => {},
  signal: new AbortController().signal,
  onProgress: () => {},
  redact: (text) => text.replaceAll('s3cret', '***'),
  examine: async () => [],
  ...more,
})

export const backUp = (site: Site, more: Partial<CreateOptions> = {}) => createBackup(optionsOf(site, more))

export const restoreTo = (
  site: Site,
  id: string,
  {
    key = identity,
    allowsOlderSchema = false,
    ...more
  }: { key?: string; allowsOlderSchema?: boolean } & Partial<BackupContext> = {},
) =>
  restoreBackup({
    ...contextOf(site),
    id,
    identity: `# created for a test\n${key}\n`,
    allowsOlderSchema,
    signal: new AbortController().signal,
    onProgress: () => {},
    ...more,
  })

/** Writes files to the disks, the settings file and a key. */
export async function writeFiles({ root, ...rest }: Site, count: number): Promise<void> {
  const { disks } = contextOf({ root, ...rest })
  for (const [name, disk] of disks) {
    for (let file = 0; file < count; file++) {
      await disk.write(`orders/${file % 7}/漢字 ${file}.txt`, one(`${name} ${file} `.repeat(file * 50)))
    }
  }
  const local = new DirectoryDisk(join(root, 'data'), 'private', systemClock)
  await local.write('master.key', one('0123456789abcdef0123456789abcdef\n'))
  await new DirectoryDisk(root, 'private', systemClock).write(
    '.env',
    one(`PLATFORM_DATABASE_NAME=shop\nBACKUP_KEY=${identity}\n`),
  )
}

export async function* one(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text)
}

/** Returns rows and hash of every table. */
export const digestsOf = (settings: ConnectionSettings, plugins = changeSets): Promise<readonly string[]> =>
  withDatabase(settings, async (database) => {
    const { tables } = await findStoredTables(database, plugins)
    const texts: string[] = []
    for (const table of tables) {
      const signal = new AbortController().signal
      const { rows, sum } = await digestOf(database, table, { parts: 1, signal, onRows: () => {} })
      texts.push(`${table.table} ${rows} ${sum}`)
    }
    return texts
  })

export const filesIn = async (directory: string): Promise<readonly string[]> => {
  await mkdir(directory, { recursive: true })
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
}

/** Returns the files of backups, without the records of failures. */
export const backupFilesIn = async (directory: string): Promise<readonly string[]> =>
  (await filesIn(directory)).filter((file) => !file.endsWith('/failure.json'))

const program = fileURLToPath(new URL('backup-process.ts', import.meta.url))

/** A step at which the process kills itself: before or after the nth call whose name matches. */
export interface KillPoint {
  readonly step: string
  readonly nth: number
  readonly when: 'before' | 'after'
}

export interface BackupArgument {
  readonly site: Site
  readonly recipient: string
  readonly kill?: KillPoint
}

/** Makes a backup in a process of its own. Returns its id, or undefined if the process was killed or failed. */
export async function backUpInProcess(site: Site, kill?: KillPoint) {
  const argument: BackupArgument = { site, recipient, ...(kill === undefined ? {} : { kill }) }
  const words = ['--disable-warning=ExperimentalWarning', program, JSON.stringify(argument)]
  const { code, signal, stdout, stderr } = await waitForProcessEnd(spawn(process.execPath, words))
  return { killed: signal === 'SIGKILL', id: code === 0 ? stdout.trim() : undefined, stderr }
}

import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { type CommandDeclaration, isBusinessError } from '@plinth/kernel'
import { directoryDriver, type keys, standardDisks } from './config.ts'
import { type FileContent, type Storage, storage } from './contract.ts'
import { DirectoryDisk } from './directory-disk.ts'

type Uses = { provides: readonly [typeof storage]; config: typeof keys }

interface CopyReport {
  readonly disk: string
  copied: number
  /** Files that were on the disk with the same content. */
  same: number
  /** Paths of files that are on the disk with another content. They were not replaced. */
  readonly different: string[]
}

/** The command reports its progress after this number of files. */
const progressFiles = 100

/**
 * Copies the files of the standard disks from their directories to their drivers. Reads each copy and compares its hash.
 * Can be repeated: it copies only missing files and replaces and deletes none. The exit code is 1 if files differ.
 */
export const copyCommand: CommandDeclaration<Uses> = {
  name: 'storage copy',
  summary: 'copy files from the storage directory to the disks that have another driver, and compare their hashes',
  async run({ own, config, clock }, { output, signal }) {
    const files = own(storage)
    const reports: CopyReport[] = []
    for (const name of ['public', 'local'] as const) {
      if (config.get(`platform.storage.disks.${name}.driver`) === directoryDriver) continue
      const directory = new DirectoryDisk(join(files.root, name), standardDisks[name], clock)
      const report: CopyReport = { disk: name, copied: 0, same: 0, different: [] }
      reports.push(report)
      let seen = 0
      for await (const { path } of directory.list('')) {
        signal.throwIfAborted()
        const source = await directory.open(path)
        if (source === undefined) continue
        await copyFile(files, report, path, source.content).catch((error: unknown) => {
          output.progress(`${name}: ${path} cannot be copied`)
          throw error
        })
        seen += 1
        if (seen % progressFiles === 0) output.progress(`${name}: ${seen} files`)
      }
    }
    output.result(
      reports,
      reports.length === 0 ? 'Both disks use the driver "directory". Nothing to copy.' : textOf(reports),
    )
    return reports.some(({ different }) => different.length > 0) ? 1 : 0
  },
}

async function copyFile(
  files: Storage,
  report: CopyReport,
  path: string,
  content: AsyncIterable<Uint8Array>,
): Promise<void> {
  const hash = createHash('sha256')
  const hashed = async function* () {
    for await (const chunk of content) {
      hash.update(chunk)
      yield chunk
    }
  }
  const source = hashed()
  const isNew = await putNew(files, report.disk, path, source)
  // If the file exists, the disk may not have read the content.
  for await (const _ of source) {
  }
  const copy = await hashOf((await files.open(report.disk, path)).content)
  if (copy !== hash.digest('hex')) report.different.push(path)
  else if (isNew) report.copied += 1
  else report.same += 1
}

async function putNew(files: Storage, disk: string, path: string, content: FileContent): Promise<boolean> {
  try {
    await files.put(disk, path, content, { onlyNew: true })
    return true
  } catch (error) {
    if (isBusinessError(error) && error.reason === 'storage.file-exists') return false
    throw error
  }
}

async function hashOf(content: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of content) hash.update(chunk)
  return hash.digest('hex')
}

const textOf = (reports: readonly CopyReport[]) =>
  reports
    .flatMap(({ disk, copied, same, different }) => [
      `${disk}: ${copied} copied, ${same} already there, ${different.length} different`,
      ...different.map((path) => `  different, not replaced: ${path}`),
    ])
    .join('\n')

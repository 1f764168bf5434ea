import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { changedSource, type RecordedChange } from '../recorded-changes/recorded-change.ts'

const skippedNames = new Set(['.git', '.tap', '.build', '.cache'])
/** Sources of browser pages. They must be built before a browser can load them. */
const pageSource = /^plugins\/console\/web\//

/** Maximum age of a copy in milliseconds. An older copy was left by a killed process. */
const maxAgeMs = 24 * 60 * 60_000

/**
 * Copies a folder. Installed packages are hard links, which use no space and are never changed. A file that another
 * process removes meanwhile is skipped.
 */
function copyFolder(from: string, to: string, placeFile: (from: string, to: string) => void = copyFileSync): void {
  mkdirSync(to, { recursive: true })
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (skippedNames.has(entry.name)) continue
    if (entry.isDirectory()) copyFolder(source, target, entry.name === 'node_modules' ? linkSync : placeFile)
    else if (entry.isSymbolicLink()) symlinkSync(readlinkSync(source), target)
    else if (entry.isFile() && existsSync(source)) placeFile(source, target)
  }
}

/** A copy of the repository for one recorded change at a time. */
export class SourceCopy {
  readonly root: string

  constructor(repository: string) {
    const copies = join(repository, '.tap/changes')
    mkdirSync(copies, { recursive: true })
    for (const name of readdirSync(copies)) {
      const copy = join(copies, name)
      if (Date.now() - statSync(copy).mtimeMs > maxAgeMs) rmSync(copy, { recursive: true, force: true })
    }
    this.root = mkdtempSync(join(copies, 'copy-'))
    copyFolder(repository, this.root)
  }

  /**
   * Applies the change while `work` runs. If the change concerns browser pages, the pages are built first.
   * @throws Error if the fragment is not found exactly once, or if the build of the pages fails
   */
  async with<T>(change: RecordedChange, work: () => Promise<T>): Promise<T> {
    const sources = new Map<string, string>()
    const changed = new Map<string, string>()
    for (const edit of [change, ...(change.others ?? [])]) {
      const file = join(this.root, edit.file)
      const source = changed.get(file) ?? readFileSync(file, 'utf8')
      if (!sources.has(file)) sources.set(file, source)
      changed.set(file, changedSource(edit, source))
    }
    try {
      for (const [file, text] of changed) writeFileSync(file, text)
      if (pageSource.test(change.file)) this.#buildPages()
      return await work()
    } finally {
      for (const [file, source] of sources) writeFileSync(file, source)
    }
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true })
  }

  #buildPages(): void {
    const { status, stderr } = spawnSync(process.execPath, ['plugins/console/scripts/build-pages.ts'], {
      cwd: this.root,
      encoding: 'utf8',
      timeout: 600_000,
    })
    if (status !== 0) throw new Error(`The pages cannot be built with the change: ${stderr}`)
  }
}

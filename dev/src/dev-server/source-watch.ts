import { type FSWatcher, readdirSync, statSync, watch } from 'node:fs'
import { basename, extname, join } from 'node:path'

/** Directories that contain no sources of the running product: dependencies, build results, data and tests. */
const skippedDirectories: ReadonlySet<string> = new Set(['node_modules', 'dist', 'data', 'test', 'tests', 'coverage'])

const sourceTypes: ReadonlySet<string> = new Set(
  '.ts .tsx .mts .cts .js .jsx .mjs .cjs .json .html .css .svg .hbs .mjml .sql .yaml .yml'.split(' '),
)

/** Milliseconds without a change after which changes are reported, because editors write a file in several steps. */
const quietMs = 50

const isSource = (file: string) => {
  const name = basename(file)
  if (name.startsWith('.env')) return true
  return !name.startsWith('.') && sourceTypes.has(extname(name)) && !/\.test\.\w+$/.test(name)
}

/** Watches the source files of a product and of its packages. */
export class SourceWatch {
  readonly #watchers = new Map<string, FSWatcher>()
  readonly #changed = new Set<string>()
  #timer: NodeJS.Timeout | undefined
  #report: (() => void) | undefined

  get size(): number {
    return this.#watchers.size
  }

  /** Watches a directory with all directories below it, including those that are created later. */
  add(directory: string): void {
    if (this.#watchers.has(directory)) return
    try {
      const watcher = watch(directory, (_event, name) =>
        this.#onEvent(name === null ? directory : join(directory, name)),
      )
      watcher.on('error', () => this.#remove(directory))
      this.#watchers.set(directory, watcher)
      for (const entry of readdirSync(directory, { withFileTypes: true })) {
        if (entry.isDirectory() && !entry.name.startsWith('.') && !skippedDirectories.has(entry.name)) {
          this.add(join(directory, entry.name))
        }
      }
    } catch {
      // The directory was removed before it could be watched.
      this.#remove(directory)
    }
  }

  /** Watches one file in a directory. The file does not have to exist. */
  addFile(file: string, directory: string): void {
    if (this.#watchers.has(file)) return
    try {
      this.#watchers.set(
        file,
        watch(directory, (_event, name) => {
          if (name === null || name === basename(file)) this.#note(file)
        }),
      )
    } catch {
      // If the directory does not exist, the product cannot read the file and reports the problem.
    }
  }

  /**
   * Resolves with the files that changed since the last call, as soon as there are any. Never resolves after `close`.
   */
  next(): Promise<readonly string[]> {
    return new Promise((resolve) => {
      this.#report = () => {
        this.#report = undefined
        const files = [...this.#changed].sort()
        this.#changed.clear()
        resolve(files)
      }
      if (this.#changed.size > 0 && this.#timer === undefined) this.#report()
    })
  }

  close(): void {
    clearTimeout(this.#timer)
    for (const watcher of this.#watchers.values()) watcher.close()
    this.#watchers.clear()
  }

  #remove(directory: string): void {
    this.#watchers.get(directory)?.close()
    this.#watchers.delete(directory)
  }

  #onEvent(path: string): void {
    const isDirectory = statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
    if (!isDirectory) {
      if (isSource(path)) this.#note(path)
      return
    }
    const name = basename(path)
    if (this.#watchers.has(path) || name.startsWith('.') || skippedDirectories.has(name)) return
    this.add(path)
    // Files in a new directory may have been written before the directory was watched.
    this.#note(path)
  }

  #note(path: string): void {
    this.#changed.add(path)
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#report?.()
    }, quietMs)
  }
}

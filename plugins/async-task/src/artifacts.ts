import type { Storage } from '@plinth/storage'
import type { TaskArtifact } from './contract.ts'

/** First segment of the paths of all files of tasks. */
export const artifactDirectory = 'async-task'
/** Code points. */
const longestName = 200

/** One run of a task. */
interface TaskRun {
  readonly id: number
  readonly fence: number
}

const directoryOf = (taskId: number) => `${artifactDirectory}/${taskId}`

/** True for a name that a file may have for the one who downloads it. */
export const isArtifactName = (name: string) =>
  name !== '' && [...name].length <= longestName && !/[\p{Cc}\p{Cs}]/u.test(name)

/**
 * Files of tasks on the disk for private files: one directory per task and one file per run, so that a run that lost its
 * task overwrites nothing.
 */
export class Artifacts {
  readonly #storage: Storage

  constructor(storage: Storage) {
    this.#storage = storage
  }

  /** Disk on which files of tasks are written now. */
  get disk(): string {
    return this.#storage.localDisk
  }

  async write(
    task: TaskRun,
    name: string,
    content: AsyncIterable<string | Uint8Array>,
    signal: AbortSignal,
  ): Promise<TaskArtifact> {
    const { disk } = this
    const extension = /\.[A-Za-z0-9]{1,16}$/.exec(name)?.[0].toLowerCase() ?? ''
    const path = `${directoryOf(task.id)}/${task.fence}${extension}`
    const { size } = await this.#storage.put(disk, path, content, { signal })
    return { name, size, disk, path }
  }

  /**
   * Removes what this run of a task and those before it wrote, save the file that is its result. Whoever does so may have lost
   * the task without noticing: files of later runs are not its own.
   */
  async keepOnly({ id, fence }: TaskRun, kept: TaskArtifact | undefined): Promise<void> {
    const disk = kept?.disk ?? this.disk
    for await (const { path } of this.#storage.list(disk, directoryOf(id))) {
      if (path !== kept?.path && fenceOf(path) <= fence) await this.#storage.delete(disk, path)
    }
  }

  /** Removes all files of a task from a disk, and from the one on which they are written now. */
  async remove(taskId: number, disk: string): Promise<void> {
    const disks = new Set([disk, this.disk])
    const known = new Set(this.#storage.disks().map(({ name }) => name))
    // Of a disk that was taken out of the product nothing can be removed.
    for (const name of disks) {
      if (!known.has(name)) continue
      for await (const { path } of this.#storage.list(name, directoryOf(taskId))) await this.#storage.delete(name, path)
    }
  }
}

/** Of the run that wrote the file; what has no such name is nobody's. */
const fenceOf = (path: string) => Number.parseInt(path.slice(path.lastIndexOf('/') + 1), 10) || 0

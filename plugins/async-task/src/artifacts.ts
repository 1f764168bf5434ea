import type { Storage } from '@plinth/storage'
import type { TaskArtifact } from './contract.ts'

/** First path segment of all task files. */
export const artifactDirectory = 'async-task'
/** Maximum length of a file name in code points. */
const maxNameLength = 200

interface TaskRun {
  readonly id: number
  readonly fence: number
}

const directoryOf = (taskId: number) => `${artifactDirectory}/${taskId}`

/** True for a valid file name of a download. */
export const isArtifactName = (name: string) =>
  name !== '' && [...name].length <= maxNameLength && !/[\p{Cc}\p{Cs}]/u.test(name)

/**
 * Files of tasks on the private disk. Each task has a directory and each run has its own file, so a run that lost its
 * task overwrites nothing.
 */
export class Artifacts {
  readonly #storage: Storage

  constructor(storage: Storage) {
    this.#storage = storage
  }

  /** Disk for new task files. */
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
   * Removes files of this run and of earlier runs, except the result file. Files of later runs stay, because this run
   * may have lost the task without noticing.
   */
  async keepOnly({ id, fence }: TaskRun, kept: TaskArtifact | undefined): Promise<void> {
    const disk = kept?.disk ?? this.disk
    for await (const { path } of this.#storage.list(disk, directoryOf(id))) {
      if (path !== kept?.path && fenceOf(path) <= fence) await this.#storage.delete(disk, path)
    }
  }

  /** Removes all files of a task from `disk` and from the current disk. */
  async remove(taskId: number, disk: string): Promise<void> {
    const disks = new Set([disk, this.disk])
    const known = new Set(this.#storage.disks().map(({ name }) => name))
    // Files on a disk that no longer exists cannot be removed.
    for (const name of disks) {
      if (!known.has(name)) continue
      for await (const { path } of this.#storage.list(name, directoryOf(taskId))) await this.#storage.delete(name, path)
    }
  }
}

/** Returns the fence of the run that wrote the file, or 0 for other file names. */
const fenceOf = (path: string) => Number.parseInt(path.slice(path.lastIndexOf('/') + 1), 10) || 0

import { LeasedRun } from '@plinth/coordination'
import { type Clock, fitTextToColumn, type LocalizedText, localize } from '@plinth/kernel'
import { isArtifactName } from './artifacts.ts'
import type { TaskArtifact, TaskContext } from './contract.ts'
import { csvText } from './csv.ts'
import { asyncTaskError } from './declarations.ts'
import type { TaskRow } from './entities.ts'
import type { TaskProgress } from './task-rows.ts'

const progressEveryMs = 1_000
/** Maximum length of a note in code points. */
const maxNoteLength = 200

type WriteFile = (
  name: string,
  content: AsyncIterable<string | Uint8Array>,
  signal: AbortSignal,
) => Promise<TaskArtifact>

export class LeasedTaskRun extends LeasedRun {
  readonly #clock: Clock
  #standing: TaskProgress = { progress: 0, note: null }
  #show: () => void = () => {}
  #isWriting = false
  artifact: TaskArtifact | undefined
  /** True if the run may have written a file, even an incomplete one. */
  hasWritten = false

  constructor(clock: Clock) {
    super()
    this.#clock = clock
  }

  get standing(): TaskProgress {
    return this.#standing
  }

  /** Stores the progress when it changes, at most once per second. */
  showProgress(write: () => Promise<unknown>, over: AbortSignal): void {
    let isDirty = false
    let isShowing = false
    let shownAt = Number.NEGATIVE_INFINITY
    const show = async () => {
      isShowing = true
      while (isDirty && !over.aborted) {
        const waitMs = shownAt + progressEveryMs - this.#clock.monotonic()
        if (waitMs > 0) await this.#clock.sleep(waitMs, over)
        if (over.aborted) break
        isDirty = false
        shownAt = this.#clock.monotonic()
        // If this fails, the next heartbeat stores the progress.
        await write().catch(() => {})
      }
      isShowing = false
    }
    this.#show = () => {
      isDirty = true
      if (!isShowing) void show()
    }
  }

  context(row: TaskRow, write: WriteFile): TaskContext {
    const writeArtifact: TaskContext['writeArtifact'] = async ({ name }, content) => {
      const reject = (reason: string) => asyncTaskError('PLINTH_ASYNC_TASK_ARTIFACT', { type: row.type, reason })
      if (this.hasEnded) throw reject('the task has ended')
      if (this.#isWriting || this.artifact !== undefined) throw reject('the task already has a file')
      if (!isArtifactName(name)) throw reject('its name is not a valid file name')
      this.signal.throwIfAborted()
      this.#isWriting = true
      this.hasWritten = true
      try {
        this.artifact = await write(name, content, this.signal)
      } finally {
        this.#isWriting = false
      }
    }
    return {
      taskId: row.id,
      ownerId: row.ownerId,
      locale: row.locale,
      attempt: row.attempts + 1,
      signal: this.signal,
      progress: (percent, note) => this.#progress(percent, note),
      writeArtifact,
      writeCsv: (file, columns, rows) => writeArtifact(file, csvText(columns, rows)),
    }
  }

  #progress(percent: number, note: LocalizedText | undefined): void {
    if (this.hasEnded) return
    const progress = Number.isNaN(percent) ? 0 : Math.floor(Math.min(100, Math.max(0, percent)))
    this.#standing = { progress, note: note === undefined ? this.#standing.note : cutNote(note) }
    this.#show()
  }
}

function cutNote(note: LocalizedText): LocalizedText {
  const cut = (text: string) => fitTextToColumn(text, maxNoteLength)
  return typeof note === 'string' ? cut(note) : { en: cut(localize(note, 'en')), 'zh-CN': cut(localize(note, 'zh-CN')) }
}

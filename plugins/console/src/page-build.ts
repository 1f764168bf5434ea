import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { stripVTControlCharacters } from 'node:util'
import type { Clock, Logger } from '@plinth/kernel'
import { builtHash, type PagePaths, sourceHash } from './page-source.ts'

/** Interval of progress messages in the log, and time limit of a build, in milliseconds. */
const signOfLifeMs = 5_000
const deadlineMs = 5 * 60_000
/** Maximum number of lines of a failed build in the log. */
const shownLines = 20

/**
 * Keeps the built pages up to date. In a checkout of the repository, the pages are built in a separate process if they
 * are missing or their sources have changed. The server works meanwhile. A published package contains the pages. Errors
 * are logged and never thrown, because the product also works without pages.
 */
export class PageBuild {
  readonly #places: PagePaths
  readonly #clock: Clock
  readonly #log: Logger
  readonly #stopped = new AbortController()
  #child: ChildProcess | undefined
  #run: Promise<void> = Promise.resolve()
  #isRunning = false

  constructor(places: PagePaths, { clock, log }: { readonly clock: Clock; readonly log: Logger }) {
    this.#places = places
    this.#clock = clock
    this.#log = log
  }

  get isRunning(): boolean {
    return this.#isRunning
  }

  /** Starts a build if one is necessary. Does not wait for it. */
  start(): void {
    this.#isRunning = true
    this.#run = this.#build()
      .catch((error) => this.#log.warn({ err: error }, 'the pages could not be built; the product works without them'))
      .finally(() => {
        this.#isRunning = false
      })
  }

  /** Resolves when no build is running, or after `limitMs` milliseconds. */
  async settled(limitMs: number): Promise<void> {
    if (!this.#isRunning) return
    const over = new AbortController()
    await Promise.race([this.#run, this.#clock.sleep(limitMs, over.signal)])
    over.abort()
  }

  async stop(): Promise<void> {
    this.#stopped.abort()
    this.#child?.kill()
    await this.#run
  }

  async #build(): Promise<void> {
    const expected = sourceHash(this.#places)
    if (expected === undefined || expected === (await builtHash(this.#places)) || this.#stopped.signal.aborted) return
    this.#log.info('building the back office pages, because they are missing or their sources have changed')
    const child = spawn(process.execPath, [this.#places.program], {
      stdio: ['ignore', 'pipe', 'pipe'],
      // Pages are always built for production.
      env: { ...process.env, NODE_ENV: 'production' },
    })
    this.#child = child
    const lines: string[] = []
    createInterface({ input: child.stdout }).on('line', (line) => {
      lines.push(line)
      this.#log.info(`pages: ${line}`)
    })
    createInterface({ input: child.stderr }).on('line', (line) => lines.push(stripVTControlCharacters(line)))
    const ended = new AbortController()
    void this.#watch(child, ended.signal)
    try {
      const [code]: (number | null)[] = await once(child, 'close')
      if (code === 0 || this.#stopped.signal.aborted) return
      throw new Error(`The build ended with ${code ?? 'a signal'}:\n${lines.slice(0, shownLines).join('\n')}`)
    } finally {
      ended.abort()
    }
  }

  async #watch(child: ChildProcess, ended: AbortSignal): Promise<void> {
    const begin = this.#clock.monotonic()
    for (;;) {
      await this.#clock.sleep(signOfLifeMs, ended)
      if (ended.aborted) return
      const passedMs = this.#clock.monotonic() - begin
      if (passedMs >= deadlineMs) child.kill('SIGKILL')
      else this.#log.info(`still building the pages (${Math.round(passedMs / 1000)} s)`)
    }
  }
}

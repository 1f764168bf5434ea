import { type ChildProcess, fork } from 'node:child_process'
import { keptAlive } from './process-end.ts'
import { type BeginMessage, type PreloadMessage, type SupervisorLink, withSupervisorMode } from './supervisor-link.ts'

/**
 * The next process of `plinth dev`. It loads the packages in `node_modules` that earlier processes loaded, and waits.
 * After a saved change it only has to load the sources of the product. Packages that import each other depend on the
 * order, so it loads them in the order of the first process. A changed file of the quickstart is effective after 1.55 s
 * instead of 1.9 s (two cores, median of ten).
 */
export class Standby {
  readonly #words: readonly string[]
  readonly #modules = new Set<string>()
  #child: ChildProcess | undefined

  constructor(words: readonly string[]) {
    this.#words = words
  }

  /** Adds a module that the product loads from a package in `node_modules`. */
  add(url: string): void {
    this.#modules.add(url)
  }

  /** Starts the process if there is none. */
  prepare(): void {
    if (isUsable(this.#child) || this.#modules.size === 0) return
    this.#child = this.#fork()
    this.#child.send({ preload: [...this.#modules] } satisfies PreloadMessage, () => {})
  }

  /** Returns the process, which now runs the product, or a new one. */
  begin(): ChildProcess {
    const child = isUsable(this.#child) ? this.#child : this.#fork()
    this.#child = undefined
    child.send({ begin: true } satisfies BeginMessage, () => {})
    return child
  }

  /** Ends the process and forgets the modules: packages have changed, or `plinth dev` ends. */
  discard(): void {
    this.#child?.kill('SIGKILL')
    this.#child = undefined
    this.#modules.clear()
  }

  #fork(): ChildProcess {
    return fork(process.argv[1] ?? '', this.#words, { env: withSupervisorMode(process.env, 'dev-again') })
  }
}

const isUsable = (child: ChildProcess | undefined): child is ChildProcess =>
  child?.connected === true && child.exitCode === null && child.signalCode === null

/** Loads modules until the supervisor starts the product. */
export function standBy({ begun, preloaded, signal }: SupervisorLink): Promise<void> {
  let isWaiting = true
  const started = begun.then(() => {
    isWaiting = false
  })
  const preload = async () => {
    for (const url of await preloaded) {
      if (!isWaiting || signal.aborted) return
      // A module that fails here fails again in the product, which reports the error.
      await import(url).catch(() => {})
    }
  }
  void preload()
  return keptAlive(started)
}

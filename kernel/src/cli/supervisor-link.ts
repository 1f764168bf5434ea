import { endProcess, exitCodes } from './process-end.ts'

/** Options with a value that may be before or after any command. */
const withValue: ReadonlySet<string> = new Set(['--product', '--set', '--settings-file'])

/** Returns the first word of a command line that is not an option: `start`, `config`. */
const commandOf = (words: readonly string[]) =>
  words.find((word, index) => !word.startsWith('-') && !withValue.has(words[index - 1] ?? ''))

/** Returns the command that serves until it is stopped; undefined for other commands and for the help of these. */
export function servingCommand(words: readonly string[]): 'start' | 'dev' | undefined {
  const command = commandOf(words)
  const isHelp = words.includes('--help') || words.includes('-h')
  return !isHelp && (command === 'start' || command === 'dev') ? command : undefined
}

/** Returns whether a command line reads a value from standard input (`--set key=-`). */
export const readsInput = (words: readonly string[]): boolean =>
  words.some((word, index) => (words[index - 1] === '--set' && /^[^=]+=-$/.test(word)) || /^--set=[^=]+=-$/.test(word))

/** Environment variable that marks a process whose supervisor restarts it on request. */
const mark = 'PLINTH_SUPERVISED'

/** Message of the supervisor to the process of the product. */
export interface StopMessage {
  readonly stop: NodeJS.Signals
}

/** Message of `plinth dev`: the previous process has ended, so this one may use its port and its files. */
export interface PermitMessage {
  readonly permit: true
}

/** Message of `plinth dev`: modules to load before the product starts, as URLs. */
export interface PreloadMessage {
  readonly preload: readonly string[]
}

/** Message of `plinth dev`: a change was saved, so this process loads the product. */
export interface BeginMessage {
  readonly begin: true
}

/** Message of the process of the product to the supervisor. */
export interface ReadyMessage {
  readonly ready: true
  /** The page to open, if the product has pages. */
  readonly url: string | undefined
}

/** Message to `plinth dev`: directory of a package whose sources the product loads. */
export interface PackageMessage {
  readonly package: string
}

/** Message to `plinth dev`: a module that the product loads from a package in `node_modules`, as a URL. */
export interface ModuleMessage {
  readonly module: string
}

/** Message to `plinth dev`: the start failed. */
export interface FailureMessage {
  readonly failure: Failure
}

/** A failed start, for the developer. */
export interface Failure {
  readonly code: string
  /** Problem and fix, as on the terminal. */
  readonly text: string
}

/** How the process of the product was started. `dev-again` is the second and each later start of `plinth dev`. */
export type SupervisorMode = 'start' | 'dev' | 'dev-again'

/** The supervisor as the process of the product uses it. */
export interface SupervisorLink {
  readonly mode: SupervisorMode
  /**
   * Aborts when the process must stop: the supervisor passed a signal on or has ended, or the process alone received a
   * signal.
   */
  readonly signal: AbortSignal
  /** Resolves when the process must load the product, or must stop. */
  readonly begun: Promise<unknown>
  /** Resolves with the modules to load before the product. */
  readonly preloaded: Promise<readonly string[]>
  /** Resolves when the product may start, or must stop. */
  readonly permitted: Promise<unknown>
  /** Reports that the product has started. After this, the supervisor restarts the product when it crashes. */
  ready(url?: string): void
  /** Reports a package that the product loads. */
  loads(directory: string): void
  /** Reports a module that the product loads from a package in `node_modules`. */
  loadsModule(url: string): void
  /** Reports a failed start. */
  failed(failure: Failure): void
}

/** Returns the environment for a child process with this supervisor mode. */
export const withSupervisorMode = (environment: NodeJS.ProcessEnv, mode: SupervisorMode): NodeJS.ProcessEnv => ({
  ...environment,
  [mark]: mode,
})

/** Returns the supervisor of this process. Removes the mark, because child processes are not supervised. */
export function supervisorOf(process: NodeJS.Process): SupervisorLink | undefined {
  const mode = process.env[mark] as SupervisorMode | undefined
  delete process.env[mark]
  if (mode === undefined) return undefined
  const end = new AbortController()
  const permit = Promise.withResolvers<void>()
  const begin = Promise.withResolvers<void>()
  const preload = Promise.withResolvers<readonly string[]>()
  const stop = (reason: string) => end.abort(new Error(reason))
  const onGone = () => stop('the supervisor is gone')
  process.on('message', (message: StopMessage | PermitMessage | PreloadMessage | BeginMessage) => {
    if ('permit' in message) permit.resolve()
    else if ('preload' in message) preload.resolve(message.preload)
    else if ('begin' in message) begin.resolve()
    else stop(`${message.stop} received`)
  })
  end.signal.addEventListener('abort', () => {
    begin.resolve()
    permit.resolve()
  })
  if (mode !== 'dev-again') begin.resolve()
  if (mode === 'start') permit.resolve()
  process.on('disconnect', onGone)
  process.channel?.unref()
  if (!process.connected) onGone()
  for (const name of ['SIGTERM', 'SIGINT'] as const) {
    process.on(name, () => {
      // While the supervisor runs, it handles signals: a terminal and systemd send each signal to both processes.
      if (end.signal.aborted && !process.connected) endProcess(exitCodes.interrupted)
      stop(`${name} received`)
    })
  }
  // The supervisor may end at this moment; the channel reports that separately.
  const send = (message: ReadyMessage | PackageMessage | ModuleMessage | FailureMessage) =>
    void (process.connected && process.send?.(message, () => {}))
  return {
    mode,
    signal: end.signal,
    begun: begin.promise,
    preloaded: preload.promise,
    permitted: permit.promise,
    ready: (url) => send({ ready: true, url }),
    loads: (directory) => send({ package: directory }),
    loadsModule: (url) => send({ module: url }),
    failed: (failure) => send({ failure }),
  }
}

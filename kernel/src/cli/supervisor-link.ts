import type { Remedy } from '../errors/coded-error.ts'
import { endProcess, exitCodes } from './process-end.ts'

/** Options with a value that may be in front of a command. */
const optionsWithValue: ReadonlySet<string> = new Set(['--product', '--set', '--settings-file'])

/** Returns the words of a command line that select the product and its values, for another command. */
export const productWordsOf = (words: readonly string[]): readonly string[] =>
  words.filter(
    (word, index) =>
      optionsWithValue.has(word) ||
      optionsWithValue.has(words[index - 1] ?? '') ||
      [...optionsWithValue].some((option) => word.startsWith(`${option}=`)),
  )

/** Returns the words of a command line that are no options, such as `config get`. Values of other options stay. */
export const plainWordsOf = (words: readonly string[]): readonly string[] =>
  words.filter((word, index) => !word.startsWith('-') && !optionsWithValue.has(words[index - 1] ?? ''))

/**
 * Returns `start` or `dev` if the command line runs this command. Returns `undefined` for other commands, and if the
 * user requests help.
 */
export function parseServingCommand(words: readonly string[]): 'start' | 'dev' | undefined {
  const [command] = plainWordsOf(words)
  const isHelp = words.includes('--help') || words.includes('-h')
  return !isHelp && (command === 'start' || command === 'dev') ? command : undefined
}

/** Returns true if the command line reads a value from standard input (`--set key=-`). */
export const readsStandardInput = (words: readonly string[]): boolean =>
  words.some((word, index) => (words[index - 1] === '--set' && /^[^=]+=-$/.test(word)) || /^--set=[^=]+=-$/.test(word))

/** Environment variable that the supervisor sets for the process of the product. */
const modeVariable = 'PLINTH_SUPERVISED'

/** Message from the supervisor to the process of the product: stop. */
export interface StopMessage {
  readonly stop: NodeJS.Signals
}

/**
 * Message from `plinth dev` to the process of the product: the previous process has ended, so its port and its files
 * are free.
 */
export interface StartPermitMessage {
  readonly permit: true
}

/** Message from `plinth dev` to the process of the product: URLs of modules to load in advance. */
export interface PreloadMessage {
  readonly preload: readonly string[]
}

/** Message from `plinth dev` to the process of the product: a source file was saved, so load the product now. */
export interface BeginMessage {
  readonly begin: true
}

/** Message from the process of the product to the supervisor: the product is ready. */
export interface ReadyMessage {
  readonly ready: true
  /** URL of the page to open, if the product has pages. */
  readonly url: string | undefined
}

/** Message to `plinth dev`: directory of a package from which the product loads sources. */
export interface PackageMessage {
  readonly package: string
}

/** Message to `plinth dev`: URL of a module in `node_modules` that the product loads. */
export interface ModuleMessage {
  readonly module: string
}

/** Message to `plinth dev`: the start failed. */
export interface FailureMessage {
  readonly failure: FailedStartReport
}

/** A failed start, for the developer. */
export interface FailedStartReport {
  readonly code: string
  /** Problem and fix, as printed on the terminal. */
  readonly text: string
  readonly remedy?: Remedy | undefined
}

/** How the supervisor started this process. `dev-again`: `plinth dev` has started the product before. */
type SupervisorMode = 'start' | 'dev' | 'dev-again'

/** The connection of the process of the product to its supervisor. */
export interface SupervisorLink {
  readonly mode: SupervisorMode
  /**
   * Aborts when the process must stop: the supervisor requested it, the supervisor has ended, or this process received
   * a signal.
   */
  readonly signal: AbortSignal
  /** Resolves when the process must load the product, or must stop. */
  readonly begun: Promise<unknown>
  /** Resolves with the URLs of the modules to load in advance. */
  readonly preloaded: Promise<readonly string[]>
  /** Resolves when the product may start, or must stop. */
  readonly permitted: Promise<unknown>
  /** Reports that the product has started. From now on, the supervisor restarts it after a crash. */
  ready(url?: string): void
  /** Reports a package from which the product loads sources. */
  loads(directory: string): void
  /** Reports a module in `node_modules` that the product loads. */
  loadsModule(url: string): void
  /** Reports a failed start. */
  failed(failure: FailedStartReport): void
}

/** Returns the environment variables for a process with this supervisor mode. */
export const withSupervisorMode = (environment: NodeJS.ProcessEnv, mode: SupervisorMode): NodeJS.ProcessEnv => ({
  ...environment,
  [modeVariable]: mode,
})

/**
 * Returns the connection to the supervisor, or `undefined` if there is none. Removes the environment variable, because
 * child processes of this process have no supervisor.
 */
export function createSupervisorLink(process: NodeJS.Process): SupervisorLink | undefined {
  const mode = process.env[modeVariable] as SupervisorMode | undefined
  delete process.env[modeVariable]
  if (mode === undefined) return undefined
  const end = new AbortController()
  const permit = Promise.withResolvers<void>()
  const begin = Promise.withResolvers<void>()
  const preload = Promise.withResolvers<readonly string[]>()
  const stop = (reason: string) => end.abort(new Error(reason))
  const onGone = () => stop('the supervisor is gone')
  process.on('message', (message: StopMessage | StartPermitMessage | PreloadMessage | BeginMessage) => {
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
      // Signals are ignored while the supervisor runs, because a terminal and systemd send each signal to both
      // processes. The supervisor requests the stop.
      if (end.signal.aborted && !process.connected) endProcess(exitCodes.interrupted)
      stop(`${name} received`)
    })
  }
  // The supervisor may end while the message is sent. The channel reports this separately.
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

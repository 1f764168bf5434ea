import { createRequire } from 'node:module'
import { format } from 'node:util'
import { type Logger, type LoggerOptions, pino } from 'pino'
import type PinoPretty from 'pino-pretty'
import type { ConfigValues } from '../configuration/config-values.ts'
import { kernelPlugin } from '../kernel-plugin.ts'
import { toErrorLine } from './error-line.ts'

/** Methods of `console`, and the log level for each. */
const methods = {
  error: 'error',
  warn: 'warn',
  info: 'info',
  log: 'info',
  debug: 'debug',
  trace: 'debug',
  dir: 'info',
} as const

const maxTextLength = 16 * 1024

/**
 * Converts the console output of libraries and the warnings of the process to log lines. The lines then have a level
 * and a time, and their secrets are masked. This affects the whole process, so only its main program should call it.
 * Call the returned function to stop.
 *
 * If a library accepts a logger, pass `ctx.log` to it instead.
 */
export function captureOutput(log: Logger): () => void {
  if (isCaptured) return () => {}
  isCaptured = true
  const own = log.child({ source: 'console' })
  const originals = Object.keys(methods).map((name) => [name, Reflect.get(console, name)] as const)
  for (const [name, level] of Object.entries(methods)) {
    Reflect.set(console, name, (...parts: unknown[]) => {
      const [err] = parts.filter((part) => part instanceof Error)
      own[level](err === undefined ? {} : { err }, textOf(parts))
    })
  }
  const printers = process.listeners('warning')
  process.removeAllListeners('warning')
  const onWarning = (warning: Error & { readonly code?: string }) => {
    const { name, code, message } = warning
    log.warn({ source: 'process', warning: name, code }, message.slice(0, maxTextLength))
  }
  process.on('warning', onWarning)
  return () => {
    for (const [name, original] of originals) Reflect.set(console, name, original)
    process.off('warning', onWarning)
    for (const printer of printers) process.on('warning', printer)
    isCaptured = false
  }
}

/** The console belongs to the process. If the process runs several products, only the first one captures the output. */
let isCaptured = false

/**
 * Formats arguments like `console`. For an error only the message is used, because a separate field contains the error.
 */
function textOf(parts: readonly unknown[]): string {
  try {
    return format(...parts.map((part) => (part instanceof Error ? part.message : part))).slice(0, maxTextLength)
  } catch {
    return 'a library wrote what cannot be shown'
  }
}

/**
 * Creates the logger of the product. It writes JSON lines with masked secrets to standard output. For a command, it
 * writes to standard error, because the result of the command goes to standard output. Logging never throws.
 */
export function createLogger(config: ConfigValues, isCommand: boolean): Logger {
  const read = (key: string) => config.get(kernelPlugin.id, `platform.log.${key}`) as string
  const stream = isCommand ? process.stderr : process.stdout
  const format = read('format')
  const isPretty = format !== 'json' && (format !== 'auto' || stream.isTTY)
  const options: LoggerOptions = {
    level: isCommand ? 'warn' : read('level'),
    base: null,
    formatters: { level: (label) => ({ level: label }) },
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: toErrorLine },
    hooks: {
      logMethod: writeSafely,
      streamWrite: (line) =>
        escapeTerminalControls(
          maskLogLine(line, (text) => config.redact(text)),
          isPretty,
        ),
    },
  }
  if (!isPretty) {
    return pino(options, pino.destination({ fd: stream.fd, sync: true }))
  }
  // Loaded only if a person reads the output on a terminal, because it takes time at the start.
  const pretty: typeof PinoPretty = createRequire(import.meta.url)('pino-pretty')
  return pino(
    options,
    pretty({
      destination: stream.fd,
      sync: true,
      ignore: 'plugin',
      messageFormat: '{if plugin}[{plugin}] {end}{msg}',
      singleLine: true,
    }),
  )
}

type LogMethod = NonNullable<NonNullable<LoggerOptions['hooks']>['logMethod']>

/** Writes a log line. If that fails, for example because a getter throws, writes only its message. */
const writeSafely: LogMethod = function writeSafely(args, method) {
  try {
    method.apply(this, args)
  } catch {
    const [message = 'the message of this line could not be written'] = args.filter((part) => typeof part === 'string')
    try {
      method.apply(this, [{ isIncomplete: true }, message])
    } catch {
      // The message could not be written either. Logging must never throw, so the line is lost.
    }
  }
}

/**
 * Masks secrets in a log line. If the result is not valid JSON, for example because a secret is a number, returns a new
 * line with the masked text as its message.
 */
export function maskLogLine(line: string, redact: (text: string) => string): string {
  const masked = redact(line)
  if (masked === line || isJson(masked)) return masked
  const { level, time }: { readonly level?: unknown; readonly time?: unknown } = JSON.parse(line)
  return `${JSON.stringify({ level, time, msg: masked.trimEnd() })}\n`
}

/**
 * DEL, the C1 control characters, and the characters that change the direction of text (Unicode UAX #9). JSON does not
 * escape them.
 */
const terminalControls = /[\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/**
 * Escapes characters that could change the state of a terminal.
 *
 * @param isPretty true if the line is unescaped once more before it is shown
 */
export function escapeTerminalControls(line: string, isPretty: boolean): string {
  const prefix = isPretty ? '\\\\u' : '\\u'
  return line.replace(terminalControls, (control) => `${prefix}${control.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

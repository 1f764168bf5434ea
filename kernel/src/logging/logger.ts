import { createRequire } from 'node:module'
import { format } from 'node:util'
import { type Logger, type LoggerOptions, pino } from 'pino'
import type PinoPretty from 'pino-pretty'
import type { ConfigValues } from '../configuration/config-values.ts'
import { kernelPlugin } from '../kernel-plugin.ts'
import { errorLine } from './error-line.ts'

/** Methods of `console` that write, with the level of their lines. */
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
 * Converts the output of libraries to log lines: calls of `console` (kysely, ioredis, bullmq, mysql2, MikroORM) and
 * warnings of the process (Node.js, undici, pino), which Node.js would print. The lines have a level and a time, and
 * their secrets are masked. Only for the owner of the process, because it affects the whole process. Call the returned
 * function to stop.
 *
 * A library that accepts a logger receives one (`ctx.log`); this is for the others.
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

/** The console is shared. If a process runs several products, the first one logs the lines. */
let isCaptured = false

/** Formats like `console`. For an error only the message, because the line contains the rest. */
function textOf(parts: readonly unknown[]): string {
  try {
    return format(...parts.map((part) => (part instanceof Error ? part.message : part))).slice(0, maxTextLength)
  } catch {
    return 'a library wrote what cannot be shown'
  }
}

/**
 * Creates the logger of the product: pino JSON lines, with every known secret masked. A command writes its result to
 * standard output, so its log goes to standard error. Logging never throws.
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
    serializers: { err: errorLine },
    hooks: {
      logMethod: writeSafely,
      streamWrite: (line) =>
        visibleControls(
          maskedLine(line, (text) => config.redact(text)),
          isPretty,
        ),
    },
  }
  if (!isPretty) {
    return pino(options, pino.destination({ fd: stream.fd, sync: true }))
  }
  // Loaded only for output that people read, because it costs start-up time.
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

/** A line that cannot be written, for example because a getter throws, is replaced by its message. */
const writeSafely: LogMethod = function writeSafely(args, method) {
  try {
    method.apply(this, args)
  } catch {
    const [message = 'the message of this line could not be written'] = args.filter((part) => typeof part === 'string')
    try {
      method.apply(this, [{ isIncomplete: true }, message])
    } catch {
      // Even this failed. Logging must never make its caller fail.
    }
  }
}

/** Masks secrets in a line and keeps it valid JSON: a secret may be a number, or a part of the JSON syntax. */
export function maskedLine(line: string, redact: (text: string) => string): string {
  const masked = redact(line)
  if (masked === line || isJson(masked)) return masked
  const { level, time }: { readonly level?: unknown; readonly time?: unknown } = JSON.parse(line)
  return `${JSON.stringify({ level, time, msg: masked.trimEnd() })}\n`
}

/**
 * DEL, the C1 controls, and the characters that change the direction of text (Unicode UAX #9): JSON does not escape
 * them.
 */
const terminalControls = /[\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/**
 * Escapes the characters in a line that could control the terminal.
 *
 * @param isPretty the line is unescaped again before it is shown
 */
export function visibleControls(line: string, isPretty: boolean): string {
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

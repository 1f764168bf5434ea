import { createRequire } from 'node:module'
import { type Logger, type LoggerOptions, pino } from 'pino'
import type PinoPretty from 'pino-pretty'
import type { ConfigValues } from '../configuration/config-values.ts'
import { kernelPlugin } from '../kernel-plugin.ts'
import { errorLine } from './error-line.ts'

/**
 * The product's logger: pino JSON lines, every known secret masked. A command answers on standard output; only what needs
 * attention belongs beside its answer, on standard error. It never throws, whatever it is given.
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
  // Loaded only where people read: it costs start-up time.
  const pretty: typeof PinoPretty = createRequire(import.meta.url)('pino-pretty')
  return pino(
    options,
    pretty({ destination: stream.fd, sync: true, ignore: 'plugin', messageFormat: '{if plugin}[{plugin}] {end}{msg}' }),
  )
}

type LogMethod = NonNullable<NonNullable<LoggerOptions['hooks']>['logMethod']>

/** What cannot be written, for example because a getter throws, is left out; its message stays. */
const writeSafely: LogMethod = function writeSafely(args, method) {
  try {
    method.apply(this, args)
  } catch {
    const [message = 'what it was about could not be written'] = args.filter((part) => typeof part === 'string')
    try {
      method.apply(this, [{ isIncomplete: true }, message])
    } catch {
      // Not even that: whoever logs must not fail because of it.
    }
  }
}

/** A line with its secrets masked, which is JSON all the same: a secret may be a number, or a part of what JSON is made of. */
export function maskedLine(line: string, redact: (text: string) => string): string {
  const masked = redact(line)
  if (masked === line || isJson(masked)) return masked
  const { level, time } = JSON.parse(line) as { readonly level?: unknown; readonly time?: unknown }
  return `${JSON.stringify({ level, time, msg: masked.trimEnd() })}\n`
}

/** DEL, the C1 controls, and the characters that change the direction of text (Unicode UAX #9): JSON does not escape them. */
const terminalControls = /[\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/**
 * A line that cannot control the terminal on which it is shown.
 *
 * @param isPretty the line is unescaped once more before it is shown
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

import { createRequire } from 'node:module'
import { type Logger, type LoggerOptions, pino } from 'pino'
import type PinoPretty from 'pino-pretty'
import type { ConfigValues } from './config-values.ts'
import { kernelPlugin } from './kernel-plugin.ts'

/**
 * The product's logger: pino JSON lines, every known secret masked. A command answers on standard output; only what needs
 * attention belongs beside its answer, on standard error.
 */
export function createLogger(config: ConfigValues, isCommand: boolean): Logger {
  const read = (key: string) => config.get(kernelPlugin.id, `platform.log.${key}`) as string
  const options: LoggerOptions = {
    level: isCommand ? 'warn' : read('level'),
    base: null,
    formatters: { level: (label) => ({ level: label }) },
    timestamp: pino.stdTimeFunctions.isoTime,
    hooks: { streamWrite: (line) => config.redact(line) },
  }
  const stream = isCommand ? process.stderr : process.stdout
  const format = read('format')
  if (format === 'json' || (format === 'auto' && !stream.isTTY)) {
    return pino(options, pino.destination({ fd: stream.fd, sync: true }))
  }
  // Loaded only where people read: it costs start-up time.
  const pretty: typeof PinoPretty = createRequire(import.meta.url)('pino-pretty')
  return pino(
    options,
    pretty({ destination: stream.fd, sync: true, ignore: 'plugin', messageFormat: '{if plugin}[{plugin}] {end}{msg}' }),
  )
}

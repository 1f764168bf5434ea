import { createRequire } from 'node:module'
import { type Logger, type LoggerOptions, pino } from 'pino'
import type PinoPretty from 'pino-pretty'

export interface LogOptions {
  readonly level: string
  readonly format: 'json' | 'pretty'
  /** Masks what must not be seen in a line. */
  readonly redact: (line: string) => string
  readonly destination: 'stdout' | 'stderr'
}

/** The product's logger: pino JSON lines, every known secret masked. */
export function createLogger({ level, format, redact, destination }: LogOptions): Logger {
  const options: LoggerOptions = {
    level,
    base: null,
    formatters: { level: (label) => ({ level: label }) },
    timestamp: pino.stdTimeFunctions.isoTime,
    hooks: { streamWrite: redact },
  }
  const fd = destination === 'stdout' ? 1 : 2
  if (format === 'json') return pino(options, pino.destination({ fd, sync: true }))
  // Loaded only where people read: it costs start-up time.
  const pretty: typeof PinoPretty = createRequire(import.meta.url)('pino-pretty')
  return pino(
    options,
    pretty({ destination: fd, sync: true, ignore: 'plugin', messageFormat: '{if plugin}[{plugin}] {end}{msg}' }),
  )
}

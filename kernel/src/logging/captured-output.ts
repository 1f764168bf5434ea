import { format } from 'node:util'
import type { Logger } from 'pino'

/** Methods of `console` that write, and the level of their lines. */
const methods = {
  error: 'error',
  warn: 'warn',
  info: 'info',
  log: 'info',
  debug: 'debug',
  trace: 'debug',
  dir: 'info',
} as const

const longestText = 16 * 1024

/**
 * Makes log lines of what libraries write by themselves: through `console` (kysely, ioredis, bullmq, mysql2, MikroORM), and as
 * warnings of the process (Node.js, undici, pino), which Node.js would print. That way they have a level and a time, and their
 * secrets are masked. For whoever owns the process, and for the whole of it. The answer ends it.
 *
 * A library that takes a logger is given one (`ctx.log`); this is for the others.
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
    log.warn({ source: 'process', warning: name, code }, message.slice(0, longestText))
  }
  process.on('warning', onWarning)
  return () => {
    for (const [name, original] of originals) Reflect.set(console, name, original)
    process.off('warning', onWarning)
    for (const printer of printers) process.on('warning', printer)
    isCaptured = false
  }
}

/** There is one console. Where a process runs several products, the lines are those of the first. */
let isCaptured = false

/** As `console` would print it; of an error only its message, the line has the rest. */
function textOf(parts: readonly unknown[]): string {
  try {
    return format(...parts.map((part) => (part instanceof Error ? part.message : part))).slice(0, longestText)
  } catch {
    return 'a library wrote what cannot be shown'
  }
}
